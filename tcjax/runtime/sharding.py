"""`Sharding`: which index of a kernel runs along which axis of a mesh, validated."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import jax
import numpy as np

from ..diagnostics import Code, CompileError, phrases


@dataclass(frozen=True, slots=True)
class Sharding:
    """`axes` are the mesh axes of each index by name, in the order in which they split it."""

    mesh: jax.sharding.Mesh
    axes: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def sizes(self) -> dict[str, int]:
        """The number of devices along each axis of the mesh."""
        return dict(self.mesh.shape)


def check_sharding(mesh: Any, axes: Any) -> Sharding:
    """The validated sharding. Raises `CompileError` (TC0308) for an invalid mesh or an unknown axis."""
    if not isinstance(mesh, jax.sharding.Mesh):
        raise _bad(f"{type(mesh).__name__} is not a mesh", "pass what `jax.make_mesh((4, 2), ('data', 'model'))` gives")
    sharding = Sharding(mesh, _checked(axes, tuple(map(str, mesh.axis_names))))
    kinds = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    for index, along in sharding.axes:
        explicit = [axis for axis in along if kinds[axis] == jax.sharding.AxisType.Explicit]
        others = [axis for axis in along if axis not in explicit]
        if explicit and others:
            # JAX would gather results along the others, in an order of its own.
            raise _bad(
                f"`{index}` runs along {explicit[0]!r}, an explicit axis, and along {others[0]!r}, which is not: "
                "the type of an array names only the first",
                "shard the index along one of them, or make both of one kind: `jax.make_mesh(..., axis_types=...)`",
            )
    return sharding


@dataclass(frozen=True, slots=True)
class PaperSharding:
    """A mesh given only by its number of devices along each axis, and which indices run along these axes."""

    sizes: Mapping[str, int]
    axes: tuple[tuple[str, tuple[str, ...]], ...]


# This many devices can be enumerated in a second.
MOST_DEVICES: Final = 1 << 20


def check_paper(mesh: Any, axes: Any) -> PaperSharding:
    """A sharding on a hypothetical mesh. Raises `CompileError` (TC0308) for an invalid mesh or an unknown axis."""
    example = 'pass a mesh, a `jax.sharding.AbstractMesh`, or sizes by axis: {"data": 64}'
    if isinstance(mesh, (jax.sharding.Mesh, jax.sharding.AbstractMesh)):
        mesh = mesh.shape
    if not isinstance(mesh, Mapping) or not all(isinstance(axis, str) for axis in mesh):
        raise _bad(f"{phrases.value(mesh)} is not a mesh", example)
    sizes: dict[str, int] = {}
    for axis, size in mesh.items():
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
            raise _bad(f"the mesh has {phrases.value(size)} devices along {axis!r}", "write a whole number, 1 or more")
        sizes[axis] = int(size)
    if not sizes:
        raise _bad("a mesh without axes has no devices", example)
    if prod(sizes.values()) > MOST_DEVICES:
        raise _bad(f"the mesh has {prod(sizes.values())} devices", f"ask for {MOST_DEVICES} or fewer")
    return PaperSharding(sizes, _checked(axes, tuple(sizes)))


def _checked(axes: Any, names: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Which index runs along which of the mesh axes `names`."""
    if not isinstance(axes, Mapping) or not all(isinstance(index, str) for index in axes):
        raise _bad(f"{phrases.value(axes)} does not say which index runs along which mesh axis", 'write {"m": "data"}')
    found: list[tuple[str, tuple[str, ...]]] = []
    for index, along in axes.items():
        parts = (along,) if isinstance(along, str) else tuple(along) if isinstance(along, (tuple, list)) else None
        if parts is None or not all(part in names for part in parts):
            raise _bad(
                f"{phrases.value(along)} is not an axis of the mesh", f"its axes are {', '.join(map(repr, names))}"
            )
        if len(set(parts)) < len(parts):
            raise _bad(f"{phrases.value(along)} names an axis twice", "name each axis once")
        if parts:
            found.append((str(index), parts))
    return tuple(found)


def _bad(message: str, help: str) -> CompileError:
    return CompileError(Code.BAD_OPTION, message, help=help)
