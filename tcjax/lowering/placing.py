"""Arrays with explicit shardings in their types: the compiler places the intermediate values of a nest."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.sharding import PartitionSpec

from .. import ir
from ..planning.data.nests import Nest

Along = tuple[str, ...]


def is_placed(array: jax.Array) -> bool:
    """Whether the type contains the array's sharding: a loop's carry could not change it."""
    return any(axes is not None for axes in jax.typeof(array).sharding.spec)


def placed_as(like: jax.Array, run: Callable[..., jax.Array], arrays: Sequence[jax.Array | None]) -> Any:
    """The result of ``run(*arrays)``, with the sharding in the type of `like`, if any."""
    if not is_placed(like):
        return run(*arrays)
    return jax.sharding.auto_axes(run, out_sharding=jax.typeof(like).sharding.spec)(*arrays)


def placed(run: Callable[..., Any], arrays: Sequence[jax.Array], nests: Sequence[Nest], names: Sequence[str]) -> Any:
    """The results of ``run(*arrays)``: an array for each nest.

    If the types of arrays (called `names` in the nests) say that they are sharded, each axis of a result is sharded
    like the first of them that has it; JAX inserts the necessary exchanges and sums.
    """
    if not any(map(is_placed, arrays)):
        return run(*arrays)
    known = {name: jax.typeof(array).sharding.spec for name, array in zip(names, arrays, strict=True)}
    specs = tuple(PartitionSpec(*_along(nest, known)) for nest in nests)
    return jax.sharding.auto_axes(run, out_sharding=specs)(*arrays)


def _along(nest: Nest, specs: Mapping[str, Any]) -> list[Along | None]:
    """The mesh axes for each axis of a nest's result, none of them twice."""
    extents = {index: hi - lo for index, (lo, hi) in nest.ranges.items()}
    taken: set[str] = set()
    found: list[Along | None] = []
    for axis in nest.axes:
        along: Along | None = None
        for access in ir.accesses(nest.reduce):
            name = access.tensor.name
            spec = (*specs.get(name, ()),)
            for index, extent, where in zip(access.indices, access.tensor.shape, spec, strict=False):
                wanted = () if where is None else (where,) if isinstance(where, str) else tuple(where)
                if along is None and wanted and index.bare == axis and extent.constant == extents[axis]:
                    along = wanted if not taken & set(wanted) else None
        taken |= set(along or ())
        found.append(along)
    return found


__all__ = ["is_placed", "placed", "placed_as"]
