"""The primitive of a running reduction: each result is what an array holds up to there, along one axis."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.extend
import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad, batching, mlir

from ..ir import Reducer
from .context import numeric
from .placing import placed_as
from .reducers import ROWS
from .varying import equally_varying, steady

# The values that are combined; with them how many are equal, or the extremum that they belong to.
State = tuple[jax.Array, ...]
Combine = Callable[[State, State], State]

running_p = jax.extend.core.Primitive("tcjax_running")
running_p.multiple_results = True


def running(reducer: Reducer, array: jax.Array, axis: int, *, reverse: bool, block: int, looped: bool) -> jax.Array:
    """A sum, product, minimum or maximum of all elements up to each one, or from there on with `reverse`.

    So many elements as a `block` has are combined one after the other; blocks in a loop where it is `looped`, in a tree
    where not.
    """
    if looped and axis:
        # Rows of a block lie side by side then, for the derivative as well.
        turned = jnp.moveaxis(array, axis, 0)
        found = running(reducer, turned, 0, reverse=reverse, block=block, looped=True)
        return jnp.moveaxis(found, 0, axis)

    def bind(*state: jax.Array) -> jax.Array:
        how = {"axis": axis, "reverse": reverse, "block": block, "looped": looped}
        [found] = running_p.bind(*equally_varying(state), reducer=reducer, ties=False, handed=False, **how)
        return found

    return placed_as(array, bind, (array,))


class _Way(NamedTuple):
    """How operands become states, how two states become one, and how states, with the operands, become results.

    All of them element by element, so that a loop does them in its steps: nothing but operands and results is stored.
    """

    prepare: Callable[[State], State]
    combine: Combine
    finish: Callable[[State, State], State]


def _way(reducer: Reducer, operands: State, axis: int, *, ties: bool, handed: bool) -> _Way:
    combined = ROWS[reducer].operator
    assert combined is not None, reducer
    if ties:
        counted = _counting(operands[0].dtype, operands[0].shape[axis])
        return _Way(lambda here: (*here, jnp.ones_like(here[0], counted)), _with_ties(combined), lambda found, _: found)
    if len(operands) > 1:
        return _of_equal_extrema(handed=handed)
    return _Way(lambda here: here, lambda a, b: (combined(a[0], b[0]),), lambda found, _: found)


def _wide(dtype: Any) -> Any:
    """The type that a derivative is added in."""
    return numeric("float32") if dtype.itemsize < 4 else dtype


def _counting(dtype: Any, size: int) -> Any:
    """A type for numbers up to `size`: what is divided by them, where it has them all, so that none is converted."""
    wide = _wide(dtype)
    return wide if jnp.issubdtype(wide, jnp.floating) and size * jnp.finfo(wide).eps <= 1 else jnp.dtype("int32")


def _with_ties(combined: Callable[[Any, Any], jax.Array]) -> Combine:
    """An extremum and how many are equal to it; a NaN to each other NaN."""

    def combine(a: State, b: State) -> State:
        best = combined(a[0], b[0])
        counts = (jnp.where((one == best) | (one != one), count, 0) for one, count in (a, b))
        return best, sum(counts, start=jnp.zeros((), a[1].dtype))

    return combine


def _of_equal_extrema(*, handed: bool) -> _Way:
    """The derivative of running extrema: of a tangent, the elements, the extrema, and how many are equal to them.

    Equal extrema share the derivative, as in `jnp.max`; the first NaN has it from there on. Results that are equal lie
    side by side: of the elements that are extrema, each result adds up those with its own extremum. `handed` is the
    transpose: what each result hands to its elements.
    """

    def of_elements(tangent: jax.Array, here: State) -> jax.Array:
        _, value, best, ties = here
        return jnp.where((value == best) | ((value != value) & (ties == 1)), tangent, 0)

    def of_results(tangent: jax.Array, here: State) -> jax.Array:
        _, _, best, ties = here
        return tangent / jnp.where(best == best, ties, 1).astype(tangent.dtype)

    def combine(a: State, b: State) -> State:
        # What comes after a NaN is a NaN as well: one of them says whether both are.
        first = b[1] if handed else a[1]
        return jnp.where((a[1] == b[1]) | (first != first), a[0], 0) + b[0], b[1]

    before, after = (of_results, of_elements) if handed else (of_elements, of_results)
    return _Way(
        lambda here: (before(here[0].astype(_wide(here[0].dtype)), here), here[2]),
        combine,
        lambda found, here: (after(found[0], here).astype(here[0].dtype),),
    )


def _nothing(reducer: Reducer, state: State) -> State:
    """The state of no elements, without dimensions."""
    first, *others = state
    value = jnp.asarray(reducer.empty(str(first.dtype)), first.dtype)
    return (value, *(jnp.zeros((), other.dtype) for other in others))


def _run(
    *operands: jax.Array,
    reducer: Reducer,
    axis: int,
    reverse: bool,
    block: int,
    looped: bool,
    ties: bool,
    handed: bool,
) -> list[jax.Array]:
    way = _way(reducer, operands, axis, ties=ties, handed=handed)
    if looped and operands[0].size:
        return list(_in_loop(operands, axis, way, reducer, reverse, block))
    state = way.prepare(operands)
    if operands[0].size:
        state = _in_tree(state, axis, way.combine, _nothing(reducer, state), reverse, block)
    return list(way.finish(state, operands))


def _in_tree(state: State, axis: int, combine: Combine, nothing: State, reverse: bool, block: int) -> State:
    """Each block by itself, then, in the same way, what is in all blocks before each."""
    size = state[0].shape[axis]
    if size <= block:
        return _stacked(_chain(state, axis, combine, reverse), axis)
    count = -(-size // block)
    parts = _chain(_in_blocks(state, axis, reverse, count, block), axis + 1, combine, reverse)
    # The last block, which nothing comes after, is not asked for what it holds.
    others = slice(1, None) if reverse else slice(None, -1)
    whole = tuple(part[(slice(None),) * axis + (others,)] for part in parts[0 if reverse else -1])
    ahead = _in_tree(whole, axis, combine, nothing, reverse, block)
    around = (0, 1, 0) if reverse else (1, 0, 0)
    before = tuple(_padded(part, axis, zero, around) for part, zero in zip(ahead, nothing, strict=True))
    found = _stacked([combine(before, part) for part in parts], axis + 1)
    return tuple(_out_of_blocks(part, axis, reverse, size) for part in found)


def _in_loop(operands: State, axis: int, way: _Way, reducer: Reducer, reverse: bool, block: int) -> State:
    """One block after the other, each begun with what came before it."""
    size = operands[0].shape[axis]
    count = -(-size // block)
    assert axis == 0
    blocks = _in_blocks(operands, 0, reverse, count, block)

    def step(before: State, here: State) -> tuple[State, State]:
        parts = _chain(way.prepare(here), 0, way.combine, reverse)
        found = _stacked([way.combine(before, part) for part in parts], 0)
        return way.combine(before, parts[0 if reverse else -1]), way.finish(found, here)

    first = tuple(part[0] for part in blocks)
    state = jax.eval_shape(way.prepare, first)
    nothing = _nothing(reducer, state)
    begun = tuple(jnp.full(part.shape[1:], zero) for part, zero in zip(state, nothing, strict=True))
    _, found = lax.scan(step, steady(lambda before: step(before, first)[0], begun, operands), blocks, reverse=reverse)
    return tuple(_out_of_blocks(part, 0, reverse, size) for part in found)


def _chain(state: State, axis: int, combine: Combine, reverse: bool) -> list[State]:
    """The running states along a short axis, without it, in the order of their places."""
    places = range(state[0].shape[axis])
    found: list[State] = []
    for place in reversed(places) if reverse else places:
        here = tuple(lax.index_in_dim(part, place, axis, keepdims=False) for part in state)
        found.append(combine(found[-1], here) if found else here)
    return found[::-1] if reverse else found


def _stacked(parts: Sequence[State], axis: int) -> State:
    return tuple(jnp.stack(arrays, axis) for arrays in zip(*parts, strict=True))


def _around(reverse: bool, missing: int) -> tuple[int, int, int]:
    """What is laid around an axis, where nothing that counts comes after it."""
    return (missing, 0, 0) if reverse else (0, missing, 0)


def _padded(array: jax.Array, axis: int, value: jax.Array, around: tuple[int, int, int]) -> jax.Array:
    if not any(around):
        return array
    return lax.pad(array, value, [around if dimension == axis else (0, 0, 0) for dimension in range(array.ndim)])


def _in_blocks(state: State, axis: int, reverse: bool, count: int, block: int) -> State:
    """The axis as two: blocks, and places in them. What is missing in the last block comes after all that counts."""
    around = _around(reverse, count * block - state[0].shape[axis])
    padded = (_padded(part, axis, jnp.zeros((), part.dtype), around) for part in state)
    return tuple(lax.reshape(p, (*p.shape[:axis], count, block, *p.shape[axis + 1 :])) for p in padded)


def _out_of_blocks(array: jax.Array, axis: int, reverse: bool, size: int) -> jax.Array:
    whole = array.shape[axis] * array.shape[axis + 1]
    flat = lax.reshape(array, (*array.shape[:axis], whole, *array.shape[axis + 2 :]))
    first = whole - size if reverse else 0
    return lax.slice_in_dim(flat, first, first + size, axis=axis)


def _run_natively(
    *operands: jax.Array,
    reducer: Reducer,
    axis: int,
    reverse: bool,
    block: int,
    looped: bool,
    ties: bool,
    handed: bool,
) -> list[jax.Array]:
    """By what a device has for it, but for ties and equal extrema."""
    if len(operands) == 1 and not ties:
        natively = ROWS[reducer].running
        assert natively is not None, reducer
        return [natively(operands[0], axis, reverse=reverse)]
    way = _way(reducer, operands, axis, ties=ties, handed=handed)
    found = lax.associative_scan(way.combine, way.prepare(operands), reverse=reverse, axis=axis)
    return list(way.finish(found, operands))


@functools.lru_cache(maxsize=1024)
def _compiled(**parameters: Any) -> Callable[..., list[jax.Array]]:
    return jax.jit(functools.partial(running_p.bind, **parameters))


@running_p.def_impl
def _(*state: jax.Array, **parameters: Any) -> list[jax.Array]:
    # The compiled function binds the primitive: traced, it is lowered; run as it stands, it would come back here.
    with jax.disable_jit(False):
        return _compiled(**parameters)(*state)


@running_p.def_abstract_eval
def _(*avals: Any, **parameters: Any) -> Any:
    # Tracing gives types, shardings and varying manual axes.
    return jax.make_jaxpr(functools.partial(_run_natively, **parameters))(*avals).out_avals


mlir.register_lowering(running_p, mlir.lower_fun(_run, multiple_results=True))
for _platform in ("cuda", "rocm", "tpu"):
    mlir.register_lowering(running_p, mlir.lower_fun(_run_natively, multiple_results=True), platform=_platform)


def _jvp(primals: Any, tangents: Any, **parameters: Any) -> Any:
    [tangent, *_], reducer = tangents, parameters["reducer"]
    if isinstance(tangent, ad.Zero) or tangent.dtype == jax.dtypes.float0:
        found = running_p.bind(*primals, **parameters)
        return found, [_none(array) for array in found]
    if reducer is Reducer.SUM:
        return running_p.bind(*primals, **parameters), running_p.bind(tangent, *primals[1:], **parameters)
    if reducer is Reducer.PRODUCT:
        # Not by quotients: a factor may be zero.
        run = functools.partial(_run, **parameters | {"looped": False})
        return running_p.bind(*primals, **parameters), jax.jvp(run, primals, (tangent,))[1]
    result, ties = running_p.bind(*primals, **parameters | {"ties": True})
    how = parameters | {"reducer": Reducer.SUM, "ties": False}
    [slope] = running_p.bind(tangent, *primals, result, ties, **how)
    return ([result, ties], [slope, _none(ties)]) if parameters["ties"] else ([result], [slope])


def _none(array: jax.Array) -> ad.Zero:
    return ad.Zero(jax.typeof(array).to_tangent_aval())


ad.primitive_jvps[running_p] = _jvp


def _transpose(cotangents: Any, values: Any, *others: Any, reverse: bool, handed: bool, **parameters: Any) -> list[Any]:
    assert parameters["reducer"] is Reducer.SUM
    none: list[Any] = [None] * len(others)
    [cotangent] = cotangents
    if isinstance(cotangent, ad.Zero):
        return [ad.Zero(values.aval), *none]
    how = parameters | {"reverse": not reverse, "handed": not handed}
    return [*running_p.bind(cotangent, *others, **how), *none]


ad.primitive_transposes[running_p] = _transpose


def _batch(arrays: Sequence[Any], dimensions: Sequence[int | None], *, axis: int, **parameters: Any) -> Any:
    # A loop goes along the first dimension.
    place = arrays[0].ndim - (dimensions[0] is not None) if parameters["looped"] else 0
    size = next(a.shape[d] for a, d in zip(arrays, dimensions, strict=True) if d is not None)
    state: list[Any] = []
    for array, dimension in zip(arrays, dimensions, strict=True):
        if dimension is None:
            wide = lax.expand_dims(array, [place])
            state.append(jnp.broadcast_to(wide, (*array.shape[:place], size, *array.shape[place:])))
        else:
            state.append(jnp.moveaxis(array, dimension, place))
    found = running_p.bind(*state, axis=axis + (place == 0), **parameters)
    return found, [place] * len(found)


batching.primitive_batchers[running_p] = _batch
