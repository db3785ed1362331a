"""The primitive of a running reduction: each result reduces an array up to that point, along one axis."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple

import jax
import jax.extend
import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad, batching, mlir

from ..ir import Monoid, Reducer
from . import monoids, registered
from .context import MOST_COMPILED, numeric
from .placing import placed_as
from .reducers import ROWS, make_monoid
from .varying import equally_varying, steady

# The state of some elements; for extrema with the number of equal ones, for a derivative with the result it belongs to.
State = tuple[jax.Array, ...]
Combine = Callable[[State, State], State]
# The roles: results; those of extrema with the number of elements equal to them; the derivative along a tangent of the
# elements; and the cotangent of the elements.
Role = Literal["values", "ties", "slope", "handed"]

running_p = jax.extend.core.Primitive("tcjax_running")
running_p.multiple_results = True


def running(
    reducer: Reducer | Monoid,
    array: jax.Array,
    live: jax.Array | None = None,
    *,
    axis: int,
    reverse: bool,
    block: int,
    looped: bool,
) -> jax.Array:
    """The reduction of all elements up to each one, or from there on with `reverse`; elements that are not `live` are
    skipped.

    Elements of a `block` are combined in sequence; blocks in a loop if it is `looped`, otherwise in a tree.
    """
    if looped and axis:
        # The rows of a block are then adjacent, for the derivative as well.
        turned = (jnp.moveaxis(part, axis, 0) for part in (array, live) if part is not None)
        found = running(reducer, *turned, axis=0, reverse=reverse, block=block, looped=True)
        return jnp.moveaxis(found, 0, axis)

    def bind(*state: jax.Array) -> jax.Array:
        how = {"axis": axis, "reverse": reverse, "block": block, "looped": looped}
        [found] = running_p.bind(*equally_varying(state), reducer=reducer, role="values", **how)
        return found

    places = (lax.broadcasted_iota(jnp.int32, array.shape, axis),) if reducer.gives_position else ()
    given = (array, *places, *(() if live is None else (live,)))
    return placed_as(array, bind, given)


class _Way(NamedTuple):
    """How operands become states, how two states combine, and how states, with the operands, become results.

    All steps are elementwise, so that a loop contains them: only operands and results are stored. `nothing` is the
    state of no elements, without dimensions.
    """

    prepare: Callable[[State], State]
    combine: Combine
    finish: Callable[[State, State], State]
    nothing: Callable[[], State]


def _way(reducer: Reducer | Monoid, operands: State, axis: int, role: Role, *, reverse: bool) -> _Way:
    dtype = operands[0].dtype
    if isinstance(reducer, Monoid):
        return _of_registered(reducer, str(dtype), reverse=reverse)
    if role in ("slope", "handed"):
        return _of_slopes(reducer, operands, handed=role == "handed")
    monoid = make_monoid(reducer, dtype, None)
    combined = monoid.operator if isinstance(monoid, monoids.Operator) else ROWS[reducer].operator
    empty = jnp.asarray(reducer.empty(str(dtype)), dtype)
    if role == "ties":
        assert combined is not None, reducer
        counted = _counting(dtype, operands[0].shape[axis])
        return _Way(
            lambda here: (*here, jnp.ones_like(here[0], counted)),
            _with_ties(combined),
            lambda found, _: found,
            lambda: (empty, jnp.zeros((), counted)),
        )
    if combined is None:
        return _of_states(monoid, dtype, placed=reducer.gives_position)
    return _Way(lambda here: here, lambda a, b: (combined(a[0], b[0]),), lambda found, _: found, lambda: (empty,))


def _of_states(monoid: monoids.Monoid, dtype: Any, *, placed: bool) -> _Way:
    """For a reduction that keeps several numbers: elements, with their positions if needed, and a mask."""

    def nothing() -> State:
        return monoid.empty(jnp.zeros((), dtype))

    def prepare(here: State) -> State:
        value, places, live = here[0], here[1] if placed else jnp.int32(0), here[1 + placed :]
        return monoid.absorb(monoid.empty(value), [(value, places, live[0] if live else None)])

    return _Way(prepare, monoid.combine, lambda found, _: (monoid.finish(found),), nothing)


def _of_registered(monoid: Monoid, running: str, *, reverse: bool) -> _Way:
    """The same for a registered reduction: the earlier part is the first argument of its `combine`."""

    def prepare(here: State) -> State:
        states = registered.inject(monoid, here[0], running)
        none = registered.blank(monoid, here[0].shape, running)
        return registered.choose(here[1], states, none) if len(here) > 1 else states

    def combine(a: State, b: State) -> State:
        return registered.combine(monoid, b, a) if reverse else registered.combine(monoid, a, b)

    return _Way(
        prepare,
        combine,
        lambda found, _: (registered.finish(monoid, found),),
        lambda: registered.blank(monoid, (), running),
    )


def _wide(dtype: Any) -> Any:
    """The type in which a derivative is accumulated."""
    return numeric("float32") if dtype.itemsize < 4 else dtype


def _counting(dtype: Any, size: int) -> Any:
    """A type for counts up to `size`: that of the dividend, if it can represent them, to avoid conversions."""
    wide = _wide(dtype)
    return wide if jnp.issubdtype(wide, jnp.floating) and size * jnp.finfo(wide).eps <= 1 else jnp.dtype("int32")


def _with_ties(combined: Callable[[Any, Any], jax.Array]) -> Combine:
    """An extremum and the number of elements equal to it; NaN counts as equal to NaN."""

    def combine(a: State, b: State) -> State:
        best = combined(a[0], b[0])
        counts = (jnp.where((one == best) | (one != one), count, 0) for one, count in (a, b))
        return best, sum(counts, start=jnp.zeros((), a[1].dtype))

    return combine


def _of_slopes(reducer: Reducer, operands: State, *, handed: bool) -> _Way:
    """The derivative of a running reduction: from a tangent, the elements, the results, and their ties.

    A result that continues from another has part of its derivative, and part of its own element's. So the states are
    results with their derivatives. `handed` is the transpose: the cotangent of each result's elements.
    """
    of_elements, of_results, passed = _SLOPES[reducer]
    before, after = (of_results, of_elements) if handed else (of_elements, of_results)
    wide = _wide(operands[0].dtype)

    def combine(a: State, b: State) -> State:
        first, last = (b[1], a[1]) if handed else (a[1], b[1])
        return passed(a[0], first, last) + b[0], b[1]

    return _Way(
        lambda here: (before(here[0].astype(wide), here), here[2]),
        combine,
        lambda found, here: (after(found[0], here).astype(here[0].dtype),),
        lambda: (jnp.zeros((), wide), jnp.zeros((), operands[2].dtype)),
    )


# Equal extrema share the derivative, as in `jnp.max`; the first NaN gets it from there on. Equal results are
# contiguous: each result sums over the elements with its own extremum.


def _to_extrema(tangent: jax.Array, here: State) -> jax.Array:
    _, value, best, ties = here
    return jnp.where((value == best) | ((value != value) & (ties == 1)), tangent, 0)


def _shared(tangent: jax.Array, here: State) -> jax.Array:
    _, _, best, ties = here
    return tangent / jnp.where(best == best, ties, 1).astype(tangent.dtype)


def _while_equal(tangent: jax.Array, first: jax.Array, last: jax.Array) -> jax.Array:
    # Everything after a NaN is NaN as well.
    return jnp.where((first == last) | (first != first), tangent, 0)


# An exponential is a share of the sum up to it, and that a share of a later sum: none is larger than one.


def _share(tangent: jax.Array, here: State) -> jax.Array:
    _, value, result = (part.astype(tangent.dtype) for part in here)
    return jnp.where(result == -jnp.inf, 0, tangent * jnp.exp(value - result))


def _share_of_later(tangent: jax.Array, first: jax.Array, last: jax.Array) -> jax.Array:
    # Rounding, and values next to a row, may come from the other side.
    return tangent * monoids.lesser_share(first, last).astype(tangent.dtype)


# The derivative with respect to elements, that with respect to results, and the factor from the first result to a later
# one.
_SLOPES: Final[dict[Reducer, tuple[Callable[..., jax.Array], ...]]] = {
    Reducer.MIN: (_to_extrema, _shared, _while_equal),
    Reducer.MAX: (_to_extrema, _shared, _while_equal),
    Reducer.LOGSUMEXP: (_share, lambda tangent, here: tangent, _share_of_later),
}


def _run(
    *operands: jax.Array,
    reducer: Reducer | Monoid,
    axis: int,
    reverse: bool,
    block: int,
    looped: bool,
    role: Role,
) -> list[jax.Array]:
    way = _way(reducer, operands, axis, role, reverse=reverse)
    if looped and operands[0].size:
        return list(_in_loop(operands, axis, way, reverse, block))
    state = way.prepare(operands)
    if operands[0].size:
        state = _in_tree(state, axis, way.combine, way.nothing(), reverse, block)
    return list(way.finish(state, operands))


def _in_tree(state: State, axis: int, combine: Combine, nothing: State, reverse: bool, block: int) -> State:
    """First each block on its own, then, recursively, the total of all earlier blocks."""
    size = state[0].shape[axis]
    if size <= block:
        return _stacked(_chain(state, axis, combine, reverse), axis)
    count = -(-size // block)
    parts = _chain(_in_blocks(state, nothing, axis, reverse, count, block), axis + 1, combine, reverse)
    # The total of the last block is not needed.
    others = slice(1, None) if reverse else slice(None, -1)
    whole = tuple(part[(slice(None),) * axis + (others,)] for part in parts[0 if reverse else -1])
    ahead = _in_tree(whole, axis, combine, nothing, reverse, block)
    around = (0, 1, 0) if reverse else (1, 0, 0)
    before = tuple(_padded(part, axis, zero, around) for part, zero in zip(ahead, nothing, strict=True))
    found = _stacked([combine(before, part) for part in parts], axis + 1)
    return tuple(_out_of_blocks(part, axis, reverse, size) for part in found)


def _in_loop(operands: State, axis: int, way: _Way, reverse: bool, block: int) -> State:
    """One block after another, each initialised with the state before it."""
    size = operands[0].shape[axis]
    count = -(-size // block)
    assert axis == 0
    beside = tuple(jnp.zeros((), part.dtype) for part in operands)
    blocks = _in_blocks(operands, beside, 0, reverse, count, block)

    def step(before: State, here: State) -> tuple[State, State]:
        parts = _chain(way.prepare(here), 0, way.combine, reverse)
        found = _stacked([way.combine(before, part) for part in parts], 0)
        return way.combine(before, parts[0 if reverse else -1]), way.finish(found, here)

    first = tuple(part[0] for part in blocks)
    state = jax.eval_shape(way.prepare, first)
    begun = tuple(jnp.full(part.shape[1:], none) for part, none in zip(state, way.nothing(), strict=True))
    _, found = lax.scan(step, steady(lambda before: step(before, first)[0], begun, operands), blocks, reverse=reverse)
    return tuple(_out_of_blocks(part, 0, reverse, size) for part in found)


def _chain(state: State, axis: int, combine: Combine, reverse: bool) -> list[State]:
    """The running states along a short axis, without that axis, in order of position."""
    places = range(state[0].shape[axis])
    found: list[State] = []
    for place in reversed(places) if reverse else places:
        here = tuple(lax.index_in_dim(part, place, axis, keepdims=False) for part in state)
        found.append(combine(found[-1], here) if found else here)
    return found[::-1] if reverse else found


def _stacked(parts: Sequence[State], axis: int) -> State:
    return tuple(jnp.stack(arrays, axis) for arrays in zip(*parts, strict=True))


def _around(reverse: bool, missing: int) -> tuple[int, int, int]:
    """The padding along an axis such that no active element comes after it."""
    return (missing, 0, 0) if reverse else (0, missing, 0)


def _padded(array: jax.Array, axis: int, value: jax.Array, around: tuple[int, int, int]) -> jax.Array:
    if not any(around):
        return array
    return lax.pad(array, value, [around if dimension == axis else (0, 0, 0) for dimension in range(array.ndim)])


def _in_blocks(state: State, beside: State, axis: int, reverse: bool, count: int, block: int) -> State:
    """The axis split in two: blocks, and positions in them. The last block is padded after all active elements."""
    around = _around(reverse, count * block - state[0].shape[axis])
    padded = (_padded(part, axis, value, around) for part, value in zip(state, beside, strict=True))
    return tuple(lax.reshape(p, (*p.shape[:axis], count, block, *p.shape[axis + 1 :])) for p in padded)


def _out_of_blocks(array: jax.Array, axis: int, reverse: bool, size: int) -> jax.Array:
    whole = array.shape[axis] * array.shape[axis + 1]
    flat = lax.reshape(array, (*array.shape[:axis], whole, *array.shape[axis + 2 :]))
    first = whole - size if reverse else 0
    return lax.slice_in_dim(flat, first, first + size, axis=axis)


def _run_natively(
    *operands: jax.Array,
    reducer: Reducer | Monoid,
    axis: int,
    reverse: bool,
    block: int,
    looped: bool,
    role: Role,
) -> list[jax.Array]:
    """By the device's native operation, if it has one."""
    natively = ROWS[reducer].running if isinstance(reducer, Reducer) and operands[0].dtype != jnp.bool_ else None
    if role == "values" and natively is not None:
        return [natively(operands[0], axis, reverse=reverse)]
    way = _way(reducer, operands, axis, role, reverse=reverse)
    found = lax.associative_scan(way.combine, way.prepare(operands), reverse=reverse, axis=axis)
    return list(way.finish(found, operands))


@functools.lru_cache(maxsize=MOST_COMPILED)
def _compiled(**parameters: Any) -> Callable[..., list[jax.Array]]:
    return jax.jit(functools.partial(running_p.bind, **parameters))


@running_p.def_impl
def _(*state: jax.Array, **parameters: Any) -> list[jax.Array]:
    # The compiled function binds the primitive: traced, it is lowered; executed eagerly, it would recurse to this
    # point.
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
    reducer, tangent = parameters["reducer"], tangents[0]
    if parameters["role"] in ("slope", "handed"):
        return _curved(primals, tangents, parameters)
    if _has_none(tangent) or reducer.gives_position:
        found = running_p.bind(*primals, **parameters)
        return found, list(map(_none, found))
    if reducer is Reducer.SUM:
        return running_p.bind(*primals, **parameters), running_p.bind(tangent, **parameters)
    if reducer not in _SLOPES:
        # Not by quotients, where a factor may be zero: each combination has a derivative.
        run = functools.partial(_run, **parameters | {"looped": False})
        found, [slope] = jax.jvp(lambda values: run(values, *primals[1:]), primals[:1], (tangent,))
        return found, [_none(found[0]) if slope.dtype == jax.dtypes.float0 else slope]
    found = running_p.bind(*primals, **parameters | ({"role": "ties"} if reducer.is_extremum else {}))
    [slope] = running_p.bind(tangent, *primals, *found, **parameters | {"role": "slope"})
    return (found, [slope, _none(found[1])]) if parameters["role"] == "ties" else (found[:1], [slope])


def _curved(primals: Any, tangents: Any, parameters: Any) -> Any:
    """The second derivative; for extrema it does not depend on the elements."""
    [found] = running_p.bind(*primals, **parameters)
    terms: list[Any] = [] if _has_none(tangents[0]) else [tangents[0]]
    around: list[Any] = []
    if parameters["reducer"] is Reducer.LOGSUMEXP:
        # Shares are ``exp(element - result)``: a sum over elements includes the change of the element.
        inside, behind = (1, 2) if parameters["role"] == "slope" else (2, 1)
        for place, value, parts in ((inside, primals[0], terms), (behind, found, around)):
            if not _has_none(tangents[place]):
                change = value * tangents[place].astype(value.dtype)
                parts.append(change if place == 1 else -change)
    if terms:
        around += running_p.bind(functools.reduce(jnp.add, terms), *primals[1:], **parameters)
    return [found], [functools.reduce(jnp.add, around) if around else _none(found)]


def _has_none(tangent: Any) -> bool:
    return isinstance(tangent, ad.Zero) or tangent.dtype == jax.dtypes.float0


def _none(array: jax.Array) -> ad.Zero:
    return ad.Zero(jax.typeof(array).to_tangent_aval())


ad.primitive_jvps[running_p] = _jvp


def _transpose(cotangents: Any, values: Any, *others: Any, reverse: bool, role: Role, **parameters: Any) -> list[Any]:
    none: list[Any] = [None] * len(others)
    [cotangent] = cotangents
    if isinstance(cotangent, ad.Zero):
        return [ad.Zero(values.aval), *none]
    turned = {"values": "values", "slope": "handed", "handed": "slope"}
    how = parameters | {"reverse": not reverse, "role": turned[role]}
    return [*running_p.bind(cotangent, *others, **how), *none]


ad.primitive_transposes[running_p] = _transpose


def _batch(arrays: Sequence[Any], dimensions: Sequence[int | None], *, axis: int, **parameters: Any) -> Any:
    # A loop runs along the first dimension.
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
