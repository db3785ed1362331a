"""Integer divisions in the cheapest form allowed by the known signs."""

from ...symbolic import Affine
from ..data.nodes import Apply, Node
from ..scope import Scope, fill


def divide(operator: str, dividend: Affine, node: Node, divisor: int, scope: Scope) -> Apply:
    """``//`` or ``%`` of int32 values by a number; `node` computes the dividend.

    The hardware's division rounds towards zero: if the dividend may be negative, enough divisors are added to make it
    positive, and subtracted from the quotient afterwards.
    """

    # The prover is imported only for divisions.
    from ...symbolic.facts.emission import Form, form_between

    def by(symbol: str, operand: Node, number: int) -> Apply:
        return scope.apply(symbol, (operand, fill(number, "int32")), "int32")

    if not isinstance(divisor, int):
        return by(operator, node, divisor)
    found = scope.bounds(dividend)
    emission = form_between(operator, found or (None, None), (divisor, divisor))
    match emission.form:
        case Form.SHIFT:
            return by(">>", node, emission.shift)
        case Form.MASK:
            return by("&", node, divisor - 1)
        case Form.TRUNCATING:
            return by("quot" if operator == "//" else "rem", node, divisor)
        case Form.BIASED:
            moved = by("+", node, emission.bias * divisor)
            if operator == "%":
                return by("rem", moved, divisor)
            return by("-", by("quot", moved, divisor), emission.bias)
        case Form.FLOOR:
            return by(operator, node, divisor)
