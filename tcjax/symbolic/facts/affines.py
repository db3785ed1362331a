"""Subscripts, sizes and conditions on them as expressions over names, and back."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Final

from ..affine import Affine, Atom, Bounded, Clamp, IndexVar, Quotient, Remainder, combined
from ..conditions import AllOf, AnyOf, AtLeastZero, Condition
from ..size import Extremum, Floor, Size, SizeVar
from .trees import And, Binary, Compare, Const, Expr, Or, Var, binary, spine

# Deeper expressions become names: nothing is known about their inside.
_DEEPEST: Final = 24

_SIMPLE: Final = re.compile(r"[^\W\d]\w*(\.\w+)*'*")


Behind = Callable[[str], "Atom | SizeVar"]


class Names:
    """The names of index variables, sizes and data in expressions, one each.

    A size keeps its own name; so does an index variable, unless the name is taken: then it gets a prime.
    """

    def __init__(self, sizes: Iterable[SizeVar] = ()) -> None:
        self._texts: dict[Atom | SizeVar, str] = {}
        self._named: dict[str, Atom | SizeVar] = {}
        for size in sizes:
            self.of(size)

    def of(self, named: Atom | SizeVar) -> Var:
        """The name of a variable or of an opaque atom."""
        text = self._texts.get(named)
        if text is None:
            text = str(named).replace("-", "_") if isinstance(named, (IndexVar, SizeVar)) else "data'"
            if not _SIMPLE.fullmatch(text):
                text = "name"
            while text in self._named:
                text += "'"
            self._named[text] = named
            self._texts[named] = text
        return Var(text)

    def is_size(self, name: str) -> bool:
        """Whether the name was given to a size."""
        return isinstance(self._named.get(name), SizeVar)

    def behind(self, name: str) -> Atom | SizeVar:
        """What a name stands for; an unknown name is a size."""
        return self._named.get(name) or SizeVar(name)


# ---------------------------------------------------------------- to expressions


def affine_expression(affine: Affine, names: Names, depth: int = 0) -> Expr:
    """``w1*atom1 + w2*atom2 + ... + base`` as an expression."""
    terms = [_times(size_expression(weight, names), _atom(atom, names, depth)) for atom, weight in affine.terms]
    return _sum([*terms, *_size_terms(affine.base, names, depth)])


def size_expression(size: Size, names: Names, depth: int = 0) -> Expr:
    """The size as an expression."""
    return _sum(list(_size_terms(size, names, depth)))


def condition_expression(condition: Condition, names: Names) -> Expr:
    """The condition as an expression; data-dependent parts become names without known facts."""
    match condition:
        case AtLeastZero(affine):
            return Compare(">=", affine_expression(affine, names), Const(0))
        case AllOf(parts):
            return And(tuple(condition_expression(part, names) for part in parts))
        case AnyOf(parts):
            return Or(tuple(condition_expression(part, names) for part in parts))


def _atom(atom: Atom, names: Names, depth: int) -> Expr:
    if depth >= _DEEPEST:
        return names.of(atom)
    match atom:
        case Quotient(argument, divisor):
            return binary("//", affine_expression(argument, names, depth + 1), size_expression(divisor, names))
        case Remainder(argument, divisor):
            return binary("%", affine_expression(argument, names, depth + 1), size_expression(divisor, names))
        case Clamp(kind, arguments):
            return _extremum(kind, [affine_expression(argument, names, depth + 1) for argument in arguments])
        case Bounded():
            return affine_expression(atom.written_out(), names, depth + 1)
        case _:
            return names.of(atom)


def _size_terms(size: Size, names: Names, depth: int) -> Iterable[Expr]:
    for monomial, weight in size.terms:
        factors = [_size_atom(atom, names, depth) for atom in monomial]
        yield _times(Const(weight), reduce(lambda a, b: binary("*", a, b), factors)) if factors else Const(weight)


def _size_atom(atom: SizeVar | Floor | Extremum, names: Names, depth: int) -> Expr:
    match atom:
        case SizeVar():
            return names.of(atom)
        case Floor(numerator, divisor):
            above, below = size_expression(numerator, names, depth + 1), size_expression(divisor, names, depth + 1)
            return binary("//", above, below)
        case Extremum(kind, arguments):
            return _extremum(kind, [size_expression(argument, names, depth + 1) for argument in arguments])


def _times(weight: Expr, factor: Expr) -> Expr:
    return factor if weight is Const(1) else binary("*", weight, factor)


def _extremum(kind: str, arguments: Sequence[Expr]) -> Expr:
    return reduce(lambda a, b: binary(kind, a, b), arguments)


def _sum(terms: Sequence[Expr]) -> Expr:
    """The sum of the terms, those with a negative factor subtracted at the end."""
    if not terms:
        return Const(0)
    negated = [_negated(term) for term in terms]
    added = [term for term, other in zip(terms, negated, strict=True) if other is None]
    total = reduce(lambda a, b: binary("+", a, b), added) if added else None
    for other in negated:
        if other is not None:
            total = binary("-", Const(0) if total is None else total, other)
    assert total is not None
    return total


def _negated(term: Expr) -> Expr | None:
    """The term without its sign, None for one without."""
    match term:
        case Const(value=value) if value < 0:
            return Const(-value)
        case Binary(op="*", left=Const(value=value), right=factor) if value < 0:
            return _times(Const(-value), factor)
        case _:
            return None


# ---------------------------------------------------------------- from expressions


def as_affine(expr: Expr, behind: Behind) -> Affine | None:
    """The expression as a subscript; `behind` gives the meaning of each name.

    None for products of variables, truncating divisions and selections.
    """
    match expr:
        case Const(value=value):
            return Affine.of(value)
        case Var(name=name):
            return Affine.of(behind(name))
        case Binary(op="+" | "-"):
            first, rest = spine(expr)
            total = as_affine(first, behind)
            for sign, term in rest:
                other = as_affine(term, behind)
                if total is None or other is None:
                    return None
                total = total + other if sign == "+" else total - other
            return total
        case Binary(op=operator, left=left, right=right):
            first, second = as_affine(left, behind), as_affine(right, behind)
            return None if first is None or second is None else combined(operator, first, second)
        case _:
            return None


def as_size(expr: Expr, behind: Behind) -> Size | None:
    """The expression as a size; None if it is not one."""
    affine = as_affine(expr, behind)
    return affine.base if affine is not None and not affine.terms else None


__all__ = [
    "Names",
    "affine_expression",
    "as_affine",
    "as_size",
    "condition_expression",
    "size_expression",
]
