"""Reads that may go beyond the ends of a tensor: subscripts such as ``wrap(e)``, and ``pad`` around a read."""

from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Final

from .. import ir
from ..diagnostics import Code, CompileError, Span, phrases
from ..ir import types
from ..symbolic import BOUNDARIES, Affine, Bounded, IndexVar, Size
from ..syntax import ast
from .elsewhere import elsewhere
from .literals import Literal, Number, Open, Value, holds, settle, type_beside
from .scope import Environment, local_shape

NAMES: Final = (*BOUNDARIES, "pad")


def boundary_of(node: ast.Expr, environment: Environment) -> str | None:
    """The boundary that a subscript names, unless the program uses the name for something else."""
    if not isinstance(node, ast.Apply) or node.subscript or node.function not in BOUNDARIES:
        return None
    return None if is_taken(node.function, environment) else node.function


def is_taken(name: str, environment: Environment) -> bool:
    """Whether the program has a tensor or a function of this name."""
    return (
        name in environment.tensors
        or name in environment.written
        or name in environment.functions
        or name in environment.definitions
    )


def inner(node: ast.Expr, kind: str | None) -> ast.Expr:
    """The argument of a boundary; without a boundary, the subscript itself. Raises TC0503."""
    if kind is None:
        return node
    assert isinstance(node, ast.Apply)
    if len(node.arguments) != 1:
        raise CompileError(
            Code.WRONG_ARGUMENT_COUNT,
            f"`{kind}` takes 1 subscript, given: {len(node.arguments)}",
            node.span,
            help=elsewhere(kind, node.span, node.arguments)
            or f"write `{kind}(i + 1)`: the ends are those of the dimension that is read",
        )
    return node.arguments[0]


def bounded(kind: str | None, subscript: Affine, tensor: ir.Tensor, dimension: int, environment: Environment) -> Affine:
    """The subscript with its boundary, if any, applied to the dimension."""
    if kind is None:
        return subscript
    first = first_of(tensor, dimension, environment)
    return Affine.of(Bounded(kind, subscript, first, tensor.shape[dimension]))


def first_of(tensor: ir.Tensor, dimension: int, environment: Environment) -> Size:
    """The subscript of the first element along a dimension: 0, unless a statement's range decides otherwise."""
    inferred = tensor.name in environment.written and tensor.shape == local_shape(tensor.name, tensor.rank)
    return Size.of(ir.first_of(tensor.name, dimension)) if inferred else Size.of(0)


def padded(node: ast.Apply, arguments: list[Value], environment: Environment) -> ir.Select:
    """``pad(A(i), c)``: the read where it is inside the tensor, the other value outside.

    Raises TC0105 if the first argument is not a read, TC0304 for a value that the read's type cannot hold.
    """
    read, otherwise = arguments
    if not isinstance(read, ir.Access) or not read.indices:
        shown = node.arguments[0].span.text.strip()
        is_constant = isinstance(read, (Literal, Open))
        raise CompileError(
            Code.NOT_IN_THE_NOTATION,
            f"`pad` stands around the read of a tensor, and `{shown or 'this'}` is none",
            node.arguments[0].span,
            help="write the tensor first: `pad(A(i - 1), 0)`"
            if is_constant
            else "pad each read separately: `pad(A(i - 1), 0) * pad(B(i - 1), 0)`",
        )
    condition = ir.inside(read, [first_of(read.tensor, d, environment) for d in range(read.tensor.rank)])
    value = _outside(otherwise, read, node.arguments[1].span)
    return ir.Select(condition, read, value, read.dtype, span=node.span)


def idle_pads(value: ir.Expr, given: Iterable[IndexVar]) -> Iterator[tuple[str, Span, str]]:
    """A warning for each ``pad`` whose read is never outside: all its indices are bare, with no range `given`."""
    nodes = tuple(ir.walk(value))
    ranged = {*given, *(each.index for node in nodes if isinstance(node, ir.Reduce) for each in node.ranges)}
    reads = tuple(node for node in nodes if isinstance(node, ir.Access))
    for node in nodes:
        if not isinstance(node, ir.Select) or not ir.is_padded(node) or not isinstance(node.then, ir.Access):
            continue
        read = node.then
        indices = [subscript.bare for subscript in read.indices]
        if any(index is None or index in ranged for index in indices):
            continue
        [index, *_] = (index for index in indices if index is not None)
        name = read.tensor.name
        wider = (
            size
            for other in reads
            if other.tensor != read.tensor
            for subscript, size in zip(other.indices, other.tensor.shape, strict=True)
            if subscript.bare == index
        )
        limits = phrases.ranged(index, 0, next(wider, "N"), node.span)
        yield (
            f"`{phrases.element(name, read.indices, node.span)}` is never outside, so nothing is padded: a bare "
            f"`{index}` runs only where `{name}` has elements",
            node.span,
            f"say how far `{index}` runs: {limits}; if it is to end with `{name}`, leave `pad` out",
        )


def _outside(value: Value, read: ir.Access, span: Span) -> ir.Expr:
    dtype = read.dtype
    if isinstance(value, Literal):
        found = _converted(value.value, dtype)
        if found is not None:
            return ir.Const(found, dtype, span=span)
    else:
        joined = type_beside(value, dtype) if isinstance(value, Open) else types.join(value.dtype, dtype)
        if joined == dtype:
            return settle(value, dtype)
    raise CompileError(
        Code.NARROWING,
        f"`{read.tensor.name}` holds {dtype}, which cannot hold this value exactly",
        span,
        help=f"pad with a value of the type {dtype}, such as `0`, or convert the values in an earlier statement",
    )


def _converted(value: Number, dtype: str) -> Number | None:
    """The number in a type that holds it; None if it would lose digits."""
    if types.is_complex(dtype):
        return complex(value)
    if isinstance(value, complex):
        return None
    if types.is_float(dtype):
        is_held = not isfinite(value) or abs(value) <= types.LARGEST[dtype]
        return float(value) if is_held else None
    if not isfinite(value) or value != int(value):
        return None
    if dtype == "bool":
        return bool(value) if value in (0, 1) else None
    return int(value) if holds(dtype, int(value)) else None
