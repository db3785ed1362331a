"""The normal form: integer polynomials over atoms, and conditions on their signs.

An atom is a name, a quotient (rounded down or towards zero), a least value or a choice, all over polynomials.
Remainders and greatest values do not exist: ``a % b = a - b*(a//b)`` and ``max(a, b) = -min(-a, -b)``, so that round
trips cancel.
This module holds the values and their arithmetic; `normalizing` builds them under facts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from math import gcd

from .atoms import Atom, Choice, Floor, Least, Quotient, Sealed, Symbol, Trunc
from .trees import FALSE, MIRRORED, TRUE, And, Binary, Compare, Const, Expr, Or, Select, Var, digits

Monomial = tuple["Atom", ...]


# Polynomials of this weight are not expanded but kept as `Sealed`: a remainder or a least value uses its operand twice,
# so nested ones would double at every level.
LARGEST = 160


class Poly:
    """A sum of integer multiples of monomials.

    `terms` maps a monomial, a sorted tuple of atoms, to its nonzero weight.
    """

    __slots__ = ("_hash", "_height", "_key", "_names", "_weight", "terms")
    terms: dict[Monomial, int]

    def __init__(self, terms: dict[Monomial, int]) -> None:
        self.terms = terms
        self._hash = hash(frozenset(terms.items()))
        self._key: str | None = None
        self._height: int | None = None
        self._names: frozenset[str] | None = None
        self._weight: int | None = None

    @staticmethod
    def of(value: int) -> "Poly":
        return Poly({(): value}) if value else ZERO

    @staticmethod
    def atom(atom: Atom, weight: int = 1) -> "Poly":
        return Poly({(atom,): weight}) if weight else ZERO

    @property
    def key(self) -> str:
        """A text that is the same exactly for equal polynomials."""
        if self._key is None:
            texts = sorted(("*".join(a.key for a in monomial), weight) for monomial, weight in self.terms.items())
            self._key = "+".join(f"{digits(weight)}*{text}" if text else digits(weight) for text, weight in texts)
        return self._key

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Poly) and self._hash == other._hash and self.terms == other.terms)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Poly({self.key or '0'})"

    def __bool__(self) -> bool:
        return bool(self.terms)

    @property
    def constant(self) -> int:
        """The weight of the empty monomial."""
        return self.terms.get((), 0)

    @property
    def value(self) -> int | None:
        """The integer that this equals, or None."""
        terms = self.terms
        if not terms:
            return 0
        return terms.get(()) if len(terms) == 1 else None

    @property
    def as_atom(self) -> Atom | None:
        """The atom that this equals, or None."""
        if len(self.terms) == 1:
            ((monomial, weight),) = self.terms.items()
            if weight == 1 and len(monomial) == 1:
                return monomial[0]
        return None

    def __neg__(self) -> "Poly":
        return Poly({m: -c for m, c in self.terms.items()})

    def __add__(self, other: "Poly | int") -> "Poly":
        return self._plus(other, 1)

    def __sub__(self, other: "Poly | int") -> "Poly":
        return self._plus(other, -1)

    def _plus(self, other: "Poly | int", sign: int) -> "Poly":
        terms = dict(self.terms)
        items = ((((), other),) if other else ()) if isinstance(other, int) else other.terms.items()
        for monomial, weight in items:
            total = terms.get(monomial, 0) + sign * weight
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]
        return Poly(terms)

    def __mul__(self, other: "Poly | int") -> "Poly":
        if isinstance(other, int):
            return self if other == 1 else Poly({m: c * other for m, c in self.terms.items()} if other else {})
        terms: dict[Monomial, int] = {}
        for m1, c1 in self.terms.items():
            for m2, c2 in other.terms.items():
                monomial = m1 + m2 if not m1 or not m2 else tuple(sorted(m1 + m2))
                terms[monomial] = terms.get(monomial, 0) + c1 * c2
        return Poly({m: c for m, c in terms.items() if c})

    def exactly(self, divisor: int) -> "Poly":
        """This divided by an integer that divides every weight."""
        return self if divisor == 1 else Poly({m: c // divisor for m, c in self.terms.items()})

    @property
    def content(self) -> int:
        """The greatest common divisor of all weights, 0 for the zero polynomial."""
        return reduce(gcd, self.terms.values(), 0)

    @property
    def slope(self) -> int:
        """The greatest common divisor of the weights of non-constant terms."""
        return reduce(gcd, (c for m, c in self.terms.items() if m), 0)

    @property
    def degree(self) -> int:
        """The largest number of atoms in a monomial."""
        return max(map(len, self.terms), default=0)

    @property
    def atoms(self) -> set[Atom]:
        """The atoms of the monomials, without those inside quotients and the like."""
        return {atom for monomial in self.terms for atom in monomial}

    def deep_atoms(self, *, choices: bool = False) -> Iterator[Atom]:
        """Every atom evaluated wherever this is, without duplicates; with `choices` also those inside choices."""
        seen: set[Atom] = set()
        stack: list[Poly] = [self]
        while stack:
            for atom in sorted(stack.pop().atoms):
                if atom in seen:
                    continue
                seen.add(atom)
                yield atom
                stack.extend(inside(atom, choices=choices))

    @property
    def height(self) -> int:
        """The depth of nested atoms."""
        if self._height is None:
            self._height = 1 + max((p.height for atom in self.atoms for p in inside(atom, choices=True)), default=0)
        return self._height

    @property
    def weight(self) -> int:
        """The number of atoms, including inner ones: the length of its text."""
        if self._weight is None:
            inner = [p.weight for m in self.terms for atom in m for p in inside(atom, choices=True)]
            self._weight = sum(1 + len(m) for m in self.terms) + sum(inner)
        return self._weight

    @property
    def names(self) -> frozenset[str]:
        """The names in it, at any depth."""
        if self._names is None:
            self._names = frozenset(a.name for a in self.deep_atoms(choices=True) if isinstance(a, Symbol))
        return self._names


ZERO = Poly({})
ONE = Poly({(): 1})


def inside(atom: Atom, *, choices: bool) -> list[Poly]:
    """The polynomials directly inside of `atom`."""
    match atom:
        case Quotient():
            return [atom.numerator, atom.denominator]
        case Least() | Sealed():
            return list(atom.args)
        case Choice() if choices:
            return [*polynomials(atom.condition), atom.then, atom.otherwise]
        case _:
            return []


@dataclass(frozen=True, slots=True)
class Sign:
    """``poly >= 0``, ``poly == 0`` or ``poly != 0``."""

    relation: str
    poly: Poly
    key: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", f"{self.poly.key}{self.relation}0")


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; with no parts it is true."""

    parts: tuple["Formula", ...]
    key: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", f"all({','.join(part.key for part in self.parts)})")


@dataclass(frozen=True, slots=True)
class Any:
    """Some part holds; with no parts it is false."""

    parts: tuple["Formula", ...]
    key: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", f"any({','.join(part.key for part in self.parts)})")


Formula = Sign | All | Any

YES = All(())
NO = Any(())


def negated(formula: Formula) -> Formula:
    """The formula that holds where `formula` does not."""
    match formula:
        case Sign(">=", poly):
            return Sign(">=", -poly - 1)
        case Sign("==", poly):
            return Sign("!=", poly)
        case Sign(_, poly):
            return Sign("==", poly)
        case All(parts):
            return Any(tuple(negated(part) for part in parts))
        case Any(parts):
            return All(tuple(negated(part) for part in parts))


def polynomials(formula: Formula) -> list[Poly]:
    """The polynomials that `formula` compares with zero."""
    if isinstance(formula, Sign):
        return [formula.poly]
    return [poly for part in formula.parts for poly in polynomials(part)]


def express(poly: Poly) -> Expr:
    """`poly` as an expression, term by term."""
    total: Expr | None = None
    ordered = sorted(poly.terms.items(), key=lambda term: (-len(term[0]), [atom.key for atom in term[0]]))
    # A positive term first saves a sign.
    ordered.sort(key=lambda term: term[1] < 0 or not term[0])
    for monomial, weight in ordered:
        term = express_monomial(monomial, abs(weight))
        if total is None:
            total = term if weight > 0 else (Const(weight) if not monomial else -term)
        else:
            total = Binary("+" if weight > 0 else "-", total, term)
    return total if total is not None else Const(0)


def express_monomial(monomial: Monomial, weight: int) -> Expr:
    """``weight * monomial``."""
    product: Expr | None = None
    for atom in monomial:
        factor = express_atom(atom)
        product = factor if product is None else Binary("*", product, factor)
    if product is None:
        return Const(weight)
    return product if weight == 1 else Binary("*", product, Const(weight))


def express_atom(atom: Atom) -> Expr:
    """`atom` as an expression."""
    match atom:
        case Symbol():
            return Var(atom.name)
        case Floor():
            return Binary("//", express(atom.numerator), express(atom.denominator))
        case Trunc():
            return Binary("tdiv", express(atom.numerator), express(atom.denominator))
        case Least():
            return reduce(lambda a, b: Binary("min", a, b), map(express, atom.args))
        case Sealed():
            return Binary(atom.op, *map(express, atom.args))
        case Choice():
            return Select(express_formula(atom.condition), express(atom.then), express(atom.otherwise))
        case _:
            raise AssertionError(atom)


def express_formula(formula: Formula) -> Expr:
    """`formula` as a condition."""
    match formula:
        case Sign(relation, poly):
            # Terms with a negative weight go to the other side.
            left = Poly({m: c for m, c in poly.terms.items() if c > 0})
            right = Poly({m: -c for m, c in poly.terms.items() if c < 0})
            if relation == ">=" and right.constant == 1 and len(right.terms) > 1:
                relation, right = ">", right - 1
            if left.value is not None:
                return Compare(MIRRORED[relation], express(right), express(left))
            return Compare(relation, express(left), express(right))
        case All(parts):
            return And(tuple(map(express_formula, parts))) if parts else TRUE
        case Any(parts):
            return Or(tuple(map(express_formula, parts))) if parts else FALSE
