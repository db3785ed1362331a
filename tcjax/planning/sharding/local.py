"""A statement as one device sees it."""

from dataclasses import dataclass, field, replace

from ... import ir
from ...symbolic import Affine, IndexVar
from .blocks import Block, Layout, Start
from .formulas import CutFormula
from .layouts import Layouts
from .mistakes import refused, show_axes


@dataclass
class Local:
    """A statement over one device's blocks: its accesses by the names of the blocks, its indices with their starts."""

    layouts: Layouts
    formula: CutFormula
    blocks: dict[tuple[str, Layout], Block] = field(default_factory=dict)
    starts: dict[IndexVar, Start] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    origins: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def statement(self, statement: ir.Define | ir.Accumulate) -> ir.Define | ir.Accumulate:
        guard = statement.domain.guard
        return replace(
            statement,
            indices=tuple(map(self.subscript, statement.indices)),
            value=self.expr(statement.value),
            domain=ir.Domain((), None if guard is None else self.expr(guard)),
        )

    def expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Index(variable, dtype) if variable in self.formula.cut:
                start = self.start(variable)
                tensor = ir.Tensor(start.name, "int32", ())
                self.shapes[start.name], self.origins[start.name] = (), ()
                return ir.Binary("+", expr, ir.Access(tensor, (), span=expr.span), dtype, span=expr.span)
            case ir.Access(tensor, indices):
                name = self.block(tensor, indices)
                named = tensor if name == tensor.name else replace(tensor, name=name)
                return replace(expr, tensor=named, indices=tuple(map(self.subscript, indices)))
            case _:
                return ir.rebuild(expr, self.expr)

    def subscript(self, subscript: Affine) -> Affine:
        return subscript.rewrite(lambda atom: ir.Data(self.expr(atom.expr)) if isinstance(atom, ir.Data) else atom)

    def start(self, index: IndexVar) -> Start:
        if index not in self.starts:
            along = self.formula.cut[index]
            lo, hi = self.formula.box[index]
            self.starts[index] = Start(f"{index}.start", along, (hi - lo) // self.layouts.parts(along))
        return self.starts[index]

    def block(self, tensor: ir.Tensor, subscripts: tuple[Affine, ...]) -> str:
        """The name under which the device has what an access sees."""
        layouts, name = self.layouts, tensor.name
        held, seen = layouts.held[name], layouts.layout(self.formula, tensor, subscripts)
        shape, origin = layouts.bound.shapes[name], layouts.bound.origins[name]
        for dimension, (has, sees) in enumerate(zip(held, seen, strict=True)):
            if has and has != sees:
                raise refused(
                    f"a device has a block of dimension {dimension} of `{name}`, but here it needs "
                    f"{'another block' if sees else 'all'} of it",
                    self.formula.statement.span,
                    f"shard the index of that dimension along {show_axes(has)} too, or leave `{name}` whole",
                )
        if held != seen:
            missing = tuple(() if has else sees for has, sees in zip(held, seen, strict=True))
            key = (name, missing)
            if key not in self.blocks:
                number = sum(block.tensor == name for block in self.blocks.values())
                self.blocks[key] = Block(f"{name}.block{number or ''}", name, missing)
            name = self.blocks[key].name
        self.shapes[name] = layouts.local_shape(shape, seen)
        self.origins[name] = origin
        return name
