"""Chooses between computations of the same value: the cheapest one within the memory contract."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Final

from .. import ir
from ..symbolic import IndexVar
from .access.padding import is_padding, within_zeros
from .access.windows import Sliding, as_sliding
from .cost.bill import is_view
from .cost.prices import price, price_of, price_of_copy
from .data.bands import band_of
from .data.machine import CPU
from .data.nodes import (
    Apply,
    Band,
    CallBuiltin,
    Contract,
    Convolve,
    Fold,
    Lookup,
    LoopNest,
    Node,
    Pool,
    Read,
    Unroll,
    Window,
    below,
    has,
    holds_data,
    operands,
)
from .data.price import NOTHING
from .data.stages import Compute
from .data.views import Halo
from .folds import as_number
from .operations import OPERATIONS, PLACEMENTS, loop
from .operations.contraction import cotangents, received
from .operations.convolution import differentiates_well, pads_slowly
from .operations.placement import Placement
from .operations.reduction import Reduction
from .operations.unrolled import gathered_indices, window_indices
from .printer import operations_of
from .rules import rule
from .scope import Rival, Scope, fill

# Below this size, let XLA materialise the space of a reduction: no loop overhead.
SMALL_SPACE: Final = 4 << 20
# A space this many times as large as arguments and result together is not stored.
MOST_GROWTH: Final = 2
# Below this many bytes of slices their derivatives are fast, and JAX's own trace faster.
SMALL_TERMS: Final = 1 << 16
# Prices that differ by less count as equal: by this fraction of the smaller one, and this many seconds.
EQUAL: Final = 0.05
NOISE: Final = 2e-6
# Shared values may be repeated up to this many bytes.
LARGE_UPDATES: Final = 8 << 20
# Operators whose derivative needs their arguments, except products.
_CURVED: Final = ("/", "**")

Operation = Callable[[Reduction, Scope], Iterator[Node]]
Sending = Callable[[Placement], Iterator[Compute]]


def cheapest(candidates: Iterable[Node], scope: Scope) -> Node:
    """The computation with the lowest price, the first on ties. The next best one is recorded as its rival."""
    found = list(candidates)
    if len(found) == 1:
        return found[0]
    extents = {index: scope.extent(index) for index in scope.box}
    prices = [price_of(node, extents, shapes=scope.shapes) for node in found]
    most = min(prices).seconds * (1 + EQUAL) + NOISE
    best = next(number for number, price in enumerate(prices) if price.seconds <= most)
    second = min((number for number in range(len(found)) if number != best), key=lambda number: prices[number].seconds)
    scope.rivals[id(found[best])] = Rival(found[best], found[second], prices[second] - prices[best])
    return found[best]


@rule(Reduction)
def chosen(reduction: Reduction, scope: Scope) -> Node:
    """The reduction by the cheapest operation within the memory contract.

    If none is within it, a loop over blocks.
    """
    plain = _padded(reduction, scope)
    if not reduction.indices:
        return plain.values(scope)
    found = [node for propose in OPERATIONS for node in propose(plain, scope)]
    others = [node for node in found if not isinstance(node, Unroll)]
    found = [_differentiated(node, others, reduction, scope) for node in found]
    most = _allowed(reduction.expr, reduction.accumulate, scope)
    kept = [node for node in found if most is None or largest(node, scope) < most]
    best = cheapest(kept or found, scope)
    if most is None or scope.nests is None:
        return best
    if not kept:
        return loop.propose(reduction.expr, best, most, scope) or best
    if isinstance(best, Band) and len(kept) < len(found):
        # Its blocks compute more than the sum needs, and are copies: a loop over few shifts is better.
        other = loop.propose(reduction.expr, best, most, scope)
        best = best if other is None else cheapest((best, other), scope)
    node = _as_loop(best, reduction, most, scope)
    if node is not best and id(best) in scope.rivals:
        scope.rivals[id(node)] = replace(scope.rivals[id(best)], chosen=node)
    return node


def sent(placement: Placement) -> Compute:
    """The statement by the cheapest operation within the memory contract; the next best one is recorded."""
    scope, most = placement.scope, _repeatable(placement)
    found = [stage for propose in PLACEMENTS for stage in propose(placement)]
    kept = [stage for stage in found if placement.repeated(stage.store.scatter) < most] or found
    prices = [price(stage, shapes=scope.shapes) for stage in kept]
    limit = min(prices).seconds * (1 + EQUAL) + NOISE
    best = next(number for number, own in enumerate(prices) if own.seconds <= limit)
    others = [(own - prices[best], number) for number, own in enumerate(prices) if number != best]
    if not others:
        return kept[best]
    dearer, second = min(others, key=lambda each: each[0].seconds)
    # The first among equals is taken, which may be the more expensive one.
    dearer = dearer if dearer.seconds > 0 else NOTHING
    own, other = kept[best].runner_up, (operations_of(kept[second]), dearer)
    return replace(kept[best], runner_up=other if own is None or other[1] < own[1] else own)


def _repeatable(placement: Placement) -> int:
    """The number of bytes of repeated values that is too large to store."""
    stage, scope = placement.stage, placement.scope
    parts = [stage.value.axes, *(d.positions.axes for d in stage.store.dimensions if isinstance(d, Lookup))]
    stored = (prod(stage.shape) + sum(map(scope.points, parts))) * ir.types.width(stage.accumulate)
    return max(LARGE_UPDATES, MOST_GROWTH * stored)


def plan_fold(
    reducer: ir.Reducer,
    indices: tuple[IndexVar, ...],
    body: ir.Expr,
    guard: ir.Expr | None,
    accumulate: str,
    scope: Scope,
) -> Node:
    """A reduction of one value per point, which need not depend on all of the indices."""
    used = ir.free_indices(body) | (ir.free_indices(guard) if guard is not None else frozenset())
    kept = tuple(index for index in indices if index in used)
    repeats = scope.points(index for index in indices if index not in used)
    node = chosen(Reduction(reducer, kept, (body,), guard, accumulate), scope)
    if repeats == 1 or not reducer.is_rounded or accumulate == "bool":
        return node
    if reducer is ir.Reducer.SUM:
        return scope.apply("*", (node, fill(as_number(repeats, accumulate), accumulate)), accumulate)
    return scope.apply("power", (node, fill(repeats, "int32")), accumulate)


def within_contract(plain: Node, reduce: ir.Reduce, scope: Scope) -> Node:
    """The computation of `reduce`, which has its type, or a loop over blocks if that would store its space."""
    most = _allowed(reduce, plain.dtype, scope)
    if most is None or scope.nests is None or largest(plain, scope) < most:
        return plain
    return loop.propose(reduce, plain, most, scope) or plain


def _padded(reduction: Reduction, scope: Scope) -> Reduction:
    """The sum without conditions that only keep its reads in bounds: these are padded with zeros."""
    if reduction.reducer is not ir.Reducer.SUM:
        return reduction
    mask, factors = reduction.mask, tuple(within_zeros(factor, scope) for factor in reduction.factors)
    reduction = replace(reduction, factors=factors)
    if mask is None or len(factors) > 1:
        # Zero padding must not multiply another factor's infinity.
        return reduction
    reads = [factor for factor in factors if isinstance(factor, ir.Access)]
    rest = [condition for condition in ir.conjuncts(mask) if not is_padding(condition, reads, scope)]
    return replace(reduction, mask=ir.conjunction(rest))


def _allowed(reduce: ir.Reduce, dtype: str, scope: Scope) -> int | None:
    """The bytes of an array that are too many for a reduction to store; None where it has no choice."""
    if scope.is_term or scope.live is not None:
        return None
    axes = scope.sorted(ir.free_indices(reduce))
    stored = scope.points(axes) * ir.types.width(dtype)
    stored += sum(prod(o.shape) * ir.types.width(o.dtype) for o in loop.operands_of(reduce, scope))
    most = max(SMALL_SPACE, MOST_GROWTH * stored + 1)
    # A plan that is already a nest makes no loops, but stores no more than others may.
    limit = None if scope.nests is None else scope.nests.backend.memory
    return most if limit is None else min(most, limit)


def _differentiated(node: Node, others: Sequence[Node], reduction: Reduction, scope: Scope) -> Node:
    """The computation with one of the others for its derivative, if JAX would make an array of each term."""
    if not isinstance(node, Unroll) or _has_powers(node.body):
        return node
    convolutions = [other for other in others if isinstance(other, Convolve)]
    if convolutions:
        return replace(node, derivative=next((c for c in convolutions if differentiates_well(c, scope)), None))
    looked_up = gathered_indices(reduction.indices, reduction.expr)
    slides = window_indices(reduction.indices, reduction.expr, scope)
    if not others or not (looked_up or (len(reduction.factors) > 1 and not slides)):
        return node
    return replace(node, derivative=cheapest(others, scope))


def _as_loop(node: Node, reduction: Reduction, most: int, scope: Scope) -> Node:
    """The computation; with a loop's derivative if JAX's is slower, or stores `most` bytes or more.

    Among equal values in a window the first one, in order, gets the cotangent.
    """
    reduce = reduction.expr
    match node:
        case Convolve():
            has_own = pads_slowly(node, scope)
        case Contract() | Fold(operand=Contract()):
            has_own = reduction.mask is None and _multiplies_otherwise(node, scope)
            if not has_own:
                return _turned(node, scope)
        case (
            Unroll(reducer=ir.Reducer(is_extremum=True) as reducer)
            | Pool(reducer=ir.Reducer(is_extremum=True) as reducer)
        ) if not ir.types.is_integral(node.dtype):
            # The order statistic of rank 0 passes its derivative to the first point that attains the extremum.
            reduce = replace(reduce, reducer=reducer.variant(is_ranked=True), rank=ir.Const(0, "int32"))
            # The position is found among unrolled terms.
            has_own = scope.points(reduction.indices) <= CPU.unrolled and any(_slidings(reduction, scope))
        case Unroll() | Pool() | Fold() if node.reducer is ir.Reducer.SUM and not ir.types.is_integral(node.dtype):
            has_own = _stores_terms(node, reduction, scope, most)
        case _:
            return node
    derivative = loop.of_slices(node, reduce, scope) if has_own else None
    return node if derivative is None else replace(node, derivative=derivative)


def _multiplies_otherwise(node: Node, scope: Scope) -> bool:
    """Whether the cotangent of a matrix product's operand is cheaper in another form than JAX's.

    JAX sums along each axis separately: a matrix whose rows are several axes is first copied by XLA.
    """
    extents = {index: scope.extent(index) for index in scope.box}
    for cotangent, rows, ways in cotangents(node, scope):
        copies = sum(extents[axis] > 1 for axis in rows) > 1
        if len(ways) == 1 and not copies:
            continue
        prices = [price_of(way, extents, shapes=scope.shapes).seconds for way in ways]
        copied = price_of_copy(cotangent, extents).seconds if copies else 0.0
        if prices[0] + copied > min(prices) * (1 + EQUAL) + NOISE:
            return True
    return False


def _turned(node: Node, scope: Scope) -> Node:
    """The matrix products, with the cotangents of their operands transposed where that is cheaper."""
    if isinstance(node, Fold):
        product = _turned(node.operand, scope)
        return node if product is node.operand else replace(node, operand=product)
    if not isinstance(node, Contract):
        return node
    extents = {index: scope.extent(index) for index in scope.box}

    def is_cheaper(ways: tuple[Node, Node] | None) -> bool:
        if ways is None:
            return False
        as_jax, turned = (price_of(way, extents, shapes=scope.shapes).seconds for way in ways)
        # XLA fuses the transpose into its readers, which then read across rows.
        read = price_of_copy(ways[0], extents, ways[1].axes).seconds
        return as_jax > (turned + read) * (1 + EQUAL) + NOISE

    first, second = (_turned(operand, scope) for operand in node.operands)
    turned = tuple(map(is_cheaper, received(node, scope)))
    if not any(turned) and (first, second) == node.operands:
        return node
    return replace(node, operands=(first, second), turned=turned)


def _stores_terms(plain: Unroll | Pool | Fold, reduction: Reduction, scope: Scope, most: int) -> bool:
    """Whether JAX's derivative stores an array for each term of a sum of slices, and these are large."""
    match plain:
        case Fold(shifts=shifts):
            return bool(shifts)
        case Pool(windows=windows):
            terms = sum(extent for _, extent, _ in windows)
            size = terms * scope.points(plain.axes) * ir.types.width(plain.dtype)
            return size >= SMALL_TERMS and _gathers_well(windows)
        case Unroll(box=box, body=body, derivative=derivative):
            # The derivative of a grouped convolution is slow: that of large slices is planned directly.
            grouped = isinstance(derivative, Convolve) and scope.points(derivative.groups) > 1
            known = derivative is not None and not grouped and not has(derivative, Unroll)
            if known or _has_powers(body) or _reads_halo(body):
                return False
            terms = prod(hi - lo for _, lo, hi in box)
            size = terms * scope.points(plain.axes) * ir.types.width(plain.dtype)
            return size >= most or (size >= SMALL_TERMS and _has_strides(reduction, scope))


def _reads_halo(node: Node) -> bool:
    """Whether a term is a sum of reads of extended arrays, times constants: their cotangents are one loop."""
    match node:
        case Read(views=views):
            return any(isinstance(view, Halo) for view in views)
        case Apply("+" | "-" | "cast", parts):
            return all(map(_reads_halo, parts))
        case Apply("*", (left, right)):
            return any(not scale.axes and _reads_halo(value) for scale, value in ((left, right), (right, left)))
        case _:
            return False


def _has_strides(reduction: Reduction, scope: Scope) -> bool:
    """Whether windows have strides: JAX dilates their cotangents with zeros, which no loop vectorises."""
    return any(abs(s.kernel_step) == 1 and s.output_step > 1 for s in _slidings(reduction, scope))


def _slidings(reduction: Reduction, scope: Scope) -> Iterator[Sliding]:
    """How windows slide in the reads of a reduction."""
    reduced = frozenset(reduction.indices)
    for access in ir.accesses(reduction.expr):
        for subscript in access.indices:
            sliding = as_sliding(subscript, reduced, scope)
            if sliding is not None:
                yield sliding


def _has_powers(node: Node) -> bool:
    """Whether a step is an exponent: unrolled, a power and its derivative are products, else logarithms."""
    return any(isinstance(part, Apply) and part.operator == "power" for part in below(node))


def _gathers_well(windows: tuple[tuple[Window, int, bool], ...]) -> bool:
    """Whether it is cheaper to gather the cotangents of windows than to pad them with zeros, as JAX does.

    It is if windows are disjoint, or if overlapping ones have strides: residue class by residue class. With dilations
    they need quotients, and for windows without strides in a single dimension XLA fuses the zeros.
    """
    if any(native for _, _, native in windows):
        return False
    strided = [window for window, extent, _ in windows if window.stride <= window.dilation * (extent - 1)]
    if any(window.stride > 1 and window.dilation > 1 for window in strided):
        return False
    return len(windows) > 1 or all(window.stride > 1 for window in strided)


def largest(node: Node, scope: Scope) -> int:
    """The size in bytes of the largest array below the node, as if nothing were fused; convolutions and pools store
    none.

    Reads of a tensor in its own layout store none.
    """
    found = 0
    # Shared computations are one object.
    pending, seen = [node], set[int]()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Band):
            extents = {index: scope.extent(index) for index in scope.box}
            found = max(found, *(n * ir.types.width(current.dtype) for n in band_of(current, extents).arrays))
        elif not (isinstance(current, (Convolve, Pool)) or (isinstance(current, Fold) and current.shifts)):
            given = operands(current)
            times = _kept(current)
            stored = (inner for inner in given if times > 1 or not is_view(inner))
            found = max(found, *(times * scope.points(inner.axes) * ir.types.width(inner.dtype) for inner in stored), 0)
            pending.extend(given)
    return found


def _kept(node: Node) -> int:
    """The number of steps of an unrolled reduction whose values its derivative needs: none if they are linear."""
    if not isinstance(node, Unroll):
        return 1
    steps = prod(hi - lo for _, lo, hi in node.box)
    if any(isinstance(n, CallBuiltin) or (isinstance(n, Apply) and _is_curved(n)) for n in below(node.body)):
        return steps
    # Convolutions and nests store nothing for each step.
    return steps if node.derivative is not None and not has(node.derivative, Convolve, LoopNest) else 1


def _is_curved(node: Apply) -> bool:
    """Whether a derivative needs the arguments; a condition on indices alone is recomputed."""
    if node.operator == "where":
        return holds_data(node.arguments[0])
    return node.operator in _CURVED
