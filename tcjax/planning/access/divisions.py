"""Divisions of integers in the form that costs least where the signs are known."""

from ...symbolic import Affine
from ..data.nodes import Apply, Node
from ..scope import Scope, fill


def divide(operator: str, dividend: Affine, node: Node, divisor: int, scope: Scope) -> Apply:
    """``//`` or ``%`` of int32 values by a number; `node` computes the dividend.

    The hardware's division rounds towards zero: where the dividend may be negative, as many divisors are added to it
    as make it positive, and taken off the quotient afterwards.
    """

    # Only who divides needs the rooms of the prover.
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
