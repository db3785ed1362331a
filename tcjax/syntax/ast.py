"""The tree that every notation reads to and writes from.

Equality ignores where a node came from, so ``parse(print(tree)) == tree`` is a law.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..diagnostics import NOWHERE, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Anything that was written somewhere."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


# ---------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Number(Node):
    """``3``, ``2.5``, ``1e-3``, ``2i``: an int, a float or a complex; `True` and `False` in Python."""

    value: bool | int | float | complex


@dataclass(frozen=True, slots=True)
class Name(Node):
    """``i``, ``N``, ``a``: an index, a size, a let, or a tensor of rank 0."""

    id: str


@dataclass(frozen=True, slots=True)
class SizeOf(Node):
    """``A.1``: the extent of a dimension of a tensor."""

    tensor: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """``f(a, b)``: a tensor read, a builtin, a cast's sibling, ``min(a, b)``, or a call.

    `arguments` is empty for ``a()``. Python's ``A[i, j]`` is the same node with `subscript` set, which only
    the writers look at.
    """

    function: str
    arguments: "tuple[Expr, ...]"
    subscript: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """``int32(e)``; `scalar` is a canonical type name (``float32``, not ``float``)."""

    scalar: str
    operand: "Expr"


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``-e``, ``!e``, ``~e``."""

    operator: str
    operand: "Expr"


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """``a op b`` with op one of ``|| && < > <= >= == != | ^ & << >> + - * / % // **``.

    ``/`` is TC's: floor division of integers, true division of floats. ``truediv`` is Python's ``/``.
    """

    operator: str
    left: "Expr"
    right: "Expr"


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """``c ? a : b``."""

    condition: "Expr"
    then: "Expr"
    otherwise: "Expr"


@dataclass(frozen=True, slots=True)
class Bound(Node):
    """``k`` or ``k in lo:hi`` in the brackets of an inline reduction; `lo` and `hi` are both None or both not."""

    index: str
    lo: "Expr | None" = None
    hi: "Expr | None" = None


@dataclass(frozen=True, slots=True)
class Reduction(Node):
    """``sum[k, l in 0:3 where g](e)``; `arguments` has one expression, or two for ``mink[j](e, r)``."""

    reducer: str
    bounds: tuple[Bound, ...]
    guards: "tuple[Expr, ...]"
    arguments: "tuple[Expr, ...]"


Expr = Number | Name | SizeOf | Apply | Cast | Unary | Binary | Conditional | Reduction


# ---------------------------------------------------------------- clauses of `where`


@dataclass(frozen=True, slots=True)
class RangeClause(Node):
    """``k in lo:hi``, half open."""

    index: str
    lo: Expr
    hi: Expr


@dataclass(frozen=True, slots=True)
class LetClause(Node):
    """``name = e``."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class ExistsClause(Node):
    """``exists e``: adds the reads of `e` to range inference, and nothing else."""

    value: Expr


@dataclass(frozen=True, slots=True)
class UniqueClause(Node):
    """``unique J(i)``: promises that this subscript of the left side is another one at every point."""

    value: Expr


@dataclass(frozen=True, slots=True)
class GuardClause(Node):
    """``k <= q``: points where it is false take no part."""

    condition: Expr


Clause = RangeClause | LetClause | ExistsClause | UniqueClause | GuardClause


# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Equivalent(Node):
    """``<=> f(a, b)``: kept, checked, otherwise ignored."""

    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """``C(m,n) +=! e <=> f(a) where ...``.

    `indices` is None for ``C = e`` and ``()`` for ``C() = e``, which mean the same. `reducer` is None for ``=``
    or one of ``+ * min max any all logsumexp argmin argmax``; `restart` is the ``!``. Python's ``C[m, n] += e``
    on a tensor that is not yet defined reads as ``+=!``.
    """

    target: str
    indices: tuple[Expr, ...] | None
    reducer: str | None
    restart: bool
    value: Expr
    equivalent: Equivalent | None = None
    where: tuple[Clause, ...] = ()


@dataclass(frozen=True, slots=True)
class CallAssign(Node):
    """``O1, O2 = f(A, B)`` with two or more targets (one target reads as an `Assign` of an `Apply`)."""

    targets: tuple[str, ...]
    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class TensorType(Node):
    """``float(N, 3)``; a dimension is a name or a number."""

    scalar: str
    dimensions: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Declare(Node):
    """``float(K) z``: a temporary's type and extents."""

    name: str
    type: TensorType


Statement = Assign | CallAssign | Declare


# ---------------------------------------------------------------- definitions


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """``float(M,K) A``, or ``A`` of any type."""

    name: str
    type: TensorType | None = None


@dataclass(frozen=True, slots=True)
class Definition(Node):
    """``def name(parameters) -> (returns) { body }``.

    `parameters` is None in a text without ``def``: then they are the names that are read but never written,
    in order of first appearance, and the returns are what is written.
    """

    name: str
    parameters: tuple[Parameter, ...] | None
    returns: tuple[Parameter, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Program(Node):
    """Any number of definitions; of two with one name the first counts, as in TC, and the other is `repeated`."""

    definitions: tuple[Definition, ...]
    repeated: tuple[Definition, ...] = field(default=(), compare=False)


def ends(node: Expr) -> tuple[Expr, ...]:
    """The ends of the ranges in the brackets of a reduction."""
    if not isinstance(node, Reduction):
        return ()
    return tuple(end for bound in node.bounds for end in (bound.lo, bound.hi) if end is not None)


def walk(node: Expr) -> Iterator[Expr]:
    """The expression and all its parts, outermost and leftmost first."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def children(node: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions, in the order in which they are written."""
    match node:
        case Number() | Name() | SizeOf():
            return ()
        case Apply(_, arguments):
            return arguments
        case Cast(_, operand) | Unary(_, operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Conditional(condition, then, otherwise):
            return (condition, then, otherwise)
        case Reduction(_, _, guards, arguments):
            return (*ends(node), *guards, *arguments)
