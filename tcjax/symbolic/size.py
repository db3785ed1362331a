"""Sizes: integer polynomials over the extents of tensors, with floors, minima and maxima as atoms."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ..keeping import cached_property


@dataclass(frozen=True, slots=True)
class SizeVar:
    """``N``, or ``A.0`` for a dimension nobody named. Never negative."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Floor:
    """``numerator // divisor``, rounded towards minus infinity."""

    numerator: "Size"
    divisor: "Size"

    def __str__(self) -> str:
        return f"{_wrap(self.numerator)} // {_wrap(self.divisor)}"


@dataclass(frozen=True, slots=True)
class Extremum:
    """``min(a, b, ...)`` or ``max(a, b, ...)`` of at least two sizes whose order is unknown."""

    kind: str
    arguments: "tuple[Size, ...]"

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(str, self.arguments))})"


SizeAtom = SizeVar | Floor | Extremum
Monomial = tuple[SizeAtom, ...]


@dataclass(frozen=True, eq=False)
class Size:
    """A sum of integer multiples of products of atoms, canonical: equal sizes compare equal."""

    terms: tuple[tuple[Monomial, int], ...]

    def __post_init__(self) -> None:
        # Sizes are hashed as they are built, so that no later hash recurses deeper than one level.
        for monomial, _ in self.terms:
            if any(not isinstance(atom, SizeVar) for atom in monomial):
                break
        else:
            return
        _ = self._hash, self._variables, self._text, self.is_nonnegative

    @staticmethod
    def of(value: "SizeLike") -> "Size":
        if isinstance(value, Size):
            return value
        if isinstance(value, int):
            known = _SMALL.get(value)
            if known is None:
                known = Size((((), int(value)),)) if value else ZERO
                if abs(value) <= _LARGEST_SMALL:
                    _SMALL[value] = known
            return known
        return Size((((value,), 1),))

    @cached_property
    def constant(self) -> int | None:
        """The value if no atom occurs, else None."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        return None

    @cached_property
    def is_nonnegative(self) -> bool:
        """Whether it is known not to be negative, judging by its form (size variables are never negative)."""
        return all(weight >= 0 and all(map(_is_nonnegative, monomial)) for monomial, weight in self.terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.terms == other.terms

    @cached_property
    def _hash(self) -> int:
        return hash(self.terms)

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: "SizeLike") -> "Size":
        other = other if isinstance(other, Size) else Size.of(other)
        if not other.terms:
            return self
        a, b = self.constant, other.constant
        if a is not None and b is not None:
            return Size.of(a + b)
        return _collect((*self.terms, *other.terms))

    __radd__ = __add__

    def __neg__(self) -> "Size":
        if self.constant is not None:
            return Size.of(-self.constant)
        return Size(tuple((monomial, -weight) for monomial, weight in self.terms))

    def __sub__(self, other: "SizeLike") -> "Size":
        return self + -Size.of(other)

    def __rsub__(self, other: "SizeLike") -> "Size":
        return Size.of(other) + -self

    def __mul__(self, other: "SizeLike") -> "Size":
        other = other if isinstance(other, Size) else Size.of(other)
        a, b = self.constant, other.constant
        if b == 1:
            return self
        if a is not None and b is not None:
            return Size.of(a * b)
        return _collect((tuple(sorted((*m, *n), key=str)), v * w) for m, v in self.terms for n, w in other.terms)

    __rmul__ = __mul__

    def __floordiv__(self, other: "SizeLike") -> "Size":
        """The floor of the quotient. Raises `ZeroDivisionError` for a constant zero."""
        other = Size.of(other)
        divisor = other.constant
        if divisor is None:
            return _divided(self, other)
        if divisor < 0:
            return -self // -divisor
        value = self.constant
        if value is not None:
            return Size.of(value // divisor)
        whole = tuple((m, w // divisor) for m, w in self.terms if w % divisor == 0)
        rest = tuple((m, w) for m, w in self.terms if w % divisor)
        outside, inside = Size(whole), Size(rest)
        if inside.constant is not None:
            return outside + inside.constant // divisor
        return outside + Size.of(Floor(inside, other))

    def __mod__(self, other: "SizeLike") -> "Size":
        return self - self // other * other

    def ceildiv(self, other: "SizeLike") -> "Size":
        """The quotient rounded up."""
        return -(-self // other)

    def substitute(self, sizes: Mapping[SizeVar, "SizeLike"]) -> "Size":
        """The size with some variables replaced."""
        if self.constant is not None:
            return self
        atoms = dict.fromkeys(atom for monomial, _ in self.terms for atom in monomial)
        values = {atom: _substitute_atom(atom, sizes) for atom in atoms}
        total = ZERO
        for monomial, weight in self.terms:
            product = Size.of(weight)
            for atom in monomial:
                product = product * values[atom]
            total = total + product
        return total

    def evaluate(self, sizes: Mapping[SizeVar, int]) -> int:
        """The value when every variable has one. Raises `KeyError` for a variable that has none."""
        values: dict[SizeAtom, int] = {}
        total = 0
        for monomial, weight in self.terms:
            for atom in monomial:
                if atom not in values:
                    values[atom] = _evaluate_atom(atom, sizes)
                weight *= values[atom]
            total += weight
        return total

    def variables(self) -> frozenset[SizeVar]:
        """Every variable in the size, including those in floors and extrema."""
        return self._variables

    @cached_property
    def _variables(self) -> frozenset[SizeVar]:
        return frozenset(v for monomial, _ in self.terms for atom in monomial for v in _atom_variables(atom))

    @cached_property
    def _text(self) -> str:
        if not self.terms:
            return "0"
        text = ""
        # ``N - K + 1`` with the number last, but ``20 - N`` rather than ``-N + 20``.
        plus = any(monomial and weight > 0 for monomial, weight in self.terms)
        for monomial, weight in sorted(self.terms, key=lambda term: (plus and not term[0], term[1] < 0, not term[0])):
            factor = " * ".join(_show_factor(atom, len(monomial) > 1 or abs(weight) != 1) for atom in monomial)
            magnitude = abs(weight)
            shown = factor if factor and magnitude == 1 else f"{magnitude} * {factor}" if factor else str(magnitude)
            if not text:
                text = f"-{shown}" if weight < 0 else shown
            else:
                text += f" - {shown}" if weight < 0 else f" + {shown}"
        return text

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


SizeLike = Size | SizeVar | Floor | Extremum | int

ZERO = Size(())
ONE = Size((((), 1),))

# Most sizes of a call are small numbers: each is created once.
_SMALL: Final[dict[int, Size]] = {}
_LARGEST_SMALL: Final = 256


def minimum(*sizes: SizeLike) -> Size:
    """The smallest of the sizes, decided where a difference has a known sign."""
    return _extremum("min", sizes)


def maximum(*sizes: SizeLike) -> Size:
    """The largest of the sizes, decided where a difference has a known sign."""
    return _extremum("max", sizes)


def _extremum(kind: str, sizes: Iterable[SizeLike]) -> Size:
    kept: list[Size] = []
    for size in _flattened(kind, sizes):
        if any(_decides(kind, other, size) for other in kept):
            continue
        kept = [other for other in kept if not _decides(kind, size, other)]
        kept.append(size)
    if len(kept) == 1:
        return kept[0]
    return Size.of(Extremum(kind, tuple(sorted(kept, key=str))))


def _flattened(kind: str, sizes: Iterable[SizeLike]) -> Iterator[Size]:
    """The sizes, with an extremum of the same kind replaced by its arguments."""
    for size in map(Size.of, sizes):
        match size.terms:
            case (((Extremum(inner, arguments),), 1),) if inner == kind:
                yield from arguments
            case _:
                yield size


def _decides(kind: str, size: Size, other: Size) -> bool:
    """Whether `other` makes `size` redundant in an extremum."""
    return (other - size if kind == "min" else size - other).is_nonnegative


def _is_nonnegative(atom: SizeAtom) -> bool:
    match atom:
        case SizeVar():
            return True
        case Floor(numerator, divisor):
            return numerator.is_nonnegative and divisor.is_nonnegative
        case Extremum("min", arguments):
            return all(argument.is_nonnegative for argument in arguments)
        case Extremum(_, arguments):
            return any(argument.is_nonnegative for argument in arguments)


def _collect(terms: Iterable[tuple[Monomial, int]]) -> Size:
    weights: dict[Monomial, int] = {}
    for monomial, weight in terms:
        weights[monomial] = weights.get(monomial, 0) + weight
    return Size(tuple(sorted(((m, w) for m, w in weights.items() if w), key=lambda term: " ".join(map(str, term[0])))))


def _divided(size: Size, divisor: Size) -> Size:
    """The quotient by a size that is not a number: multiples of it are moved out of the floor."""
    if size == divisor:
        return ONE
    (factors, factor), *more = divisor.terms
    if more:
        return Size.of(Floor(size, divisor)) if size.terms else ZERO
    outside: list[tuple[Monomial, int]] = []
    inside: list[tuple[Monomial, int]] = []
    for monomial, weight in size.terms:
        left = list(monomial)
        for atom in factors:
            if atom not in left:
                inside.append((monomial, weight))
                break
            left.remove(atom)
        else:
            (outside if weight % factor == 0 else inside).append(
                (tuple(left), weight // factor) if weight % factor == 0 else (monomial, weight)
            )
    rest = Size(tuple(inside))
    return _collect(outside) + (Size.of(Floor(rest, divisor)) if rest.terms else ZERO)


def _substitute_atom(atom: SizeAtom, sizes: Mapping[SizeVar, SizeLike]) -> Size:
    match atom:
        case SizeVar():
            return Size.of(sizes.get(atom, atom))
        case Floor(numerator, divisor):
            by = divisor.substitute(sizes)
            # As NumPy: a quotient by zero is 0.
            return ZERO if by == ZERO else numerator.substitute(sizes) // by
        case Extremum(kind, arguments):
            return _extremum(kind, [argument.substitute(sizes) for argument in arguments])


def _evaluate_atom(atom: SizeAtom, sizes: Mapping[SizeVar, int]) -> int:
    match atom:
        case SizeVar():
            return sizes[atom]
        case Floor(numerator, divisor):
            by = divisor.evaluate(sizes)
            # As NumPy: a quotient by zero is 0.
            return numerator.evaluate(sizes) // by if by else 0
        case Extremum(kind, arguments):
            values = [argument.evaluate(sizes) for argument in arguments]
            return min(values) if kind == "min" else max(values)


def _atom_variables(atom: SizeAtom) -> frozenset[SizeVar]:
    match atom:
        case SizeVar():
            return frozenset((atom,))
        case Floor(numerator, divisor):
            return numerator.variables() | divisor.variables()
        case Extremum(_, arguments):
            return frozenset().union(*(argument.variables() for argument in arguments))


def _wrap(size: Size) -> str:
    text = str(size)
    return f"({text})" if " " in text and not text.startswith(("min(", "max(")) else text


def _show_factor(atom: SizeAtom, inside_product: bool) -> str:
    return f"({atom})" if inside_product and isinstance(atom, Floor) else str(atom)
