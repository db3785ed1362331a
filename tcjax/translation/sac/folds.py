"""Reductions as folds over comprehensions: ``sum({ [k] -> A[i, k] })``."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ... import ir
from ...diagnostics import CompileError, Span
from ...elaboration.sac.folds import FOLDS, skips_zero
from ...ir import Reducer
from ...ranges.guards import moving_ends
from ...symbolic import Affine, IndexVar
from ...syntax.sac import tree
from ..refusal import refuse
from . import literals
from .generators import Limits, as_limit, comprehension, interval_of
from .sac_expressions import Scope

_FOLDS: Final[Mapping[Reducer, str]] = {reducer: name for name, reducer in FOLDS.items()}
_OF_BOOL: Final = {Reducer.PRODUCT: Reducer.ALL, Reducer.MIN: Reducer.ALL, Reducer.MAX: Reducer.ANY}


def fold(reduce: ir.Reduce, scope: Scope) -> tree.Expr:
    """The reduction as a fold. Raises TC0109 for those that SaC does not have."""
    reducer = reduce.reducer
    if isinstance(reducer, ir.Monoid):
        raise registered(reducer, reduce.span)
    if reducer not in _FOLDS:
        help = "reduce with `minval`, `maxval`, `argmin` or `argmax`"
        raise refuse("SaC", f"`{reducer.value}`, the value at a rank", reduce.span, help=help)
    if reduce.body.dtype == "bool" and reducer is Reducer.SUM:
        # A sum of booleans is modulo 2.
        numbers = replace(reduce, body=ir.Cast(reduce.body, "int32"), accumulate="int32", dtype="int32")
        return tree.Binary("==", scope.remainder(fold(numbers, scope), tree.Number(2)), tree.Number(1))
    if reduce.body.dtype == "bool":
        reducer = _OF_BOOL.get(reducer, reducer)
    limits, guard = _limits(reduce, scope)
    inner = scope.within(reduce)
    if guard is None:
        return tree.Call(_FOLDS[reducer], (_over(reduce, reducer, limits, reduce.body, scope, inner),))
    if reducer is Reducer.MEAN:
        dtype = reduce.body.dtype
        total = _guarded(reduce, Reducer.SUM, limits, guard, reduce.body, scope, inner)
        count = _guarded(reduce, Reducer.SUM, limits, guard, ir.Const(1, "int32"), scope, inner)
        return tree.Binary("/", total, literals.cast(dtype, count))
    return _guarded(reduce, reducer, limits, guard, reduce.body, scope, inner)


def registered(monoid: ir.Monoid, span: Span) -> CompileError:
    """The error for a reduction that only this process knows."""
    help = "write the program in TC or Python"
    return refuse("SaC", f"in which order the registered reduction `{monoid.name}` goes", span, help=help)


def _guarded(
    reduce: ir.Reduce,
    reducer: Reducer,
    limits: dict[IndexVar, Limits],
    guard: ir.Expr,
    body: ir.Expr,
    scope: Scope,
    inner: Scope,
) -> tree.Expr:
    """A fold in which points that the guard excludes contribute the identity."""
    neutral = literals.neutral(reducer, body.dtype)
    if neutral is None:
        help = "put the condition into the value: `argmin` of `c ? e : inf`"
        raise refuse("SaC", f"`{reducer.value}` over the points where a condition holds", reduce.span, help=help)
    chosen = ir.Select(guard, body, neutral, body.dtype)
    return tree.Call(_FOLDS[reducer], (_over(reduce, reducer, limits, chosen, scope, inner),))


def _over(
    reduce: ir.Reduce,
    reducer: Reducer,
    limits: dict[IndexVar, Limits],
    body: ir.Expr,
    scope: Scope,
    inner: Scope,
) -> tree.Expr:
    """The comprehension of the values to combine.

    Its cells below the lower end are zeros: where these would matter, the indices are counted from the lower end.
    """
    names = tuple([inner.indices[index] for index in reduce.indices])
    lows = {index: limits[index].low(scope) for index in reduce.indices}
    highs = {index: limits[index].high(scope) for index in reduce.indices}
    if not skips_zero(reducer) or not all(map(scope.is_nonnegative, lows.values())):
        moved = {index: low for index, low in lows.items() if low != Affine.of(0)}
        inner = inner.moved(moved)
        highs = {index: high - moved.get(index, Affine.of(0)) for index, high in highs.items()}
        lows = dict.fromkeys(lows, Affine.of(0))
    return tree.Comprehension(
        (comprehension(names, tuple(lows.values()), tuple(highs.values()), inner.write(body), scope),)
    )


def _limits(reduce: ir.Reduce, scope: Scope) -> tuple[dict[IndexVar, Limits], ir.Expr | None]:
    """The ends of each range, and the rest of the guard.

    Ends that use outer indices stay ends; those that use indices of the same brackets become part of the guard.
    """
    given = {range_.index: range_ for range_ in reduce.ranges}
    limits: dict[IndexVar, Limits] = {}
    tests: list[ir.Expr] = []
    for index in reduce.indices:
        range_ = given.get(index)
        is_moving = range_ is not None and bool(range_.lo.variables | range_.hi.variables)
        if range_ is not None and is_moving and not (range_.lo.variables | range_.hi.variables) & set(reduce.indices):
            limits[index] = Limits((range_.lo,), (range_.hi,))
            continue
        limits[index] = Limits.of(interval_of(index, scope, reduce))
        if range_ is not None and is_moving:
            tests += moving_ends(range_)
    tests += ir.conjuncts(reduce.guard)
    left: list[ir.Expr] = []
    for test in tests:
        limit = as_limit(test, reduce.indices)
        if limit is None or not _keeps_positions(reduce, limit[1]):
            left.append(test)
            continue
        index, ends = limit
        limits[index] = Limits(limits[index].lows + ends.lows, limits[index].highs + ends.highs)
    guard: ir.Expr | None = None
    for test in left:
        guard = ir.both(guard, test)
    return limits, guard


def _keeps_positions(reduce: ir.Reduce, ends: Limits) -> bool:
    """Whether positions stay the same when a range is cut off."""
    return not reduce.reducer.gives_position or (len(reduce.indices) == 1 and not ends.lows)
