"""Replaces sizes by numbers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from .. import ir
from ..symbolic import Affine, IndexVar, SizeVar

Sizes = Mapping[SizeVar, int]
Formula = TypeVar("Formula", bound="ir.Define | ir.Accumulate")


def specialize(statement: Formula, sizes: Sizes) -> Formula:
    """The statement with every size replaced by its value, and boundaries of subscripts written out."""
    guard = statement.domain.guard
    indices = tuple(_affine(index, sizes) for index in statement.indices)
    if isinstance(statement, ir.Accumulate):
        # In ``O(i % N)`` no index remains if N is 1: all its values write one element.
        kept = frozenset[IndexVar]().union(*(index.variables for index in indices))
        gone = tuple(index for index in ir.left_indices(statement) if index not in kept)
        statement = replace(statement, reduction=(*gone, *statement.reduction))
    return replace(
        statement,
        indices=indices,
        value=specialize_expr(statement.value, sizes),
        domain=ir.Domain(
            tuple(_range(given, sizes) for given in statement.domain.ranges),
            None if guard is None else specialize_expr(guard, sizes),
            statement.domain.exists,
            statement.domain.loops,
        ),
    )


def specialize_expr(expr: ir.Expr, sizes: Sizes) -> ir.Expr:
    """The expression with every size replaced by its value, if it has one."""
    match expr:
        case ir.Extent(size, dtype):
            size = size.substitute(sizes)
            known = size.constant
            return replace(expr, size=size) if known is None else ir.Const(known, dtype, span=expr.span)
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
    affine = affine.rewrite(
        lambda atom: ir.Data(specialize_expr(atom.expr, sizes)) if isinstance(atom, ir.Data) else atom,
        lambda size: size.substitute(sizes),
    )
    bounded = affine.bounded
    return affine if bounded is None else bounded.written_out()
