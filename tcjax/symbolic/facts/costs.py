"""What an expression costs to compute: the measure by which one way of writing a value is better than another."""

from functools import lru_cache
from typing import Final

from .trees import And, Binary, Compare, Expr, Not, Or, Select, spine

_WEIGHTS: Final = {"+": 1, "-": 1, "*": 2, "min": 3, "max": 3, "//": 6, "%": 6, "tdiv": 6, "tmod": 6}


@lru_cache(maxsize=1 << 14)
def cost(expr: Expr) -> int:
    """The sum of the weights of its operations; what stands twice costs twice."""
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
