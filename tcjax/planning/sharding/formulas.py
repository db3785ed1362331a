"""Statements with numbers for sizes, and which of their indices are cut."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ... import ir, ranges, transforms
from ...symbolic import Affine, Box, IndexVar
from .blocks import Axes
from .lines import Line, line_of
from .mistakes import refused


@dataclass(frozen=True, slots=True)
class CutFormula:
    """A statement with numbers for sizes, and which of its indices are cut."""

    number: int
    statement: ir.Define | ir.Accumulate
    box: Box
    cut: Mapping[IndexVar, Axes]
    bound: ranges.Bound
    _lines: dict[tuple[str, int, Affine, bool], tuple[Axes, Line] | None] = field(default_factory=dict)

    def line(self, tensor: str, dimension: int, subscript: Affine, *, filled: bool = False) -> tuple[Axes, Line] | None:
        """What a subscript reads as a cut index goes on; None where none is in it, or it follows no line.

        With `filled` there is a constant beyond the dimension.
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

    def cut_in(self, subscript: Affine) -> frozenset[IndexVar]:
        """The cut indices of a subscript. Data in it is read for the points of a block, whatever says where."""
        return subscript.rewrite(lambda atom: 0 if isinstance(atom, ir.Data) else atom).variables & self.cut.keys()


def cut_formula(number: int, statement: ir.Statement, bound: ranges.Bound, axes: Mapping[str, Axes]) -> CutFormula:
    """The statement, its indices cut. Raises `CompileError` (TC0811) for one that no device could compute alone."""
    if not isinstance(statement, (ir.Define, ir.Accumulate)):
        called = statement.function.name if isinstance(statement, ir.Invoke) else statement.function
        raise refused(
            f"`{called}` is called on whole tensors, which no device has",
            statement.span,
            "shard the kernels one by one, and call them from Python",
        )
    statement = transforms.specialize(transforms.guard_ranges(statement), bound.sizes)
    box = bound.boxes[number]
    cut = {index: axes[index.name] for index in box if index.name in axes}
    inline = {i for node in ir.nodes_of(statement) if isinstance(node, ir.Reduce) for i in node.indices}
    seen: dict[str, IndexVar] = {}
    for index, along in cut.items():
        if index in inline:
            raise refused(
                f"`{index}` is reduced inside of an expression, and devices combine whole statements",
                statement.span,
                f"give the reduction over `{index}` a statement of its own: `T(...) +=! ...`",
            )
        for axis in along:
            if axis in seen:
                raise refused(
                    f"`{seen[axis]}` and `{index}` both run along the mesh axis {axis!r} in one statement",
                    statement.span,
                    "give each index a mesh axis of its own",
                )
            seen[axis] = index
    return CutFormula(number, statement, box, cut, bound)
