"""Subscripts, sizes and ranges as formulas."""

from collections.abc import Callable, Iterable, Mapping
from typing import assert_never

from .. import ir
from ..symbolic import Affine, Bounded, Clamp, Extremum, Floor, IndexVar, Interval, Quotient, Remainder, Size, SizeVar
from ..symbolic.affine import Atom
from ..symbolic.size import SizeAtom
from .formula import Fenced, Formula, Number, Row, Scripts, Sign, Space, Symbol, Word, applied

Indices = Mapping[IndexVar, Symbol]
# Writes the expressions inside subscripts.
Write = Callable[[ir.Expr], Formula]


def affine_formula(affine: Affine, indices: Indices, write: Write) -> Formula:
    """``2 i + k - 1``; expressions inside are written by `write`."""
    terms: list[tuple[bool, Formula]] = []
    for atom, weight in affine.terms:
        formula = _atom(atom, indices, write)
        value = weight.constant
        if value is None:
            terms.append((False, Row((_factor(weight), Space(), _grouped(formula)))))
        elif abs(value) == 1:
            terms.append((value < 0, formula))
        else:
            terms.append((value < 0, Row((Number(str(abs(value))), _grouped(formula)))))
    if not terms or affine.base != Size.of(0):
        terms += _size_terms(affine.base)
    return _sum(terms)


def size_formula(size: Size) -> Formula:
    """``2 N - 1``."""
    return _sum(_size_terms(size))


def size_symbol(size: SizeVar) -> Formula:
    """``N``, or for a dimension without a name ``|A|`` with its number below."""
    tensor, _, dimension = size.name.rpartition(".")
    if not tensor:
        return Symbol(size.name)
    return Scripts(Fenced("|", Symbol(tensor), "|"), Number(dimension))


def interval_formula(interval: Interval, index: Formula) -> Formula:
    """``0 ≤ i < N``."""
    return Row((size_formula(interval.lo), Sign("≤"), index, Sign("<"), size_formula(interval.hi)))


def floored(top: Formula, bottom: Formula) -> Formula:
    """The quotient between the brackets of a floor."""
    return Fenced("⌊", Row((_grouped(top), Sign("/"), _grouped(bottom))), "⌋")


def _atom(atom: Atom, indices: Indices, write: Write) -> Formula:
    match atom:
        case IndexVar():
            return indices.get(atom) or Symbol(atom.name)
        case Quotient(argument, divisor):
            return floored(affine_formula(argument, indices, write), size_formula(divisor))
        case Remainder(argument, divisor):
            inner = _grouped(affine_formula(argument, indices, write))
            return Row((inner, Sign("mod"), _factor(divisor)))
        case Clamp(kind, arguments):
            return applied(Word(kind), *(affine_formula(argument, indices, write) for argument in arguments))
        case Bounded(kind, argument):
            return applied(Word(kind), affine_formula(argument, indices, write))
        case ir.Data(expr):
            return write(expr)
        case _:
            return Word(str(atom))


def _size_terms(size: Size) -> list[tuple[bool, Formula]]:
    # As they print: the number last.
    terms = sorted(size.terms, key=lambda term: (not term[0], term[1] < 0))
    if not terms:
        return [(False, Number("0"))]
    found: list[tuple[bool, Formula]] = []
    for monomial, weight in terms:
        factors: list[Formula] = [] if monomial and abs(weight) == 1 else [Number(str(abs(weight)))]
        factors += map(_size_atom, monomial)
        found.append((weight < 0, _product(factors)))
    return found


def _size_atom(atom: SizeAtom) -> Formula:
    match atom:
        case SizeVar():
            return size_symbol(atom)
        case Floor(numerator, divisor):
            return floored(size_formula(numerator), size_formula(divisor))
        case Extremum(kind, arguments):
            return applied(Word(kind), *map(size_formula, arguments))
        case _:
            assert_never(atom)


def _factor(size: Size) -> Formula:
    return _grouped(size_formula(size))


def _product(factors: list[Formula]) -> Formula:
    items: list[Formula] = []
    for factor in factors:
        items += [Space(), factor] if items and not isinstance(items[0], Number) else [factor]
    return items[0] if len(items) == 1 else Row(tuple(items))


def _sum(terms: Iterable[tuple[bool, Formula]]) -> Formula:
    items: list[Formula] = []
    for negative, formula in terms:
        if not items:
            items += [Sign("-", alone=True), formula] if negative else [formula]
        else:
            items += [Sign("-" if negative else "+"), formula]
    return items[0] if len(items) == 1 else Row(tuple(items))


def _grouped(formula: Formula) -> Formula:
    """In parentheses if it contains operators."""
    has_signs = isinstance(formula, Row) and any(isinstance(item, Sign) for item in formula.items)
    return Fenced("(", formula, ")") if has_signs else formula
