"""The primitive of a running reduction: each result is what an array holds up to there, along one axis."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad, batching, mlir

from ..ir import Reducer
from ..planning.scope import identity
from .context import numeric
from .placing import placed_as
from .varying import equally_varying, steady

# The values that are combined; with them whether a section starts in what they are made of, or how many are equal.
State = tuple[jax.Array, ...]
Combine = Callable[[State, State], State]

_COMBINED: dict[Reducer, Callable[[Any, Any], jax.Array]] = {
    Reducer.SUM: lax.add,
    Reducer.PRODUCT: lax.mul,
    Reducer.MIN: lax.min,
    Reducer.MAX: lax.max,
}
_NATIVE = {
    Reducer.SUM: lax.cumsum,
    Reducer.PRODUCT: lax.cumprod,
    Reducer.MIN: lax.cummin,
    Reducer.MAX: lax.cummax,
}

running_p = jax.extend.core.Primitive("tcjax_running")
running_p.multiple_results = True


def running(
    reducer: Reducer, array: jax.Array, axis: int, *, reverse: bool, block: int, looped: bool, starts: Any = None
) -> jax.Array:
    """A sum, product, minimum or maximum of all elements up to each one, or from there on with `reverse`.

    So many elements as a `block` has are combined one after the other; blocks in a loop where it is `looped`, in a tree
    where not. Where an element `starts` a section, what comes before it (behind it with `reverse`) does not count: only
    for sums.
    """
    if looped and axis:
        # Rows of a block lie side by side then, for the derivative as well.
        first = None if starts is None else jnp.moveaxis(starts, axis, 0)
        turned = jnp.moveaxis(array, axis, 0)
        found = running(reducer, turned, 0, reverse=reverse, block=block, looped=True, starts=first)
        return jnp.moveaxis(found, 0, axis)

    def bind(*state: jax.Array) -> jax.Array:
        [found] = running_p.bind(
            *equally_varying(state), reducer=reducer, axis=axis, reverse=reverse, block=block, looped=looped, ties=False
        )
        return found

    return placed_as(array, bind, (array,) if starts is None else (array, starts))


def _combine(reducer: Reducer, count: int, *, ties: bool) -> Combine:
    """How the state of what comes first and that of what comes next become one."""
    combined = _COMBINED[reducer]

    def of_sections(a: State, b: State) -> State:
        return jnp.where(b[1] != 0, b[0], combined(a[0], b[0])), a[1] | b[1]

    def with_ties(a: State, b: State) -> State:
        best = combined(a[0], b[0])
        return best, jnp.where(a[0] == best, a[1], 0) + jnp.where(b[0] == best, b[1], 0)

    if ties:
        return with_ties
    return of_sections if count > 1 else lambda a, b: (combined(a[0], b[0]),)


def _nothing(reducer: Reducer, state: State) -> State:
    """The state of no elements, without dimensions."""
    first, *others = state
    value = jnp.asarray(identity(reducer, str(first.dtype)), first.dtype)
    return (value, *(jnp.zeros((), other.dtype) for other in others))


def _counted(state: State, *, ties: bool) -> State:
    """The state of each element: of ties each is one."""
    return (*state, (state[0] == state[0]).astype(jnp.int32)) if ties else state


def _run(
    *state: jax.Array, reducer: Reducer, axis: int, reverse: bool, block: int, looped: bool, ties: bool
) -> list[jax.Array]:
    state = _counted(state, ties=ties)
    if not state[0].size:
        return list(state[: 1 + ties])
    how = state, axis, _combine(reducer, len(state), ties=ties), _nothing(reducer, state), reverse, block
    return list(_in_loop(*how, 1 + ties) if looped else _in_tree(*how)[: 1 + ties])


def _in_tree(state: State, axis: int, combine: Combine, nothing: State, reverse: bool, block: int) -> State:
    """Each block by itself, then, in the same way, what is in all blocks before each."""
    size = state[0].shape[axis]
    if size <= block:
        return _stacked(_chain(state, axis, combine, reverse), axis)
    count = -(-size // block)
    parts = _chain(_in_blocks(state, axis, nothing, reverse, count, block), axis + 1, combine, reverse)
    # The last block, which nothing comes after, is not asked for what it holds.
    others = slice(1, None) if reverse else slice(None, -1)
    whole = tuple(part[(slice(None),) * axis + (others,)] for part in parts[0 if reverse else -1])
    ahead = _in_tree(whole, axis, combine, nothing, reverse, block)
    around = (0, 1, 0) if reverse else (1, 0, 0)
    before = tuple(_padded(part, axis, zero, around) for part, zero in zip(ahead, nothing, strict=True))
    found = _stacked([combine(before, part) for part in parts], axis + 1)
    return tuple(_out_of_blocks(part, axis, reverse, size) for part in found)


def _in_loop(
    state: State, axis: int, combine: Combine, nothing: State, reverse: bool, block: int, wanted: int
) -> State:
    """The `wanted` first arrays of the states: one block after the other, each begun with what came before it."""
    size = state[0].shape[axis]
    count = -(-size // block)
    assert axis == 0
    blocks = _in_blocks(state, 0, nothing, reverse, count, block)

    def step(before: State, here: State) -> tuple[State, State]:
        parts = _chain(here, 0, combine, reverse)
        found = _stacked([combine(before, part)[:wanted] for part in parts], 0)
        return combine(before, parts[0 if reverse else -1]), found

    begun = tuple(jnp.full(part.shape[2:], zero) for part, zero in zip(blocks, nothing, strict=True))
    first = tuple(part[0] for part in blocks)
    _, found = lax.scan(step, steady(lambda before: step(before, first)[0], begun, state), blocks, reverse=reverse)
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


def _in_blocks(state: State, axis: int, nothing: State, reverse: bool, count: int, block: int) -> State:
    """The axis as two: blocks, and places in them."""
    around = _around(reverse, count * block - state[0].shape[axis])
    padded = (_padded(part, axis, zero, around) for part, zero in zip(state, nothing, strict=True))
    return tuple(lax.reshape(p, (*p.shape[:axis], count, block, *p.shape[axis + 1 :])) for p in padded)


def _out_of_blocks(array: jax.Array, axis: int, reverse: bool, size: int) -> jax.Array:
    whole = array.shape[axis] * array.shape[axis + 1]
    flat = lax.reshape(array, (*array.shape[:axis], whole, *array.shape[axis + 2 :]))
    first = whole - size if reverse else 0
    return lax.slice_in_dim(flat, first, first + size, axis=axis)


def _run_natively(
    *state: jax.Array, reducer: Reducer, axis: int, reverse: bool, block: int, looped: bool, ties: bool
) -> list[jax.Array]:
    """By what a device has for it, but for sections and ties."""
    state = _counted(state, ties=ties)
    if len(state) == 1:
        return [_NATIVE[reducer](state[0], axis, reverse=reverse)]
    combine = _combine(reducer, len(state), ties=ties)
    return list(lax.associative_scan(combine, state, reverse=reverse, axis=axis)[: 1 + ties])


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
    slope = _extremum_tangent(primals[0], result, ties, tangent, parameters)
    return ([result, ties], [slope, _none(ties)]) if parameters["ties"] else ([result], [slope])


def _none(array: jax.Array) -> ad.Zero:
    return ad.Zero(jax.typeof(array).to_tangent_aval())


def _extremum_tangent(
    values: jax.Array, result: jax.Array, ties: jax.Array, tangent: jax.Array, parameters: Any
) -> jax.Array:
    """Equal extrema share the derivative, as in `jnp.max`; the first NaN has it from there on.

    Results that are equal lie side by side: sections, of each of which a running sum knows what is in it.
    """
    axis, reverse = parameters["axis"], parameters["reverse"]
    before = _shifted(result, axis, -1 if reverse else 1, identity(parameters["reducer"], str(result.dtype)))
    begins = (result != result) & (before == before)
    # Numbers of 32 bits: XLA:CPU takes longer to store truth values than to compute them.
    starts = (begins | ((result != before) & (result == result))).astype(jnp.int32)
    live = begins | (values == result)
    wide = numeric("float32") if result.dtype.itemsize < 4 else result.dtype
    share = jnp.where(live, tangent, 0).astype(wide)
    [total] = running_p.bind(share, starts, **parameters | {"reducer": Reducer.SUM, "ties": False})
    # A NaN is equal to nothing.
    return (total / jnp.maximum(ties, 1).astype(wide)).astype(result.dtype)


def _shifted(array: jax.Array, axis: int, step: int, value: Any) -> jax.Array:
    """The array one place later, or earlier, with a value in the place that is free then."""
    return _padded(array, axis, jnp.asarray(value, array.dtype), (step, -step, 0))


ad.primitive_jvps[running_p] = _jvp


def _transpose(cotangents: Any, values: Any, *starts: Any, axis: int, reverse: bool, **parameters: Any) -> list[Any]:
    assert parameters["reducer"] is Reducer.SUM
    none: list[Any] = [None] * len(starts)
    [cotangent] = cotangents
    if isinstance(cotangent, ad.Zero):
        return [ad.Zero(values.aval), *none]
    # Walked the other way, a section starts where it ended.
    ends = [_shifted(one, axis, 1 if reverse else -1, 0) for one in starts]
    return [*running_p.bind(cotangent, *ends, axis=axis, reverse=not reverse, **parameters), *none]


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
