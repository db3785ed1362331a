"""Affine subscripts and sizes written out as sums of products."""

from collections.abc import Sequence
from functools import reduce
from typing import Protocol, TypeVar, assert_never

from .. import ir
from ..symbolic import Affine, Bounded, Clamp, Extremum, Facts, Floor, IndexVar, Quotient, Remainder, Size, SizeVar
from ..symbolic.affine import Atom

Tree = TypeVar("Tree")

# What is known about sizes everywhere.
_SIZES = Facts()


class Arithmetic(Protocol[Tree]):
    """How a notation writes integer arithmetic."""

    def number(self, value: int) -> Tree: ...

    def negative(self, operand: Tree) -> Tree: ...

    def binary(self, operator: str, left: Tree, right: Tree) -> Tree: ...

    def extremum(self, kind: str, arguments: Sequence[Tree]) -> Tree: ...

    def floor(self, argument: Tree, divisor: Tree, nonnegative: bool) -> Tree: ...

    def remainder(self, argument: Tree, divisor: Tree) -> Tree: ...

    def bounded(self, bounded: Bounded) -> Tree: ...

    def index(self, index: IndexVar) -> Tree: ...

    def size(self, size: SizeVar) -> Tree: ...

    def data(self, expr: ir.Expr) -> Tree: ...

    def is_nonnegative(self, affine: Affine) -> bool: ...


def write_affine(affine: Affine, notation: Arithmetic[Tree]) -> Tree:
    """``2 * i + j - 1``: what is added first, then what is subtracted."""
    terms: list[tuple[bool, Tree]] = []
    for atom, weight in affine.terms:
        tree = _write_atom(atom, notation)
        constant = weight.constant
        if constant is None:
            terms.append((False, notation.binary("*", write_size(weight, notation), tree)))
        else:
            factor = tree if abs(constant) == 1 else notation.binary("*", notation.number(abs(constant)), tree)
            terms.append((constant < 0, factor))
    return _sum([*terms, *_size_terms(affine.base, notation)], notation)


def write_size(size: Size, notation: Arithmetic[Tree]) -> Tree:
    """``N - K + 1``."""
    return _sum(list(_size_terms(size, notation)), notation)


def _size_terms(size: Size, notation: Arithmetic[Tree]) -> list[tuple[bool, Tree]]:
    terms: list[tuple[bool, Tree]] = []
    for monomial, weight in sorted(size.terms, key=lambda term: not term[0]):
        factors = [_write_size_atom(atom, notation) for atom in monomial]
        if abs(weight) != 1 or not factors:
            factors.insert(0, notation.number(abs(weight)))
        terms.append((weight < 0, reduce(lambda left, right: notation.binary("*", left, right), factors)))
    return terms


def _sum(terms: list[tuple[bool, Tree]], notation: Arithmetic[Tree]) -> Tree:
    if not terms:
        return notation.number(0)
    terms.sort(key=lambda term: term[0])
    (is_negative, total), *rest = terms
    if is_negative:
        total = notation.negative(total)
    for is_subtracted, tree in rest:
        total = notation.binary("-" if is_subtracted else "+", total, tree)
    return total


def _write_atom(atom: Atom, notation: Arithmetic[Tree]) -> Tree:
    match atom:
        case IndexVar():
            return notation.index(atom)
        case Quotient(argument, divisor):
            is_nonnegative = notation.is_nonnegative(argument) and _SIZES.at_least_zero(divisor)
            return notation.floor(write_affine(argument, notation), write_size(divisor, notation), is_nonnegative)
        case Remainder(argument, divisor):
            return notation.remainder(write_affine(argument, notation), write_size(divisor, notation))
        case Clamp(kind, arguments):
            return notation.extremum(kind, [write_affine(argument, notation) for argument in arguments])
        case Bounded():
            return notation.bounded(atom)
        case ir.Data(expr):
            return notation.data(expr)
        case _:
            raise AssertionError(f"{atom!r} is no atom of a subscript")


def _write_size_atom(atom: SizeVar | Floor | Extremum, notation: Arithmetic[Tree]) -> Tree:
    match atom:
        case SizeVar():
            return notation.size(atom)
        case Floor(numerator, divisor):
            is_nonnegative = _SIZES.at_least_zero(numerator) and _SIZES.at_least_zero(divisor)
            return notation.floor(write_size(numerator, notation), write_size(divisor, notation), is_nonnegative)
        case Extremum(kind, arguments):
            return notation.extremum(kind, [write_size(argument, notation) for argument in arguments])
        case _:
            assert_never(atom)
