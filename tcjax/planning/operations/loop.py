"""A loop over blocks of a space that is never stored."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from ... import ir
from ...ir import Reducer
from ...symbolic import Affine, IndexVar, Size
from ..blocked.domains import pieces, points, visited
from ..blocked.loop_schedules import candidates, choose, in_tiles, reused_bytes, within
from ..blocked.vector_accumulators import plan_nest
from ..branches import counted
from ..cost.meter import Meter
from ..data.blocked_loop import ROW
from ..data.nests import LoopSchedule, Nest, Operand
from ..data.nodes import FusedReduction, LoopNest, Node, Unroll
from ..data.preferences import Backend
from ..data.views import Viewed
from ..rules import plan_value
from ..scope import Scope

# A nest that visits this many points per operation of another plan is never used, however much that one stores.
MOST_OPERATIONS: Final = 100
# Reducers whose state grows with the rank: for more values than this, one sort is better.
MOST_RANKS: Final = 32


def propose(reduce: ir.Reduce, plain: Node, most: int, scope: Scope) -> LoopNest | None:
    """A loop over blocks that stores no point of its space, in place of the computation `plain`.

    `reduce` has the type of `plain`, which would store `most` bytes or more. None if there is no such loop, or it is a
    hundred times the work.
    """
    wishes = scope.nests
    assert wishes is not None
    axes = scope.sorted(ir.free_indices(reduce))
    reduce, scope, computed = _hoisted(reduce, scope)
    read = operands_of(reduce, scope)
    used = frozenset(i for i in reduce.indices if i in _inside(reduce))
    if not used or len(used) < len(reduce.indices) or not _can_stream(reduce, scope):
        return None
    nest = _nest(reduce, axes, read, scope)
    form = scope.form if scope.form is not None and scope.form.loop in reduce.indices else choose(nest)
    if is_absurd(nest, form, plain, scope):
        return None
    if scope.form is None:
        form = _sparing(form, plain, nest, wishes.backend, most)
        if wishes.backend.forms:
            own = _wished(nest, form, wishes.backend)
            if own is None:
                return None
            form = own
        if wishes.backend.rare:
            form = replace(form, unroll=1)
    why = _why(nest, form)
    whole = FusedReduction(nest, _sources(read, scope, computed), form, wishes.backend)
    return LoopNest(whole, dtype=plain.dtype, axes=axes, why=why)


def is_absurd(nest: Nest, form: LoopSchedule, other: Node, scope: Scope) -> bool:
    """Whether the other plan needs only a small fraction of the operations."""
    most = MOST_OPERATIONS * max(1, Meter({index: scope.extent(index) for index in scope.box}).flops(other))
    return points(nest) > most and (not form.inside or _operations(nest, form) > most)


def _operations(nest: Nest, form: LoopSchedule) -> int:
    """The operations of a loop whose blocks are separate sums of products: these visit fewer points."""
    loop = plan_nest(nest, form)
    extents = {index: hi - lo for index, (lo, hi) in nest.ranges.items()}
    return sum(
        count * Meter({**extents, ROW: block.width}).flops(points.value)
        for block, count in loop.parts
        for points in block.points
    )


def of_slices(plain: Node, reduce: ir.Reduce, scope: Scope) -> LoopNest | None:
    """The sum of slices `plain` as a loop that runs as the same slices, but is differentiated as a loop.

    JAX's derivative of a slice is a zero-padded array for every term.
    """
    read = operands_of(reduce, scope)
    axes = scope.sorted(ir.free_indices(reduce))
    if set(axes) != set(plain.axes) or any(index not in _inside(reduce) for index in reduce.indices):
        return None
    nest = _nest(reduce, axes, read, scope)
    assert scope.nests is not None
    # A separate kernel would be something else.
    backend = replace(scope.nests.backend, name="xla")
    form = replace(choose(nest), whole=True)
    why = _why(nest, form)
    whole = FusedReduction(nest, _sources(read, scope, {}), form, backend)
    return LoopNest(whole, dtype=plain.dtype, axes=axes, why=why)


def _nest(reduce: ir.Reduce, axes: tuple[IndexVar, ...], read: tuple[Operand, ...], scope: Scope) -> Nest:
    bound = ir.bound_indices(reduce)
    box = tuple((index, *scope.box[index]) for index in sorted({*axes, *bound}, key=str))
    return Nest(_canonical(reduce, read), axes, box, read)


def _sources(read: Iterable[Operand], scope: Scope, computed: Mapping[str, Node]) -> tuple[Viewed | Node, ...]:
    names = (operand.name for operand in read)
    return tuple(computed.get(name) or scope.views.get(name, Viewed(name, (), "")) for name in names)


def _hoisted(reduce: ir.Reduce, scope: Scope) -> tuple[ir.Reduce, Scope, dict[str, Node]]:
    """The reduction with its loop-invariant inline reductions replaced by tensors, and those reductions."""
    found: dict[str, tuple[ir.Expr, ir.Access]] = {}
    own = frozenset(reduce.indices)

    def visit(expr: ir.Expr, bound: frozenset[IndexVar], counts: frozenset[ir.Expr]) -> ir.Expr:
        if isinstance(expr, ir.Select):
            then, otherwise = (counts.union(ir.conjuncts(c)) for c in (expr.condition, ir.negated(expr.condition)))
            condition = visit(expr.condition, bound, counts)
            parts = visit(expr.then, bound, then), visit(expr.otherwise, bound, otherwise)
            return replace(expr, condition=condition, then=parts[0], otherwise=parts[1])
        if isinstance(expr, ir.Reduce):
            free = ir.free_indices(expr)
            if not free & (own | bound):
                expr = counted(expr, replace(scope, counts=counts))
                known = next((access for other, access in found.values() if other == expr), None)
                if known is None:
                    axes = scope.sorted(free)
                    shape = tuple(Size.of(scope.extent(axis)) for axis in axes)
                    tensor = ir.Tensor(f"h.{len(found)}", expr.dtype, shape)
                    known = ir.Access(tensor, tuple(map(Affine.of, axes)))
                    found[tensor.name] = expr, known
                return known
            bound = bound | frozenset(expr.indices)
        return ir.rebuild(expr, lambda part: visit(part, bound, counts))

    nothing = frozenset[IndexVar]()
    body = visit(reduce.body, nothing, frozenset(ir.conjuncts(reduce.guard)))
    guard = None if reduce.guard is None else visit(reduce.guard, nothing, frozenset())
    if not found:
        return reduce, scope, {}
    lows = {name: tuple(scope.box[i.bare][0] for i in access.indices if i.bare) for name, (_, access) in found.items()}
    shapes = {name: tuple(size.constant or 0 for size in access.tensor.shape) for name, (_, access) in found.items()}
    computed = {name: plan_value(expr, scope) for name, (expr, _) in found.items()}
    wide = replace(scope, shapes={**scope.shapes, **shapes}, origins={**scope.origins, **lows})
    return replace(reduce, body=body, guard=guard), wide, computed


def _wished(nest: Nest, usual: LoopSchedule, backend: Backend) -> LoopSchedule | None:
    """The schedule measured for this very nest, if it has one; None if it is better without one."""
    form = dict(backend.forms).get(nest.name, usual)
    return form if form is None or form in candidates(nest) else usual


def _sparing(form: LoopSchedule, plain: Node, nest: Nest, backend: Backend, most: int) -> LoopSchedule:
    """The schedule, changed if it would need too much memory; one operation stores less than `most` bytes."""
    if isinstance(plain, Unroll):
        # One fused loop over the result; but JAX's derivatives of it would store the values of each step.
        once = _calls_once(nest.reduce.body)
        meter = Meter({index: hi - lo for index, (lo, hi) in nest.ranges.items()})
        fits = meter.temporaries(plain, root=True) + reused_bytes(nest) < most
        form = replace(form, whole=True) if once and fits else in_tiles(form, nest)
    return within(form, nest, backend.memory)


def _calls_once(body: ir.Expr) -> bool:
    """Whether no function is called twice on the same arguments: XLA would call it once, and store the value for every
    step.
    """
    calls = [node for node in ir.walk(body) if isinstance(node, (ir.Call, ir.Foreign))]
    return len(set(calls)) == len(calls)


def _why(nest: Nest, form: LoopSchedule) -> str:
    if form.whole:
        return "one fused loop over the result: no intermediate is stored, and its derivative is one fused loop too"
    whole = points(nest)
    if form.tile is not None and nest.reduce.guard is not None:
        axis, size = form.tile
        left = visited(nest, form)
        cut = f" in tiles of {size} values of `{axis}`"
    else:
        axis, parts = pieces(nest, form)
        left = sum(map(points, parts))
        cut = f" in {len(parts)} parts of `{axis}`" if axis is not None else ""
    less = f", of which the guard leaves {100 * left // max(1, whole)} %{cut}" if left < whole else ""
    return f"{whole} points that are never stored{less}: `{form.loop}` runs in blocks of {form.rows}"


def _inside(reduce: ir.Reduce) -> frozenset[IndexVar]:
    guard = frozenset[IndexVar]() if reduce.guard is None else ir.free_indices(reduce.guard)
    return ir.free_indices(reduce.body) | guard


def _can_stream(reduce: ir.Reduce, scope: Scope) -> bool:
    if reduce.reducer.gives_position and not reduce.reducer.is_ranked:
        return len(reduce.indices) == 1
    if reduce.reducer.is_ranked:
        assert reduce.rank is not None
        ends = scope.facts.values(ir.affine_of(reduce.rank))
        return len(reduce.indices) == 1 and ends is not None and ends[0] >= 0 and ends[1] < MOST_RANKS
    return reduce.reducer is not Reducer.MEAN


def operands_of(reduce: ir.Reduce, scope: Scope) -> tuple[Operand, ...]:
    """The tensors that are read, in order of first appearance."""
    found: dict[str, Operand] = {}
    for access in ir.accesses(reduce):
        name = access.tensor.name
        found.setdefault(name, Operand(name, access.tensor.dtype, scope.shapes[name], tuple(scope.origins[name])))
    return tuple(found.values())


def _canonical(reduce: ir.Reduce, read: Iterable[Operand]) -> ir.Reduce:
    """The reduction with the extents of its tensors as numbers."""
    tensors = {o.name: ir.Tensor(o.name, o.dtype, tuple(map(Size.of, o.shape))) for o in read}

    def visit(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, visit)
        return replace(expr, tensor=tensors[expr.tensor.name]) if isinstance(expr, ir.Access) else expr

    found = visit(reduce)
    assert isinstance(found, ir.Reduce)
    return replace(found, ranges=())
