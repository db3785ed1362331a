"""Small functions of typed index notation with known sizes, written by hand."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tcjax import ir
from tcjax.interpreter import interpret
from tcjax.ranges.bound import Bound
from tcjax.symbolic import Affine, AffineLike, Box, IndexVar, Size, SizeVar

i, j, k, q = map(IndexVar, "ijkq")


def tensor(name: str, rank: int, dtype: str = "float32") -> ir.Tensor:
    return ir.Tensor(name, dtype, tuple(Size.of(SizeVar(f"{name}.{d}")) for d in range(rank)))


def read(name: str, *indices: AffineLike, dtype: str = "float32") -> ir.Access:
    return ir.Access(tensor(name, len(indices), dtype), tuple(map(Affine.of, indices)))


def number(value: Any, dtype: str = "float32") -> ir.Const:
    return ir.Const(value, dtype)


def apply(operator: str, left: ir.Expr, right: ir.Expr) -> ir.Binary:
    comparison = operator in ("<", "<=", ">", ">=", "==", "!=")
    return ir.Binary(operator, left, right, "bool" if comparison else left.dtype)


def value_of(index: IndexVar) -> ir.Index:
    return ir.Index(index)


def define(target: ir.Access, value: ir.Expr, domain: ir.Domain | None = None) -> ir.Define:
    return ir.Define(target.tensor, target.indices, value, domain or ir.Domain())


def accumulate(
    target: ir.Access,
    reducer: str,
    reduction: Sequence[IndexVar],
    value: ir.Expr,
    *,
    restart: bool = True,
    in_type: str | None = None,
    domain: ir.Domain | None = None,
) -> ir.Accumulate:
    accumulate = in_type or value.dtype
    return ir.Accumulate(
        target.tensor,
        target.indices,
        ir.Reducer(reducer),
        restart,
        tuple(reduction),
        value,
        accumulate,
        domain or ir.Domain(),
    )


def reduce(
    reducer: str,
    indices: Sequence[IndexVar],
    body: ir.Expr,
    *,
    guard: ir.Expr | None = None,
    ranges: Sequence[ir.Range] = (),
    rank: ir.Expr | None = None,
    in_type: str | None = None,
    dtype: str | None = None,
) -> ir.Reduce:
    return ir.Reduce(
        ir.Reducer(reducer),
        tuple(indices),
        tuple(ranges),
        guard,
        body,
        rank,
        in_type or body.dtype,
        dtype or body.dtype,
    )


def given(index: IndexVar, lo: AffineLike, hi: AffineLike) -> ir.Range:
    return ir.Range(index, Affine.of(lo), Affine.of(hi))


def bound(
    statements: Sequence[ir.Statement],
    boxes: Sequence[Box],
    arrays: Mapping[str, np.ndarray],
    shapes: Mapping[str, tuple[int, ...]],
    *,
    origins: Mapping[str, tuple[int, ...]] | None = None,
    returns: Sequence[ir.Tensor] | None = None,
    initial: Sequence[ir.Tensor] = (),
    calls: Mapping[int, Bound] | None = None,
) -> Bound:
    """The function of `statements`, with parameters named like `arrays`; returns its last statement's targets."""
    last = statements[-1]
    targets = (last.target,) if isinstance(last, (ir.Define, ir.Accumulate)) else last.targets
    function = ir.Function(
        "f",
        tuple(tensor(name, array.ndim, str(array.dtype)) for name, array in arrays.items()),
        tuple(returns or targets),
        tuple(statements),
        tuple(initial),
    )
    every = {name: array.shape for name, array in arrays.items()} | dict(shapes)
    sizes = {SizeVar(f"{name}.{d}"): extent for name, shape in every.items() for d, extent in enumerate(shape)}
    starts = {name: (0,) * len(shape) for name, shape in every.items()} | dict(origins or {})
    return Bound(function, sizes, tuple(boxes), starts, every, calls or {})


def run(
    statements: Sequence[ir.Statement],
    boxes: Sequence[Box],
    arrays: Mapping[str, np.ndarray],
    shapes: Mapping[str, tuple[int, ...]],
    *,
    initial: Mapping[str, np.ndarray] | None = None,
    foreign: Mapping[str, Callable[..., Any]] | None = None,
    origins: Mapping[str, tuple[int, ...]] | None = None,
) -> np.ndarray:
    """The only result of the function of `statements`."""
    starting = [tensor(name, array.ndim, str(array.dtype)) for name, array in (initial or {}).items()]
    function = bound(statements, boxes, arrays, shapes, origins=origins, initial=starting)
    (result,) = interpret(function, arrays, initial or {}, foreign or {})
    return result


def scalar(value: ir.Expr, **arrays: np.ndarray) -> Any:
    """The value of an expression without indices, as a scalar of its type."""
    return run([define(read("O", dtype=value.dtype), value)], [{}], arrays, {"O": ()})[()]


def over(box: Box, value: ir.Expr, **arrays: np.ndarray) -> np.ndarray:
    """The values of an expression over a box: ``O(i, ..) = value``, stored from the box's start."""
    target = read("O", *box, dtype=value.dtype)
    starts = tuple(lo for lo, _ in box.values())
    return run(
        [define(target, value)], [box], arrays, {"O": tuple(hi - lo for lo, hi in box.values())}, origins={"O": starts}
    )
