"""Calls on arrays whose types say that they are sharded: what JAX cannot run becomes an error that says what to write.

JAX propagates such types through operations one at a time, and raises an error where two of them would meet, or where
an operation needs elements of other devices. A kernel that is sharded by index exchanges these elements itself.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax

from .. import ir, ranges, transforms
from ..diagnostics import Code, CompileError, Span
from ..symbolic import Affine
from .compiler import Compiler
from .frontends import Call

_Axes = dict[str, tuple[str, ...]]


class _Cut(NamedTuple):
    """A dimension of an argument that is sharded along axes of a mesh."""

    name: str
    dimension: int
    along: tuple[str, ...]

    def __str__(self) -> str:
        return f"`{self.name}` in dimension {self.dimension} along {', '.join(map(repr, self.along))}"


def unplaceable(error: Exception, compiler: Compiler, call: Call, arrays: Mapping[str, Any]) -> CompileError | None:
    """The error (TC0811) in place of JAX's, None if that is not about the shardings of the arguments `arrays`."""
    cuts = list(_cuts(arrays))
    axes = {axis for cut in cuts for axis in cut.along}
    # JAX has no public name for the first; the others name a type such as ``float32[8@data]``.
    is_typed = type(error).__name__ == "ShardingTypeError" or any(f"@{axis}" in str(error) for axis in axes)
    if not cuts or not is_typed or compiler.frontend.options.sharding is not None:
        return None
    bound, name = transforms.with_bodies(compiler.bound(call)), compiler.frontend.name
    along = _indices(cuts, compiler, call, bound, dict(jax.typeof(arrays[cuts[0].name]).sharding.mesh.shape))
    shown = ", ".join(f'"{index}": {_quoted(each)}' for index, each in along.items())
    whole = f"gather an argument, `jax.reshard({cuts[0].name}, jax.sharding.PartitionSpec())`"
    return CompileError(
        Code.NOT_SHARDABLE,
        f"types say how arguments are sharded ({', '.join(map(str, cuts))}), and JAX finds no sharding of `{name}` "
        "that follows from these types alone",
        _place(bound, cuts),
        help=f"shard the kernel by index, `{name}.sharded(mesh, {{{shown}}})`, or {whole}" if along else whole,
    )


def is_cut(value: object) -> bool:
    """Whether it is an array whose type says that it is sharded."""
    return isinstance(value, jax.Array) and any(jax.typeof(value).sharding.spec)


def _cuts(arrays: Mapping[str, Any]) -> Iterator[_Cut]:
    for name, array in arrays.items():
        if isinstance(array, jax.Array):
            for dimension, along in enumerate(jax.typeof(array).sharding.spec):
                axes = (along,) if isinstance(along, str) else tuple(along or ())
                if axes:
                    yield _Cut(name, dimension, axes)


def _indices(cuts: list[_Cut], compiler: Compiler, call: Call, bound: ranges.Bound, sizes: Mapping[str, int]) -> _Axes:
    """The mesh axes of the indices that address sharded dimensions, as many as can be sharded together."""
    found: _Axes = {}
    for cut in cuts:
        for index in _addressing(bound, cut):
            if index in found:
                break
            wider = {**found, index: cut.along}
            try:
                compiler.cut(call, wider, sizes)
            except CompileError:
                continue
            found = wider
            break
    return found


def _reads(bound: ranges.Bound, cut: _Cut) -> Iterator[tuple[ir.Statement, Affine, Span]]:
    for statement in bound.function.statements:
        if isinstance(statement, (ir.Define, ir.Accumulate)):
            for access in ir.accesses_of(statement):
                if access.tensor.name == cut.name:
                    yield statement, access.indices[cut.dimension], statement.span


def _addressing(bound: ranges.Bound, cut: _Cut) -> list[str]:
    """The indices by which a dimension is read: first those that are a subscript, then those on the left side."""
    found: dict[str, tuple[bool, bool]] = {}
    for statement, subscript, _ in _reads(bound, cut):
        if subscript.is_data:
            continue
        left = {index for each in getattr(statement, "indices", ()) for index in each.variables}
        for index in subscript.variables:
            rank = subscript.bare != index, index not in left
            found[index.name] = min(found.get(index.name, rank), rank)
    return sorted(found, key=lambda index: (*found[index], index))


def _place(bound: ranges.Bound, cuts: list[_Cut]) -> Span:
    """The first statement that reads a sharded dimension otherwise than by a bare index, else the first that does."""
    reads = [read for cut in cuts for read in _reads(bound, cut)]
    shifted = [span for _, subscript, span in reads if subscript.bare is None]
    return (shifted or [span for _, _, span in reads] or [bound.function.span])[0]


def _quoted(along: tuple[str, ...]) -> str:
    names = [f'"{axis}"' for axis in along]
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
