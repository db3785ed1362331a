"""Lowers a plan for many devices: each runs the steps on its blocks, and they combine their partial results."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.sharding import Layout, ShardedPlan
from .elementwise import convert
from .exchanges import function_of
from .lower import Foreign, lower


def lower_sharded(
    plan: ShardedPlan,
    mesh: jax.sharding.Mesh,
    arrays: Mapping[str, jax.Array],
    initial: Mapping[str, jax.Array],
    foreign: Foreign,
) -> tuple[jax.Array, ...]:
    """The plan's results on the devices of a mesh; traceable by every JAX transformation."""
    known = {
        **arrays,
        **{name: convert(jnp.asarray(array), plan.plan.initial[name]) for name, array in initial.items()},
    }

    functions = {**foreign, **{name: function_of(each) for name, each in plan.collectives.items()}}

    def run(blocks: dict[str, jax.Array]) -> tuple[jax.Array, ...]:
        begun = {name: blocks[name] for name in initial}
        return lower(plan.plan, {name: blocks[name] for name in arrays}, begun, functions)

    # Blocks have equal sizes: padding beyond the arrays is in none of the results.
    known = {name: _padded(array, plan.padded[name]) for name, array in known.items()}
    specs = {name: spec(plan.layouts[name]) for name in known}
    if jax.sharding.AxisType.Explicit in mesh.axis_types:
        # Otherwise JAX moves arrays that have another sharding.
        known = {n: jax.reshard(array, jax.sharding.NamedSharding(mesh, specs[n])) for n, array in known.items()}
    shard = jax.shard_map(
        run,
        mesh=mesh,
        in_specs=(specs,),
        out_specs=tuple(spec(plan.layouts[name]) for name in plan.plan.returns),
    )
    results = zip(plan.plan.returns, shard(known), strict=True)
    return tuple(lax.slice(array, (0,) * array.ndim, plan.shapes[name]) for name, array in results)


def _padded(array: jax.Array, extents: tuple[int, ...]) -> jax.Array:
    if array.shape == extents:
        return array
    return jnp.pad(array, [(0, extent - own) for extent, own in zip(extents, array.shape, strict=True)])


def spec(layout: Layout) -> jax.sharding.PartitionSpec:
    """The layout as a JAX partition spec."""
    return jax.sharding.PartitionSpec(*(along or None for along in layout))
