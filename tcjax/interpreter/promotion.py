"""A function in double precision."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, assert_never

from .. import ir
from ..ranges.bound import Bound
from ..symbolic import Affine

_DOUBLE: Final = {
    "float16": "float64",
    "bfloat16": "float64",
    "float32": "float64",
    "complex64": "complex128",
}


def in_float64(bound: Bound) -> Bound:
    """The same function with every float as float64 and every complex as complex128, callees included."""
    calls = {number: in_float64(callee) for number, callee in bound.calls.items()}
    return replace(bound, function=_function(bound.function, calls), calls=calls)


def _function(function: ir.Function, calls: Mapping[int, Bound]) -> ir.Function:
    return replace(
        function,
        parameters=_tensors(function.parameters),
        returns=_tensors(function.returns),
        statements=tuple(_statement(s, calls.get(n)) for n, s in enumerate(function.statements)),
        initial=_tensors(function.initial),
        declared=_tensors(function.declared),
    )


def _statement(statement: ir.Statement, callee: Bound | None) -> ir.Statement:
    match statement:
        case ir.Define(target, indices, value, domain):
            return replace(
                statement,
                target=_tensor(target),
                indices=tuple(map(_affine, indices)),
                value=_expr(value),
                domain=_domain(domain),
            )
        case ir.Accumulate(target, indices, value=value, accumulate=accumulate, domain=domain):
            return replace(
                statement,
                target=_tensor(target),
                indices=tuple(map(_affine, indices)),
                value=_expr(value),
                accumulate=_dtype(accumulate),
                domain=_domain(domain),
            )
        case ir.Invoke(targets, _, arguments):
            assert callee is not None
            return replace(
                statement, targets=_tensors(targets), function=callee.function, arguments=_tensors(arguments)
            )
        case ir.ApplyForeign(targets, _, arguments):
            return replace(statement, targets=_tensors(targets), arguments=_tensors(arguments))
        case _:
            assert_never(statement)


def _domain(domain: ir.Domain) -> ir.Domain:
    guard = None if domain.guard is None else _expr(domain.guard)
    return replace(domain, ranges=_ranges(domain.ranges), guard=guard, exists=tuple(map(_expr, domain.exists)))


def _expr(expr: ir.Expr) -> ir.Expr:
    expr = ir.rebuild(expr, _expr)
    match expr:
        case ir.Access(tensor):
            return replace(expr, tensor=_tensor(tensor))
        case ir.Reduce(ranges=ranges, accumulate=accumulate, dtype=dtype):
            return replace(expr, ranges=_ranges(ranges), accumulate=_dtype(accumulate), dtype=_dtype(dtype))
        case _:
            return replace(expr, dtype=_dtype(expr.dtype))


def _ranges(ranges: tuple[ir.Range, ...]) -> tuple[ir.Range, ...]:
    return tuple(replace(r, lo=_affine(r.lo), hi=_affine(r.hi)) for r in ranges)


def _affine(affine: Affine) -> Affine:
    return affine.rewrite(lambda atom: ir.Data(_expr(atom.expr)) if isinstance(atom, ir.Data) else atom)


def _tensors(tensors: tuple[ir.Tensor, ...]) -> tuple[ir.Tensor, ...]:
    return tuple(map(_tensor, tensors))


def _tensor(tensor: ir.Tensor) -> ir.Tensor:
    return replace(tensor, dtype=_dtype(tensor.dtype))


def _dtype(scalar: str) -> str:
    return _DOUBLE.get(scalar, scalar)
