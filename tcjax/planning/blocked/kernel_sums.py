"""Sums over the same points that share expensive functions: matrices that are never stored, times columns.

``g(i,d) = sum_j K(i,j)*b(j)*(x(i,d) - y(j,d))`` is ``x(i,d) * (K b)(i) - (K (b*y))(i,d)``, and ``h(j) = sum_i
K(i,j)*w(i)`` multiplies the same matrix from the other side: a block of `K` serves both.
"""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ... import ir
from ...symbolic import Affine, IndexVar
from ...transforms.factors import Product, depends, divided_sum, masked, summands
from ...transforms.widening import widened
from ..data.groups import KernelSums
from ..data.machine import CHEAP
from ..data.nests import Nest
from .batching import batched_together
from .domains import non_negatives

Axes = tuple[IndexVar, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """``mask ? factor * sum(matrix * column) : 0``, possibly negated; a missing factor or column is 1."""

    matrix: int
    factor: ir.Expr | None
    column: ir.Expr | None
    negative: bool
    mask: ir.Expr | None


@dataclass(frozen=True, slots=True)
class Apart:
    """The sums of a bundle as `terms`, which share the `matrices`.

    A matrix is of all or some of the indices of `batch` and of the two `sides`; a sum is over the whole of one side.
    Where one of the `conditions` is negative, all matrices are zero. With `careful`, a pointwise mask sets elements of
    a matrix to zero, and these must not multiply infinities, as they do not in the sums.
    """

    batch: Axes
    sides: tuple[Axes, Axes]
    matrices: tuple[ir.Expr, ...]
    terms: tuple[tuple[Term, ...], ...]
    conditions: tuple[Affine, ...]
    careful: bool


@functools.lru_cache(maxsize=1024)
def apart(bundle: KernelSums) -> Apart | None:
    """The sums as matrices times columns; None if they are not, or share nothing expensive."""
    inside = frozenset[IndexVar]().union(*(ir.free_indices(call) for nest in bundle.sums for call in calls(nest)))
    summed = [frozenset(nest.reduce.indices) & inside for nest in bundle.sums]
    reduced = list(dict.fromkeys(summed))
    products = [_products(nest, own) for nest, own in zip(bundle.sums, summed, strict=True)]
    if len(reduced) > 2 or any(found is None for found in products):
        return None
    first, second = reduced if len(reduced) == 2 else (reduced[0], _other_side(bundle, inside, reduced[0]))
    if not second or first & second:
        return None
    matrices: dict[ir.Expr, int] = {}
    terms: list[tuple[Term, ...]] = []
    for own, found in zip(summed, products, strict=True):
        other = second if own == first else first
        split = [_term(product, own, other, matrices) for product in found or ()]
        if any(term is None for term in split):
            return None
        terms.append(tuple(term for term in split if term is not None))
    # Subexpressions needed by several matrices are computed once per block.
    dear = {call for matrix in matrices for call in _dear(matrix) if depends(call, first | second)}
    if len(dear) >= sum(len(calls(nest)) for nest in bundle.sums):
        return None
    used = frozenset[IndexVar]().union(*map(ir.free_indices, matrices))
    ranges = bundle.ranges

    def ordered(side: frozenset[IndexVar]) -> Axes:
        return tuple(sorted(side, key=lambda index: (ranges[index][1] - ranges[index][0], str(index))))

    every = [product for found in products for product in found or ()]
    masks = [mask for product in every for mask in ir.conjuncts(product.mask)]
    single = any(depends(mask, first) and depends(mask, second) for mask in masks)
    sides = ordered(first), ordered(second)
    batch, conditions = ordered(used - first - second), common_conditions(matrices, sides)
    found = Apart(batch, sides, tuple(matrices), tuple(terms), conditions, single)
    return found if _fits(bundle, found) else None


def _other_side(bundle: KernelSums, inside: frozenset[IndexVar], own: frozenset[IndexVar]) -> frozenset[IndexVar]:
    """The other side for all sums' reduction indices, without batch axes, which all reads of this side have too."""
    reads = {read for nest in bundle.sums for read in ir.accesses(nest.reduce.body) if depends(read, own)}
    batch = frozenset[IndexVar].intersection(*map(ir.free_indices, reads)) if reads else frozenset[IndexVar]()
    return inside - own - batch or inside - own


def calls(nest: Nest) -> frozenset[ir.Expr]:
    """Functions and inner reductions that depend on the summation indices, which cost more than a few operations."""
    own = frozenset(nest.reduce.indices)
    parts = (nest.reduce.body, *ir.conjuncts(nest.reduce.guard))
    return frozenset(call for part in parts for call in _dear(part) if depends(call, own))


def _dear(expr: ir.Expr) -> list[ir.Expr]:
    nodes = [node for node in ir.walk(expr) if isinstance(node, (ir.Call, ir.Foreign, ir.Reduce))]
    return [node for node in nodes if not isinstance(node, ir.Call) or node.function not in CHEAP]


def _products(nest: Nest, own: frozenset[IndexVar]) -> list[Product] | None:
    """The products that are summed over the indices of `own`; sums over other indices become part of a factor."""
    reduce = nest.reduce
    if reduce.reducer is not ir.Reducer.SUM or not ir.types.is_float(reduce.accumulate):
        return None
    others = tuple(index for index in reduce.indices if index not in own)
    if reduce.guard is not None and depends(reduce.guard, frozenset(others)):
        return None
    body = widened(reduce.body, reduce.accumulate)
    found = [part for summand in summands(body) for part in divided_sum(summand, reduce.indices, nest.ranges)]
    if others and any(product.mask is not None for product in found):
        return None
    return [replace(_inner(product, others, reduce), mask=ir.both(reduce.guard, product.mask)) for product in found]


def with_inner_sums(nest: Nest) -> Nest:
    """``sum[i, e](a(i,e) * f(i) * b(i,e))`` as ``sum[i](f(i) * sum[e](a(i,e) * b(i,e)))``, if `f` is expensive.

    A pointwise kernel would compute `f` for every `e`.
    """
    reduce = nest.reduce
    inside = frozenset[IndexVar]().union(*map(ir.free_indices, calls(nest)))
    own = tuple(index for index in reduce.indices if index in inside)
    others = tuple(index for index in reduce.indices if index not in inside)
    if reduce.reducer is not ir.Reducer.SUM or not own or not others:
        return nest
    if reduce.guard is not None and depends(reduce.guard, frozenset(others)):
        return nest
    [product, *more] = summands(widened(reduce.body, reduce.accumulate))
    if more or product.mask is not None:
        return nest
    body = ir.multiply(_inner(product, others, reduce).factors)
    body = ir.Unary("-", body, body.dtype) if product.negative else body
    return replace(nest, reduce=replace(reduce, indices=own, body=body))


def _inner(product: Product, others: tuple[IndexVar, ...], reduce: ir.Reduce) -> Product:
    """``sum_e a * b(e) * c(e)`` as ``a * sum_e b(e) * c(e)``."""
    if not others:
        return product
    inside = [factor for factor in product.factors if depends(factor, frozenset(others))]
    beside = [factor for factor in product.factors if not depends(factor, frozenset(others))]
    if not inside:
        inside = [ir.Const(1.0, reduce.accumulate)]
    body = ir.multiply(inside)
    return replace(product, factors=(*beside, replace(reduce, indices=others, guard=None, body=body, dtype=body.dtype)))


def _term(
    product: Product, own: frozenset[IndexVar], other: frozenset[IndexVar], matrices: dict[ir.Expr, int]
) -> Term | None:
    """The product with its factors classified; a new matrix gets a number."""
    inner, column, outer = _told_apart(product.factors, own, other)
    masks = ir.conjuncts(product.mask)
    if not inner:
        return None
    matrix = ir.multiply(sorted(inner, key=ir.show_expr))
    _, beside, outside = _told_apart(masks, own, other)
    matrix = masked(product.mask, matrix, 0)
    # At masked points an infinite factor has no effect either.
    columns = masked(ir.conjunction(beside), ir.multiply(column), 0) if column else None
    return Term(
        matrices.setdefault(matrix, len(matrices)),
        ir.multiply(outer) if outer else None,
        columns,
        product.negative,
        ir.conjunction(outside),
    )


def _told_apart(
    factors: Sequence[ir.Expr], own: frozenset[IndexVar], other: frozenset[IndexVar]
) -> tuple[list[ir.Expr], list[ir.Expr], list[ir.Expr]]:
    """The factors that depend on both sides, on the summed side only, and on neither."""
    inner: list[ir.Expr] = []
    column: list[ir.Expr] = []
    outer: list[ir.Expr] = []
    for factor in factors:
        space = ir.free_indices(factor)
        (outer if not space & own else inner if space & other else column).append(factor)
    return inner, column, outer


def common_conditions(matrices: Iterable[ir.Expr], sides: tuple[Axes, Axes]) -> tuple[Affine, ...]:
    """Expressions that are not negative wherever a matrix is nonzero, for conditions that relate the two sides."""
    common: list[Affine] | None = None
    for matrix in matrices:
        mask = (
            matrix.condition
            if isinstance(matrix, ir.Select) and matrix == masked(matrix.condition, matrix.then, 0)
            else None
        )
        found = [each for each in non_negatives(mask, of_data=True) if all(each.variables & {*side} for side in sides)]
        common = found if common is None else [affine for affine in common if affine in found]
    return tuple(common or ())


def _fits(bundle: KernelSums, found: Apart) -> bool:
    """Whether every sum has an axis for each index of its matrices that it does not reduce, and nothing is empty."""
    every = frozenset(found.batch) | frozenset(found.sides[0]) | frozenset(found.sides[1])
    ranges = bundle.ranges
    for nest, terms in zip(bundle.sums, found.terms, strict=True):
        left = every - frozenset(nest.reduce.indices)
        if not left <= frozenset(nest.axes):
            return False
        if any(found.matrices[term.matrix].dtype != nest.reduce.accumulate for term in terms):
            return False
    return all(lo < hi for lo, hi in ranges.values())


def batched_kernel_sums(bundle: KernelSums, varying: Sequence[bool], size: int) -> tuple[KernelSums, tuple[bool, ...]]:
    """The bundle batched over a new axis, and which results have it first."""
    operands, sums, moved = batched_together(bundle.operands, bundle.sums, (), varying, size)
    return KernelSums(operands, sums), moved
