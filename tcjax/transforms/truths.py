"""Factors that are 0 or 1 become guards if the others are finite: ``sum[n](float(c(n)) * X(n))`` skips the zeros."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .. import ir
from ..ir import Reducer
from ..symbolic import IndexVar
from .choices import by_choices
from .conditions import plain_guard
from .definitions import Formula, guarded


@dataclass(frozen=True, slots=True)
class Guarded:
    """A statement with guards in place of factors that may be zero, and the values that must be finite.

    If one of these is not finite, zero times it is NaN, and the results would differ.
    """

    statement: Formula
    finite: tuple[ir.Expr, ...]


@dataclass(frozen=True, slots=True)
class _Sum:
    """``sum[indices where guard](body)``, in the type `accumulate`, and what must be finite for it."""

    indices: tuple[IndexVar, ...]
    guard: ir.Expr | None
    body: ir.Expr
    accumulate: str
    finite: tuple[ir.Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class _Conditional:
    """A factor that is 0 where `condition` is false: elsewhere the product of `factors`, summed over `indices`."""

    condition: ir.Expr
    factors: tuple[ir.Expr, ...]
    indices: tuple[IndexVar, ...] = ()


def without_truths(statement: Formula) -> Guarded | None:
    """The statement with a guard for each factor of a sum that is zero where a condition is false; None if there are
    none.
    """
    finite: list[ir.Expr] = []
    given, statement = statement, by_choices(statement)

    def visit(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, visit)
        if not isinstance(expr, ir.Reduce) or expr.reducer is not Reducer.SUM:
            return expr
        found = _over_what_counts(_Sum(expr.indices, expr.guard, expr.body, expr.accumulate))
        if found is None:
            return expr
        finite.extend(found.finite)
        return replace(expr, indices=found.indices, guard=plain_guard(found.guard), body=found.body)

    result = replace(statement, value=visit(statement.value))
    if isinstance(result, ir.Accumulate) and result.reducer is Reducer.SUM:
        whole = _Sum(result.reduction, result.domain.guard, result.value, result.accumulate)
        found = _over_what_counts(whole)
        if found is not None:
            finite.extend(found.finite)
            domain = replace(result.domain, guard=plain_guard(found.guard))
            result = replace(result, reduction=found.indices, value=found.body, domain=domain)
    return None if result in (given, statement) else Guarded(result, tuple(dict.fromkeys(finite)))


def _over_what_counts(total: _Sum) -> _Sum | None:
    """The sum over the points where no factor is conditionally zero; None if there is no such factor."""
    conditions, body = list(ir.conjuncts(total.guard)), total.body
    while (parts := guarded(Reducer.SUM, body)) is not None:
        condition, body = parts
        conditions += ir.conjuncts(condition)
    negative = isinstance(body, ir.Unary) and body.operator == "-"
    product = body.operand if isinstance(body, ir.Unary) and negative else body
    if ir.types.is_complex(body.dtype):
        return None
    pairs = [(factor, _conditional(factor, total)) for factor in ir.factors(product)]
    zeros = [zero for _, zero in pairs if zero is not None]
    indices = [*total.indices, *(index for zero in zeros for index in zero.indices)]
    if not zeros or len(set(indices)) < len(indices):
        return None
    plain = [factor for factor, zero in pairs if zero is None]
    conditions += [part for zero in zeros for part in ir.conjuncts(zero.condition)]
    left = [*plain, *(factor for zero in zeros for factor in zero.factors)]
    inner = ir.multiply(left) if left else ir.Const(1.0 if ir.types.is_float(body.dtype) else 1, body.dtype)
    inner = ir.Unary("-", inner, inner.dtype) if negative else inner
    # Where one of several is zero, another may be anything.
    others = plain if len(zeros) == 1 else left
    finite = () if ir.types.is_integral(body.dtype) else tuple(_together(others))
    guard = ir.conjunction(dict.fromkeys(conditions))
    found = replace(total, indices=tuple(indices), guard=guard, body=inner)
    again = _over_what_counts(found)
    found = found if again is None else again
    return replace(found, finite=(*finite, *found.finite))


def _conditional(factor: ir.Expr, total: _Sum) -> _Conditional | None:
    """The factor as conditionally zero, if it is."""
    match factor:
        case ir.Cast(operand, dtype) if operand.dtype == "bool" and dtype != "bool":
            return _Conditional(operand, ())
        case ir.Cast(operand, dtype) if (inner := _conditional(operand, total)) is not None and not inner.factors:
            return inner
        case ir.Select() if (parts := guarded(Reducer.SUM, factor)) is not None:
            condition, body = parts
            return _Conditional(condition, tuple(part for part in ir.factors(body) if not _is_one(part)))
        case ir.Reduce(Reducer.SUM, indices, _, guard, body, None, accumulate, dtype, False) if guard is not None:
            if accumulate == total.accumulate == dtype == body.dtype and ir.types.is_float(dtype):
                return _Conditional(guard, tuple(part for part in ir.factors(body) if not _is_one(part)), indices)
            return None
        case _:
            return None


def _is_one(factor: ir.Expr) -> bool:
    return isinstance(factor, ir.Const) and factor.value == 1


def _together(factors: Sequence[ir.Expr]) -> Iterator[ir.Expr]:
    """Expressions that are finite only if all factors are: products of those that share the indices of one."""
    groups: list[list[ir.Expr]] = []
    for factor in sorted(factors, key=lambda factor: -len(ir.free_indices(factor))):
        if _is_finite(factor):
            continue
        for group in groups:
            if ir.free_indices(factor) <= ir.free_indices(group[0]):
                group.append(factor)
                break
        else:
            groups.append([factor])
    yield from map(ir.multiply, groups)


def _is_finite(factor: ir.Expr) -> bool:
    """Whether a factor is finite for any data."""
    match factor:
        case ir.Const(value):
            return abs(value) < float("inf")
        case ir.Cast(operand, "float32" | "float64"):
            return ir.types.is_integral(operand.dtype) or operand.dtype == "bool"
        case _:
            return False
