"""One fused loop over all points, which are reduced on the fly."""

from collections.abc import Iterator

from ... import ir
from ...ir import Reducer
from ..data.nodes import Node
from ..folds import fold
from ..rules import plan_value
from ..scope import Scope
from .reduction import Reduction


def propose(reduction: Reduction, scope: Scope) -> Iterator[Node]:
    """The reduction of its values at every point; the number of points must fit an integer."""
    mask, is_sum = reduction.mask, reduction.reducer is Reducer.SUM and ir.types.is_float(reduction.accumulate)
    if is_sum and not reduction.factors and mask is not None and scope.points(reduction.indices) < 1 << 31:
        # XLA:CPU sums floats with a library, and stores computed operands for it.
        ones = scope.cast(plan_value(mask, scope), "int32")
        yield scope.cast(fold(Reducer.SUM, reduction.indices, ones, scope), reduction.accumulate)
        return
    assert isinstance(reduction.reducer, Reducer), "registered ones are planned apart"
    yield fold(reduction.reducer, reduction.indices, reduction.values(scope), scope)
