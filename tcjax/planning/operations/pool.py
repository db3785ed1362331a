"""Reductions over windows, dimension by dimension: `lax.reduce_window`, or shifted slices."""

from collections.abc import Iterator

from ... import ir
from ...ir import Reducer
from ...symbolic import IndexVar
from ...transforms.factors import depends
from ..access.windows import as_sliding, slide
from ..data.machine import CPU
from ..data.nodes import Node, Pool
from ..rules import plan_value
from ..scope import Scope, fill
from .reduction import Reduction


def propose(reduction: Reduction, scope: Scope) -> Iterator[Node]:
    """The reduction of a plain read over windows, if it is one: native windows if they are wide, else slices."""
    if len(reduction.factors) != 1 or reduction.accumulate == "bool":
        return
    guard = reduction.guard
    if guard is not None and depends(guard, frozenset(reduction.indices)):
        return
    found = _pool(reduction, scope)
    if found is not None and guard is not None:
        nothing = fill(reduction.reducer.empty(found.dtype), found.dtype)
        yield scope.apply("where", (plan_value(guard, scope), found, nothing), found.dtype)
    elif found is not None:
        yield found


def _pool(reduction: Reduction, scope: Scope) -> Pool | None:
    reducer, accumulate = reduction.reducer, reduction.accumulate
    assert isinstance(reducer, Reducer), "registered ones are planned apart"
    [body] = reduction.factors
    read = body.operand if isinstance(body, ir.Cast) else body
    if not isinstance(read, ir.Access) or body.dtype != accumulate:
        return None
    reduced = frozenset(reduction.indices)
    slidings = {
        dimension: sliding
        for dimension, subscript in enumerate(read.indices)
        if (sliding := as_sliding(subscript, reduced, scope)) is not None
    }
    kernels = [sliding.kernel for sliding in slidings.values()]
    outputs = [sliding.output for sliding in slidings.values()]
    plain = frozenset[IndexVar]().union(*(s.variables for d, s in enumerate(read.indices) if d not in slidings))
    if not slidings or set(kernels) != reduced or plain & (reduced | set(outputs)):
        return None
    if len(set(kernels)) < len(kernels) or len(set(outputs)) < len(outputs):
        return None
    # reduce_window has derivatives only for undilated sums, minima and maxima.
    known = (reducer is Reducer.SUM or reducer.is_extremum) and not ir.types.is_complex(accumulate)
    operand, windows, _ = slide(read, slidings, scope)
    axes = scope.sorted((plain | set(outputs)) - scope.unrolled)
    extents = [scope.extent(window.kernel) for window in windows]
    native = [known and w.dilation == 1 and n >= CPU.wide_window for w, n in zip(windows, extents, strict=True)]
    if any(extent > CPU.unrolled and not whole for whole, extent in zip(native, extents, strict=True)):
        return None
    sized = tuple(zip(windows, extents, native, strict=True))
    why = "a plain read over windows: one dimension after the other reads fewer elements than whole windows"
    return Pool(reducer, scope.cast(operand, accumulate), sized, dtype=accumulate, axes=axes, why=why)
