"""Sums of squared deviations from a mean: the core of a variance."""

from collections.abc import Iterator
from math import prod
from typing import Final

from ...ir import Reducer
from ...transforms.deviations import about_mean
from ..access.reads import as_stored, plan_read
from ..data.nodes import Deviations, Node, Read, Strip
from ..folds import remaining
from ..scope import Scope
from .reduction import Reduction

# If the sum of squares of the values exceeds that of the deviations this many times, the mean is subtracted first: the
# difference of two sums would lose more than four binary digits.
MOST_LOST: Final = 16.0


def propose(reduction: Reduction, scope: Scope) -> Iterator[Node]:
    """``sum[n]((x(n) - mean(x)) * (x(n) - mean(x)))`` in one pass over a whole tensor."""
    plain = reduction.mask is None and reduction.around is None and reduction.accumulate in ("float32", "float64")
    if reduction.reducer is not Reducer.SUM or not plain or scope.is_term or scope.live is not None:
        return
    value = about_mean(reduction.factors, reduction.indices, scope.box)
    if value is None or value.dtype != reduction.accumulate:
        return
    operand = as_stored(plan_read(value, scope))
    if _is_whole(operand, scope):
        axes = remaining(operand, reduction.indices)
        why = "squares about a mean: one pass gives both sums, unless the mean is much larger than the deviations"
        yield Deviations(operand, reduction.indices, MOST_LOST, dtype=operand.dtype, axes=axes, why=why)


def _is_whole(node: Node, scope: Scope) -> bool:
    """Whether a node is a complete tensor in its own layout: a slice would be stored first."""
    if not isinstance(node, Read) or node.views or node.tensor not in scope.shapes:
        return False
    strips = [d for d in node.dimensions if isinstance(d, Strip) and not d.low and not d.high and len(d.factors) < 2]
    return len(strips) == len(node.dimensions) and scope.points(node.axes) == prod(scope.shapes[node.tensor])
