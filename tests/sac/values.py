"""What the reference computes with: types, shapes that may not be known, values, expressions yet to evaluate."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tests.strategies.arrays import dtype_of


class SacError(Exception):
    """A mistake of the writer; `kind` is one of the kinds of the specification's section 2.10."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class NeedsIndex(SacError):
    """The value of an index variable was needed while only a shape was computed."""

    def __init__(self, what: str) -> None:
        super().__init__("homogeneity", f"a shape needs the value of {what}")


class NeedsArguments(Exception):
    """The elements of these arguments decide a shape: they are static, and the evaluation starts again."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(*names)
        self.names = frozenset(names)


# ---------------------------------------------------------------- types

KINDS = ("bool", "int", "float", "complex")
DEFAULTS = {"bool": "bool", "int": "int32", "float": "float32", "complex": "complex64"}


def kind_of(scalar: str) -> str:
    """One of `KINDS`."""
    if scalar == "bool":
        return "bool"
    return "int" if "int" in scalar else "complex" if "complex" in scalar else "float"


def join(left: str, right: str) -> str:
    """The type of an operation on two types: the higher kind, in the same kind the wider type."""
    kinds = [KINDS.index(kind_of(scalar)) for scalar in (left, right)]
    if kinds[0] != kinds[1]:
        higher, lower = (left, right) if kinds[0] > kinds[1] else (right, left)
        # A complex number has two of the other's: of doubles, where the other is one.
        return "complex128" if kind_of(higher) == "complex" and lower == "float64" else higher
    widths = [dtype_of(scalar).itemsize for scalar in (left, right)]
    if widths[0] != widths[1]:
        wide = left if widths[0] > widths[1] else right
        return wide.removeprefix("u") if left[0] != right[0] and kind_of(left) == "int" else wide
    if left == right:
        return left
    return "float32" if kind_of(left) == "float" else left.removeprefix("u")


@dataclass(frozen=True, slots=True)
class Shaped:
    """The type and shape of an array; an extent is None where it hangs on an index whose value is not known.

    `weak` marks what literals alone make: it takes its partner's type.
    """

    scalar: str
    weak: bool
    extents: tuple[int | None, ...]

    @property
    def kind(self) -> str:
        return kind_of(self.scalar)

    @property
    def rank(self) -> int:
        return len(self.extents)

    @property
    def ragged(self) -> bool:
        return None in self.extents

    @property
    def shape(self) -> tuple[int, ...]:
        """All extents; `NeedsIndex` where one of them hangs on an index."""
        known = tuple(extent for extent in self.extents if extent is not None)
        if len(known) != self.rank:
            raise NeedsIndex("an index")
        return known

    @property
    def dtype(self) -> np.dtype:
        """How NumPy holds it: what is weak has room."""
        if self.weak:
            return np.dtype({"int": "int64", "float": "float64"}.get(self.kind, self.scalar))
        return dtype_of(self.scalar)

    def over(self, extents: Sequence[int | None]) -> "Shaped":
        """The same type, another shape."""
        return Shaped(self.scalar, self.weak, tuple(extents))


def promote(operands: Sequence[Shaped]) -> Shaped:
    """The type in which the operands meet, as a scalar: literals adapt within their kind, bools meet only bools."""
    strong = [operand.scalar for operand in operands if not operand.weak]
    highest = max((operand.kind for operand in operands), key=KINDS.index)
    if len({operand.kind == "bool" for operand in operands}) > 1:
        raise SacError("type", "a bool and a number")
    if not strong:
        return Shaped(DEFAULTS[highest], True, ())
    scalar = strong[0]
    for other in strong[1:]:
        scalar = join(scalar, other)
    if KINDS.index(highest) > KINDS.index(kind_of(scalar)):
        scalar = DEFAULTS[highest]
    return Shaped(scalar, False, ())


def unify(operands: Sequence[Shaped], what: str) -> Shaped:
    """The type of things that must be of one kind, such as the partitions of a comprehension."""
    if len({operand.kind for operand in operands}) > 1:
        raise SacError("type", f"{what} are of different types")
    return promote(operands)


# ---------------------------------------------------------------- values


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """An array. `taint` names the arguments whose elements it was computed from, and the comprehensions (``#3``) on
    whose index it hangs."""

    data: np.ndarray
    type: Shaped
    taint: frozenset[str] = frozenset()

    @property
    def shaped(self) -> Shaped:
        return self.type.over(self.data.shape)

    @property
    def arguments(self) -> frozenset[str]:
        """The arguments in the taint."""
        return frozenset(name for name in self.taint if not name.startswith("#"))


def value(data: np.ndarray, type: Shaped, taint: frozenset[str] = frozenset()) -> Value:
    """`data` as that type."""
    with np.errstate(all="ignore"):
        return Value(np.asarray(data).astype(type.dtype), type.over(()), taint)


def integers(numbers: object, taint: frozenset[str] = frozenset()) -> Value:
    """A strong int, or an array of them: an index or an extent."""
    return value(np.array(numbers, dtype="int32"), Shaped("int32", False, ()), taint)


class Operand:
    """An expression in its place. `shaped` looks only at what the shape needs (S), `value` evaluates (F); both once."""

    def __init__(self, shaped: Callable[[], Shaped], value: Callable[[], Value]) -> None:
        self._shaped, self._value = shaped, value
        self._known_shape: Shaped | None = None
        self._known_value: Value | None = None

    def shaped(self) -> Shaped:
        if self._known_shape is None:
            self._known_shape = self._shaped()
        return self._known_shape

    def value(self) -> Value:
        if self._known_value is None:
            self._known_value = self._value()
            self._known_shape = self._known_value.shaped
        return self._known_value

    def demand(self) -> Value:
        """The value, for a shape: the arguments that it was computed from are static from now on."""
        found = self.value()
        if found.arguments and found.arguments == found.taint:
            raise NeedsArguments(found.arguments)
        return found


def known(found: Value) -> Operand:
    """An operand that is evaluated already."""
    return Operand(lambda: found.shaped, lambda: found)


def abstract(shaped: Shaped, what: str) -> Operand:
    """An index variable while shapes are computed: its value is unknown."""

    def unknown() -> Value:
        raise NeedsIndex(what)

    return Operand(lambda: shaped, unknown)


def cast(operand: Operand, scalar: str) -> Operand:
    """The operand, converted."""
    target = Shaped(scalar, False, ())

    def convert() -> Value:
        found = operand.value()
        data = found.data != 0 if scalar == "bool" else found.data
        return value(data, target, found.taint)

    return Operand(lambda: target.over(operand.shaped().extents), convert)


def check_condition(operand: Operand, what: str) -> None:
    """A condition is a scalar bool."""
    shaped = operand.shaped()
    if shaped.kind != "bool":
        raise SacError("type", f"{what} of {shaped.scalar}")
    if shaped.rank:
        raise SacError("rank", f"{what} of an array")
