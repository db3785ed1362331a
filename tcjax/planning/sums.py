"""Sums, taken apart into sums of products: convolutions, contractions, unrolled windows, or a fold."""

from dataclasses import replace

from .. import ir
from ..ir import Reducer
from ..symbolic import IndexVar
from ..transforms.factors import (
    Product,
    ProductSum,
    both,
    depends,
    divided_sum,
    divisor_of,
    masked,
    multiplied_out,
    multiply,
    summands,
)
from .branches import projected
from .choice import cheapest
from .contractions import as_contraction, as_products
from .convolutions import as_convolution, is_padding, slices_derivative
from .folds import LARGE, as_number, fold, plan_fold, plan_nonrepeating, unroll, unrolled_indices, why_steps
from .nesting import is_absurd, nested
from .nodes import Contract, LoopNest, Node
from .scope import Scope, fill
from .values import plan_value
from .windows import gathered_indices

# Results of at most so many elements are products of vectors.
FEW = 16


def plan_sum(
    indices: tuple[IndexVar, ...], body: ir.Expr, guard: ir.Expr | None, accumulate: str, scope: Scope
) -> Node:
    """A sum, taken apart into sums of products where that saves work."""
    if accumulate == "bool":
        count = plan_sum(indices, ir.Cast(body, "int32"), guard, "int32", scope)
        odd = scope.apply("&", (count, fill(1, "int32")), "int32")
        return scope.cast(odd, "bool")
    products = [
        replace(product, mask=both(guard, product.mask), left_out=product.left_out or guard is not None)
        for summand in summands(body)
        for product in divided_sum(summand, indices, scope.box, scope.unrolled)
    ]
    parts = _added(indices, products, accumulate, scope)
    if scope.unrolled and len(products) == 1:
        return parts
    if len(products) == 1:
        terms = multiplied_out(products[0])
        return parts if len(terms) == 1 else cheapest((parts, _added(indices, terms, accumulate, scope)), scope)
    whole = plan_fold(Reducer.SUM, indices, body, guard, accumulate, scope)
    if not _worth_splitting(products, frozenset(indices), scope):
        # A difference keeps its digits.
        together = scope.unrolled or any(product.negative for product in products)
        return whole if together else cheapest((whole, parts), scope)
    # Several nests would each compute anew what the products share; one keeps the digits of differences too.
    if isinstance(whole, LoopNest) and _is_heavy(products, frozenset(indices), scope):
        return parts if is_absurd(whole.nest, parts, scope) else whole
    return parts


def _added(indices: tuple[IndexVar, ...], products: list[Product], accumulate: str, scope: Scope) -> Node:
    """The sum of products, each of which is summed on its own."""
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
    spaces = [frozenset[IndexVar]().union(*map(ir.free_indices, p.factors)) - scope.unrolled for p in products]
    whole = frozenset[IndexVar]().union(*spaces)
    if any(space & reduced and space < whole for space in spaces):
        return True
    return any(
        sum(depends(factor, reduced) for factor in product.factors) > 1
        and all(ir.free_indices(factor) - scope.unrolled < whole for factor in product.factors)
        for product in products
    )


def _is_heavy(products: list[Product], reduced: frozenset[IndexVar], scope: Scope) -> bool:
    """Whether functions or reductions are computed for points of the reduction and of the result together."""
    if scope.nests is None:
        return False
    for product in products:
        for part in (*product.factors, *([product.mask] if product.mask is not None else [])):
            free = ir.free_indices(part)
            if free & reduced and free - reduced and any(isinstance(n, (ir.Call, ir.Reduce)) for n in ir.walk(part)):
                return True
    return False


def _plan_product(indices: tuple[IndexVar, ...], product: Product, accumulate: str, scope: Scope) -> Node:
    """``sum over indices of factors where mask``: what does not change with the indices comes out in front."""
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
    left_out = product.left_out and not exact

    counts: ir.Expr | None = None
    if around is not None and not exact:
        axes = scope.sorted(used - scope.unrolled)
        counts = ir.conjunction(sorted(projected(frozenset(ir.conjuncts(around)), axes, scope), key=ir.show_expr))
    node = _plan_inside(ProductSum(kept, tuple(inside), mask, counts, accumulate, left_out), scope)
    if kept:
        body = multiply(inside) if inside else ir.Const(as_number(1, accumulate), accumulate)
        # In a nest the condition goes inside: its derivative must not meet what is infinite where it is false.
        guard = both(mask, around)
        node = nested(node, ir.Reduce(Reducer.SUM, kept, (), guard, body, None, accumulate, accumulate), scope)
    if repeats != 1:
        node = scope.apply("*", (node, fill(as_number(repeats, accumulate), accumulate)), accumulate)
    condition = around
    if mask is not None and not exact and not all(isinstance(f, ir.Const) for f in outside):
        # Where no point takes part, an infinite factor must not meet the zero of the empty sum.
        some = tuple(index for index in indices if index in ir.free_indices(mask))
        condition = both(around, ir.Reduce(Reducer.ANY, some, (), None, mask, None, "bool", "bool"))
    if condition is None:
        return _times(node, outside, accumulate, scope)
    live = plan_value(condition, scope)
    if exact or not outside:
        node = _times(node, outside, accumulate, scope)
        return scope.apply("where", (live, node, fill(0, accumulate)), accumulate)
    # Neither the sum nor what stands in front may be infinite where the other one's cotangent is zero.
    node = scope.apply("where", (live, node, fill(0, accumulate)), accumulate)
    return _times(node, outside, accumulate, scope, (live, condition))


def _times(
    node: Node, factors: list[ir.Expr], accumulate: str, scope: Scope, where: tuple[Node, ir.Expr] | None = None
) -> Node:
    """The node times the factors, which are 1 except `where` it counts: the condition's value, and the condition."""
    for factor in factors:
        divisor = divisor_of(factor)
        operator, factor = ("*", factor) if divisor is None else ("/", divisor)
        inside = scope if where is None or _is_read(factor) else scope.where(*where)
        value = scope.cast(plan_value(factor, inside), accumulate)
        if where is not None:
            value = scope.apply("where", (where[0], value, fill(1, accumulate)), accumulate)
        node = scope.apply(operator, (node, value), accumulate)
    return node


def _is_read(expr: ir.Expr) -> bool:
    return isinstance(expr.operand if isinstance(expr, ir.Cast) else expr, ir.Access)


def _plan_inside(products: ProductSum, scope: Scope) -> Node:
    """The sum of a product of factors that all depend on its indices."""
    indices, factors, mask, accumulate = products.indices, products.factors, products.mask, products.accumulate
    if not factors:
        if mask is None:
            return fill(1 if ir.types.is_integral(accumulate) else 1.0, accumulate)
        return fold(Reducer.SUM, indices, scope.cast(plan_value(mask, scope), accumulate), scope)
    if len(factors) == 1:
        guard = mask if _is_read(factors[0]) else both(mask, products.around)
        return plan_nonrepeating(Reducer.SUM, indices, factors[0], guard, accumulate, scope)
    convolution = as_convolution(products, scope)
    if convolution is not None:
        return convolution
    # A zero around an array must not meet another factor's infinity.
    reads = [factor for factor in factors if isinstance(factor, ir.Access)]
    if mask is not None and not products.left_out and is_padding(mask, reads, scope):
        mask, products = None, replace(products, mask=None)
    steps = unrolled_indices(indices, multiply(factors), mask, scope)
    if steps:
        rest = tuple(index for index in indices if index not in steps)
        product = None if products.around is not None else _window_first(steps, rest, products, scope)
        if product is not None:
            return product
        body = _plan_inside(replace(products, indices=rest), scope.unrolling(steps))
        unrolled = unroll(Reducer.SUM, steps, scope.cast(body, accumulate), scope, why_steps(steps, factors, scope))
        if not gathered_indices(steps, multiply(factors), scope):
            return replace(unrolled, derivative=slices_derivative(products, scope))
        return replace(unrolled, derivative=_contracted(products, scope))
    steps = as_products(indices, factors, mask, scope)
    if steps:
        value = masked(products.around, multiply(factors), 0)
        body = scope.cast(plan_value(value, scope.unrolling(steps)), accumulate)
        why = f"{scope.points(steps)} products each: too few for a matrix multiplication"
        return unroll(Reducer.SUM, steps, body, scope, why)
    return _contracted(products, scope)


def _window_first(
    steps: tuple[IndexVar, ...], rest: tuple[IndexVar, ...], products: ProductSum, scope: Scope
) -> Contract | None:
    """``sum[h](d(h) * sum[j](x(h + j) * w(j)))``: the window is one fused loop, the rest a product of two vectors."""
    factors, accumulate = products.factors, products.accumulate
    moving = [factor for factor in factors if depends(factor, frozenset(steps))]
    fixed = [factor for factor in factors if not depends(factor, frozenset(steps))]
    whole = frozenset[IndexVar]().union(*map(ir.free_indices, factors)) - scope.unrolled - frozenset(steps)
    kept = scope.sorted(whole - frozenset(rest))
    many = scope.points(rest) >= LARGE and scope.points(kept) <= FEW
    if (
        products.mask is not None
        or not moving
        or not fixed
        or not many
        or gathered_indices(steps, multiply(factors), scope)
    ):
        return None
    inside = scope.unrolling(steps)
    body = inside.cast(plan_value(multiply(moving), inside), accumulate)
    window = unroll(Reducer.SUM, steps, body, scope, why_steps(steps, moving, scope))
    vector = scope.cast(plan_value(multiply(fixed), scope), accumulate)
    axes = {*window.axes, *vector.axes}
    if axes != whole or not (set(rest) <= set(window.axes) and set(rest) <= set(vector.axes)):
        return None
    why = f"a window of {scope.points(steps)} terms in one fused loop, and its product with another tensor"
    return Contract((vector, window), dtype=accumulate, axes=kept, why=why)


def _contracted(products: ProductSum, scope: Scope) -> Node:
    """The sum of a product as a contraction, or as an elementwise product that is summed."""
    contraction = as_contraction(products, scope)
    if contraction is not None:
        return contraction
    value = plan_value(masked(both(products.mask, products.around), multiply(products.factors), 0), scope)
    return fold(Reducer.SUM, products.indices, scope.cast(value, products.accumulate), scope)
