"""Sizes as numbers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from .. import ir
from ..symbolic import Affine, SizeVar

Sizes = Mapping[SizeVar, int]
Formula = TypeVar("Formula", bound="ir.Define | ir.Accumulate")


def specialize(statement: Formula, sizes: Sizes) -> Formula:
    """The statement with every size replaced by its value."""
    guard = statement.domain.guard
    return replace(
        statement,
        indices=tuple(_affine(index, sizes) for index in statement.indices),
        value=specialize_expr(statement.value, sizes),
        domain=ir.Domain(
            tuple(_range(given, sizes) for given in statement.domain.ranges),
            None if guard is None else specialize_expr(guard, sizes),
            statement.domain.exists,
            statement.domain.loops,
        ),
    )


def specialize_expr(expr: ir.Expr, sizes: Sizes) -> ir.Expr:
    """The expression with every size replaced by its value."""
    match expr:
        case ir.Extent(size, dtype):
            return ir.Const(size.evaluate(sizes), dtype, span=expr.span)
        case ir.Access(_, indices):
            return replace(expr, indices=tuple(_affine(index, sizes) for index in indices))
        case ir.Reduce(ranges=ranges):
            inner = ir.rebuild(expr, lambda child: specialize_expr(child, sizes))
            assert isinstance(inner, ir.Reduce)
            return replace(inner, ranges=tuple(_range(given, sizes) for given in ranges))
        case _:
            return ir.rebuild(expr, lambda child: specialize_expr(child, sizes))


def _range(given: ir.Range, sizes: Sizes) -> ir.Range:
    return replace(given, lo=_affine(given.lo, sizes), hi=_affine(given.hi, sizes))


def _affine(affine: Affine, sizes: Sizes) -> Affine:
    return affine.rewrite(
        lambda atom: ir.Data(specialize_expr(atom.expr, sizes)) if isinstance(atom, ir.Data) else atom,
        lambda size: size.substitute(sizes),
    )
