"""The cost of computing an expression: the measure for choosing between equal ones."""

from functools import lru_cache
from typing import Final

from .trees import And, Binary, Compare, Expr, Not, Or, Select, spine

_WEIGHTS: Final = {"+": 1, "-": 1, "*": 2, "min": 3, "max": 3, "//": 6, "%": 6, "tdiv": 6, "tmod": 6}


@lru_cache(maxsize=1 << 14)
def cost(expr: Expr) -> int:
    """The sum of the weights of its operations; a repeated subexpression counts each time."""
    match expr:
        case Binary("+" | "-"):
            first, rest = spine(expr)
            return cost(first) + sum(1 + cost(term) for _, term in rest)
        case Binary(op):
            own = _WEIGHTS[op]
        case Select() | Compare():
            own = 3
        case And(parts) | Or(parts):
            own = max(len(parts) - 1, 0)
        case Not():
            own = 1
        case _:
            return 0
    return own + sum(map(cost, expr.children))
