"""The syntax tree of index notation, read and written by TC and Python.

Equality ignores the place of a node, so ``parse(print(tree)) == tree`` is a law.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from ..diagnostics import NOWHERE, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node with its place in the text."""

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
    """``f(a, b)``: a tensor read, a builtin, ``min(a, b)``, or a call.

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


@dataclass(frozen=True, slots=True)
class Batch(Node):
    """``...`` as the first subscript: any number of leading dimensions."""


Expr = Number | Name | SizeOf | Apply | Cast | Unary | Binary | Conditional | Reduction | Batch


# ---------------------------------------------------------------- clauses of `where`


@dataclass(frozen=True, slots=True)
class RangeClause(Node):
    """``k in lo:hi``, half open; `is_loop` says that it comes from a `For` around the statement."""

    index: str
    lo: Expr
    hi: Expr
    is_loop: bool = field(default=False, compare=False)


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
    """``unique J(i)``: promises that this subscript of the left side differs at every point."""

    value: Expr


@dataclass(frozen=True, slots=True)
class GuardClause(Node):
    """``k <= q``: points where it is false are inactive."""

    condition: Expr


Clause = RangeClause | LetClause | ExistsClause | UniqueClause | GuardClause


# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Equivalent(Node):
    """``<=> f(a, b)``: parsed, checked, otherwise ignored."""

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
    """``float(N, 3)``; a dimension is a name or a number. With `batch`, ``float(..., N, 3)``."""

    scalar: str
    dimensions: tuple[str | int, ...]
    batch: bool = False


@dataclass(frozen=True, slots=True)
class Declare(Node):
    """``float(K) z``: a temporary's type and extents."""

    name: str
    type: TensorType


@dataclass(frozen=True, slots=True)
class For(Node):
    """``for t in lo:hi { body }``: runs the body for each value in order; with a `step`, ``for t in lo:hi:step``."""

    index: str
    lo: Expr
    hi: Expr
    body: "tuple[Statement, ...]"
    step: Expr | None = None


Statement = Assign | CallAssign | Declare | For
# Statements that are not inside a `For` of the given tree.
Leaf = Assign | CallAssign | Declare


@dataclass(frozen=True, slots=True)
class Run:
    """A `For` with the numbers of the first leaf inside it and of the first after it."""

    loop: For
    first: int
    last: int


# ---------------------------------------------------------------- definitions


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """``float(M,K) A``, or ``A`` of any type."""

    name: str
    type: TensorType | None = None


@dataclass(frozen=True, slots=True)
class Definition(Node):
    """``def name(parameters) -> (returns) { body }``.

    `parameters` is None in a text without ``def``: then they are the names that are read but never written, in order of
    first appearance, and the returns are the names that are written.
    """

    name: str
    parameters: tuple[Parameter, ...] | None
    returns: tuple[Parameter, ...]
    body: tuple[Statement, ...]

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The statements in order, including those of loops, with the loop ranges as clauses."""
        return flattened(self.body)[0]


@dataclass(frozen=True, slots=True)
class Program(Node):
    """Any number of definitions; if two have the same name the first one is used, as in TC, and the other is in
    `repeated`.
    """

    definitions: tuple[Definition, ...]
    repeated: tuple[Definition, ...] = field(default=(), compare=False)


def flattened(body: tuple[Statement, ...]) -> tuple[tuple[Leaf, ...], tuple[Run, ...]]:
    """The statements of a body in order, with a clause for every surrounding `For`; and the loops, outermost first."""
    leaves: list[Leaf] = []
    runs: list[Run] = []

    def visit(statements: tuple[Statement, ...], around: tuple[RangeClause, ...]) -> None:
        for statement in statements:
            match statement:
                case For(body=inner):
                    first, place = len(leaves), len(runs)
                    visit(inner, (*around, _upwards(statement)))
                    runs.insert(place, Run(statement, first, len(leaves)))
                case Assign() if around:
                    leaves.append(replace(statement, where=(*around, *statement.where)))
                case _:
                    leaves.append(statement)

    visit(body, ())
    return tuple(leaves), tuple(runs)


def stride(loop: For) -> int | None:
    """The step of a loop; None where it is not a literal, or zero."""
    match loop.step:
        case None:
            return 1
        case Number(int() as value) | Unary("-", Number(int() as value)) if value and not isinstance(value, bool):
            return -value if isinstance(loop.step, Unary) else value
        case _:
            return None


def _upwards(loop: For) -> RangeClause:
    """The values of a loop as a range from the least to the greatest, ignoring the step."""
    step, lo, hi = stride(loop) or 1, loop.lo, loop.hi

    def of(operator: str, left: Expr, right: Expr | int) -> Expr:
        second = Number(right, span=loop.span) if isinstance(right, int) else right
        return left if second == Number(0) else Binary(operator, left, second, span=loop.span)

    if step < -1 or step > 1:
        length = of("-", hi, lo) if step > 0 else of("-", lo, hi)
        count = of("/", of("+", length, abs(step) - 1), abs(step))
        beyond = of("*", of("-", count, 1), step)
        hi = of("+", of("+", lo, beyond), 1 if step > 0 else -1)
    if step < 0:
        lo, hi = of("+", hi, 1), of("+", lo, 1)
    return RangeClause(loop.index, lo, hi, True, span=loop.span.part(loop.index))


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
    """The direct subexpressions, in text order."""
    match node:
        case Number() | Name() | SizeOf() | Batch():
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


def nodes(node: Node) -> Iterator[Node]:
    """A node of any tree and all nodes in it, in text order, each before its parts."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        parts: list[Node] = []
        for each in fields(node):
            value = getattr(node, each.name)
            parts += [part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, Node)]
        pending += reversed(parts)


AnyNode = TypeVar("AnyNode", bound=Node)


def mapped(node: AnyNode, change: Callable[[Node], Node]) -> AnyNode:
    """The tree with `change` applied to each of its nodes, parts first.

    Works for any tree of nodes; recurses as deeply as the tree.
    """
    changed: dict[str, Any] = {}
    for each in fields(node):
        value = getattr(node, each.name)
        if isinstance(value, Node):
            new: Any = mapped(value, change)
        elif isinstance(value, tuple) and any([isinstance(part, Node) for part in value]):
            parts: list[Any] = []
            for part in value:
                parts.append(mapped(part, change) if isinstance(part, Node) else part)
            new = value if all(map(_is, parts, value)) else tuple(parts)
        else:
            continue
        if new is not value:
            changed[each.name] = new
    return change(replace(node, **changed) if changed else node)  # type: ignore[return-value]


def _is(first: object, second: object) -> bool:
    return first is second


def literal(value: bool | int | float | complex, span: Span) -> Expr:
    """A number as a writer must write it: without a sign inside it, without a complex sum."""
    if isinstance(value, complex):
        imaginary = Number(complex(0, abs(value.imag)), span=span)
        signed = Unary("-", imaginary, span=span) if math.copysign(1, value.imag) < 0 else imaginary
        return Binary("+", literal(value.real, span), signed, span=span) if value.real else signed
    if value < 0 or (value == 0 and math.copysign(1, value) < 0):
        return Unary("-", Number(-value, span=span), span=span)
    return Number(value, span=span)
