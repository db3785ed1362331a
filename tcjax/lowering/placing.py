"""Arrays whose types say where they lie, along explicit axes of a mesh: the compiler places what is in a nest."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.sharding import PartitionSpec

from .. import ir
from ..planning.data.nests import Nest

Along = tuple[str, ...]


def is_placed(array: jax.Array) -> bool:
    """Whether the type says where the array lies: the carry of a loop could not change it."""
    return any(axes is not None for axes in jax.typeof(array).sharding.spec)


def placed_as(like: jax.Array, run: Callable[..., jax.Array], arrays: Sequence[jax.Array | None]) -> Any:
    """What ``run(*arrays)`` gives, where the type of `like` says that it lies."""
    if not is_placed(like):
        return run(*arrays)
    return jax.sharding.auto_axes(run, out_sharding=jax.typeof(like).sharding.spec)(*arrays)


def placed(run: Callable[..., Any], arrays: Sequence[jax.Array], nests: Sequence[Nest], names: Sequence[str]) -> Any:
    """What ``run(*arrays)`` gives: an array for each nest.

    Where the types of arrays, which are called `names` in the nests, say that they lie on several devices, each axis of
    a result lies as the first of them that has it; JAX moves what must meet, and adds up, by itself.
    """
    if not any(map(is_placed, arrays)):
        return run(*arrays)
    known = {name: jax.typeof(array).sharding.spec for name, array in zip(names, arrays, strict=True)}
    specs = tuple(PartitionSpec(*_along(nest, known)) for nest in nests)
    return jax.sharding.auto_axes(run, out_sharding=specs)(*arrays)


def _along(nest: Nest, specs: Mapping[str, Any]) -> list[Along | None]:
    """The axes of the mesh for each axis of a nest's result, none of them twice."""
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
