"""Expressions with common names, so that equal ones in several nests compare equal."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ... import ir
from ...symbolic import Affine, Box, IndexVar, Size
from ...symbolic.affine import Atom
from ..data.nests import Operand


@dataclass(frozen=True, slots=True)
class Renaming:
    """New names for the free indices and the tensors of a nest with these index `ranges`.

    An index bound by an inline reduction is named by its nesting depth and its range, avoiding the `taken` names: a
    derivative turns it into an axis. `box` collects the ranges of the new names.
    """

    indices: Mapping[IndexVar, IndexVar]
    tensors: Mapping[str, Operand]
    ranges: Box
    box: dict[IndexVar, tuple[int, int]] = field(default_factory=dict)
    taken: frozenset[IndexVar] = frozenset()
    depth: int = 0

    def expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Index(variable):
                return ir.Index(self.index(variable))
            case ir.Access(tensor, indices):
                operand = self.tensors[tensor.name]
                named = ir.Tensor(operand.name, operand.dtype, tuple(map(Size.of, operand.shape)))
                return ir.Access(named, tuple(map(self.affine, indices)))
            case ir.Reduce(indices=indices):
                return self.reduce(expr, indices)
            case _:
                return ir.rebuild(expr, self.expr)

    def index(self, index: IndexVar) -> IndexVar:
        found = self.indices[index]
        self.box[found] = self.ranges[index]
        return found

    def affine(self, affine: Affine) -> Affine:
        def rewrite(atom: Atom) -> Affine:
            if isinstance(atom, IndexVar):
                return Affine.of(self.index(atom))
            return Affine.of(ir.Data(self.expr(atom.expr)) if isinstance(atom, ir.Data) else atom)

        return affine.rewrite(rewrite)

    def reduce(self, expr: ir.Reduce, indices: tuple[IndexVar, ...]) -> ir.Expr:
        own = {index: self.bound(self.depth + number, *self.ranges[index]) for number, index in enumerate(indices)}
        inner = replace(self, indices={**self.indices, **own}, depth=self.depth + len(indices))
        named = tuple(inner.index(index) for index in indices)
        rank = None if expr.rank is None else inner.expr(expr.rank)
        guard = None if expr.guard is None else inner.expr(expr.guard)
        return replace(expr, indices=named, ranges=(), guard=guard, body=inner.expr(expr.body), rank=rank)

    def bound(self, depth: int, lo: int, hi: int) -> IndexVar:
        index = IndexVar(f"d.{depth}.{lo}.{hi}")
        while index in self.taken:
            index = replace(index, tag=index.tag + 1)
        return index
