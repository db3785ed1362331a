"""Substitutes indices: each old index becomes an affine expression of new ones."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from .. import ir
from ..symbolic import Affine, AffineLike, Box, IndexVar
from ..symbolic.affine import Atom

Finish = Callable[[Affine], Affine]
Bound = Callable[[tuple[IndexVar, ...]], tuple[IndexVar, ...]]
Formula = TypeVar("Formula", bound="ir.Define | ir.Accumulate")


def substitute(
    statement: Formula,
    values: Mapping[IndexVar, Affine],
    reduction: tuple[IndexVar, ...],
    finish: Finish = lambda subscript: subscript,
    inline: Bound = lambda indices: indices,
) -> Formula:
    """The statement with its indices replaced by `values`; an accumulation then reduces over `reduction`.

    `inline` gives the new indices of each inline reduction, `finish` post-processes each subscript. Given ranges must
    already be guards.
    """
    assert not statement.domain.ranges
    substitution = _Substitution(values, finish, inline)
    guard = statement.domain.guard
    indices = tuple(map(substitution.affine, statement.indices))
    rest = {
        "indices": indices,
        "value": substitution.expr(statement.value),
        "domain": replace(statement.domain, guard=None if guard is None else substitution.expr(guard)),
    }
    if isinstance(statement, ir.Accumulate):
        # `finish` may remove an index from the left side: all its values write one element.
        moved = _variables(substitute_affine(index, values) for index in statement.indices)
        lost = sorted(moved - _variables(indices) - set(reduction), key=str)
        rest["reduction"] = (*lost, *reduction)
    return replace(statement, **rest)


def _variables(subscripts: Iterable[Affine]) -> frozenset[IndexVar]:
    return frozenset[IndexVar]().union(*(subscript.variables for subscript in subscripts))


def substitute_expr(expr: ir.Expr, values: Mapping[IndexVar, Affine]) -> ir.Expr:
    """The expression with free index variables replaced; indices that it binds keep their names."""
    return _Substitution(values, lambda subscript: subscript, lambda indices: indices).expr(expr)


def substitute_affine(affine: Affine, values: Mapping[IndexVar, Affine]) -> Affine:
    """The subscript with index variables replaced, including inside data."""
    return _Substitution(values, lambda subscript: subscript, lambda indices: indices).affine(affine)


def reading(statement: Formula, tensors: Mapping[str, ir.Tensor]) -> Formula:
    """The statement with some of its tensors replaced by others."""

    def visit(node: ir.Expr) -> ir.Expr:
        node = ir.rebuild(node, visit)
        if isinstance(node, ir.Access) and node.tensor.name in tensors:
            return replace(node, tensor=tensors[node.tensor.name])
        return node

    return ir.rebuild_statement(statement, visit)


def numbered(expr: ir.Expr, box: Box, depth: int = 0) -> ir.Expr:
    """The expression with numbers and ranges in the names of the indices that it binds, for comparison.

    `depth` indices are bound around it.
    """
    if not isinstance(expr, ir.Reduce):
        return ir.rebuild(expr, lambda part: numbered(part, box, depth))
    names = {index: IndexVar(f"b.{depth + place}.{box[index]}") for place, index in enumerate(expr.indices)}
    inner = ir.rebuild(expr, lambda part: numbered(part, box, depth + len(names)))
    found = substitute_expr(inner, {index: Affine.of(new) for index, new in names.items()})
    assert isinstance(found, ir.Reduce)
    return replace(found, indices=tuple(names.values()))


@dataclass(frozen=True, slots=True)
class _Substitution:
    values: Mapping[IndexVar, Affine]
    finish: Finish
    inline: Bound

    def expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Index(variable) if variable in self.values:
                return ir.integer(self.values[variable])
            case ir.Access(_, indices):
                return replace(expr, indices=tuple(map(self.affine, indices)))
            case ir.Reduce(indices=indices):
                rebuilt = ir.rebuild(expr, self.expr)
                assert isinstance(rebuilt, ir.Reduce)
                return replace(rebuilt, indices=self.inline(indices))
            case _:
                return ir.rebuild(expr, self.expr)

    def affine(self, affine: Affine) -> Affine:
        return self.finish(affine.rewrite(self.atom))

    def atom(self, atom: Atom) -> AffineLike:
        if isinstance(atom, IndexVar):
            return self.values.get(atom, atom)
        return ir.Data(self.expr(atom.expr)) if isinstance(atom, ir.Data) else atom
