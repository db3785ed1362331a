"""Statements with numbers for sizes, and which of their indices are cut."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from ... import ir, ranges, transforms
from ...symbolic import Affine, Box, IndexVar
from .blocks import Axes
from .lines import Line, line_of
from .mistakes import refused


@dataclass(frozen=True, slots=True)
class Left:
    """A cut index in a subscript of the left side, ``step * index + shift + (0 .. step - 1)``."""

    index: IndexVar
    step: int
    shift: int


def left_of(subscript: Affine, cut: Collection[IndexVar], box: Box, first: int) -> Left | None:
    """The cut index of a subscript of the left side along a dimension that begins at `first`.

    None if blocks of the index do not write blocks of the dimension: devices would write the same elements, or those of
    others.
    """
    index = min(subscript.variables & frozenset(cut), key=str)
    step = subscript.weight(index).constant or 0
    rest = subscript - Affine.of(index).scale(step)
    ends = None if index in rest.variables or rest.is_data else transforms.Known.over(box).bounds(rest)
    is_alone = step >= 1 and ends is not None and not rest.variables & frozenset(cut) and ends[1] - ends[0] < step
    return Left(index, step, ends[0]) if is_alone and ends is not None and not (first - ends[0]) % step else None


@dataclass(frozen=True, slots=True)
class CutFormula:
    """A statement with numbers for sizes, and which of its indices are cut.

    Along the dimensions of the target that are `scattered`, a device computes partial results for all elements and
    keeps one block. `named` are the axes of all indices that the user sharded, including those that this statement does
    not cut.
    """

    number: int
    statement: ir.Define | ir.Accumulate
    box: Box
    cut: Mapping[IndexVar, Axes]
    bound: ranges.Bound
    scattered: Mapping[int, Axes] = field(default_factory=dict)
    named: Mapping[IndexVar, Axes] = field(default_factory=dict)
    _lines: dict[tuple[str, int, Affine, bool], tuple[Axes, Line] | None] = field(default_factory=dict)

    def line(self, tensor: str, dimension: int, subscript: Affine, *, filled: bool = False) -> tuple[Axes, Line] | None:
        """What a subscript reads as its cut index increases; None if it does not read along a line.

        With `filled`, places beyond the dimension read a constant.
        """
        key = tensor, dimension, subscript, filled
        if key not in self._lines:
            indices = self.cut_in(subscript)
            first, extent = self.bound.origins[tensor][dimension], self.bound.shapes[tensor][dimension]
            found = None
            if len(indices) == 1:
                (index,) = indices
                line = line_of(subscript, index, self.box, first, extent, filled=filled)
                found = None if line is None else (self.cut[index], line)
            self._lines[key] = found
        return self._lines[key]

    @property
    def as_named(self) -> "CutFormula":
        """The statement, with every index cut that the user sharded."""
        return replace(self, cut={**self.named, **self.cut}, _lines={})

    def cut_in(self, subscript: Affine) -> frozenset[IndexVar]:
        """The cut indices of a subscript. Data in it is read at the points of the block."""
        return subscript.rewrite(lambda atom: 0 if isinstance(atom, ir.Data) else atom).variables & self.cut.keys()


def cut_formula(number: int, statement: ir.Statement, bound: ranges.Bound, axes: Mapping[str, Axes]) -> CutFormula:
    """The statement with its indices cut. Raises `CompileError` (TC0811) if it needs whole tensors."""
    if not isinstance(statement, (ir.Define, ir.Accumulate)):
        assert isinstance(statement, ir.ApplyForeign), "other definitions are in place of their calls"
        raise refused(
            f"`{statement.function}` is called on whole tensors, which no device has",
            statement.span,
            f"write what `{statement.function}` computes in index notation, or make two kernels, of what is before"
            " and after it, shard these, and call it between them in Python",
        )
    statement = transforms.specialize(transforms.guard_ranges(statement), bound.sizes)
    box = bound.boxes[number]
    named = {index: axes[index.name] for index in box if index.name in axes}
    cut = dict(named)
    scattered = _meeting(statement, cut)
    for index in [index for index in cut if any(index in statement.indices[n].variables for n in scattered)]:
        del cut[index]
    seen: dict[str, IndexVar] = {}
    for index, along in cut.items():
        for axis in along:
            if axis in seen:
                raise refused(
                    f"`{seen[axis]}` and `{index}` both run along the mesh axis {axis!r} in one statement",
                    statement.span,
                    "give each index a mesh axis of its own",
                )
            seen[axis] = index
    return CutFormula(number, statement, box, cut, bound, scattered, named)


def _meeting(statement: ir.Define | ir.Accumulate, cut: Mapping[IndexVar, Axes]) -> Mapping[int, Axes]:
    """The dimensions of the target whose index runs along the axes of one that is reduced."""
    if not isinstance(statement, ir.Accumulate) or not statement.reducer.commutative:
        return {}
    reduced = {axis for index in statement.reduction for axis in cut.get(index, ())}
    found: dict[int, Axes] = {}
    for dimension, subscript in enumerate(statement.indices):
        index = subscript.bare
        if index is not None and index in cut and {*cut[index]} <= reduced:
            found[dimension] = cut[index]
    return found
