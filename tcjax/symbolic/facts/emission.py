"""The cheapest form of a division in its context, and the width of its integers: data for the lowerings."""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from .trees import And, Binary, Compare, Const, Expr, ExprLike, Not, Or, Select, is_condition, spine

if TYPE_CHECKING:
    from .facts import Prover

Ends = tuple[int | None, int | None]


class Form(Enum):
    """The ways to compute a quotient or a remainder, cheapest first."""

    SHIFT = "shift"
    """An arithmetic shift to the right by `Emission.shift` bits."""
    MASK = "mask"
    """The lowest `Emission.shift` bits."""
    TRUNCATING = "truncating"
    """The division of the hardware, which rounds towards zero."""
    BIASED = "biased"
    """That division with `Emission.bias` divisors added to the dividend and subtracted from the quotient afterwards."""
    FLOOR = "floor"
    """A division that tests the signs."""


@dataclass(frozen=True, slots=True)
class Emission:
    """The form of a division, with the bits of a shift or mask, or the divisors of a bias."""

    form: Form
    shift: int = 0
    bias: int = 0


def emission(facts: "Prover", division: ExprLike, width: int = 32) -> Emission:
    """The cheapest form of ``n // d``, ``n % d``, ``tdiv(n, d)`` or ``tmod(n, d)`` that is correct wherever `facts`
    hold.

    A biased dividend must fit into `width` bits.
    """
    expr = Expr.of(division)
    assert isinstance(expr, Binary) and expr.op in ("//", "%", "tdiv", "tmod"), expr
    form = form_between(expr.op, facts.bounds(expr.left), facts.bounds(expr.right), width)
    if form.form in (Form.BIASED, Form.FLOOR) and facts.prove(Compare("==", expr.left % expr.right, Const(0))):
        return Emission(Form.TRUNCATING)
    return form


def form_between(op: str, dividend: Ends, divisor: Ends, width: int = 32) -> Emission:
    """The cheapest form of a division whose operands are between these ends (inclusive, None: unknown)."""
    floors = op in ("//", "%")
    (low, high), (least, most) = dividend, divisor
    power = 0 if least is None or least != most or least <= 0 or least & (least - 1) else least
    if power and (floors or (low is not None and low >= 0)):
        return Emission(Form.SHIFT if op in ("//", "tdiv") else Form.MASK, shift=power.bit_length() - 1)
    if not floors or _signs_agree(dividend, divisor):
        return Emission(Form.TRUNCATING)
    if least is not None and least > 0 and low is not None and high is not None and most is not None:
        bias = -(low // least)
        if high + bias * most < 2 ** (width - 1):
            return Emission(Form.BIASED, bias=bias)
    return Emission(Form.FLOOR)


def index_width(facts: "Prover", expr: ExprLike) -> int | None:
    """32 or 64: the narrowest signed integers known to hold `expr` and its parts; None if neither is."""
    return next((width for width in (32, 64) if _fits(facts, Expr.of(expr), 2 ** (width - 1))), None)


def _signs_agree(dividend: Ends, divisor: Ends) -> bool:
    """Whether the quotient is known not to be negative, so that both roundings agree."""
    if dividend[0] is not None and dividend[0] >= 0:
        return divisor[0] is not None and divisor[0] > 0
    return dividend[1] is not None and dividend[1] <= 0 and divisor[1] is not None and divisor[1] < 0


def _fits(facts: "Prover", expr: Expr, limit: int) -> bool:
    if not is_condition(expr):
        low, high = facts.bounds(expr)
        if low is None or high is None or low < -limit or high >= limit:
            return False
    match expr:
        case Binary("+" | "-"):
            return _sum_fits(facts, expr, limit)
        case Select(condition, then, otherwise):
            # Overflow in the branch that is not taken is discarded.
            return (
                _fits(facts, condition, limit)
                and _fits(facts.assume(condition), then, limit)
                and _fits(facts.assume(Not(condition)), otherwise, limit)
            )
        case And() | Or() | Not() | Compare() | Binary():
            return all(_fits(facts, child, limit) for child in expr.children)
        case _:
            return True


def _sum_fits(facts: "Prover", expr: Expr, limit: int) -> bool:
    """Whether every partial sum, from the left, and every term fits."""
    first, rest = spine(expr)
    if not _fits(facts, first, limit):
        return False
    partial = first
    for op, term in rest:
        partial = partial + term if op == "+" else partial - term
        low, high = facts.bounds(partial)
        if low is None or high is None or low < -limit or high >= limit or not _fits(facts, term, limit):
            return False
    return True
