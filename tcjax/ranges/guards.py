"""What must hold at a point for it to take part: explicit guards and those of ranges whose ends move."""

from collections.abc import Iterator
from functools import reduce
from typing import assert_never

from .. import ir
from ..symbolic import Affine, Clamp, IndexVar, Quotient, Remainder, Size
from ..symbolic.affine import Atom


def effective_guard(node: ir.Statement | ir.Reduce) -> ir.Expr | None:
    """The explicit guard of a statement or of an inline reduction, after the guards of its moving ranges.

    A range whose end uses another index runs over the hull of its values; ``lo <= k`` and ``k < hi`` cut that
    back, for each end that moves. None when every point takes part. The parts are joined by ``&&``, the moving
    ends first, so that what follows is only evaluated inside them.
    """
    return conjunction([part for part in (moving_guard(node), explicit_guard(node)) if part is not None])


def explicit_guard(node: ir.Statement | ir.Reduce) -> ir.Expr | None:
    """The guard as written."""
    match node:
        case ir.Define(domain=domain) | ir.Accumulate(domain=domain):
            return domain.guard
        case ir.Reduce(guard=guard):
            return guard
        case ir.Invoke() | ir.ApplyForeign():
            return None
        case _:
            assert_never(node)


def moving_guard(node: ir.Statement | ir.Reduce) -> ir.Expr | None:
    """What cuts the hulls of the ranges whose ends use other indices."""
    match node:
        case ir.Define(domain=domain) | ir.Accumulate(domain=domain):
            ranges = domain.ranges
        case ir.Reduce(ranges=ranges):
            pass
        case ir.Invoke() | ir.ApplyForeign():
            ranges = ()
        case _:
            assert_never(node)
    return conjunction([test for given in last_of_each(ranges).values() for test in moving_ends(given)])


def last_of_each(ranges: tuple[ir.Range, ...]) -> dict[IndexVar, ir.Range]:
    """The range of each index: of two for one index the last wins."""
    return {given.index: given for given in ranges}


def moving_ends(given: ir.Range) -> Iterator[ir.Expr]:
    """``lo <= index`` and ``index < hi``, for each end that depends on an index."""
    index = ir.Index(given.index, span=given.span)
    if given.lo.variables:
        yield ir.Binary("<=", integer(given.lo), index, "bool", span=given.span)
    if given.hi.variables:
        yield ir.Binary("<", index, integer(given.hi), "bool", span=given.span)


def conjunction(parts: list[ir.Expr]) -> ir.Expr | None:
    """The parts joined by ``&&``; None for no parts."""
    if not parts:
        return None
    return reduce(lambda left, right: ir.Binary("&&", left, right, "bool", span=left.span), parts)


def integer(affine: Affine) -> ir.Expr:
    """An affine expression as an int32 value."""
    parts = [_scaled(_atom(atom), weight) for atom, weight in affine.terms]
    if not parts or affine.base != Size.of(0):
        parts.append(_size(affine.base))
    return reduce(lambda left, right: _binary("+", left, right), parts)


def _scaled(value: ir.Expr, weight: Size) -> ir.Expr:
    return value if weight.constant == 1 else _binary("*", _size(weight), value)


def _atom(atom: Atom) -> ir.Expr:
    match atom:
        case IndexVar():
            return ir.Index(atom)
        case Quotient(argument, divisor):
            return _binary("//", integer(argument), _size(divisor))
        case Remainder(argument, divisor):
            return _binary("%", integer(argument), _size(divisor))
        case Clamp(kind, arguments):
            return reduce(lambda left, right: _binary(kind, left, right), map(integer, arguments))
        case ir.Data(expr):
            return expr
        case _:
            raise AssertionError(atom)


def _size(size: Size) -> ir.Expr:
    return ir.Extent(size) if size.constant is None else ir.Const(size.constant, "int32")


def _binary(operator: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return ir.Binary(operator, left, right, "int32")
