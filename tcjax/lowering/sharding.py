"""A plan for many devices: each runs the steps on its blocks, and they combine what they reduced."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.sharding import Block, Layout, ShardedPlan, Start, Step
from .chunked_scatter import lower_stage
from .context import Context
from .elementwise import convert
from .lower import Foreign, lower_node
from .reducers import across_devices, combine


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
    whole = convert(across_devices(part, step.reducer, step.axes), step.compute.dtype)
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
