"""Contractions, folds, pools, unrolled windows, positions and order statistics."""

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .. import ir
from ..ir import Monoid, Reducer
from ..planning.data.nodes import (
    Axes,
    Contract,
    Fill,
    Fold,
    LoopNest,
    Node,
    OrderStatistic,
    Pool,
    Position,
    Scan,
    Unroll,
    Window,
    multiplies_columns,
    smallest_divisor,
    tensors_read,
)
from ..symbolic import IndexVar
from . import registered
from .context import Context, Lower, align, numeric, transpose
from .elementwise import lower_fill
from .finite import Factor, plain_product, product_of_live
from .keys import key_of
from .placing import is_placed
from .reducers import ROWS, combine
from .registered import States
from .running import running
from .sizes import as_int32, positive
from .varying import equally_varying, steady

# Names of dimensions that are not indices of the program.
_LAST = IndexVar("")
_PART = IndexVar(" ")


def rounds(node: Node, dtype: str) -> TypeGuard[Contract]:
    """Whether the node is a product of arrays of this 16-bit float type, summed in a wider one."""
    if not isinstance(node, Contract) or isinstance(node.derivative, LoopNest) or node.dtype == dtype:
        return False
    return dtype in ir.types.HALVES and all(operand.dtype == dtype for operand in node.operands)


def lower_contract(node: Contract, context: Context, lower: Lower, dtype: str | None = None) -> jax.Array:
    """The product, rounded to `dtype` if that is given (see `rounds`)."""
    kind = numeric(dtype or node.dtype)
    if isinstance(node.derivative, LoopNest):
        return as_nest(node.derivative, node.axes, context, lower)
    a, b = node.operands
    left, right = lower(a, context), lower(b, context)
    axes = (*node.spread, *a.axes)
    if node.spread:
        # It is rewritten in the layout in which the product reads it: along its rows.
        rows = tuple(sorted(a.axes, key=lambda axis: axis not in node.axes))
        extents = tuple(right.shape[b.axes.index(axis)] for axis in node.spread)
        left = transpose(left, a.axes, rows)
        left = jnp.broadcast_to(left, (*extents, *left.shape))
        axes = (*node.spread, *rows)
    if node.copied and not any(map(is_placed, (left, right))):
        # XLA:CPU copies the left one of two matrices if the sum is along two axes.
        (left, first), (right, second) = (_in_two(*own, node.axes) for own in ((left, axes), (right, b.axes)))
        return _product(left, first, right, second, node.axes, kind, join=False)
    if not any((*node.live, *node.counts)):
        return _product(left, axes, right, b.axes, node.axes, kind, turned=node.turned)

    def aligned(condition: Node | None, wanted: Axes) -> jax.Array | None:
        return None if condition is None else align(lower(condition, context), condition.axes, wanted)

    first, second = (
        Factor(array, own, aligned(live, own), aligned(counts, own))
        for array, own, live, counts in zip((left, right), (axes, b.axes), node.live, node.counts, strict=False)
    )
    return product_of_live((first, second), node.axes, kind, aligned(node.counts[2], node.axes))


def _receives_turned(array: jax.Array, axes: Axes, other: Axes, result: Axes) -> jax.Array:
    """The array; as an operand of a product its cotangent comes with rows and columns exchanged, and is then
    transposed.
    """
    batch = tuple(axis for axis in axes if axis in other and axis in result)
    first = tuple(axis for axis in axes if axis not in batch and (axis in other) == (axes[len(batch)] in other))
    order = (*batch, *axes[len(batch) + len(first) :], *first)

    @jax.custom_jvp
    def run(array: jax.Array) -> jax.Array:
        return array

    @run.defjvp
    def derive(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
        turned = lax.optimization_barrier(transpose(tangents[0], axes, order))
        return primals[0], transpose(turned, order, axes)

    return run(array)


def _in_two(array: jax.Array, axes: Axes, result: Axes) -> tuple[jax.Array, Axes]:
    """The array reduced to two axes by merging adjacent ones that are not in the result."""
    before = tuple(itertools.takewhile(lambda axis: axis in result, axes))
    after = tuple(axis for axis in axes[len(before) :] if axis in result)
    start, stop = len(before), len(axes) - len(after)
    extent = prod(array.shape[start:stop])
    parts = smallest_divisor(extent)
    shape = (*array.shape[:start], parts, extent // parts, *array.shape[stop:])
    return lax.reshape(array, shape), (*before, _PART, _LAST, *after)


def _product(
    left: jax.Array,
    first: Axes,
    right: jax.Array,
    second: Axes,
    result: Axes,
    dtype: jnp.dtype,
    *,
    join: bool = True,
    turned: tuple[bool, bool] = (False, False),
) -> jax.Array:
    """The product of two arrays, summed over the axes that are not in the result; the cotangents of some are `turned`.

    Axes adjacent in both are merged, if they may `join`: XLA:CPU first copies a matrix with several such axes.
    (Otherwise not: a result that is split again does not fuse with its reader.)
    """
    extents = {axis: array.shape[n] for array, own in ((left, first), (right, second)) for n, axis in enumerate(own)}
    placed = any(map(is_placed, (left, right)))
    runs = [] if placed or not join else [run for run in side_by_side((first, second, result)) if run[0] not in result]
    sizes = {run[0]: prod(extents[axis] for axis in run) for run in runs if len(run) > 1}
    joined = {axis for run in runs for axis in run[1:]}
    parts: list[tuple[jax.Array, Axes]] = []
    for array, own, other, is_turned in ((left, first, second, turned[0]), (right, second, first, turned[1])):
        kept = tuple(axis for axis in own if axis not in joined)
        if sizes.keys() & set(own):
            array = lax.reshape(array, [sizes.get(axis, extents[axis]) for axis in kept])
        if is_turned and not placed:
            array = _receives_turned(array, kept, other, result)
        parts.append((array, kept))
    order = _as_it_comes(first, second, result)
    (left, first), (right, second) = parts
    if str(dtype) in ir.types.HALVES and not placed:
        product = product_of_live((Factor(left, first, None), Factor(right, second, None)), order, dtype)
    else:
        product = plain_product((left, right), (first, second, order), dtype)
    return transpose(product, order, result)


def _as_it_comes(first: Axes, second: Axes, result: Axes) -> Axes:
    """The result's axes in the order of a matrix product: einsum would swap the operands where it has to transpose."""
    batch, left, right = (
        tuple(axis for axis in result if (axis in first, axis in second) == sides)
        for sides in ((True, True), (True, False), (False, True))
    )
    return result if result in ((*batch, *left, *right), (*batch, *right, *left)) else (*batch, *left, *right)


def side_by_side(orders: Sequence[Axes]) -> list[Axes]:
    """The axes in runs: each array, whose axes are in one of the orders, has a run completely or not at all."""
    behind: dict[IndexVar, IndexVar | None] = {}
    before: dict[IndexVar, IndexVar | None] = {}
    for own in orders:
        for number, axis in enumerate(own):
            after = own[number + 1] if number + 1 < len(own) else None
            ahead = own[number - 1] if number else None
            behind[axis] = after if behind.get(axis, after) == after else None
            before[axis] = ahead if before.get(axis, ahead) == ahead else None
    runs: list[list[IndexVar]] = []
    place: dict[IndexVar, list[IndexVar]] = {}
    for axis in dict.fromkeys(itertools.chain(*orders)):
        ahead = before[axis]
        if ahead is not None and behind[ahead] == axis:
            place[axis] = place[ahead]
            place[axis].append(axis)
        else:
            place[axis] = [axis]
            runs.append(place[axis])
    return [tuple(run) for run in runs]


def lower_fold(node: Fold, context: Context, lower: Lower) -> jax.Array:
    if isinstance(node.derivative, LoopNest):
        return as_nest(node.derivative, node.axes, context, lower)
    if node.shifts:
        return _shifted_sums(node, context, lower)
    if not node.anew:
        return _folded(node, context, lower)

    @jax.checkpoint
    def run(arrays: dict[str, jax.Array]) -> jax.Array:
        return _folded(node, Context(arrays, context.foreign, context.steps), lower)

    return run({name: context.arrays[name] for name in sorted(tensors_read(node.operand))})


def _folded(node: Fold, context: Context, lower: Lower) -> jax.Array:
    operand = lower(node.operand, context)
    dimensions = tuple(node.operand.axes.index(axis) for axis in node.indices)
    reduced = ROWS[node.reducer].fold
    assert reduced is not None, node.reducer
    if multiplies_columns(node) and jnp.issubdtype(operand.dtype, jnp.floating):
        # A zero that XLA does not know changes no number, and keeps products and sum in one fused loop.
        operand = operand + lax.optimization_barrier(jnp.asarray(-0.0, operand.dtype))
    return reduced(operand, dimensions)


def as_nest(nest: LoopNest, axes: Axes, context: Context, lower: Lower) -> jax.Array:
    """The value of an equivalent nest, with these axes, that runs the same operations but has its own derivative."""
    return transpose(lower(nest, context), nest.axes, axes)


def _shifted_sums(node: Fold, context: Context, lower: Lower) -> jax.Array:
    """The sum for each shift, from one loop over all their operands."""
    extents = tuple(hi - lo for _, lo, hi in node.shifts)
    steps = itertools.product(*(range(lo, hi) for _, lo, hi in node.shifts))
    names = [index for index, _, _ in node.shifts]
    terms = [lower(node.operand, context.at(dict(zip(names, step, strict=True)))) for step in steps]
    summed = [n for n, axis in enumerate(node.operand.axes) if axis in node.indices]
    # Along one axis, then the sums of these: a single sequential sum of all terms would lose digits.
    first, rest = summed[-1], tuple(summed[:-1])
    stacked = jnp.sum(jnp.stack(_sums(terms, first)), tuple(1 + dimension for dimension in rest))
    left = tuple(axis for axis in node.operand.axes if axis not in node.indices)
    return transpose(lax.reshape(stacked, (*extents, *stacked.shape[1:])), (*names, *left), node.axes)


def _sums(terms: Sequence[jax.Array], dimension: int) -> list[jax.Array]:
    """The sum of each array along a dimension, in one loop; a derivative computes them separately."""

    @jax.custom_jvp
    def run(*arrays: jax.Array) -> list[jax.Array]:
        alike = equally_varying([*arrays, *(jnp.zeros((), array.dtype) for array in arrays)])
        given, zeros = alike[: len(arrays)], alike[len(arrays) :]
        return lax.reduce(given, zeros, lambda a, b: [x + y for x, y in zip(a, b, strict=True)], (dimension,))

    @run.defjvp
    def derive(
        primals: tuple[jax.Array, ...], tangents: tuple[jax.Array, ...]
    ) -> tuple[list[jax.Array], list[jax.Array]]:
        return run(*primals), [jnp.sum(tangent, dimension) for tangent in tangents]

    return run(*terms)


def lower_pool(node: Pool, context: Context, lower: Lower) -> jax.Array:
    if isinstance(node.derivative, LoopNest):
        return as_nest(node.derivative, node.axes, context, lower)
    result = lower(node.operand, context)
    axes = list(node.operand.axes)
    for slide, extent, native in node.windows:
        dimension = axes.index(slide.position)
        pool = _reduce_window if native else _shifted
        result = pool(result, dimension, slide, extent, node.reducer)
        axes[dimension] = slide.output
        if slide.flip_output:
            result = lax.rev(result, [dimension])
    return transpose(result, tuple(axes), node.axes)


def _reduce_window(array: jax.Array, dimension: int, slide: Window, extent: int, reducer: Reducer) -> jax.Array:
    before, after = array.shape[:dimension], array.shape[dimension + 1 :]
    if reducer is Reducer.SUM or is_placed(array):
        window, strides = ((*(1 for _ in before), n, *(1 for _ in after)) for n in (extent, slide.stride))
        return _windowed(array, window, strides, reducer)
    # For the derivative of a maximum XLA:CPU stores an array of subscripts for every dimension.
    flat = lax.reshape(array, (prod(before), array.shape[dimension], prod(after)))
    result = _windowed(flat, (1, extent, 1), (1, slide.stride, 1), reducer)
    return lax.reshape(result, (*before, result.shape[1], *after))


def _windowed(array: jax.Array, window: tuple[int, ...], strides: tuple[int, ...], reducer: Reducer) -> jax.Array:
    operator = ROWS[reducer].operator
    assert operator is not None, reducer
    # NumPy scalars are known while JAX traces: it finds the derivative only for a known identity.
    nothing = np.asarray(reducer.empty(str(array.dtype)), array.dtype)
    return lax.reduce_window(array, nothing, operator, window, strides, "VALID")


def _shifted(array: jax.Array, dimension: int, slide: Window, extent: int, reducer: Reducer) -> jax.Array:
    reach = slide.dilation * (extent - 1)
    last = array.shape[dimension] - reach
    shifts = range(0, reach + 1, slide.dilation)
    parts = [lax.slice_in_dim(array, shift, shift + last, slide.stride, dimension) for shift in shifts]
    return _combined(reducer, parts)


def _combined(reducer: Reducer, parts: Iterable[jax.Array]) -> jax.Array:
    """The parts combined elementwise, in order."""
    parts = list(parts)
    if reducer.gives_position:
        return _place(reducer, parts)
    if reducer.is_extremum and len(parts) > 1 and jnp.issubdtype(parts[0].dtype, jnp.floating):
        return _extremum(reducer, parts)
    return functools.reduce(combine(reducer), parts)


def _extremum(reducer: Reducer, parts: list[jax.Array]) -> jax.Array:
    """The largest or smallest part, NaN if any is: XLA:CPU does selects faster than extrema that propagate NaN."""
    best, unordered = parts[0], parts[0] != parts[0]
    for part in parts[1:]:
        better = part > best if reducer.order == "max" else part < best
        best = jnp.where(better, part, best)
        unordered |= part != part
    return jnp.where(unordered, jnp.nan, best)


def _ranked(reducer: Reducer, rank: int, parts: Iterable[jax.Array]) -> jax.Array:
    """The part with this rank in order, or its number: NaN first, ties in order of the parts.

    The first parts are kept in order; each new part shifts those after it.
    """
    descending = reducer.order == "max"
    keys: list[jax.Array] = []
    found: list[jax.Array] = []
    for number, part in enumerate(parts):
        key, value = _ordered(part), jnp.full_like(part, number, jnp.int32) if reducer.gives_position else part
        # A comparison with NaN is false: it comes before a number, and nothing before it.
        before = [~((key <= own) if descending else (key >= own)) & (own == own) for own in keys]
        keys, found = _inserted(keys, key, before)[: rank + 1], _inserted(found, value, before)[: rank + 1]
    return found[rank]


def _inserted(kept: list[jax.Array], new: jax.Array, before: list[jax.Array]) -> list[jax.Array]:
    """The sorted arrays with a new one inserted before those where `before` holds."""
    given = [new, *(jnp.where(mask, own, new) for mask, own in zip(before, kept, strict=True))]
    return [*(jnp.where(mask, one, own) for mask, one, own in zip(before, given, kept, strict=False)), given[-1]]


def _place(reducer: Reducer, parts: Sequence[jax.Array]) -> jax.Array:
    """The number of the first smallest or largest part; that of the first NaN if there is one."""
    best, *others = map(_ordered, parts)
    place = jnp.zeros_like(best, jnp.int32)
    for number, part in enumerate(others, start=1):
        better = _is_further(reducer, best, part)
        best, place = jnp.where(better, part, best), jnp.where(better, jnp.int32(number), place)
    return place


def _is_further(reducer: Reducer | Monoid, best: jax.Array, value: jax.Array) -> jax.Array:
    """Whether a value replaces the best one so far."""
    # A comparison with NaN is false: it replaces a number, and nothing replaces it.
    return ~((value <= best) if reducer.order == "max" else (value >= best)) & (best == best)


def lower_scan(node: Scan, context: Context, lower: Lower) -> jax.Array:
    """A running reduction, shifted to where its results begin; before the row it is empty, after it complete."""
    parts = [part for part in (node.operand, node.mask) if part is not None]
    own = tuple(dict.fromkeys(axis for part in parts for axis in part.axes))
    arrays = jnp.broadcast_arrays(*(align(lower(part, context), part.axes, own) for part in parts))
    axis = own.index(node.index)
    array = running(node.reducer, *arrays, axis=axis, reverse=not node.rising, block=node.block, looped=node.looped)
    size = array.shape[axis]
    first, last = node.first, node.first + node.extent - 1
    kept = lax.slice_in_dim(array, min(max(first, 0), size), max(min(last + 1, size), 0), axis=axis)
    before, after = min(max(-first, 0), node.extent), min(max(last + 1 - size, 0), node.extent)
    reducer, dtype = node.reducer, node.operand.dtype
    empty = registered.nothing(reducer, dtype) if isinstance(reducer, Monoid) else reducer.empty(dtype)
    nothing = jnp.asarray(empty, array.dtype)
    end = size - 1 if node.rising else 0
    every = lax.slice_in_dim(array, end, end + 1, axis=axis)

    def repeated(count: int, value: jax.Array) -> jax.Array:
        return jnp.broadcast_to(value, (*array.shape[:axis], count, *array.shape[axis + 1 :]))

    sides = (nothing, every) if node.rising else (every, nothing)
    parts = [repeated(before, sides[0]), kept, repeated(after, sides[1])]
    array = lax.concatenate([part for part in parts if part.shape[axis]], axis)
    axes = tuple(node.output if each == node.index else each for each in own)
    return transpose(array, axes, node.axes)


def lower_unroll(node: Unroll, context: Context, lower: Lower) -> jax.Array:
    if node.rolled:
        return looped(node, context, lower)
    if node.derivative is None:
        return _unrolled(node, context, lower)
    folded = node.derivative
    if isinstance(folded, LoopNest):
        return as_nest(folded, node.axes, context, lower)
    names = sorted(context.arrays)

    def here(arrays: tuple[jax.Array, ...]) -> Context:
        return Context(dict(zip(names, arrays, strict=True)), context.foreign, context.steps)

    @jax.custom_jvp
    def run(*arrays: jax.Array) -> jax.Array:
        return _unrolled(node, here(arrays), lower)

    @run.defjvp
    def derive(primals: tuple[jax.Array, ...], tangents: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        def reduced(*arrays: jax.Array) -> jax.Array:
            return transpose(lower(folded, here(arrays)), folded.axes, node.axes)

        return run(*primals), jax.jvp(reduced, primals, tangents)[1]

    return run(*(context.arrays[name] for name in names))


def _unrolled(node: Unroll, context: Context, lower: Lower) -> jax.Array:
    indices = [index for index, _, _ in node.box]
    steps = itertools.product(*(range(lo, hi) for _, lo, hi in node.box))
    parts = (lower(node.body, context.at(dict(zip(indices, step, strict=True)))) for step in steps)
    assert isinstance(node.reducer, Reducer), "others come one after the other"
    if node.reducer.is_ranked:
        return _ranked(node.reducer, node.rank, parts)
    return _combined(node.reducer, parts)


def looped(node: Unroll, context: Context, lower: Lower) -> jax.Array:
    """The terms in sequence, in a run-time loop that stores none of them."""
    count = prod(hi - lo for _, lo, hi in node.box)
    trips = positive(count)

    def term(number: jax.Array) -> tuple[jax.Array, jax.Array | None]:
        """The value at a point, and whether it is active (None: always)."""
        places: dict[IndexVar, int | jax.Array] = {}
        rest = number
        for index, lo, hi in reversed(node.box):
            # XLA:CPU crashes on a division by a constant zero.
            extent = as_int32(positive(hi - lo))
            places[index] = lax.rem(rest, extent) + as_int32(lo)
            rest = lax.div(rest, extent)
        here = Context(context.arrays, context.foreign, {**context.steps, **places}, sizes=context.sizes)
        live = None if node.mask is None else align(lower(node.mask, here), node.mask.axes, node.axes)
        if trips is not count:
            inside = number < as_int32(count)
            live = inside if live is None else live & inside
        return align(lower(node.body, here), node.body.axes, node.axes), live

    begin, join, result = _accumulation(node)

    @jax.checkpoint
    def add(states: States, number: jax.Array) -> tuple[States, None]:
        value, live = term(number)
        joined = join(states, value, number)
        return joined if live is None else registered.choose(live, joined, states), None

    value, live = jax.eval_shape(term, jnp.int32(0))
    shape = value.shape if live is None else jnp.broadcast_shapes(value.shape, live.shape)
    states = steady(lambda states: add(states, jnp.int32(0))[0], begin(shape), context.arrays.values())
    return result(lax.scan(add, states, jnp.arange(trips, dtype=jnp.int32))[0])


def _accumulation(
    node: Unroll,
) -> tuple[
    Callable[[tuple[Any, ...]], States],
    Callable[[States, jax.Array, jax.Array], States],
    Callable[[States], jax.Array],
]:
    """The initial state, the update by the next value and its number, and the final result."""
    reducer, element = node.reducer, node.body.dtype
    if isinstance(reducer, Monoid):
        return (
            lambda shape: registered.blank(reducer, shape, element),
            lambda states, value, _: registered.combine(reducer, states, registered.inject(reducer, value, element)),
            lambda states: registered.finish(reducer, states),
        )
    if reducer.gives_position:

        def further(states: States, value: jax.Array, number: jax.Array) -> States:
            best, place = states
            better = _is_further(reducer, best, value) | (place < 0)
            return jnp.where(better, value, best), jnp.where(better, number, place)

        return (
            lambda shape: (jnp.zeros(shape, numeric(element)), jnp.full(shape, -1, jnp.int32)),
            further,
            lambda states: jnp.maximum(states[1], 0),
        )
    join, nothing = combine(reducer), lower_fill(Fill(reducer.empty(element), dtype=element), Context({}, {}))
    return (
        lambda shape: (jnp.broadcast_to(nothing, shape),),
        lambda states, value, _: (join(states[0], value),),
        lambda states: states[0],
    )


def flattened(array: jax.Array, own: Axes, axes: Axes, indices: Axes, extents: tuple[int, ...]) -> jax.Array:
    """The array, whose axes are `own`, with all `indices` merged into one last dimension, row-major, after `axes`."""
    array = align(array, own, (*axes, *indices)) if own else array
    lead = array.shape[: len(axes)] if own else (1,) * len(axes)
    array = jnp.broadcast_to(array, (*lead, *extents))
    return lax.reshape(array, (*lead, prod(extents)))


def lower_position(node: Position, context: Context, lower: Lower) -> jax.Array:
    operand = _ordered(lower(node.operand, context))
    flat = flattened(operand, node.operand.axes, node.axes, node.indices, node.extents)
    least = node.reducer.order == "min"
    if node.mask is None:
        find = lax.argmin if least else lax.argmax
        return find(flat, flat.ndim - 1, jnp.int32)
    # A masked value may equal the extremum.
    mask = flattened(lower(node.mask, context), node.mask.axes, node.axes, node.indices, node.extents)
    extremum = (jnp.min if least else jnp.max)(flat, -1, keepdims=True)
    wins = mask & ((flat == extremum) | (flat != flat))
    return lax.argmax(wins.astype(jnp.int32), wins.ndim - 1, jnp.int32)


def _ordered(array: jax.Array) -> jax.Array:
    return array.astype(jnp.int32) if array.dtype == jnp.bool_ else array


def lower_order_statistic(node: OrderStatistic, context: Context, lower: Lower) -> jax.Array:
    operand = lower(node.operand, context)
    rest = tuple(axis for axis in node.operand.axes if axis not in node.indices)
    flat = flattened(operand, node.operand.axes, rest, node.indices, node.extents)
    mask = None
    if node.mask is not None:
        mask = flattened(lower(node.mask, context), node.mask.axes, rest, node.indices, node.extents)
        mask = jnp.broadcast_to(mask, flat.shape)
    descending = node.reducer.order == "max"
    order = _order(lax.stop_gradient(flat), mask, node.first, descending=descending)
    positions = node.reducer.gives_position
    ranked = order if positions else jnp.take_along_axis(flat, order, axis=-1)
    rank = lower(node.rank, context)
    inside = jnp.clip(rank, 0, prod(node.extents) - 1)
    if set(rest) & set(node.rank.axes):
        spread = align(ranked, (*rest, _LAST), (*node.axes, _LAST))
        at = align(inside, node.rank.axes, node.axes)[..., None]
        shape = jnp.broadcast_shapes(spread.shape[:-1], at.shape[:-1])
        spread = jnp.broadcast_to(spread, (*shape, spread.shape[-1]))
        result = jnp.take_along_axis(spread, jnp.broadcast_to(at, (*shape, 1)), axis=-1)[..., 0]
    else:
        result = jnp.take(ranked, inside, axis=-1, mode="clip")
        result = transpose(result, (*rest, *node.rank.axes), node.axes)
    rank = align(rank, node.rank.axes, node.axes)
    count = prod(node.extents) if mask is None else align(jnp.sum(mask, -1, jnp.int32), rest, node.axes)
    nothing = jnp.asarray(node.reducer.empty(str(operand.dtype)), jnp.int32 if positions else operand.dtype)
    return jnp.where((rank >= 0) & (rank < count), result, nothing)


def _selected(flat: jax.Array, *, descending: bool) -> jax.Array:
    """The numbers, largest first, as XLA selects them: NaN before all others, and zeros are equal."""
    value = jnp.where(flat == 0, 0, flat if descending else -flat)
    return jnp.where(flat != flat, jnp.nan, value)


def _first_keys(flat: jax.Array, mask: jax.Array | None, *, first: int, descending: bool) -> jax.Array:
    """The positions of the `first` numbers by integer keys in their order, which takes ten times as long on a CPU."""
    key = key_of(flat, descending=descending)
    return lax.top_k(~key if mask is None else ~jnp.where(mask, key, jnp.iinfo(key.dtype).max), first)[1]


def _order(flat: jax.Array, mask: jax.Array | None, first: int | None, *, descending: bool) -> jax.Array:
    """The sorted positions along the last dimension: NaN first, ties in order, masked ones last.

    All of them, or at least the `first` ones.
    """
    if first is not None and not is_placed(flat):
        if flat.dtype == jnp.float32 and mask is None:
            return lax.top_k(_selected(flat, descending=descending), first)[1]
        if flat.dtype == jnp.float32 and mask is not None:

            def by_bits(flat: jax.Array, mask: jax.Array) -> jax.Array:
                # On a CPU sorting is by bits: a NaN with this sign is the last of all.
                last = lax.bitcast_convert_type(jnp.int32(-(1 << 22)), jnp.float32)
                return lax.top_k(jnp.where(mask, _selected(flat, descending=descending), last), first)[1]

            by_keys = functools.partial(_first_keys, first=first, descending=descending)
            return lax.platform_dependent(flat, mask, cpu=by_bits, default=by_keys)
        if mask is None or jnp.issubdtype(flat.dtype, jnp.floating) or flat.dtype == jnp.bool_:
            return _first_keys(flat, mask, first=first, descending=descending)
    key, group = _ordered(flat), None
    if jnp.issubdtype(key.dtype, jnp.floating):
        missing = jnp.isnan(key)
        group = jnp.where(missing, 0, 1)
        key = jnp.where(missing, 0, -key if descending else key)
    elif descending:
        key = ~key
    if mask is not None:
        group = jnp.where(mask, 1 if group is None else group, 2)
    keys = (key,) if group is None else (group, key)
    where = jax.typeof(flat).sharding if is_placed(flat) else None
    place = lax.broadcasted_iota(jnp.int32, flat.shape, flat.ndim - 1, out_sharding=where)
    return lax.sort((*keys, place), dimension=-1, is_stable=True, num_keys=len(keys))[-1]
