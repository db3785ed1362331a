"""Expands products of differences where this lowers the order of the work: no sum of the result is over all indices.

``O(i,j) +=! (C(i,k) - E(j,l)) * (C(i,k) - E(j,l)) * T(k,l)`` has N^4 points, its three products only N^3.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product as choices_of
from math import prod
from typing import Final

from .. import ir
from ..ir import Reducer
from ..symbolic import IndexVar
from .factors import Product, peaks, summands
from .inlining import Renaming, Step

# A sum of this many products is not expanded further.
MOST_PRODUCTS: Final = 8


def multiplied_out(step: Step) -> tuple[Step, tuple[ir.Expr, ...]] | None:
    """The step with such sums expanded into sums of products, and the values that must be finite; None if there are
    none.

    Both parts of a difference are first centred on the mean of one of them, so that a large common offset loses no
    digits in the squares.
    """
    work = _Work(step, dict(step.box))
    statement = replace(step.statement, value=work.visit(step.statement.value))
    if isinstance(statement, ir.Accumulate) and statement.reducer is Reducer.SUM and statement.domain.guard is None:
        body = work.expanded(statement.reduction, statement.value, statement.accumulate)
        statement = statement if body is None else replace(statement, value=body)
    if statement == step.statement:
        return None
    return replace(step, statement=statement, box=work.box), tuple(dict.fromkeys(work.finite))


@dataclass(frozen=True, slots=True)
class _Work:
    """The state of one step: ranges of the indices bound by means, and values that must be finite."""

    step: Step
    box: dict[IndexVar, tuple[int, int]]
    finite: list[ir.Expr] = field(default_factory=list)

    def visit(self, expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, self.visit)
        if not isinstance(expr, ir.Reduce) or expr.reducer is not Reducer.SUM or expr.guard is not None or expr.fixed:
            return expr
        body = self.expanded(expr.indices, expr.body, expr.accumulate)
        return expr if body is None else replace(expr, body=body)

    def expanded(self, indices: Sequence[IndexVar], body: ir.Expr, accumulate: str) -> ir.Expr | None:
        """A body whose sums over the indices have fewer points each."""
        exact = ir.types.is_integral(body.dtype) and body.dtype != "bool"
        if not exact and not (ir.types.is_float(body.dtype) and body.dtype == accumulate):
            return None
        found, changed = list[Product](), False
        for summand in summands(body):
            parts = [summand] if summand.mask is not None else self.products(summand, indices, exact)
            changed |= len(parts) > 1
            found += parts
        if not changed or len(found) > MOST_PRODUCTS:
            return None
        return _sum(found, body.dtype)

    def products(self, product: Product, indices: Sequence[IndexVar], exact: bool) -> list[Product]:
        """The product expanded, if that lowers the order of the work; else unchanged."""
        roots = [root for factor in product.factors for root in _roots(factor)]
        parts = {root: _parts(root) for root in roots}
        split = [root for root in roots if len(parts[root]) > 1]
        whole = _space(roots)
        if not split or prod(len(parts[root]) for root in roots) > MOST_PRODUCTS:
            return [product]
        spaces = [_space(part.factors) for root in split for part in parts[root]]
        terms = _joined(product.negative, roots, parts)
        stay = [root for root in roots if root not in split]
        if peaks(stay, spaces) or any(_needs_all(term.factors, indices, whole) for term in terms):
            return [product]
        if exact:
            return terms
        centred = {root: self.centred(root, parts[root]) for root in parts}
        given = ir.multiply([_sum(centred[root], root.dtype) for root in roots])
        self.finite.append(ir.Reduce(Reducer.SUM, tuple(indices), (), None, given, None, given.dtype, given.dtype))
        return _joined(product.negative, roots, centred)

    def centred(self, root: ir.Expr, parts: list[Product]) -> list[Product]:
        """Two parts of a sum, both centred on the mean of the one with fewer points: the sum is unchanged."""
        if len(parts) != 2:
            return parts
        first, second = sorted(parts, key=lambda part: self.points(part))
        value, kind = ir.multiply(first.factors), root.dtype
        own = tuple(sorted(_space(first.factors), key=str))
        mean = ir.Reduce(Reducer.MEAN, own, (), None, value, None, kind, kind, fixed=True)
        mean = Renaming(self.box, self.step.box).renamed(mean)
        operator = "-" if first.negative != second.negative else "+"
        return [
            replace(first, factors=(ir.Binary("-", value, mean, kind),)),
            replace(second, factors=(ir.Binary(operator, ir.multiply(second.factors), mean, kind),)),
        ]

    def points(self, product: Product) -> int:
        return prod(hi - lo for lo, hi in map(self.step.box.__getitem__, _space(product.factors)))


def _roots(factor: ir.Expr) -> list[ir.Expr]:
    """The factors of a factor: a square has two."""
    match factor:
        case ir.Binary("**", base, exponent) | ir.Call("pow", (base, exponent)) if ir.number_of(exponent) == 2:
            return [base, base]
        case _:
            return [factor]


def _parts(factor: ir.Expr) -> list[Product]:
    """A sum whose parts each have fewer indices than the whole; anything else as a single part."""
    parts, space = summands(factor), ir.free_indices(factor)
    apart = len(parts) > 1 and all(part.mask is None and _space(part.factors) < space for part in parts)
    return parts if apart else [Product((factor,))]


def _joined(negative: bool, roots: Sequence[ir.Expr], parts: Mapping[ir.Expr, list[Product]]) -> list[Product]:
    """The product of sums as a sum of products, with equal ones merged into a multiple."""
    counts = Counter[tuple[ir.Expr, ...]]()
    for chosen in choices_of(*(parts[root] for root in roots)):
        factors = sorted((factor for part in chosen for factor in part.factors), key=ir.show_expr)
        counts[tuple(factors)] += -1 if (negative + sum(part.negative for part in chosen)) % 2 else 1
    times = {factors: ir.Const(abs(count), factors[0].dtype) for factors, count in counts.items() if count}
    return [
        Product(factors if abs(counts[factors]) == 1 else (number, *factors), counts[factors] < 0)
        for factors, number in times.items()
    ]


def _needs_all(factors: Iterable[ir.Expr], indices: Iterable[IndexVar], whole: frozenset[IndexVar]) -> bool:
    """Whether summing the product index by index still visits points of all indices at some stage."""
    spaces, left = [ir.free_indices(factor) for factor in factors], set(indices)

    def joined(index: IndexVar) -> frozenset[IndexVar]:
        return frozenset[IndexVar]().union(*(space for space in spaces if index in space))

    while left:
        index = min(left, key=lambda index: (len(joined(index)), str(index)))
        space = joined(index)
        if space == whole:
            return True
        spaces = [*(each for each in spaces if index not in each), space - {index}]
        left.remove(index)
    return False


def _sum(parts: Iterable[Product], dtype: str) -> ir.Expr:
    return ir.summed([(part.negative, ir.multiply(part.factors)) for part in parts], dtype)


def _space(factors: Iterable[ir.Expr]) -> frozenset[IndexVar]:
    return frozenset[IndexVar]().union(*map(ir.free_indices, factors))
