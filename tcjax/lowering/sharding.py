"""A plan for many devices: each runs the steps on its blocks, and they combine what they reduced."""

import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..ir import Monoid, Reducer
from ..planning.sharding import Axes, Block, Layout, ShardedPlan, Start, Step
from .context import Context
from .elementwise import convert
from .lower import Foreign, lower_node
from .reductions import combine
from .rounds import lower_stage


def lower_sharded(
    plan: ShardedPlan,
    mesh: jax.sharding.Mesh,
    arrays: Mapping[str, jax.Array],
    initial: Mapping[str, jax.Array],
    foreign: Foreign,
) -> tuple[jax.Array, ...]:
    """The plan's results on the devices of a mesh; traceable by every JAX transformation."""
    known = {**arrays, **{name: convert(jnp.asarray(array), plan.initial[name]) for name, array in initial.items()}}

    def run(blocks: dict[str, jax.Array]) -> tuple[jax.Array, ...]:
        held = dict(blocks)
        for step in plan.steps:
            held[step.compute.target] = _computed(step, held, foreign)
        return tuple(held[name] for name in plan.returns)

    specs = {name: spec(plan.layouts[name]) for name in known}
    if jax.sharding.AxisType.Explicit in mesh.axis_types:
        # Else JAX moves what lies elsewhere by itself.
        known = {n: jax.reshard(array, jax.sharding.NamedSharding(mesh, specs[n])) for n, array in known.items()}
    shard = jax.shard_map(
        run,
        mesh=mesh,
        in_specs=(specs,),
        out_specs=tuple(spec(plan.layouts[name]) for name in plan.returns),
    )
    return shard(known)


def spec(layout: Layout) -> jax.sharding.PartitionSpec:
    """The layout in JAX's words."""
    return jax.sharding.PartitionSpec(*(along or None for along in layout))


def _computed(step: Step, held: Mapping[str, jax.Array], foreign: Foreign) -> jax.Array:
    """The block of the target after a step."""
    known = dict(held)
    for block in step.blocks:
        known[block.name] = _cut(known[block.tensor], block)
    for start in step.starts:
        known[start.name] = _start(start)
    context = Context(known, foreign)
    old = held.get(step.compute.target)
    if step.reducer is None:
        return lower_stage(step.compute, old if step.compute.store.keeps else None, context, lower_node)
    part = lower_stage(step.compute, None, context, lower_node)
    whole = convert(_combined(part, step.reducer, step.axes), step.compute.dtype)
    if not step.joins or old is None:
        return whole
    return convert(combine(step.reducer)(old, whole), step.compute.dtype)


def _start(start: Start) -> jax.Array:
    return jnp.int32(start.extent) * lax.axis_index(start.axes)


def _cut(array: jax.Array, block: Block) -> jax.Array:
    for dimension, along in enumerate(block.layout):
        if along:
            extent = array.shape[dimension] // lax.axis_size(along)
            array = lax.dynamic_slice_in_dim(array, extent * lax.axis_index(along), extent, dimension)
    return array


# ---------------------------------------------------------------- across devices


def _combined(part: jax.Array, reducer: Reducer | Monoid, axes: Axes) -> jax.Array:
    """The parts of all devices along the axes as one; every device has the result."""
    match reducer:
        case Reducer.SUM:
            return lax.psum(part, axes)
        case Reducer.MEAN:
            return lax.psum(part, axes) / lax.axis_size(axes)
        case Reducer.MIN | Reducer.MAX:
            return _extremum(part, axes, reducer is Reducer.MAX)
        case Reducer.ANY | Reducer.ALL:
            return _extremum(part.astype("int32"), axes, reducer is Reducer.ANY).astype(bool)
        case Reducer.LOGSUMEXP:
            largest = _extremum(lax.stop_gradient(part), axes, True)
            # Where all are infinite their difference is no number.
            largest = jnp.where(jnp.isfinite(largest), largest, 0)
            return largest + jnp.log(lax.psum(jnp.exp(part - largest), axes))
        case _:
            # There is no collective for it: each device gets all parts, in the order of the devices.
            every = _gathered(part, axes)
            return functools.reduce(combine(reducer), [every[number] for number in range(lax.axis_size(axes))])


def _gathered(part: jax.Array, axes: Axes) -> jax.Array:
    """The parts of all devices, stacked; as a sum, so that JAX knows that all devices have the same."""
    number = lax.axis_index(axes)
    places = lax.broadcasted_iota("int32", (lax.axis_size(axes), *(1,) * part.ndim), 0)
    if part.dtype == bool:
        return _gathered(part.astype("int32"), axes).astype(bool)
    return lax.psum(jnp.where(places == number, part[None], jnp.zeros((), part.dtype)), axes)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _extremum(part: jax.Array, axes: Axes, largest: bool) -> jax.Array:
    return lax.pmax(part, axes) if largest else lax.pmin(part, axes)


@_extremum.defjvp
def _(axes: Axes, largest: bool, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    # JAX has no derivative of these collectives: as for one device, equal extrema share it.
    (part,), (tangent,) = primals, tangents
    result = _extremum(part, axes, largest)
    if tangent.dtype != part.dtype:  # Integers have no derivative.
        return result, tangent
    meets = (part == result).astype(part.dtype)
    return result, lax.psum(meets / lax.psum(meets, axes) * tangent, axes)
