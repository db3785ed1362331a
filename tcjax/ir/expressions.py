"""Typed index notation: expressions. A node's `dtype` is a canonical scalar name from `types`."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..diagnostics import NOWHERE, Span
from ..symbolic import Affine, IndexVar, Size, SizeVar
from .monoids import Monoid
from .reducers import Reducer


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node with its place in the text, which equality ignores."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Tensor(Node):
    """A parameter, an output or a temporary.

    `shape` has one size per dimension: the declared one, or ``SizeVar("A.0")`` if only a call determines it (an
    undeclared parameter) or range inference finds it (a local tensor: ``SizeVar("C.0")``).
    """

    name: str
    dtype: str
    shape: tuple[Size, ...]
    # Where its elements are in the writer's terms: in a part of a tensor, or it is the value of an index.
    source: "Source | IndexVar | None" = field(default=None, compare=False, repr=False)

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class Source:
    """Where the elements of a tensor that a pass made are in another one: ``own[indices] = tensor[subscripts]``."""

    tensor: Tensor
    indices: tuple[IndexVar, ...]
    subscripts: tuple[Affine, ...]

    def place(self, own: Iterable[Affine]) -> tuple[Affine, ...]:
        """The subscripts of `tensor` for those of the other one."""
        values = dict(zip(self.indices, own, strict=True))
        return tuple(subscript.substitute(values) for subscript in self.subscripts)


def first_of(tensor: str, dimension: int) -> SizeVar:
    """The subscript of the first element of a tensor along a dimension, if a statement's range decides it."""
    return SizeVar(f"{tensor}.{dimension}.first")


@dataclass(frozen=True, slots=True)
class Range(Node):
    """``index in lo:hi``, as written.

    The ends may use other indices: then the index runs over the hull, and a guard restricts it. If the ends read
    tensors (`is_ragged`), the hull is given by what the index subscripts.
    """

    index: IndexVar
    lo: Affine
    hi: Affine

    @property
    def is_ragged(self) -> bool:
        return self.lo.is_data or self.hi.is_data


@dataclass(frozen=True, slots=True)
class Const(Node):
    """A literal, already converted to the type it takes from its neighbours."""

    value: bool | int | float | complex
    dtype: str


@dataclass(frozen=True, slots=True)
class Extent(Node):
    """A size used as a value, int32."""

    size: Size
    dtype: str = "int32"


@dataclass(frozen=True, slots=True)
class Index(Node):
    """An index variable used as a value, int32."""

    variable: IndexVar
    dtype: str = "int32"


@dataclass(frozen=True, slots=True)
class Access(Node):
    """``tensor[indices]``, one affine index per dimension.

    A subscript that depends on data has an `ir.Data` atom; such a subscript is clamped into ``[0, extent)``. A
    subscript with a boundary is a `symbolic.Bounded` as a whole.
    """

    tensor: Tensor
    indices: tuple[Affine, ...]

    @property
    def dtype(self) -> str:
        return self.tensor.dtype


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``- ! ~``."""

    operator: str
    operand: "Expr"
    dtype: str


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """``+ - * / // % quot rem min max ** < <= > >= == != && || & | ^ << >>``.

    Both operands have been cast to their joined type (comparisons too, whose `dtype` is bool). ``/`` is true
    division of floats, ``//`` floors, ``%`` has the sign of the divisor; ``quot`` of integers truncates, and ``rem``
    has the sign of the dividend, as in C.
    """

    operator: str
    left: "Expr"
    right: "Expr"
    dtype: str


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A builtin of `ir.builtins`, applied to scalars of one joined type."""

    function: str
    arguments: "tuple[Expr, ...]"
    dtype: str


@dataclass(frozen=True, slots=True)
class Foreign(Node):
    """A Python function from ``fns``, applied to scalars."""

    function: str
    arguments: "tuple[Expr, ...]"
    dtype: str


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """A conversion as in C: float to int truncates."""

    operand: "Expr"
    dtype: str


@dataclass(frozen=True, slots=True)
class Select(Node):
    """``condition ? then : otherwise``; only the chosen branch is evaluated."""

    condition: "Expr"
    then: "Expr"
    otherwise: "Expr"
    dtype: str


@dataclass(frozen=True, slots=True)
class Reduce(Node):
    """``sum[indices where guard](body)``.

    `rank` is the r of ``mink[j](e, r)``. Positions (argmin and relatives) are row-major over `indices`, counted from
    the start of their ranges. `accumulate` is the type of the running value, `dtype` that of the result. A `fixed`
    reduction passes no derivative: no result depends on it.
    """

    reducer: Reducer | Monoid
    indices: tuple[IndexVar, ...]
    ranges: tuple[Range, ...]
    guard: "Expr | None"
    body: "Expr"
    rank: "Expr | None"
    accumulate: str
    dtype: str
    fixed: bool = False


Expr = Const | Extent | Index | Access | Unary | Binary | Call | Foreign | Cast | Select | Reduce


@dataclass(frozen=True, slots=True)
class Data:
    """An integer expression as an atom of a subscript: a tensor read, or a non-affine expression (``i * j``)."""

    expr: Expr

    def index_variables(self) -> frozenset[IndexVar]:
        from .traversal import free_indices

        return free_indices(self.expr)

    def __str__(self) -> str:
        from .printer import show_expr

        return show_expr(self.expr)
