"""Classifies reductions of scores: statistics of scores, and sums weighted by their exponentials."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ... import ir
from ...ir import Reducer
from ...transforms.factors import masked
from ...transforms.widening import widened

# Scores as the terms of a sum and the conditions under which they are active, in any order.
Key = tuple[frozenset[tuple[ir.Term, int]], frozenset[ir.Expr]]


@dataclass(frozen=True, slots=True)
class Exponent:
    """``exp(scores - statistic) * others``: the terms of the scores, and a read of the statistic."""

    terms: tuple[ir.Term, ...]
    statistic: ir.Access
    call: ir.Call
    others: tuple[ir.Expr, ...]


def is_statistic(reduce: ir.Reduce) -> bool:
    """Whether a sum of exponentials may be relative to it."""
    return reduce.reducer.is_upper_bound and ir.types.is_float(reduce.body.dtype)


def exponents(reduce: ir.Reduce) -> Iterator[Exponent]:
    """The ways to see a sum as one of exponentials of differences, times other factors."""
    if reduce.reducer is not Reducer.SUM or not ir.types.is_float(reduce.body.dtype):
        return
    factors = ir.factors(reduce.body)
    for place, factor in enumerate(factors):
        if not isinstance(factor, ir.Call) or factor.function != "exp" or not ir.types.is_float(factor.dtype):
            continue
        others = tuple(factors[:place] + factors[place + 1 :])
        found = ir.terms(factor.arguments[0])
        for number, (negative, term) in enumerate(found):
            read = term.operand if isinstance(term, ir.Cast) else term
            if negative and isinstance(read, ir.Access) and len(found) > 1:
                yield Exponent(tuple(found[:number] + found[number + 1 :]), read, factor, others)


def key(found: list[ir.Term], guard: ir.Expr | None) -> Key:
    """A key that is the same for the same scores."""
    return frozenset(Counter(found).items()), frozenset(ir.conjuncts(guard))


def keys(statistic: ir.Reduce, dtype: str) -> Iterator[Key]:
    """The scores of a statistic, in the type in which sums use them.

    ``max[j](c ? s : -inf)`` equals ``max[j where c](s)``.
    """
    body = widened(statistic.body, dtype)
    yield key(ir.terms(body), statistic.guard)
    if statistic.guard is not None:
        yield key(ir.terms(masked(statistic.guard, body, -float("inf"))), None)
    match body:
        case ir.Select(condition, scores, ir.Const(value)) if value == -float("inf"):
            yield key(ir.terms(scores), ir.both(statistic.guard, condition))
        case _:
            return


def relative(scores: ir.Expr, statistic: ir.Access, stored: str, call: ir.Call) -> ir.Call:
    """``exp(scores - statistic)``, with the statistic rounded to the type in which it was `stored`."""
    shift = statistic if statistic.dtype == stored else ir.Cast(statistic, stored)
    shift = shift if stored == scores.dtype else ir.Cast(shift, scores.dtype)
    return replace(call, arguments=(ir.Binary("-", scores, shift, scores.dtype),))
