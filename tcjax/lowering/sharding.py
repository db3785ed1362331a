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

    functions = {**foreign, **{name: function_of(each, mesh.shape) for name, each in plan.collectives.items()}}

    def run(blocks: dict[str, jax.Array]) -> tuple[jax.Array, ...]:
        begun = {name: blocks[name] for name in initial}
        return lower(plan.plan, {name: blocks[name] for name in arrays}, begun, functions)

    def padded(name: str) -> jax.Array:
        """An argument in equal blocks, on the devices that have them."""
        if known[name].shape == plan.padded[name]:
            return _placed(known[name], mesh, plan.layouts[name])
        whole = _placed(known[name], mesh, plan.even(name))
        return _placed(_padded(whole, plan.padded[name]), mesh, plan.layouts[name])

    def trimmed(name: str, array: jax.Array) -> jax.Array:
        """A result without padding, which devices have whole where blocks are not equal without it."""
        if array.shape == plan.shapes[name]:
            # Types name explicit axes only, and JAX would gather the array along others.
            return _constrained(array, mesh, plan.layouts[name]) if len({*mesh.axis_types}) > 1 else array
        return lax.slice(_placed(array, mesh, plan.even(name)), (0,) * array.ndim, plan.shapes[name])

    shard = jax.shard_map(
        run,
        mesh=mesh,
        in_specs=({name: spec(plan.layouts[name]) for name in known},),
        out_specs=tuple(spec(plan.layouts[name]) for name in plan.plan.returns),
    )
    results = shard({name: padded(name) for name in known})
    return tuple(map(trimmed, plan.plan.returns, results))


def _placed(array: jax.Array, mesh: jax.sharding.Mesh, layout: Layout) -> jax.Array:
    """The array in the blocks of a layout: its type says so for explicit axes, a constraint for the others."""
    kinds = {*mesh.axis_types}
    if jax.sharding.AxisType.Explicit in kinds:
        array = jax.reshard(array, _place(mesh, layout, jax.sharding.AxisType.Explicit))
    return array if kinds == {jax.sharding.AxisType.Explicit} else _constrained(array, mesh, layout)


def _constrained(array: jax.Array, mesh: jax.sharding.Mesh, layout: Layout) -> jax.Array:
    """The array in blocks along the axes that types do not name."""
    return lax.with_sharding_constraint(array, _place(mesh, layout, jax.sharding.AxisType.Auto))


def _place(mesh: jax.sharding.Mesh, layout: Layout, kind: jax.sharding.AxisType) -> jax.sharding.NamedSharding:
    """The part of a layout along the axes of a kind."""
    own = {axis for axis, each in zip(mesh.axis_names, mesh.axis_types, strict=True) if each == kind}
    cut = tuple(tuple(axis for axis in along if axis in own) for along in layout)
    return jax.sharding.NamedSharding(mesh, spec(cut))


def _padded(array: jax.Array, extents: tuple[int, ...]) -> jax.Array:
    return jnp.pad(array, [(0, extent - own) for extent, own in zip(extents, array.shape, strict=True)])


def spec(layout: Layout) -> jax.sharding.PartitionSpec:
    """The layout as a JAX partition spec."""
    return jax.sharding.PartitionSpec(*(along or None for along in layout))
