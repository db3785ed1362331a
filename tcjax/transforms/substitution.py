"""Statements over other indices: each old index becomes an affine expression of new ones."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from .. import ir
from ..symbolic import Affine, AffineLike, IndexVar
from ..symbolic.affine import Atom

Finish = Callable[[Affine], Affine]
Formula = TypeVar("Formula", bound="ir.Define | ir.Accumulate")


def substitute(
    statement: Formula,
    values: Mapping[IndexVar, Affine],
    reduction: tuple[IndexVar, ...],
    finish: Finish = lambda subscript: subscript,
) -> Formula:
    """The statement with its indices replaced by `values`; an accumulation then reduces over `reduction`.

    Indices of inline reductions stay, `finish` has the last word on each subscript. Given ranges must have become
    guards before.
    """
    assert not statement.domain.ranges
    guard = statement.domain.guard
    rest = {
        "indices": tuple(substitute_affine(index, values, finish) for index in statement.indices),
        "value": substitute_expr(statement.value, values, finish),
        "domain": replace(statement.domain, guard=None if guard is None else substitute_expr(guard, values, finish)),
    }
    if isinstance(statement, ir.Accumulate):
        rest["reduction"] = reduction
    return replace(statement, **rest)


def substitute_expr(
    expr: ir.Expr, values: Mapping[IndexVar, Affine], finish: Finish = lambda subscript: subscript
) -> ir.Expr:
    """The expression with index variables replaced, inside subscripts and data-dependent subscripts too."""
    match expr:
        case ir.Index(variable) if variable in values:
            return ir.integer(values[variable])
        case ir.Access(_, indices):
            return replace(expr, indices=tuple(substitute_affine(index, values, finish) for index in indices))
        case _:
            return ir.rebuild(expr, lambda child: substitute_expr(child, values, finish))


def substitute_affine(
    affine: Affine, values: Mapping[IndexVar, Affine], finish: Finish = lambda subscript: subscript
) -> Affine:
    """The subscript with index variables replaced."""

    def atom(inside: Atom) -> AffineLike:
        if isinstance(inside, IndexVar):
            return values.get(inside, inside)
        return ir.Data(substitute_expr(inside.expr, values, finish)) if isinstance(inside, ir.Data) else inside

    return finish(affine.rewrite(atom))
