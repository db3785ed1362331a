"""Who holds what: how each tensor is cut."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ... import ir, ranges
from ...diagnostics import Code, CompileError
from ...symbolic import Affine
from .blocks import Axes, Layout
from .formulas import CutFormula
from .mistakes import refused, show_axes, show_layout


@dataclass
class Layouts:
    """The layouts that devices hold tensors in (`held`, by name); `sizes` counts the devices along each axis."""

    bound: ranges.Bound
    sizes: Mapping[str, int]
    held: dict[str, Layout] = field(default_factory=dict)

    def settle(self, formulas: Iterable[CutFormula]) -> None:
        """The layout of every tensor. Raises `CompileError` where statements do not fit together (TC0811, TC0601)."""
        formulas = list(formulas)
        for formula in formulas:
            self.write(formula)
        for tensor in self.bound.function.parameters:
            self.held[tensor.name] = self.wanted(tensor, formulas)
        # Last, because padding helps only where blocks do.
        for formula in formulas:
            self.check_blocks(formula)

    def write(self, formula: CutFormula) -> None:
        """The layout of a statement's target, the same for all statements on it."""
        statement, target = formula.statement, formula.statement.target
        layout = self.layout(formula, target, statement.indices)
        along = [axis for each in layout for axis in each]
        if len(set(along)) < len(along):
            raise refused(
                f"`{target.name}` would be cut along {show_axes(tuple(along))}, and no device has more than one block",
                statement.span,
                "shard an index that addresses one dimension",
            )
        if any(index.is_data and index.variables & formula.cut.keys() for index in statement.indices):
            self.check_scatter(formula)
        before = self.held.setdefault(target.name, layout)
        if before != layout:
            raise refused(
                f"one statement leaves `{target.name}` {show_layout(before)}, this one {show_layout(layout)}",
                statement.span,
                "use the same indices for the same dimensions, or give each statement a tensor of its own",
            )

    def check_scatter(self, formula: CutFormula) -> None:
        """Data decides where points of a cut index go: as if it were reduced."""
        statement = formula.statement
        if isinstance(statement, ir.Define):
            raise refused(
                f"data decides which elements of `{statement.target.name}` each device writes, and the last one wins",
                statement.span,
                "accumulate with `+=!`, or leave the index whole",
            )

    def wanted(self, tensor: ir.Tensor, formulas: Iterable[CutFormula]) -> Layout:
        """A parameter's layout: a dimension is cut where every read addresses it by an index along the same axes."""
        found: list[Layout] = []
        for formula in formulas:
            for access in ir.accesses_of(formula.statement):
                if access.tensor.name == tensor.name:
                    found.append(self.layout(formula, access.tensor, access.indices))
        layout: list[Axes] = []
        for dimension in range(tensor.rank):
            along = {each[dimension] for each in found}
            common = along.pop() if len(along) == 1 else ()
            layout.append(() if set(common) & {axis for each in layout for axis in each} else common)
        return tuple(layout)

    def layout(self, formula: CutFormula, tensor: ir.Tensor, subscripts: tuple[Affine, ...]) -> Layout:
        """How an access sees a tensor: cut along the axes of its bare indices."""
        shape, origin = self.bound.shapes[tensor.name], self.bound.origins[tensor.name]
        layout: list[Axes] = []
        for dimension, subscript in enumerate(subscripts):
            index = subscript.bare
            if index is not None and index in formula.cut:
                lo, hi = formula.box[index]
                if (lo, hi - lo) != (origin[dimension], shape[dimension]):
                    first = origin[dimension]
                    raise refused(
                        f"`{index}` runs over {lo}:{hi}, but dimension {dimension} of `{tensor.name}` over "
                        f"{first}:{first + shape[dimension]}: their blocks are not the same",
                        formula.statement.span,
                        f"leave `{index}` whole, or let it run over the whole dimension",
                    )
                layout.append(formula.cut[index])
                continue
            # Data in a subscript is read for the points of the block; what it is added to would count within it.
            outside = subscript.rewrite(lambda atom: 0 if isinstance(atom, ir.Data) else atom).variables
            if outside & formula.cut.keys():
                index = min(outside & formula.cut.keys(), key=str)
                raise refused(
                    f"`{tensor.name}` is addressed by `{subscript}`, which leaves the block of `{index}`",
                    formula.statement.span,
                    f"leave `{index}` whole: only bare indices can be sharded",
                )
            layout.append(())
        return tuple(layout)

    def parts(self, along: Axes) -> int:
        """How many blocks an index along these axes has."""
        count = 1
        for axis in along:
            count *= self.sizes[axis]
        return count

    def local_shape(self, shape: tuple[int, ...], layout: Layout) -> tuple[int, ...]:
        """The extents of one device's block."""
        return tuple(extent // self.parts(along) for extent, along in zip(shape, layout, strict=True))

    def check_blocks(self, formula: CutFormula) -> None:
        """Raises `CompileError` (TC0601) where an index does not divide into equal blocks."""
        for index, along in formula.cut.items():
            lo, hi = formula.box[index]
            if (hi - lo) % self.parts(along):
                raise CompileError(
                    Code.SIZE_MISMATCH,
                    f"`{index}` runs over {lo}:{hi}, which is not divisible into {self.parts(along)} equal blocks",
                    formula.statement.span,
                    help=f"pad the arrays to a multiple of {self.parts(along)}, or leave `{index}` whole",
                )
