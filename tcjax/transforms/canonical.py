"""A canonical form of programs, for comparing them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import assert_never

from .. import ir
from ..ranges import Bound, effective_guard
from ..symbolic import Affine, Box, IndexVar, Size
from ..symbolic.affine import Atom
from .definitions import as_define, covers, guarded
from .guards import guard_ranges
from .specialize import specialize

# What operators on numbers mean for bools.
_OF_BOOL = {"+": "!=", "-": "!=", "^": "!=", "*": "&&", "&": "&&", "min": "&&", "|": "||", "max": "||"}


def canonical(function: ir.Function, bound: Bound) -> ir.Function:
    """The same computation for the sizes of `bound`, in a form that does not depend on how it was written.

    Sizes are numbers, and every index has its inferred range, shifted to 0. Indices and tensors are numbered. A
    statement that redefines every element writes a new tensor, accumulations name their old value, and a condition
    under which a reduction skips a point becomes a guard.
    """
    return _Canonical(function, bound).function()


class _Canonical:
    """The current name of each tensor between two statements."""

    def __init__(self, function: ir.Function, bound: Bound) -> None:
        self.source = function
        self.bound = bound
        self.tensors: dict[str, ir.Tensor] = {}
        self.count = 0
        self.declared: list[ir.Tensor] = []

    def function(self) -> ir.Function:
        parameters = tuple([self.written(tensor) for tensor in self.source.parameters])
        statements = tuple([self.statement(n, statement) for n, statement in enumerate(self.source.statements)])
        returns = tuple([self.tensors[tensor.name] for tensor in self.source.returns])
        return ir.Function("f", parameters, returns, statements, (), tuple(self.declared))

    def written(self, tensor: ir.Tensor) -> ir.Tensor:
        """The tensor that holds these elements from now on."""
        shape = tuple(map(Size.of, self.bound.shapes[tensor.name]))
        self.tensors[tensor.name] = ir.Tensor(f"t{self.count}", tensor.dtype, shape)
        self.count += 1
        return self.tensors[tensor.name]

    def statement(self, number: int, statement: ir.Statement) -> ir.Statement:
        match statement:
            case ir.Define() | ir.Accumulate():
                return self.formula(statement, self.bound.boxes[number])
            case ir.Invoke(targets, callee, arguments):
                given = tuple([self.tensors[argument.name] for argument in arguments])
                inner = canonical(callee, self.bound.calls[number])
                return ir.Invoke(tuple(map(self.written, targets)), inner, given)
            case ir.ApplyForeign(targets, _, arguments):
                given = tuple([self.tensors[argument.name] for argument in arguments])
                return replace(statement, targets=tuple(map(self.written, targets)), arguments=given)
            case _:
                assert_never(statement)

    def formula(self, statement: ir.Define | ir.Accumulate, box: Box) -> ir.Statement:
        is_new = statement.target.name not in self.tensors
        given = guard_ranges(specialize(statement, self.bound.sizes))
        given = replace(given, domain=replace(given.domain, exists=()))
        registered = isinstance(given, ir.Accumulate) and isinstance(given.reducer, ir.Monoid)
        scattered = isinstance(given, ir.Accumulate) and any(_is_computed(index) for index in given.indices)
        if not scattered and not registered:
            given = as_define(given, is_new)
        scope = Scope(self.tensors.copy(), self.bound.origins, box)
        own = dict.fromkeys(index for target in given.indices for index in _sorted(target.variables))
        if isinstance(given, ir.Accumulate):
            own |= dict.fromkeys(given.reduction)
        scope = scope.bind(tuple(own))
        before = self.tensors.get(statement.target.name)
        name = statement.target.name
        is_whole = given.domain.guard is None and covers(given, box, self.bound.shapes[name], self.bound.origins[name])
        target = self.written(statement.target) if before is None or is_whole else before
        if before is None and not is_whole:
            self.declared.append(target)
        indices = scope.subscripts(statement.target.name, given.indices)
        guard = None if given.domain.guard is None else scope.expr(given.domain.guard)
        domain = ir.Domain(scope.ranges(tuple(own)), guard)
        value = scope.expr(given.value)
        if isinstance(given, ir.Define):
            return ir.Define(target, indices, value, domain)
        reduction = tuple([scope.names[index] for index in given.reduction])
        restart = given.restart or is_new
        return ir.Accumulate(target, indices, given.reducer, restart, reduction, value, given.accumulate, domain)


class Scope:
    """The names of the tensors and indices in one statement."""

    def __init__(
        self,
        tensors: Mapping[str, ir.Tensor],
        origins: Mapping[str, tuple[int, ...]],
        box: Box,
        names: Mapping[IndexVar, IndexVar] | None = None,
        numbers: Iterator[int] | None = None,
    ) -> None:
        self.tensors = tensors
        self.origins = origins
        self.box = box
        self.names = names or {}
        self.numbers = numbers or count()

    def bind(self, indices: tuple[IndexVar, ...]) -> "Scope":
        """The scope with numbers for more indices."""
        more = {index: IndexVar(f"i{next(self.numbers)}") for index in indices}
        return Scope(self.tensors, self.origins, self.box, {**self.names, **more}, self.numbers)

    def ranges(self, indices: tuple[IndexVar, ...]) -> tuple[ir.Range, ...]:
        """Every range, shifted to 0."""
        return tuple(
            [ir.Range(self.names[i], Affine.of(0), Affine.of(self.box[i][1] - self.box[i][0])) for i in indices]
        )

    def subscripts(self, tensor: str, indices: tuple[Affine, ...]) -> tuple[Affine, ...]:
        """Subscripts of a tensor, counted from its first element."""
        origins = self.origins.get(tensor, (0,) * len(indices))
        return tuple([self.affine(index) - origin for index, origin in zip(indices, origins, strict=True)])

    def affine(self, affine: Affine) -> Affine:
        def rewrite(atom: Atom) -> Affine:
            if isinstance(atom, IndexVar):
                return Affine.of(self.names[atom]) + self.box[atom][0]
            return Affine.of(ir.Data(self.expr(atom.expr)) if isinstance(atom, ir.Data) else atom)

        return affine.rewrite(rewrite)

    def expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Index(variable):
                return ir.integer(self.affine(Affine.of(variable)))
            case ir.Access(tensor, indices):
                return ir.Access(self.tensors[tensor.name], self.subscripts(tensor.name, indices))
            case ir.Reduce():
                return self.reduce(expr)
            case ir.Binary("quot", ir.Binary("-", value, ir.Binary("%", same, by)), right) if (value, right) == (
                same,
                by,
            ):
                # A multiple of the divisor has an exact quotient: this is how C's division expresses a floor.
                return self.expr(replace(expr, operator="//", left=value))
            case ir.Binary(operator, left) if left.dtype == "bool" and operator in _OF_BOOL:
                return ir.rebuild(replace(expr, operator=_OF_BOOL[operator]), self.expr)
            case _:
                return ir.rebuild(expr, self.expr)

    def reduce(self, expr: ir.Reduce) -> ir.Reduce:
        conditions, body = ir.conjuncts(effective_guard(expr)), expr.body
        while (parts := guarded(expr.reducer, body)) is not None:
            condition, body = parts
            conditions = (*conditions, *ir.conjuncts(condition))
        inner = self.bind(expr.indices)
        return replace(
            expr,
            indices=tuple([inner.names[index] for index in expr.indices]),
            ranges=inner.ranges(expr.indices),
            guard=ir.conjunction([inner.expr(condition) for condition in conditions]),
            body=inner.expr(body),
            rank=None if expr.rank is None else inner.expr(expr.rank),
        )


def _is_computed(index: Affine) -> bool:
    """Whether a subscript on the left is more than an index or a number."""
    return bool(index.terms) and index.bare is None


def _sorted(indices: frozenset[IndexVar]) -> list[IndexVar]:
    return sorted(indices, key=lambda index: (index.name, index.tag))
