"""Dimensions during the expansion of ``...``: their extents as far as known, and the parameters that have the same
size.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ...diagnostics import Code, CompileError, Span

# The extents of an argument: None for one that is unknown but not 1.
Extents: TypeAlias = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of a tensor: its extent, and the dimension of a parameter whose size it has.

    If it is `named` by an index, its extent may be unknown, and it may be 1.
    """

    extent: int | None = None
    source: tuple[str, int] | None = None
    named: bool = False


# The dimensions of a tensor; None if only a call of a Python function determines them.
Shape: TypeAlias = tuple[Dimension, ...] | None


class RankUnknownError(Exception):
    """A definition passes on a parameter whose rank is unknown."""


class Sizes:
    """Which dimensions of parameters have equal sizes: those that were aligned with each other."""

    def __init__(self) -> None:
        self._same: dict[tuple[str, int], tuple[str, int]] = {}

    def joined(self, here: Sequence[tuple[str, Dimension]], span: Span) -> Dimension:
        """The dimension of tensors aligned there. Raises TC0601 for extents that do not fit."""
        unknown = next((name for name, dimension in here if dimension.named), None)
        if unknown is not None and len({name for name, _ in here}) > 1:
            raise CompileError(
                Code.WRONG_SUBSCRIPT_COUNT,
                f"`...` would stand for a dimension of `{unknown}` that an index names where it is written, "
                "and nothing says whether it fits the other tensors",
                span,
                help=f"write all subscripts of `{unknown}` here, or write it with `...` too",
            )
        wide = [(name, dimension) for name, dimension in here if dimension.extent != 1]
        if not wide:
            return here[0][1]
        first = wide[0][1]
        known = next(((n, d) for n, d in wide if d.extent is not None), None)
        for name, dimension in wide:
            if known is not None and dimension.extent not in (None, known[1].extent):
                names = [f"`{n}` has {d.extent} along {numbered(d)}" for n, d in (known, (name, dimension))]
                raise CompileError(
                    Code.SIZE_MISMATCH,
                    f"the batches do not fit: {names[0]}, {names[1]}",
                    span,
                    help="`...` aligns dimensions from the right, as NumPy broadcasts: equal extents, or 1",
                )
            self._unite(first, dimension)
        return first if known is None else replace(first, extent=known[1].extent)

    def _unite(self, first: Dimension, second: Dimension) -> None:
        if first.source is not None and second.source is not None:
            one, other = self.root(first.source), self.root(second.source)
            if one != other:
                self._same[other] = one

    def root(self, source: tuple[str, int]) -> tuple[str, int]:
        """The representative of all dimensions of this size."""
        while source in self._same:
            source = self._same[source]
        return source

    def size(self, dimension: Dimension, span: Span) -> str | int:
        """The size of a dimension in a type. Raises TC0501 for one that belongs to no parameter."""
        if dimension.extent == 1:
            return 1
        if dimension.source is None:
            raise CompileError(
                Code.WRONG_SUBSCRIPT_COUNT,
                "`...` would stand for a dimension whose size no parameter has",
                span,
                help="leave the type out, or write a size for each dimension",
            )
        name, number = self.root(dimension.source)
        return f"{name}.{number}"


def plain(shape: Shape) -> Shape:
    """The part of the shape that decides the expansion: equal for calls that are written out alike."""
    return None if shape is None else tuple([replace(dimension, source=None) for dimension in shape])


def as_parameter(dimension: Dimension, name: str, number: int) -> Dimension:
    """An argument's dimension as one of the parameter; one named by an index in the caller may be a batch dimension
    inside.
    """
    return Dimension(dimension.extent, (name, number), dimension.named)


def as_of_caller(shape: Shape, arguments: Mapping[str, Shape]) -> Shape:
    """A result's shape with the sizes of the arguments in place of the parameters' sizes."""
    if shape is None:
        return None
    found: list[Dimension] = []
    for dimension in shape:
        source = dimension.source
        given = arguments.get(source[0]) if source is not None else None
        if source is not None and given is not None and source[1] < len(given):
            found.append(replace(dimension, source=given[source[1]].source))
        else:
            found.append(dimension)
    return tuple(found)


def extents_of(batch: Sequence[Dimension]) -> str:
    """The extents as shown in a message."""
    return f"({', '.join('?' if d.extent is None else str(d.extent) for d in batch)})"


def numbered(dimension: Dimension) -> str:
    """Which dimension this is, in words."""
    return "its batch" if dimension.source is None else f"dimension {dimension.source[1]}"
