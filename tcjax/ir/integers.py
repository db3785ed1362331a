"""Affine expressions as values."""

from functools import reduce

from ..symbolic import Affine, Bounded, Clamp, IndexVar, Quotient, Remainder, Size
from ..symbolic.affine import Atom
from .expressions import Binary, Cast, Const, Data, Expr, Extent, Index


def integer(affine: Affine) -> Expr:
    """An affine expression as an int32 value."""
    parts = [_scaled(_atom(atom), weight) for atom, weight in affine.terms]
    if not parts or affine.base != Size.of(0):
        parts.append(_size(affine.base))
    return reduce(lambda left, right: _binary("+", left, right), parts)


def _scaled(value: Expr, weight: Size) -> Expr:
    return value if weight.constant == 1 else _binary("*", _size(weight), value)


def _atom(atom: Atom) -> Expr:
    match atom:
        case IndexVar():
            return Index(atom)
        case Quotient(argument, divisor):
            return _binary("//", integer(argument), _size(divisor))
        case Remainder(argument, divisor):
            return _binary("%", integer(argument), _size(divisor))
        case Clamp(kind, arguments):
            return reduce(lambda left, right: _binary(kind, left, right), map(integer, arguments))
        case Bounded():
            return integer(atom.written_out())
        case Data(expr):
            return expr if expr.dtype == "int32" else Cast(expr, "int32")
        case _:
            raise AssertionError(atom)


def _size(size: Size) -> Expr:
    return Extent(size) if size.constant is None else Const(size.constant, "int32")


def _binary(operator: str, left: Expr, right: Expr) -> Expr:
    return Binary(operator, left, right, "int32")
