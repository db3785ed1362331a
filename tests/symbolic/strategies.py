"""Random sizes, affine expressions and conditions, each with what it means in plain Python."""

from collections.abc import Callable, Mapping
from itertools import product

from hypothesis import strategies as st

from tcjax.symbolic import (
    Affine,
    AllOf,
    AnyOf,
    AtLeastZero,
    Clamp,
    Condition,
    IndexVar,
    Quotient,
    Remainder,
    Size,
    SizeVar,
    clamp,
    maximum,
    minimum,
)

SIZE_NAMES = ("M", "N", "K")
I, J, K = (IndexVar(name) for name in "ijk")
INDICES = (I, J, K)

Sizes = Mapping[str, int]
Point = Mapping[IndexVar, int]
Box = dict[IndexVar, tuple[int, int]]

# A size or an expression, and a function that computes it from numbers alone.
Meaning = tuple[Size, Callable[[Sizes], int]]
Sum = tuple[Affine, Callable[[Point], int]]


def size_values() -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries({name: st.integers(0, 12) for name in SIZE_NAMES})


def sizes() -> st.SearchStrategy[Meaning]:
    """A size built with operators, and the same built on ints."""
    return st.recursive(st.one_of(_variables(), _numbers()), _combined, max_leaves=6)


def _variables() -> st.SearchStrategy[Meaning]:
    return st.sampled_from(SIZE_NAMES).map(lambda name: (Size.of(SizeVar(name)), lambda values: values[name]))


def _numbers() -> st.SearchStrategy[Meaning]:
    return st.integers(-9, 9).map(lambda number: (Size.of(number), lambda values: number))


def _combined(inner: st.SearchStrategy[Meaning]) -> st.SearchStrategy[Meaning]:
    def build(kind: str, left: Meaning, right: Meaning, divisor: int) -> Meaning:
        (a, f), (b, g) = left, right
        match kind:
            case "+":
                return a + b, lambda values: f(values) + g(values)
            case "-":
                return a - b, lambda values: f(values) - g(values)
            case "*":
                return a * b, lambda values: f(values) * g(values)
            case "//":
                return a // divisor, lambda values: f(values) // divisor
            case "%":
                return a % divisor, lambda values: f(values) % divisor
            case "ceil":
                return a.ceildiv(divisor), lambda values: -(-f(values) // divisor)
            case "by N":
                return a // (Size.of(SizeVar("N")) + 1), lambda values: f(values) // (values["N"] + 1)
            case "min":
                return minimum(a, b), lambda values: min(f(values), g(values))
            case _:
                return maximum(a, b), lambda values: max(f(values), g(values))

    kinds = st.sampled_from(["+", "-", "*", "//", "%", "ceil", "by N", "min", "max"])
    return st.builds(build, kinds, inner, inner, st.integers(-4, 4).filter(bool))


def boxes(largest: int = 6) -> st.SearchStrategy[Box]:
    """Ranges of i, j and k, none empty."""
    ends = st.tuples(st.integers(-5, 5), st.integers(1, largest)).map(lambda given: (given[0], given[0] + given[1]))
    return st.fixed_dictionaries({index: ends for index in INDICES})


def points(box: Box) -> list[Point]:
    return [dict(zip(box, values, strict=True)) for values in product(*(range(lo, hi) for lo, hi in box.values()))]


def linear_sums() -> st.SearchStrategy[Sum]:
    """``a*i + b*j + c*k + d``."""

    def build(weights: tuple[int, int, int], base: int) -> Sum:
        affine = Affine.of(base)
        for index, weight in zip(INDICES, weights, strict=True):
            affine = affine + Affine.of(index).scale(weight)
        return affine, lambda point: base + sum(w * point[i] for i, w in zip(INDICES, weights, strict=True))

    return st.builds(build, st.tuples(*[st.integers(-3, 3)] * 3), st.integers(-9, 9))


def sums() -> st.SearchStrategy[Sum]:
    """Affine expressions with floors, remainders and clamps inside each other."""
    return st.recursive(linear_sums(), _nested, max_leaves=3)


def _nested(inner: st.SearchStrategy[Sum]) -> st.SearchStrategy[Sum]:
    def build(kind: str, left: Sum, right: Sum, number: int) -> Sum:
        (a, f), (b, g) = left, right
        match kind:
            case "+":
                return a + b.scale(number), lambda point: f(point) + number * g(point)
            case "//":
                return a.quotient(number), lambda point: f(point) // number
            case "%":
                return a.remainder(number), lambda point: f(point) % number
            case "min":
                return clamp("min", (a, b)), lambda point: min(f(point), g(point))
            case _:
                return clamp("max", (a, b)), lambda point: max(f(point), g(point))

    kinds = st.sampled_from(["+", "//", "%", "min", "max"])
    return st.builds(build, kinds, inner, inner, st.integers(-4, 4).filter(bool))


def conditions() -> st.SearchStrategy[Condition]:
    return st.recursive(sums().map(lambda given: AtLeastZero(given[0])), _joined, max_leaves=5)


def _joined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    parts = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(parts.map(AllOf), parts.map(AnyOf))


def holds(condition: Condition, point: Point) -> bool:
    """The condition at a point, by its definition."""
    match condition:
        case AtLeastZero(affine):
            return value(affine, point) >= 0
        case AllOf(parts):
            return all(holds(part, point) for part in parts)
        case AnyOf(parts):
            return any(holds(part, point) for part in parts)


def value(affine: Affine, point: Point) -> int:
    """The expression at a point, all of whose sizes are numbers, without the room's own evaluation."""
    return number(affine.base) + sum(number(weight) * _atom_value(atom, point) for atom, weight in affine.terms)


def _atom_value(atom: object, point: Point) -> int:
    match atom:
        case IndexVar():
            return point[atom]
        case Quotient(argument, divisor):
            return value(argument, point) // number(divisor)
        case Remainder(argument, divisor):
            return value(argument, point) % number(divisor)
        case Clamp(kind, arguments):
            return (min if kind == "min" else max)(value(argument, point) for argument in arguments)
        case _:
            raise AssertionError(atom)


def number(size: Size) -> int:
    assert size.constant is not None
    return size.constant
