"""Unrolls short reductions inside a body: the operands of their terms are then loaded once, before the loops."""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce as fold
from itertools import product
from math import prod
from typing import Final

from ... import ir, transforms
from ...symbolic import Affine, IndexVar
from ...transforms.factors import masked
from ...transforms.widening import widened

# Sixteen coordinates are a chunk of a matrix product; fewer are kept in registers.
_LONGEST: Final = 15
# Larger expressions take long to compile.
_LARGEST: Final = 1500


def written_out(reduce: ir.Reduce, ranges: Mapping[IndexVar, tuple[int, int]]) -> ir.Reduce:
    """The reduction with its body in the accumulating type and inner short reductions unrolled."""
    body = _visit(widened(reduce.body, reduce.accumulate), ranges)
    guard = None if reduce.guard is None else _visit(reduce.guard, ranges)
    return replace(reduce, body=body, guard=guard)


def _visit(expr: ir.Expr, ranges: Mapping[IndexVar, tuple[int, int]]) -> ir.Expr:
    expr = ir.rebuild(expr, lambda child: _visit(child, ranges))
    if not isinstance(expr, ir.Reduce) or expr.reducer.operator is None:
        return expr
    spans = [range(*ranges[index]) for index in expr.indices]
    terms = prod(map(len, spans))
    if not 0 < terms <= _LONGEST or terms * sum(1 for _ in ir.walk(expr)) > _LARGEST:
        return expr
    accumulate, joint = expr.accumulate, expr.reducer.operator
    body = widened(expr.body, accumulate)
    body = masked(expr.guard, body, expr.reducer.empty(body.dtype))
    body = body if body.dtype == accumulate else ir.Cast(body, accumulate)
    points = (dict(zip(expr.indices, map(Affine.of, point), strict=True)) for point in product(*spans))
    parts = [transforms.substitute_expr(body, point) for point in points]
    total = fold(lambda left, right: ir.Binary(joint, left, right, accumulate), parts)
    return total if accumulate == expr.dtype else ir.Cast(total, expr.dtype)
