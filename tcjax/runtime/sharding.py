"""`Sharding`: which index of a kernel runs along which axis of a mesh, checked once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax

from ..diagnostics import Code, CompileError, phrases


@dataclass(frozen=True, slots=True)
class Sharding:
    """`axes` are the mesh axes of each index by name, in the order in which they cut it."""

    mesh: jax.sharding.Mesh
    axes: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def sizes(self) -> dict[str, int]:
        """The number of devices along each axis of the mesh."""
        return dict(self.mesh.shape)


def check_sharding(mesh: Any, axes: Any) -> Sharding:
    """The sharding. Raises `CompileError` (TC0308) for what is no mesh or names no axis of it."""
    if not isinstance(mesh, jax.sharding.Mesh):
        raise _bad(f"{type(mesh).__name__} is no mesh", "pass what `jax.make_mesh((4, 2), ('data', 'model'))` gives")
    if not isinstance(axes, Mapping) or not all(isinstance(index, str) for index in axes):
        raise _bad(f"{phrases.value(axes)} does not say which index runs along which mesh axis", 'write {"m": "data"}')
    found: list[tuple[str, tuple[str, ...]]] = []
    names = tuple(map(str, mesh.axis_names))
    for index, along in axes.items():
        parts = (along,) if isinstance(along, str) else tuple(along) if isinstance(along, (tuple, list)) else None
        if parts is None or not all(part in names for part in parts):
            raise _bad(f"{phrases.value(along)} is no axis of the mesh", f"its axes are {', '.join(map(repr, names))}")
        if len(set(parts)) < len(parts):
            raise _bad(f"{phrases.value(along)} names an axis twice", "name each axis once")
        if parts:
            found.append((str(index), parts))
    return Sharding(mesh, tuple(found))


def _bad(message: str, help: str) -> CompileError:
    return CompileError(Code.BAD_OPTION, message, help=help)
