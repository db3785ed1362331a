"""Affine index expressions: sizes times index variables, floors and remainders, plus a base."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from ..keeping import cached_property
from .size import ZERO, Size, SizeLike, SizeVar, maximum, minimum


@dataclass(frozen=True, slots=True)
class IndexVar:
    """An index variable. `tag` distinguishes two of the same name in one statement (two ``sum[k](..)``).

    One that a pass made for a formula in others, the number of a diagonal, has it as its `meaning`.
    """

    name: str
    tag: int = 0
    meaning: "Affine | None" = field(default=None, compare=False, repr=False, kw_only=True)

    def index_variables(self) -> "frozenset[IndexVar]":
        return frozenset((self,))

    def __str__(self) -> str:
        return self.name if self.tag == 0 else f"{self.name}.{self.tag}"

    __repr__ = __str__


# The values of indices, as half-open ranges.
Box = Mapping[IndexVar, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Quotient:
    """``argument // divisor``, rounded towards minus infinity."""

    argument: "Affine"
    divisor: Size

    def index_variables(self) -> frozenset[IndexVar]:
        return self.argument.variables

    def __str__(self) -> str:
        return f"{_wrap(self.argument)} // {_wrap_size(self.divisor)}"


@dataclass(frozen=True, slots=True)
class Remainder:
    """``argument % divisor``, with the sign of the divisor."""

    argument: "Affine"
    divisor: Size

    def index_variables(self) -> frozenset[IndexVar]:
        return self.argument.variables

    def __str__(self) -> str:
        return f"{_wrap(self.argument)} % {_wrap_size(self.divisor)}"


@dataclass(frozen=True, slots=True)
class Clamp:
    """``min(a, b, ...)`` or ``max(a, b, ...)`` of affine arguments (`kind` says which)."""

    kind: str
    arguments: "tuple[Affine, ...]"

    def index_variables(self) -> frozenset[IndexVar]:
        return frozenset().union(*(argument.variables for argument in self.arguments))

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Bounded:
    """``clamp(argument)``, ``wrap``, ``mirror`` or ``reflect``: always one of the `extent` elements from `first` on.

    `clamp` repeats the elements at the ends, `wrap` is periodic, `mirror` reflects including the end element
    (half-sample symmetry), `reflect` without it (whole-sample symmetry).
    """

    kind: str
    argument: "Affine"
    first: Size
    extent: Size

    def index_variables(self) -> frozenset[IndexVar]:
        return self.argument.variables

    def written_out(self) -> "Affine":
        """The same, written with remainders and extrema."""
        place, last = self.argument - self.first, self.extent - 1
        match self.kind:
            case "clamp":
                inside = clamp("max", [clamp("min", [place, last]), 0])
            case "wrap":
                inside = place.remainder(self.extent) if self.extent != ZERO else Affine.of(0)
            case "mirror":
                inside = _there_and_back(place, self.extent * 2, last + self.extent)
            case "reflect":
                # A single element is its own mirror image.
                inside = _there_and_back(place, maximum(last * 2, 1), last * 2)
            case _:
                raise AssertionError(self.kind)
        return inside + self.first

    def __str__(self) -> str:
        return f"{self.kind}({self.argument})"


# The functions that map a subscript into its dimension.
BOUNDARIES: Final = ("clamp", "wrap", "mirror", "reflect")


@runtime_checkable
class Opaque(Protocol):
    """An atom that symbolic arithmetic cannot look into, such as a tensor read used as a subscript."""

    def index_variables(self) -> frozenset[IndexVar]: ...


Atom = IndexVar | Quotient | Remainder | Clamp | Bounded | Opaque


@dataclass(frozen=True, eq=False)
class Affine:
    """``w1*atom1 + w2*atom2 + ... + base``, canonical: zero weights dropped, atoms in a fixed order."""

    terms: tuple[tuple[Atom, Size], ...]
    base: Size

    def __post_init__(self) -> None:
        # Expressions are hashed as they are built, so that no later hash recurses deeper than one level.
        for atom, _ in self.terms:
            if not isinstance(atom, IndexVar):
                _ = self._hash, self._text, self.variables, self.is_data, self.has_sizes
                break

    @staticmethod
    def of(value: "AffineLike") -> "Affine":
        if isinstance(value, Affine):
            return value
        if isinstance(value, (int, Size, SizeVar)):
            return Affine((), Size.of(value))
        return Affine(((value, Size.of(1)),), ZERO)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Affine) and self.terms == other.terms and self.base == other.base

    @cached_property
    def _hash(self) -> int:
        return hash((self.terms, self.base))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def variables(self) -> frozenset[IndexVar]:
        """Every index variable in the expression, including those in floors, clamps and data."""
        return frozenset().union(*(atom.index_variables() for atom, _ in self.terms))

    @property
    def bare(self) -> IndexVar | None:
        """The variable if the expression is a single variable and nothing else."""
        if len(self.terms) == 1 and self.base == ZERO:
            atom, weight = self.terms[0]
            if isinstance(atom, IndexVar) and weight.constant == 1:
                return atom
        return None

    @property
    def bounded(self) -> Bounded | None:
        """The boundary if the expression is a single ``wrap(e)`` or the like."""
        if len(self.terms) == 1 and self.base == ZERO:
            atom, weight = self.terms[0]
            if isinstance(atom, Bounded) and weight.constant == 1:
                return atom
        return None

    @property
    def constant(self) -> int | None:
        """The value if it is a known number, else None."""
        return self.base.constant if not self.terms else None

    @property
    def is_place(self) -> bool:
        """Whether it has the same value at all points, determined by sizes."""
        return not self.terms

    @property
    def is_linear(self) -> bool:
        """Whether every atom is an index variable."""
        return all(isinstance(atom, IndexVar) for atom, _ in self.terms)

    @cached_property
    def is_data(self) -> bool:
        """Whether an opaque atom occurs anywhere, including in floors and clamps."""
        return any(_is_data(atom) for atom, _ in self.terms)

    def weight(self, atom: Atom) -> Size:
        """The factor of `atom`; zero if it does not occur as a term."""
        return next((weight for other, weight in self.terms if other == atom), ZERO)

    def __add__(self, other: "AffineLike") -> "Affine":
        other = other if isinstance(other, Affine) else Affine.of(other)
        if not (self.terms and other.terms):
            if not (self.terms or self.base.terms):
                return other
            if not (other.terms or other.base.terms):
                return self
            return Affine(self.terms or other.terms, self.base + other.base)
        return _collect((*self.terms, *other.terms), self.base + other.base)

    __radd__ = __add__

    def __neg__(self) -> "Affine":
        return Affine(tuple((atom, -weight) for atom, weight in self.terms), -self.base)

    def __sub__(self, other: "AffineLike") -> "Affine":
        return self + -Affine.of(other)

    def __rsub__(self, other: "AffineLike") -> "Affine":
        return Affine.of(other) - self

    def scale(self, factor: SizeLike) -> "Affine":
        """The expression times a size."""
        factor = Size.of(factor)
        if factor == ZERO:
            return Affine((), ZERO)
        if factor.constant == 1:
            return self
        return Affine(tuple((atom, weight * factor) for atom, weight in self.terms), self.base * factor)

    def quotient(self, divisor: SizeLike) -> "Affine":
        """``self // divisor``; a known divisor ends up positive. Raises `ZeroDivisionError` for a constant zero."""
        divisor = Size.of(divisor)
        known = divisor.constant
        if known == 0:
            raise ZeroDivisionError
        if known is not None and known < 0:
            return (-self).quotient(-known)
        if known == 1:
            return self
        if not self.terms:
            return Affine((), self.base // divisor)
        whole, rest = self._multiples(known)
        if not whole.terms:
            return Affine.of(Quotient(self, divisor))
        return whole + (Affine.of(Quotient(rest, divisor)) if rest.terms else Affine((), rest.base // divisor))

    def remainder(self, divisor: SizeLike) -> "Affine":
        """``self % divisor``, of the divisor's sign; a known divisor ends up positive.

        Raises `ZeroDivisionError` for a constant zero.
        """
        divisor = Size.of(divisor)
        known = divisor.constant
        if known == 0:
            raise ZeroDivisionError
        if known is not None and known < 0:
            return -((-self).remainder(-known))
        if known == 1:
            return Affine.of(0)
        whole, rest = self._multiples(known) if self.terms else (Affine.of(0), self)
        if rest.terms:
            return Affine.of(Remainder(rest if whole.terms else self, divisor))
        return Affine((), rest.base % divisor)

    def _multiples(self, divisor: int | None) -> "tuple[Affine, Affine]":
        """``(w, r)`` with ``self == divisor*w + r``, where `w` takes the terms that the divisor divides."""
        if divisor is None:
            return Affine.of(0), self
        weights = [(atom, weight, weight.constant) for atom, weight in self.terms]
        divided = tuple((a, Size.of(c // divisor)) for a, _, c in weights if c is not None and c % divisor == 0)
        rest = tuple((a, weight) for a, weight, c in weights if c is None or c % divisor)
        return Affine(divided, ZERO), Affine(rest, self.base)

    def rewrite(self, atom: "Callable[[Atom], AffineLike]", size: Callable[[Size], Size] = lambda s: s) -> "Affine":
        """The expression with each outermost atom replaced by ``atom(it)`` and each size by ``size(it)``.

        Floors, remainders and clamps are rebuilt around their rewritten arguments; `atom` sees index
        variables and opaque atoms only.
        """
        total = Affine((), size(self.base))
        for inner, weight in self.terms:
            total = total + _rewrite_atom(inner, atom, size).scale(size(weight))
        return total

    def substitute(self, values: "Mapping[IndexVar, AffineLike]") -> "Affine":
        """The expression with index variables replaced (not inside opaque atoms)."""
        return self.rewrite(lambda atom: values.get(atom, atom) if isinstance(atom, IndexVar) else atom)

    @cached_property
    def has_sizes(self) -> bool:
        """Whether a size variable occurs, including in floors and clamps (but not in opaque atoms)."""
        return self.base.constant is None or any(
            weight.constant is None or _has_sizes(atom) for atom, weight in self.terms
        )

    def substitute_sizes(self, sizes: Mapping[SizeVar, SizeLike]) -> "Affine":
        """The expression with size variables replaced (not inside opaque atoms).

        A divisor that becomes zero makes its floor or remainder 0, as NumPy does.
        """
        if not self.has_sizes:
            return self
        return self.rewrite(lambda atom: Affine.of(atom), lambda s: s.substitute(sizes))

    def evaluate(self, value: Callable[[Atom], int], sizes: Mapping[SizeVar, int]) -> int:
        """The value at a point; `value` gives index variables and opaque atoms."""
        total = self.base.evaluate(sizes)
        for atom, weight in self.terms:
            total += weight.evaluate(sizes) * _evaluate_atom(atom, value, sizes)
        return total

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    @cached_property
    def _text(self) -> str:
        # Cached: terms are sorted by their text, and nested reads would be written out again at every level.
        text = ""
        for atom, weight in self.terms:
            constant = weight.constant
            factor = f"({atom})" if isinstance(atom, (Quotient, Remainder)) and constant != 1 else str(atom)
            if constant is None:
                shown, negative = f"{_wrap_size(weight)}*{factor}", False
            else:
                shown, negative = (factor if abs(constant) == 1 else f"{abs(constant)}*{factor}"), constant < 0
            if not text:
                text = f"-{shown}" if negative else shown
            else:
                text += f" - {shown}" if negative else f" + {shown}"
        if self.base == ZERO and text:
            return text
        base = str(self.base)
        if not text:
            return base
        return f"{text} - {base[1:]}" if base.startswith("-") and " " not in base else f"{text} + {base}"


AffineLike = Affine | IndexVar | Quotient | Remainder | Clamp | Bounded | Opaque | Size | SizeVar | int


def clamp(kind: str, arguments: Iterable[AffineLike]) -> Affine:
    """``min(...)`` or ``max(...)``, decided where all arguments differ by constants."""
    kept: list[Affine] = []
    for argument in map(Affine.of, arguments):
        for position, other in enumerate(kept):
            difference = (argument - other).constant
            if difference is not None:
                if (difference < 0) == (kind == "min"):
                    kept[position] = argument
                break
        else:
            kept.append(argument)
    return kept[0] if len(kept) == 1 else Affine.of(Clamp(kind, tuple(sorted(kept, key=str))))


def _there_and_back(place: Affine, period: Size, turn: Size) -> Affine:
    """The position of a walk that goes up and down in turn: at `turn` minus a step it comes to the same place again."""
    there = place.remainder(period) if period != ZERO else Affine.of(0)
    return clamp("min", [there, -there + turn])


def combined(operator: str, left: Affine, right: Affine) -> Affine | None:
    """``left operator right`` for ``+ - * // % min max``; None if that is not a subscript: ``i * j``."""
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*" if not right.terms:
            return left.scale(right.base)
        case "*" if not left.terms:
            return right.scale(left.base)
        case "//" if not right.terms and right.base.constant != 0:
            return left.quotient(right.base)
        case "%" if not right.terms and right.base.constant != 0:
            return left.remainder(right.base)
        case "min" | "max" if not left.terms and not right.terms:
            return Affine.of((minimum if operator == "min" else maximum)(left.base, right.base))
        case "min" | "max":
            return clamp(operator, (left, right))
        case _:
            return None


def _collect(terms: Iterable[tuple[Atom, Size]], base: Size) -> Affine:
    weights: dict[Atom, Size] = {}
    for atom, weight in terms:
        weights[atom] = weights[atom] + weight if atom in weights else weight
    kept = [(atom, weight) for atom, weight in weights.items() if weight.terms]
    if len(kept) > 1:
        kept.sort(key=lambda term: (not isinstance(term[0], IndexVar), str(term[0])))
    return Affine(tuple(kept), base)


def _is_data(atom: Atom) -> bool:
    match atom:
        case IndexVar():
            return False
        case Quotient(argument, _) | Remainder(argument, _) | Bounded(_, argument):
            return argument.is_data
        case Clamp(_, arguments):
            return any(argument.is_data for argument in arguments)
        case _:
            return True


def _has_sizes(atom: Atom) -> bool:
    match atom:
        case Quotient(argument, divisor) | Remainder(argument, divisor):
            return divisor.constant is None or argument.has_sizes
        case Bounded(_, argument, first, extent):
            return first.constant is None or extent.constant is None or argument.has_sizes
        case Clamp(_, arguments):
            return any(argument.has_sizes for argument in arguments)
        case _:
            return False


def _rewrite_atom(inner: Atom, atom: Callable[[Atom], AffineLike], size: Callable[[Size], Size]) -> Affine:
    match inner:
        case IndexVar():
            return Affine.of(atom(inner))
        case Quotient(argument, divisor):
            divisor = size(divisor)
            return Affine.of(0) if divisor == ZERO else argument.rewrite(atom, size).quotient(divisor)
        case Remainder(argument, divisor):
            divisor = size(divisor)
            return Affine.of(0) if divisor == ZERO else argument.rewrite(atom, size).remainder(divisor)
        case Clamp(kind, arguments):
            return clamp(kind, [argument.rewrite(atom, size) for argument in arguments])
        case Bounded(kind, argument, first, extent):
            return Affine.of(Bounded(kind, argument.rewrite(atom, size), size(first), size(extent)))
        case _:
            return Affine.of(atom(inner))


def _evaluate_atom(atom: Atom, value: Callable[[Atom], int], sizes: Mapping[SizeVar, int]) -> int:
    match atom:
        case Quotient(argument, divisor):
            by = divisor.evaluate(sizes)
            return argument.evaluate(value, sizes) // by if by else 0
        case Remainder(argument, divisor):
            by = divisor.evaluate(sizes)
            return argument.evaluate(value, sizes) % by if by else 0
        case Clamp(kind, arguments):
            return (min if kind == "min" else max)(argument.evaluate(value, sizes) for argument in arguments)
        case Bounded():
            return atom.written_out().evaluate(value, sizes)
        case _:
            return value(atom)


def _wrap(affine: Affine) -> str:
    return str(affine) if affine.bare is not None else f"({affine})"


def _wrap_size(size: Size) -> str:
    text = str(size)
    return f"({text})" if " " in text else text
