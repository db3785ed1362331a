"""Splits sums into sums of products: convolutions, contractions, unrolled windows, or a fold."""

from cmath import isfinite
from dataclasses import replace

from .. import ir
from ..ir import Reducer
from ..symbolic import IndexVar
from ..transforms.factors import Product, depends, divided_sum, multiplied_out, summands
from .branches import projected
from .choice import cheapest, chosen, plan_fold
from .data.nodes import Node
from .folds import as_number
from .operations.reduction import Reduction, is_read
from .rules import plan_value
from .scope import Scope, fill
from .values import is_scale


def plan_sum(
    indices: tuple[IndexVar, ...], body: ir.Expr, guard: ir.Expr | None, accumulate: str, scope: Scope
) -> Node:
    """A sum, split into sums of products if that saves work."""
    if accumulate == "bool":
        count = plan_sum(indices, ir.Cast(body, "int32"), guard, "int32", scope)
        odd = scope.apply("&", (count, fill(1, "int32")), "int32")
        return scope.cast(odd, "bool")
    products = [
        replace(product, mask=ir.both(guard, product.mask))
        for summand in summands(body)
        for product in divided_sum(summand, indices, scope.box, scope.unrolled)
    ]

    def parts(of: list[Product] = products) -> Node:
        return _added(indices, of, accumulate, scope)

    def whole() -> Node:
        return plan_fold(Reducer.SUM, indices, body, guard, accumulate, scope)

    if len(products) == 1:
        terms = products if scope.is_term else multiplied_out(products[0])
        return parts() if len(terms) == 1 else cheapest((parts(), parts(terms)), scope)
    if not _worth_splitting(products, frozenset(indices), scope):
        # A difference keeps its digits.
        together = scope.is_term or any(product.negative for product in products)
        return whole() if together else cheapest((whole(), parts()), scope)
    if _is_heavy(products, frozenset(indices), scope):
        # Several nests would each recompute what the products share; a single one also keeps the precision of
        # differences.
        return cheapest((whole(), parts()), scope)
    return parts()


def _added(indices: tuple[IndexVar, ...], products: list[Product], accumulate: str, scope: Scope) -> Node:
    """The sum of products, each summed separately."""
    total: Node | None = None
    for product in products:
        node = _plan_product(indices, product, accumulate, scope)
        if total is None:
            total = scope.apply("neg", (node,), accumulate) if product.negative else node
        else:
            total = scope.apply("-" if product.negative else "+", (total, node), accumulate)
    assert total is not None
    return total


def _worth_splitting(products: list[Product], reduced: frozenset[IndexVar], scope: Scope) -> bool:
    """Whether the summands reduce over less than the whole space, or one of them is a contraction."""
    spaces = [frozenset[IndexVar]().union(*map(ir.free_indices, _parts(p))) - scope.unrolled for p in products]
    whole = frozenset[IndexVar]().union(*spaces)
    if any(space & reduced and space < whole for space in spaces):
        return True
    return any(
        sum(depends(factor, reduced) for factor in product.factors) > 1
        and all(ir.free_indices(factor) - scope.unrolled < whole for factor in product.factors)
        for product in products
    )


def _parts(product: Product) -> tuple[ir.Expr, ...]:
    """The factors of a product, and the conditions of its mask."""
    return product.factors if product.mask is None else (*product.factors, product.mask)


def _is_heavy(products: list[Product], reduced: frozenset[IndexVar], scope: Scope) -> bool:
    """Whether functions or reductions are computed for points of the reduction and the result together."""
    if scope.nests is None:
        return False
    for product in products:
        for part in _parts(product):
            free = ir.free_indices(part)
            if free & reduced and free - reduced and any(isinstance(n, (ir.Call, ir.Reduce)) for n in ir.walk(part)):
                return True
    return False


def _plan_product(indices: tuple[IndexVar, ...], product: Product, accumulate: str, scope: Scope) -> Node:
    """``sum over indices of factors where mask``, with loop-invariant factors moved out."""
    reduced = frozenset(indices)
    inside = [factor for factor in product.factors if depends(factor, reduced)]
    outside = [factor for factor in product.factors if not depends(factor, reduced)]
    mask, around = product.mask, None
    if mask is not None and not depends(mask, reduced):
        mask, around = None, mask
    used = frozenset[IndexVar]().union(*map(ir.free_indices, inside), ir.free_indices(mask) if mask else ())
    kept = tuple(index for index in indices if index in used)
    repeats = scope.points(index for index in indices if index not in used)
    exact = ir.types.is_integral(accumulate)

    counts: ir.Expr | None = None
    if around is not None and not exact:
        counts = ir.conjunction(sorted(projected(frozenset(ir.conjuncts(around)), used, scope), key=ir.show_expr))
    node = chosen(Reduction(Reducer.SUM, kept, tuple(inside), mask, accumulate, counts), scope)
    if repeats != 1:
        node = scope.apply("*", (node, fill(as_number(repeats, accumulate), accumulate)), accumulate)
    condition = around
    if mask is not None and not exact and not all(_is_finite(f) or is_scale(ir.divisor_of(f) or f) for f in outside):
        # Where no point takes part, an infinite factor must not meet the zero of the empty sum.
        some = tuple(index for index in indices if index in ir.free_indices(mask))
        condition = ir.both(around, ir.Reduce(Reducer.ANY, some, (), None, mask, None, "bool", "bool"))
    if condition is None:
        return _times(node, outside, accumulate, scope)
    live = plan_value(condition, scope)
    if exact or not outside:
        node = _times(node, outside, accumulate, scope)
        return scope.apply("where", (live, node, fill(0, accumulate)), accumulate)
    # Neither the sum nor its factor may be infinite where the other one's cotangent is zero.
    node = scope.apply("where", (live, node, fill(0, accumulate)), accumulate)
    return _times(node, outside, accumulate, scope, (live, condition))


def _is_finite(factor: ir.Expr) -> bool:
    """Whether a factor is a finite number; of no points, an extremum is none."""
    return isinstance(factor, ir.Const) and isfinite(factor.value)


def _times(
    node: Node, factors: list[ir.Expr], accumulate: str, scope: Scope, where: tuple[Node, ir.Expr] | None = None
) -> Node:
    """The node times the factors, which are 1 outside `where`, given as the condition's value and the condition."""
    for factor in factors:
        divisor = ir.divisor_of(factor)
        operator, factor = ("*", factor) if divisor is None else ("/", divisor)
        inside = scope if where is None or is_read(factor) else scope.where(*where)
        value = scope.cast(plan_value(factor, inside), accumulate)
        if where is not None and not is_scale(factor):
            value = scope.apply("where", (where[0], value, fill(1, accumulate)), accumulate)
        node = scope.scaled(operator, (node, value), accumulate)
    return node
