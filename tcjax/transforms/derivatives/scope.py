"""The indices of the expression being differentiated: their ranges, and new ones."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ... import ir
from ...symbolic import Affine, IndexVar, Interval
from ...symbolic.affine import Atom
from .arithmetic import constant

Bound = frozenset[IndexVar]


@dataclass(slots=True)
class Scope:
    """The range of every index, including the new ones that derivatives need.

    `twins` are the new indices that run like another one.
    """

    ranges: dict[IndexVar, Interval]
    twins: dict[IndexVar, list[IndexVar]] = field(default_factory=dict)

    def new(self, like: IndexVar, interval: Interval) -> IndexVar:
        """An index named like another one, with its own range."""
        index = like
        while index in self.ranges:
            index = IndexVar(index.name, index.tag + 1)
        self.ranges[index] = interval
        return index

    def twin(self, index: IndexVar, bound: Bound) -> IndexVar:
        """An index that runs like this one and is not yet bound."""
        known = self.twins.setdefault(index, [])
        for other in known:
            if other not in bound:
                return other
        known.append(self.new(index, self.ranges[index]))
        return known[-1]

    def apart(self, expr: ir.Expr, bound: Bound) -> ir.Expr:
        """The expression with fresh reduction indices where they clash with the `bound` ones around it."""
        return _Apart(self, bound, {}).expr(expr)

    def place(self, indices: Iterable[IndexVar]) -> Affine:
        """The row-major number of a point, counted from the start of the ranges."""
        number = Affine.of(0)
        for index in indices:
            interval = self.ranges[index]
            number = number.scale(interval.extent) + index - interval.lo
        return number

    def count(self, indices: Iterable[IndexVar], dtype: str) -> ir.Expr:
        """The number of points in the box of the indices."""
        size = Affine.of(1)
        for index in indices:
            size = size.scale(self.ranges[index].extent)
        value = size.constant
        return constant(value, dtype) if value is not None else ir.Cast(ir.integer(size), dtype)


@dataclass(frozen=True, slots=True)
class _Apart:
    scope: Scope
    bound: Bound
    names: Mapping[IndexVar, IndexVar]

    def expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Index(variable) if variable in self.names:
                return replace(expr, variable=self.names[variable])
            case ir.Access(_, indices):
                return replace(expr, indices=tuple(map(self.affine, indices)))
            case ir.Reduce(indices=indices):
                return self.reduce(expr, indices)
            case _:
                return ir.rebuild(expr, self.expr)

    def reduce(self, expr: ir.Reduce, indices: tuple[IndexVar, ...]) -> ir.Reduce:
        bound, names, own = self.bound, dict(self.names), []
        for index in indices:
            names.pop(index, None)
            taken = self.scope.twin(index, bound) if index in bound else index
            if taken != index:
                names[index] = taken
            own.append(taken)
            bound |= {taken}
        inside = _Apart(self.scope, bound, names)
        rebuilt = ir.rebuild(expr, inside.expr)
        assert isinstance(rebuilt, ir.Reduce)
        return replace(rebuilt, indices=tuple(own))

    def affine(self, affine: Affine) -> Affine:
        return affine.rewrite(self.atom) if self.names or affine.is_data else affine

    def atom(self, atom: Atom) -> Affine:
        if isinstance(atom, IndexVar):
            return Affine.of(self.names.get(atom, atom))
        return Affine.of(ir.Data(self.expr(atom.expr)) if isinstance(atom, ir.Data) else atom)
