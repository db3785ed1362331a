"""Sums of products of plain operands, as `dot_general` along the cheapest path."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .. import ir
from ..symbolic import IndexVar
from ..transforms.factors import ProductSum, masked
from .branches import projected
from .choice import cheapest
from .nodes import Axes, Contract, Fold, Node
from .paths import Pairing, pairings
from .reads import as_stored
from .scope import Scope, fill
from .values import plan_value


def as_contraction(products: ProductSum, scope: Scope) -> Node | None:
    """The product's sum as a contraction, or None where one fused multiply and reduce does as well."""
    indices, factors, mask, accumulate = products.indices, products.factors, products.mask, products.accumulate
    if len(factors) < 2 or not indices or accumulate == "bool":
        return None
    if len(factors) > 2:
        # The largest first, however the product was written.
        factors = tuple(sorted(factors, key=lambda f: (-scope.points(ir.free_indices(f)), ir.show_expr(f))))
    masks: list[list[ir.Expr]] = [[] for _ in factors]
    if mask is not None:
        masks = _spread_out(mask, factors, scope.unrolled)
        factors = [masked(ir.conjunction(own), factor, 0) for own, factor in zip(masks, factors, strict=True)]
        if not any(masks):
            return None
    spaces = [ir.free_indices(factor) - scope.unrolled for factor in factors]
    whole = frozenset[IndexVar]().union(*spaces)
    if any(space == whole and not _is_stored(f) for space, f in zip(spaces, factors, strict=True)):
        return None
    if all(space == whole for space in spaces):
        return None
    operands = [_Operand(_operand(f, accumulate, scope), frozenset(own)) for f, own in zip(factors, masks, strict=True)]
    kept = scope.sorted(whole - frozenset(indices))
    result = frozenset(() if products.around is None else ir.conjuncts(products.around))

    def multiplied(order: Sequence[Pairing]) -> Node:
        left = list(operands)
        for pairing in order:
            pair = left[pairing.first], left[pairing.second]
            left = [one for number, one in enumerate(left) if number not in (pairing.first, pairing.second)]
            axes = pairing.kept if left else kept
            found = pair[0].masks | pair[1].masks
            # Where no point of the others counts nothing uses the product.
            others = result.union(*(operand.masks for operand in left)) - found
            counts = projected(others, axes, scope)
            node = _multiplied(*pair, counts, axes, accumulate, scope, _reason(factors, indices))
            left.append(_Operand(node, projected(found, axes, scope) if left else frozenset()))
        return left[0].node

    orders = pairings([operand.node.axes for operand in operands], kept, scope)
    if len(orders) == 1:
        return multiplied(orders[0])
    return cheapest(map(multiplied, orders), scope)


@dataclass(frozen=True, slots=True)
class _Operand:
    """A factor, or a product of some, which is zero where one of its `masks` is false."""

    node: Node
    masks: frozenset[ir.Expr]

    def live(self, other: "_Operand", scope: Scope) -> Node | None:
        """Where it is not zero although the other operand has another value."""
        return _planned(self.masks - other.masks, scope) if ir.types.is_float(other.node.dtype) else None

    def where(self, masks: frozenset[ir.Expr], accumulate: str, scope: Scope) -> Node:
        """Its values, zero where one of the masks is false."""
        value = scope.cast(self.node, accumulate)
        live = _planned(masks - self.masks, scope) if ir.types.is_float(self.node.dtype) else None
        return value if live is None else scope.apply("where", (live, value, fill(0, accumulate)), accumulate)


def _planned(masks: frozenset[ir.Expr], scope: Scope) -> Node | None:
    every = ir.conjunction(sorted(masks, key=ir.show_expr))
    return None if every is None else plan_value(every, scope)


def _multiplied(
    first: _Operand,
    second: _Operand,
    others: frozenset[ir.Expr],
    kept: Axes,
    accumulate: str,
    scope: Scope,
    why: str,
) -> Node:
    """The product of two operands, summed over the axes that are not `kept`; it counts where the `others` hold."""
    a, b = first.node, second.node
    axes = set(a.axes) | set(b.axes)
    summed = scope.sorted(axes - set(kept))
    batch = set(a.axes) & set(b.axes) & set(kept)
    if not summed or (batch and axes in (set(a.axes), set(b.axes))):
        # Nothing to sum, or a row of one operand for each row of the other: no matrices.
        factors = (
            first.where(second.masks | others, accumulate, scope),
            second.where(first.masks | others, accumulate, scope),
        )
        product: Node = scope.apply("*", factors, accumulate)
        if not summed:
            return product
        left = tuple(axis for axis in product.axes if axis in kept)
        return Fold(ir.Reducer.SUM, product, summed, dtype=accumulate, axes=left, why=why)
    live = first.live(second, scope), second.live(first, scope)
    if not ir.types.is_float(accumulate):
        others = frozenset()
    if live == (None, None):
        spread = _spread(a, b, kept, accumulate, scope)
        if spread is not None:
            return replace(spread, counts=_counts(spread.operands, others, scope))
    if not set(b.axes) & set(kept):
        # A vector goes first: XLA:CPU transposes a matrix that is contracted along its major dimension on the left.
        a, b, live = b, a, (live[1], live[0])
    return Contract((a, b), live=live, counts=_counts((a, b), others, scope), dtype=accumulate, axes=kept, why=why)


def _counts(
    factors: tuple[Node, Node], masks: frozenset[ir.Expr], scope: Scope
) -> tuple[Node | None, Node | None, Node | None]:
    """The masks with axes of the first factor only, of those left the ones with axes of the second, and the rest."""
    found: list[Node | None] = []
    for factor in factors:
        own = frozenset(mask for mask in masks if ir.free_indices(mask) - scope.unrolled <= frozenset(factor.axes))
        masks -= own
        found.append(_planned(own, scope))
    return found[0], found[1], _planned(masks, scope)


def _spread(a: Node, b: Node, kept: Axes, accumulate: str, scope: Scope) -> Contract | None:
    """A small matrix times every slab of a large operand, along an axis in its middle, as a batch of products.

    ``Y(m,d,k) +=! W(d,n) * X(m,n,k)``: as one product XLA would transpose X there and Y back; with W repeated for every
    m both stay as they lie.
    """
    for matrix, large in ((a, b), (b, a)):
        summed = [axis for axis in large.axes if axis not in kept]
        if len(summed) != 1 or len(matrix.axes) != 2 or summed[0] not in matrix.axes:
            continue
        place = large.axes.index(summed[0])
        before, after = large.axes[:place], large.axes[place + 1 :]
        (free,) = (axis for axis in matrix.axes if axis != summed[0])
        wide = scope.points(after) >= WIDE_BLOCK and scope.points(before) > 1
        if wide and scope.points(matrix.axes) <= SMALL_MATRIX and (*before, free, *after) == kept:
            why = f"a small matrix times each slab of `{', '.join(map(str, before))}`: nothing is transposed"
            return Contract((matrix, large), before, dtype=accumulate, axes=kept, why=why)
    return None


# Products of tiny matrices run faster as one fused loop than as calls of a matrix multiplication (bench/):
# a shared minor axis and a sum of at most this many products,
MINOR_PRODUCTS = 32
# or free sides (one of them, if nothing is shared) of at most this extent and a sum of at most so many,
TINY_SIDE = 8
TINY_SUM = 8
BATCHED_SUM = 16
# or a small matrix along an axis in the middle of a large operand, in front of a block of less than this many elements.
WIDE_BLOCK = 128
SMALL_MATRIX = 64 * 64
MIDDLE_PRODUCTS = 64


def as_products(
    indices: tuple[IndexVar, ...], factors: Sequence[ir.Expr], mask: ir.Expr | None, scope: Scope
) -> tuple[IndexVar, ...]:
    """The indices to unroll where `dot_general` would multiply tiny matrices or move a minor axis; else none.

    ``O(n,a,c,h,w) +=! I(n,a,b,h,w) * J(n,b,c,h,w)`` multiplies tiny matrices, one for each of many (h, w): a loop over
    b that is elementwise in w reads both operands as they lie.
    """
    if len(factors) != 2 or mask is not None or not indices or not all(map(_is_stored, factors)):
        return ()
    spaces = [ir.free_indices(factor) - scope.unrolled for factor in factors]
    reduced = frozenset(indices)
    batch = (spaces[0] & spaces[1]) - reduced
    sides = [scope.points(space - batch - reduced) for space in spaces]
    terms = scope.points(indices)
    kept = scope.sorted((spaces[0] | spaces[1]) - reduced)
    if spaces[0] == spaces[1] or not kept or any(reduced - space for space in spaces):
        return ()
    if kept[-1] in batch and scope.extent(kept[-1]) > 1:
        tiny = terms <= MINOR_PRODUCTS
    elif scope.points(batch) > 1:
        tiny = terms <= BATCHED_SUM and max(sides) <= TINY_SIDE
    else:
        tiny = terms <= TINY_SUM and 1 < min(sides) <= TINY_SIDE
    return indices if tiny or (len(indices) == 1 and _in_the_middle(indices[0], factors, kept, scope)) else ()


def _in_the_middle(index: IndexVar, factors: Sequence[ir.Expr], kept: Axes, scope: Scope) -> bool:
    """Whether a small matrix is multiplied along a middle axis of a large operand, in front of a narrow block."""
    orders = [_stored_order(factor) for factor in factors]
    for matrix, large in (orders, orders[::-1]):
        if matrix is None or large is None or len(matrix) != 2 or scope.points(matrix) > SMALL_MATRIX:
            continue
        place = large.index(index)
        before, after = large[:place], large[place + 1 :]
        (free,) = (axis for axis in matrix if axis != index)
        narrow = 1 < scope.points(after) < WIDE_BLOCK and scope.points(before) > scope.points(after)
        if narrow and (*before, free, *after) == kept and scope.extent(index) <= MIDDLE_PRODUCTS:
            return True
    return False


def _stored_order(factor: ir.Expr) -> Axes | None:
    """The indices of a plain read, one a dimension, as they lie in memory; None for any other expression."""
    read = factor.operand if isinstance(factor, ir.Cast) else factor
    if not isinstance(read, ir.Access):
        return None
    order = tuple(index for subscript in read.indices for index in subscript.variables)
    single = all(len(subscript.variables) <= 1 for subscript in read.indices)
    return order if single and len(set(order)) == len(order) else None


def _is_stored(factor: ir.Expr) -> bool:
    """Whether the factor is in memory already, so that contracting it costs no temporary."""
    read = factor.operand if isinstance(factor, ir.Cast) else factor
    return isinstance(read, ir.Access) and not any(index.is_data for index in read.indices)


def _spread_out(mask: ir.Expr, factors: Sequence[ir.Expr], fixed: frozenset[IndexVar]) -> list[list[ir.Expr]]:
    """For each factor the parts of the mask whose indices it has: it is zero where one is false; none if a part has no
    factor. Indices in `fixed` are numbers there.
    """
    spaces = [ir.free_indices(factor) for factor in factors]
    parts = [(part, ir.free_indices(part) - fixed) for part in ir.conjuncts(mask)]
    if not all(any(needed <= space for space in spaces) for _, needed in parts):
        return [[] for _ in factors]
    return [[part for part, needed in parts if needed <= space] for space in spaces]


def _operand(factor: ir.Expr, accumulate: str, scope: Scope) -> Node:
    # dot_general multiplies 16-bit operands and accumulates in 32 bits by itself.
    match factor:
        case ir.Cast(ir.Access() as read) if (
            factor.dtype == accumulate and ir.types.accumulator(read.dtype) == accumulate
        ):
            return as_stored(plan_value(read, scope))
        case _:
            return as_stored(plan_value(factor, scope))


def _reason(factors: Sequence[ir.Expr], indices: tuple[IndexVar, ...]) -> str:
    return f"a sum over {', '.join(map(str, indices))} of a product of {len(factors)} operands"
