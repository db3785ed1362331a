"""Windows: subscripts such as ``2*h + kh``, where a reduction index slides along an output index."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .. import ir
from ..ir import Reducer
from ..symbolic import Affine, IndexVar
from .nodes import Node, Pool, Window
from .reads import as_strip, is_window, plan_read
from .scope import Scope

# A window this wide is pooled by reduce_window, a narrower one by shifted slices (bench/),
WIDE_WINDOW = 5
# of which so many still compile fast.
MOST_SLICES = 144

# A gather of fewer elements than this is not worth a statement of its own per row.
SMALL_GATHER = 1024


def window_indices(indices: Iterable[IndexVar], expr: ir.Expr, scope: Scope, *, pooled: bool) -> tuple[IndexVar, ...]:
    """The reduction indices that slide along another index in some read.

    With `pooled`, those that split a dimension without overlap (``2*i + k where k in 0:2``) count too.
    """
    reduced = frozenset(indices)
    found: set[IndexVar] = set()
    for access in ir.accesses(expr):
        for subscript, extent in zip(access.indices, scope.shapes[access.tensor.name], strict=True):
            variables = {v for v in subscript.variables - scope.unrolled if scope.extent(v) > 1}
            sliding = variables & reduced
            if not sliding or len(variables) < 2 or not subscript.is_linear:
                continue
            if not is_window(subscript, scope) and not (pooled and as_strip(subscript, extent, scope)):
                continue
            if sliding == variables:
                sliding = sliding - {max(sorted(sliding, key=str), key=scope.extent)}
            found |= sliding
    return tuple(index for index in indices if index in found)


def gathered_indices(indices: Iterable[IndexVar], expr: ir.Expr, scope: Scope) -> tuple[IndexVar, ...]:
    """The reduction indices inside data-dependent subscripts of reads that yield large arrays."""
    reduced = frozenset(indices)
    found: set[IndexVar] = set()
    for access in ir.accesses(expr):
        inside = frozenset[IndexVar]().union(*(s.variables for s in access.indices if s.is_data))
        axes = frozenset[IndexVar]().union(*(s.variables for s in access.indices)) - scope.unrolled
        if inside & reduced and scope.points(axes - reduced) >= SMALL_GATHER:
            found |= inside & reduced
    return tuple(index for index in indices if index in found)


@dataclass(frozen=True, slots=True)
class Sliding:
    """``position = output_step*output + kernel_step*kernel + base``, one dimension of a read."""

    output: IndexVar
    output_step: int
    kernel: IndexVar
    kernel_step: int


def as_sliding(subscript: Affine, reduced: frozenset[IndexVar], scope: Scope) -> Sliding | None:
    """The subscript as one reduction index that slides along one other index, or None."""
    if not subscript.is_linear or subscript.variables & scope.unrolled or len(subscript.terms) != 2:
        return None
    steps = {atom: weight.constant for atom, weight in subscript.terms if isinstance(atom, IndexVar)}
    outputs = [index for index in steps if index not in reduced]
    kernels = [index for index in steps if index in reduced]
    if len(outputs) != 1 or len(kernels) != 1:
        return None
    output_step, kernel_step = steps[outputs[0]], steps[kernels[0]]
    assert output_step is not None and kernel_step is not None
    return Sliding(outputs[0], output_step, kernels[0], kernel_step)


def slide(access: ir.Access, slidings: dict[int, Sliding], scope: Scope) -> tuple[Node, tuple[Window, ...], Scope]:
    """The read with an index of its own for each sliding dimension's position, and how the positions arise."""
    subscripts, windows = list(access.indices), []
    for dimension, sliding in slidings.items():
        position = IndexVar(f"{sliding.output}+{sliding.kernel}")
        span = scope.bounds(subscripts[dimension])
        assert span is not None
        scope = scope.with_index(position, span[0], span[1] + 1, sliding.output)
        subscripts[dimension] = Affine.of(position)
        windows.append(
            Window(
                position,
                sliding.output,
                sliding.kernel,
                abs(sliding.output_step),
                abs(sliding.kernel_step),
                sliding.kernel_step < 0,
                sliding.output_step < 0,
            )
        )
    return plan_read(replace(access, indices=tuple(subscripts)), scope), tuple(windows), scope


def as_pool(
    reducer: Reducer, indices: tuple[IndexVar, ...], body: ir.Expr, accumulate: str, scope: Scope
) -> Pool | None:
    """The reduction of a plain read over windows, dimension by dimension, if that is what it is."""
    read = body.operand if isinstance(body, ir.Cast) else body
    if not isinstance(read, ir.Access) or accumulate == "bool" or body.dtype != accumulate:
        return None
    reduced = frozenset(indices)
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
    # reduce_window has derivatives for undilated sums, minima and maxima only.
    known = reducer in (Reducer.SUM, Reducer.MIN, Reducer.MAX) and not ir.types.is_complex(accumulate)
    operand, windows, _ = slide(read, slidings, scope)
    sized = tuple(
        (window, extent, known and window.dilation == 1 and extent >= WIDE_WINDOW)
        for window in windows
        for extent in (scope.extent(window.kernel),)
    )
    if any(extent > MOST_SLICES and not native for _, extent, native in sized):
        return None
    axes = scope.sorted((plain | set(outputs)) - scope.unrolled)
    why = "a plain read over windows: one dimension after the other reads fewer elements than whole windows"
    return Pool(reducer, scope.cast(operand, accumulate), sized, dtype=accumulate, axes=axes, why=why)
