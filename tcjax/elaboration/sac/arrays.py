"""The value of a SaC expression during elaboration: a shape, and an element at every position."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Final

from ... import ir
from ...diagnostics import NOWHERE, Span
from ...ir import types
from ...symbolic import Affine, IndexVar, Size
from ..literals import (
    Literal,
    Open,
    Value,
    Weak,
    default_type,
    is_choice,
    number_of_points,
    open_float,
    settle,
    type_beside,
)

# The type of elements: a canonical scalar name, or a zero whose type is open if theirs is.
Kind = str | Weak
Place = tuple[Affine, ...]

INT: Final = Literal(0, NOWHERE)
FLOAT: Final = Literal(0.0, NOWHERE)
# For indices and sizes, and for floats computed from typed integers.
INDEX: Final = number_of_points(0)
COUNTED: Final = open_float("float32")


@dataclass(frozen=True, slots=True)
class Run:
    """The positions ``lo, lo + stride, ...`` below `hi` along one axis."""

    lo: Size
    hi: Size
    stride: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A part of an array: its box, and its element at a position in it; `cheap` if it may be computed twice."""

    box: tuple[Run, ...]
    read: Callable[[Place], Value]


@dataclass(slots=True, eq=False)
class Array:
    """An array value.

    `read` gives the element at a position inside `shape`. `free` are the indices that the elements depend on. `cells`
    are the parts along the first axis if they were written out. `pieces`, for arrays read by cases, are disjoint parts
    (zero between them), and `layers`, the last one first, are overlapping parts with the same meaning. `names` are the
    names of the axes' indices. A `tensor` already holds the elements; `keep` asks for one, as a let does.
    """

    kind: Kind
    shape: tuple[Size, ...]
    read: Callable[[Place], Value]
    free: frozenset[IndexVar] = frozenset()
    cells: "tuple[Array, ...] | None" = None
    pieces: Callable[[], tuple[Piece, ...]] | None = None
    layers: Callable[[], tuple[tuple[Piece, ...], ...]] | None = None
    names: tuple[str | None, ...] = ()
    # The integer division that computed the elements, as long as they are integers.
    quotient: Span | None = None
    tensor: ir.Tensor | None = None
    keep: str | None = None
    stored: "Array | None" = field(default=None, repr=False)
    computed: bool | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def closed(self) -> bool:
        """Whether it does not depend on outer indices."""
        return not self.free

    def called(self, name: str) -> "Array":
        """The same array as the value of a let."""
        return self if self.tensor is not None or self.keep is not None else replace(self, keep=name)


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """A comprehension whose extent depends on outer indices: only a fold can use it.

    `points` gives a fold the indices, their ranges, a guard and the element there; `whole` includes the elements below
    the lower bounds, which are zero.
    """

    kind: Kind
    free: frozenset[IndexVar]
    points: "Callable[[bool], Points]"
    quotient: Span | None = None


@dataclass(frozen=True, slots=True)
class Points:
    """The points of a fold; None for a range without points."""

    indices: tuple[IndexVar, ...]
    ranges: tuple[ir.Range, ...]
    guard: ir.Expr | None
    body: Value


def scalar(value: Value, free: frozenset[IndexVar] = frozenset()) -> Array:
    """A value as an array without axes."""
    return Array(kind_of(value), (), lambda _: value, free)


def vector(values: Iterable[Value], free: frozenset[IndexVar] = frozenset()) -> Array:
    """Indices as a vector."""
    cells = tuple(scalar(value, free) for value in values)
    return literal_vector(cells, INDEX)


def literal_vector(cells: tuple[Array, ...], kind: Kind) -> Array:
    """Cells of one shape, stacked."""
    shape = cells[0].shape if cells else ()
    free = frozenset().union(*(cell.free for cell in cells))

    def unread(place: Place) -> Value:
        raise AssertionError("the cells are read one by one")

    return Array(kind, (Size.of(len(cells)), *shape), unread, free, cells)


def kind_of(value: Value) -> Kind:
    """The kind of an element."""
    if not isinstance(value, (Literal, Open)):
        return value.dtype
    dtype = default_type(value)
    if types.is_integral(dtype):
        return INT if isinstance(value, Literal) or is_choice(value) else INDEX
    if types.is_float(dtype):
        return COUNTED if isinstance(value, Open) and value.least else FLOAT
    return dtype


def dtype_of_kind(kind: Kind) -> str:
    """The type of elements of this kind if nothing else determines it."""
    return kind if isinstance(kind, str) else default_type(kind)


def joined_kind(kinds: Iterable[Kind]) -> Kind:
    """The kind of a value computed from elements of these kinds."""
    kinds = list(kinds)
    weak = [kind for kind in kinds if not isinstance(kind, str)]
    strong = [kind for kind in kinds if isinstance(kind, str)]
    counts = any(map(types.is_integral, strong))
    if not strong or (any(map(is_float, weak)) and all(types.is_integral(kind) or kind == "bool" for kind in strong)):
        floats = COUNTED if counts or COUNTED in weak else FLOAT
        return floats if any(map(is_float, weak)) else INDEX if INDEX in weak else INT
    result = reduce(types.join, strong)
    for kind in weak:
        result = type_beside(kind, result)
    return result


def agreed_kind(first: Kind, second: Kind) -> Kind | None:
    """The common kind of two cells next to each other; None if their kinds differ.

    Kinds agree if both are bools, integers, floats or complex numbers: then the wider type holds both, and a literal
    adapts to its neighbour.
    """
    if isinstance(first, str) and isinstance(second, str):
        same = first == second or any(
            kind(first) and kind(second) for kind in (types.is_integral, types.is_float, types.is_complex)
        )
        return types.join(first, second) if same else None
    if not isinstance(first, str) and not isinstance(second, str):
        return joined_kind((first, second)) if is_int(first) == is_int(second) else None
    weak, strong = (second, first) if isinstance(first, str) else (first, second)
    assert isinstance(strong, str) and not isinstance(weak, str)
    fits = types.is_integral(strong) if is_int(weak) else types.is_float(strong)
    return (strong if isinstance(weak, Literal) else type_beside(weak, strong)) if fits else None


def conformed(value: Value, kind: Kind) -> Value:
    """An element converted to the array's kind."""
    return settle(value, kind) if isinstance(kind, str) else value


def is_int(kind: Kind) -> bool:
    return types.is_integral(dtype_of_kind(kind))


def is_float(kind: Kind) -> bool:
    return types.is_float(dtype_of_kind(kind))


def show_kind(kind: Kind) -> str:
    """The kind in a message, in SaC's words."""
    dtype = dtype_of_kind(kind)
    return {"int32": "int", "float32": "float", "float64": "double"}.get(dtype, dtype)
