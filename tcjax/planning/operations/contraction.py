"""Sums of products of plain operands, as `dot_general` along the cheapest path."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from ... import ir
from ...symbolic import Affine, IndexVar
from ...transforms.factors import masked
from ..access.reads import as_stored
from ..branches import projected
from ..data.machine import CPU
from ..data.nodes import Axes, Contract, Fold, Node, Read, Strip, groups, smallest_divisor, sums_products
from ..paths import Pairing, pairings
from ..rules import plan_value
from ..scope import Scope, fill
from .reduction import Reduction, is_read, operand_of

# A matrix with at most this many elements may be repeated.
SMALL_MATRIX: Final = 64 * 64


def propose(reduction: Reduction, scope: Scope) -> Iterator[Node]:
    """The sum as matrix products along the cheapest paths, if no factor has all of its points."""
    indices, factors, mask, accumulate = reduction.indices, reduction.factors, reduction.mask, reduction.accumulate
    if len(factors) < 2 or not indices or accumulate == "bool":
        return
    if len(factors) > 2:
        # The largest first, in whatever order the product was written.
        factors = tuple(sorted(factors, key=lambda f: (-scope.points(ir.free_indices(f)), ir.show_expr(f))))
    masks: list[list[ir.Expr]] = [[] for _ in factors]
    if mask is not None:
        masks = _spread_out(mask, factors, scope.unrolled)
        factors = [masked(ir.conjunction(own), factor, 0) for own, factor in zip(masks, factors, strict=True)]
        if not any(masks):
            return
    spaces = [ir.free_indices(factor) - scope.unrolled for factor in factors]
    whole = frozenset[IndexVar]().union(*spaces)
    if any(space == whole and not _is_stored(f) for space, f in zip(spaces, factors, strict=True)):
        return
    if all(space == whole for space in spaces):
        return
    operands = [
        _Operand(operand_of(f, accumulate, scope), frozenset(own)) for f, own in zip(factors, masks, strict=True)
    ]
    kept = scope.sorted(whole - frozenset(indices))
    result = frozenset(() if reduction.around is None else ir.conjuncts(reduction.around))

    def multiplied(order: Sequence[Pairing], way: Way, swapped: bool) -> tuple[Node, set[Way], bool]:
        """The products in this order, the ways possible for some of them, and whether operands of some may be
        `swapped`.
        """
        left, ways, either = list(operands), set[Way](), False
        for pairing in order:
            pair = left[pairing.first], left[pairing.second]
            left = [one for number, one in enumerate(left) if number not in (pairing.first, pairing.second)]
            axes = pairing.kept if left else kept
            leads = _leads(pair[1].node, pair[0].node, axes)
            either = either or leads is None
            if swapped if leads is None else leads:
                pair = pair[1], pair[0]
            found = pair[0].masks | pair[1].masks
            # Where the other factors are masked, nothing uses the product.
            others = result.union(*(operand.masks for operand in left)) - found
            counts = projected(others, (*axes, *scope.unrolled), scope)
            products = _products(*pair, counts, axes, accumulate, scope, why)
            ways |= products.keys()
            node = products.get(way, products[Way.WHOLE])
            left.append(_Operand(node, projected(found, (*axes, *scope.unrolled), scope) if left else frozenset()))
        return left[0].node, ways, either

    why = f"a sum over {', '.join(map(str, indices))} of a product of {len(factors)} operands"
    for order in pairings([operand.node.axes for operand in operands], kept, scope):
        whole, ways, either = multiplied(order, Way.WHOLE, False)
        others = [way for way in Way if way in ways and way is not Way.WHOLE]
        found = [whole, *(multiplied(order, way, False)[0] for way in others)]
        turned = [multiplied(order, way, True)[0] for way in (Way.WHOLE, *others)] if either else []
        yield from dict.fromkeys((*found, *turned))


def cotangents(node: Node, scope: Scope) -> Iterator[tuple[Node, Axes, list[Node]]]:
    """For each operand of a product of two tensors its cotangent, the summed axes, and ways to compute the sum.

    The first is one matrix product with the operands as they are, which is what JAX generates.
    """
    product = node.operand if isinstance(node, Fold) and sums_products(node) else node
    if not isinstance(product, Contract) or any((*product.live, *product.counts)):
        return
    dtype, a, b = product.dtype, *product.operands
    if not all(isinstance(own, Read) and own.dtype == dtype for own in (a, b)) or not ir.types.is_float(dtype):
        return
    received = _Operand(_whole("cotangent.", node.axes, dtype, scope), frozenset())
    for own, other in ((a, b), (b, a)):
        if not set(own.axes) <= {*node.axes, *other.axes}:
            return
        pair = received, _Operand(other, frozenset())
        ways = _products(*pair, frozenset(), as_stored(own).axes, dtype, scope, "")
        summed = tuple(axis for axis in node.axes if axis in other.axes and axis not in own.axes)
        # XLA can choose the layout of values computed in the same program: a copy would be one more array.
        yield received.node, summed, [node for way, node in ways.items() if way is not Way.COPIED]


def _whole(tensor: str, axes: Axes, dtype: str, scope: Scope) -> Read:
    """All elements of a tensor, with these axes."""
    extents = [(axis, scope.extent(axis)) for axis in axes]
    strips = tuple(Strip(Affine.of(0), 1, extent, 0, 0, ((axis, extent, 1),)) for axis, extent in extents)
    return Read(tensor, strips, dtype=dtype, axes=axes, why="")


class Way(Enum):
    """How matrix products are formed from two operands."""

    WHOLE = "one product"
    SPREAD = "a small matrix is repeated for each slab of the other operand, where that is possible"
    SUMMED = "one product for each value of the summed index that comes first in both operands, then their sum"
    COPIED = "one product with a copy of the left operand, whose rows run along the summed index"


@dataclass(frozen=True, slots=True)
class _Operand:
    """A factor, or a product of some, which is zero where one of its `masks` is false."""

    node: Node
    masks: frozenset[ir.Expr]

    def live(self, other: "_Operand", scope: Scope) -> Node | None:
        """Where it is nonzero, as a mask for the other operand."""
        return _planned(self.masks - other.masks, scope) if ir.types.is_float(other.node.dtype) else None

    def where(self, masks: frozenset[ir.Expr], accumulate: str, scope: Scope) -> Node:
        """Its values, zero where one of the masks is false."""
        value = scope.cast(self.node, accumulate)
        live = _planned(masks - self.masks, scope) if ir.types.is_float(self.node.dtype) else None
        return value if live is None else scope.apply("where", (live, value, fill(0, accumulate)), accumulate)


def _planned(masks: frozenset[ir.Expr], scope: Scope) -> Node | None:
    every = ir.conjunction(sorted(masks, key=ir.show_expr))
    return None if every is None else plan_value(every, scope)


def _products(
    first: _Operand,
    second: _Operand,
    others: frozenset[ir.Expr],
    kept: Axes,
    accumulate: str,
    scope: Scope,
    why: str,
) -> dict[Way, Node]:
    """The product of two operands, summed over the axes that are not `kept`, in all possible ways.

    The result is used where the `others` hold. `Way.WHOLE` is always possible, and comes first.
    """
    a, b = first.node, second.node
    axes = set(a.axes) | set(b.axes)
    summed = scope.sorted(axes - set(kept))
    batch = set(a.axes) & set(b.axes) & set(kept)
    if not summed or (batch and axes in (set(a.axes), set(b.axes))):
        # Nothing to sum, or one row of an operand per row of the other: no matrices.
        factors = (
            first.where(second.masks | others, accumulate, scope),
            second.where(first.masks | others, accumulate, scope),
        )
        product = as_stored(scope.apply("*", factors, accumulate))
        if not summed:
            return {Way.WHOLE: product}
        left = tuple(axis for axis in product.axes if axis in kept)
        return {Way.WHOLE: Fold(ir.Reducer.SUM, product, summed, dtype=accumulate, axes=left, why=why)}
    live = first.live(second, scope), second.live(first, scope)
    if not ir.types.is_float(accumulate):
        others = frozenset()
    slabs = matrices = None
    if live == (None, None):
        slabs = _slabs(a, b, kept, accumulate, scope)
        matrices = None if others else _summed(a, b, kept, accumulate, scope)
    if slabs is not None:
        slabs = replace(slabs, counts=_counts(slabs.operands, others, scope))
    if not set(b.axes) & set(kept):
        # A vector goes first: XLA:CPU transposes a matrix that is contracted along its major dimension on the left.
        a, b, live = b, a, (live[1], live[0])
    whole = Contract((a, b), live=live, counts=_counts((a, b), others, scope), dtype=accumulate, axes=kept, why=why)
    copied = _copied(whole, scope) if live == (None, None) and whole.counts == (None, None, None) else None
    ways = {Way.WHOLE: whole, Way.SPREAD: slabs, Way.SUMMED: matrices, Way.COPIED: copied}
    return {way: node for way, node in ways.items() if node is not None}


def _leads(second: Node, first: Node, result: Axes) -> bool | None:
    """Whether the second operand is multiplied from the left: the result has its axes first.

    None if these are between those of the first operand: then either may be.
    """
    batch = tuple(axis for axis in result if axis in first.axes and axis in second.axes)
    left, right = (tuple(a for a in result if a in node.axes and a not in batch) for node in (first, second))
    if result in ((*batch, *left, *right), (*batch, *right, *left)):
        return bool(left and right) and result == (*batch, *right, *left)
    return None


def _counts(
    factors: tuple[Node, Node], masks: frozenset[ir.Expr], scope: Scope
) -> tuple[Node | None, Node | None, Node | None]:
    """The masks with axes of the first factor only, of the others those with axes of the second, and the rest."""
    found: list[Node | None] = []
    for factor in factors:
        own = frozenset(mask for mask in masks if ir.free_indices(mask) - scope.unrolled <= frozenset(factor.axes))
        masks -= own
        found.append(_planned(own, scope))
    return found[0], found[1], _planned(masks, scope)


def _slabs(a: Node, b: Node, kept: Axes, accumulate: str, scope: Scope) -> Contract | None:
    """A small matrix times every slab of a large operand, along an axis in its middle, as a batch of products.

    ``Y(m,d,k) +=! W(d,n) * X(m,n,k)``: as one product XLA would transpose X there and Y back; with W repeated for every
    m both keep their layout.
    """
    for matrix, large in ((a, b), (b, a)):
        summed = [axis for axis in large.axes if axis not in kept]
        if len(summed) != 1 or len(matrix.axes) != 2 or summed[0] not in matrix.axes:
            continue
        place = large.axes.index(summed[0])
        before, after = large.axes[:place], large.axes[place + 1 :]
        (free,) = (axis for axis in matrix.axes if axis != summed[0])
        many = scope.points(before) > 1 and scope.points(after) > 1
        if many and scope.points(matrix.axes) <= SMALL_MATRIX and (*before, free, *after) == kept:
            why = f"a small matrix times each slab of `{', '.join(map(str, before))}`: nothing is transposed"
            return Contract((matrix, large), before, dtype=accumulate, axes=kept, why=why)
    return None


def _summed(a: Node, b: Node, kept: Axes, accumulate: str, scope: Scope) -> Fold | None:
    """A sum over the leading axes of two operands, and other axes, as the sum of matrix products.

    ``O(i,j) +=! A(n,i,k) * B(n,j,k)``: as one product XLA would transpose A and B; this way it accumulates small
    products without storing them.
    """
    shared = (set(a.axes) & set(b.axes)) - set(kept)
    if len(shared) < 2 or accumulate not in ("float32", "float64"):
        return None
    first, second = as_stored(a).axes, as_stored(b).axes
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1] not in kept, zip(first, second, strict=False))
    front = tuple(axis for axis, _ in alike)
    inner = [tuple(axis for axis in own if axis in kept) for own in (first, second)]
    both = shared - {*front}
    if not both or not all(inner) or scope.points(front) < 2:
        return None
    if set(inner[0]) & set(inner[1]) or {*front, *both, *kept} != {*first, *second}:
        return None
    order = (*front, *inner[0], *inner[1])
    why = f"a product of matrices for each of `{', '.join(map(str, front))}`, and their sum: nothing is transposed"
    products = Contract((a, b), dtype=accumulate, axes=order, why=why)
    return Fold(ir.Reducer.SUM, products, front, dtype=accumulate, axes=order[len(front) :], why=why)


def _copied(whole: Contract, scope: Scope) -> Contract | None:
    """The product of a copy of the left operand, laid out as matrices whose columns are the summed axis.

    ``C(i,j) +=! A(k,i) * B(k,j)``: XLA:CPU multiplies A in its layout with a slower routine, which traverses it across
    rows; if these are so long that the cache holds few of a column, a copy is faster. XLA makes one for a sum along two
    axes, so a single summed axis is split in two.
    """
    if whole.dtype != "float32":
        return None
    batch, summed, left, right = groups(whole)
    first, second = whole.operands
    if whole.axes == (*batch, *right, *left):
        first, second, left, right = second, first, right, left
    elif whole.axes != (*batch, *left, *right):
        return None
    if scope.points(left) * ir.types.width(whole.dtype) % CPU.alignment or scope.points(right) < 2:
        return None
    if smallest_divisor(scope.points(summed)) in (1, scope.points(summed)):
        return None
    for own, free in ((first, left), (second, right)):
        if not own.axes == as_stored(own).axes == (*batch, *summed, *free):
            return None
    why = f"{whole.why}: the left one is copied, so that the sum is along its rows"
    return replace(whole, operands=(first, second), copied=True, why=why)


def received(node: Contract, scope: Scope) -> Iterator[tuple[Node, Node] | None]:
    """For each operand its cotangent as JAX computes it, and the product with rows and columns exchanged.

    None if that cannot be faster. ``Y(i,j) +=! X(i,k) * W(k,j)``: the cotangent of W is ``X(i,k) * dY(i,j)``, a product
    of two matrices summed along their columns, and XLA:CPU traverses the first one of the result across rows. That one
    should have the shorter rows.
    """
    a, b = node.operands
    for own, other in ((a, b), (b, a)):
        if not _multiplies_plainly(node) or not set(own.axes) <= {*node.axes, *other.axes}:
            yield None
            continue
        known = _whole("cotangent.", node.axes, node.dtype, scope), _whole("other.", other.axes, node.dtype, scope)
        product = Contract(known, dtype=node.dtype, axes=own.axes, why="")
        batch, _, left, right = groups(product)
        first, second = (left, right) if own.axes == (*batch, *left, *right) else (right, left)
        long = scope.points(first) * ir.types.width(node.dtype) % CPU.alignment == 0
        if not long or own.axes != (*batch, *first, *second) or scope.points(second) >= scope.points(first):
            yield None
            continue
        yield product, replace(product, axes=(*batch, *second, *first))


def _multiplies_plainly(node: Contract) -> bool:
    plain = not node.spread and not any((*node.live, *node.counts)) and node.derivative is None
    return plain and all(operand.dtype == node.dtype == "float32" for operand in node.operands)


def _is_stored(factor: ir.Expr) -> bool:
    """Whether the factor is already in memory, so that contracting it needs no temporary."""
    return is_read(factor) and not ir.looks_up(factor)


def _spread_out(mask: ir.Expr, factors: Sequence[ir.Expr], fixed: frozenset[IndexVar]) -> list[list[ir.Expr]]:
    """For each factor the parts of the mask over its indices: it is zero where one is false; none if a part fits no
    factor. Indices in `fixed` are numbers there.
    """
    spaces = [ir.free_indices(factor) for factor in factors]
    parts = [(part, ir.free_indices(part) - fixed) for part in ir.conjuncts(mask)]
    if not all(any(needed <= space for space in spaces) for _, needed in parts):
        return [[] for _ in factors]
    return [[part for part, needed in parts if needed <= space] for space in spaces]
