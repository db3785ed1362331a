"""Which reductions become loop nests: those whose space is much larger than what goes in and comes out."""

from collections.abc import Iterable
from dataclasses import replace
from math import prod
from typing import Final

from .. import ir
from ..ir import Reducer
from ..symbolic import Affine, IndexVar, Size
from .branches import counted
from .domains import pieces, points, visited
from .forms import Form, candidates, choose, in_tiles, within
from .nests import Nest, Operand
from .nodes import Apply, CallBuiltin, Convolve, LoopNest, Node, Pool, Unroll, holds_data, operands
from .preferences import Backend
from .scope import POSITIONS, Scope
from .views import Viewed

# Below so many bytes XLA may store the space of a reduction: it does the same operations with less ado.
SMALL_SPACE: Final = 4 << 20
# A space so many times as large as arguments and result together is not stored.
MOST_GROWTH: Final = 2
# A nest that visits so many points for each operation of another plan is never taken, whatever that one stores.
MOST_OPERATIONS: Final = 100
# Reducers whose state grows with the rank: beyond this many values one sort is better.
MOST_RANKS: Final = 32

# Operators whose derivative needs their arguments, products apart.
_CURVED: Final = ("/", "**")


def nested(plain: Node, reduce: ir.Reduce, scope: Scope) -> Node:
    """The computation of `reduce`, which is of its type, or a loop nest where that would store its space."""
    wishes = scope.nests
    if wishes is None or scope.unrolled or scope.live is not None:
        return plain
    free = ir.free_indices(reduce)
    axes = scope.sorted(free)
    read = _operands(reduce, scope)
    stored = scope.points(axes) * ir.types.width(plain.dtype) + sum(
        prod(o.shape) * ir.types.width(o.dtype) for o in read
    )
    most = max(SMALL_SPACE, MOST_GROWTH * stored + 1)
    if wishes.backend.memory is not None:
        most = min(most, wishes.backend.memory)
    if largest(plain, scope) < most:
        return _with_derivative(plain, reduce, scope, most)
    reduce, scope, computed = _hoisted(reduce, scope)
    read = _operands(reduce, scope)
    used = frozenset(i for i in reduce.indices if i in _inside(reduce))
    if not used or len(used) < len(reduce.indices) or not _can_stream(reduce, scope):
        return plain
    nest = _nest(reduce, axes, read, scope)
    if is_absurd(nest, plain, scope):
        return plain
    form = scope.form if scope.form is not None and scope.form.loop in reduce.indices else choose(nest)
    if scope.form is None:
        form = _sparing(form, plain, nest, wishes.backend)
        if wishes.backend.forms:
            own = _wished(nest, form, wishes.backend)
            if own is None:
                return plain
            form = own
        if wishes.backend.rare:
            form = replace(form, unroll=1)
    why = _why(nest, form)
    return LoopNest(nest, form, _views(read, scope), computed, wishes.backend, dtype=plain.dtype, axes=axes, why=why)


def is_absurd(nest: Nest, other: Node, scope: Scope) -> bool:
    """Whether the other plan does the same with a small part of the operations."""
    from .meter import Meter

    meter = Meter({index: scope.extent(index) for index in scope.box})
    return points(nest) > MOST_OPERATIONS * max(1, meter.flops(other))


def _with_derivative(plain: Node, reduce: ir.Reduce, scope: Scope, most: int) -> Node:
    """The computation; an unrolled sum whose terms JAX's derivative would store, `most` bytes or more, becomes a nest
    where it is differentiated.

    The derivative of a slice is the slice with zeros around it, an array of its own for every term.
    """
    if not isinstance(plain, Unroll) or plain.reducer is not Reducer.SUM or ir.types.is_integral(plain.dtype):
        return plain
    if plain.derivative is not None and not _unrolls(plain.derivative):
        return plain
    terms = prod(hi - lo for _, lo, hi in plain.box)
    if terms * scope.points(plain.axes) * ir.types.width(plain.dtype) < most:
        return plain
    read = _operands(reduce, scope)
    axes = scope.sorted(ir.free_indices(reduce))
    if set(axes) != set(plain.axes) or any(index not in _inside(reduce) for index in reduce.indices):
        return plain
    nest = _nest(reduce, axes, read, scope)
    assert scope.nests is not None
    # It runs as the same slices: a kernel of its own would be something else.
    backend = replace(scope.nests.backend, name="xla")
    form = replace(choose(nest), whole=True)
    why = _why(nest, form)
    derivative = LoopNest(nest, form, _views(read, scope), (), backend, dtype=plain.dtype, axes=axes, why=why)
    return replace(plain, derivative=derivative)


def _unrolls(node: Node) -> bool:
    """Whether a sum is unrolled in it."""
    return isinstance(node, Unroll) or any(map(_unrolls, operands(node)))


def _nest(reduce: ir.Reduce, axes: tuple[IndexVar, ...], read: tuple[Operand, ...], scope: Scope) -> Nest:
    bound = {index for node in ir.walk(reduce) if isinstance(node, ir.Reduce) for index in node.indices}
    box = tuple((index, *scope.box[index]) for index in sorted({*axes, *bound}, key=str))
    return Nest(_canonical(reduce, read), axes, box, read)


def _views(read: Iterable[Operand], scope: Scope) -> tuple[tuple[str, Viewed], ...]:
    return tuple((o.name, scope.views[o.name]) for o in read if o.name in scope.views)


def _hoisted(reduce: ir.Reduce, scope: Scope) -> tuple[ir.Reduce, Scope, tuple[tuple[str, Node], ...]]:
    """The reduction with the inline reductions in it that do not change with its indices as tensors, and those."""
    from .values import plan_value

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
        return reduce, scope, ()
    lows = {name: tuple(scope.box[i.bare][0] for i in access.indices if i.bare) for name, (_, access) in found.items()}
    shapes = {name: tuple(size.constant or 0 for size in access.tensor.shape) for name, (_, access) in found.items()}
    computed = tuple((name, plan_value(expr, scope)) for name, (expr, _) in found.items())
    wide = replace(scope, shapes={**scope.shapes, **shapes}, origins={**scope.origins, **lows})
    return replace(reduce, body=body, guard=guard), wide, computed


def _wished(nest: Nest, usual: Form, backend: Backend) -> Form | None:
    """The form that someone measured for this very nest, if it has one; None: it is better none."""
    form = dict(backend.forms).get(nest.name, usual)
    return form if form is None or form in candidates(nest) else usual


def _sparing(form: Form, plain: Node, nest: Nest, backend: Backend) -> Form:
    """The form, changed where it would need too much memory."""
    if isinstance(plain, Unroll):
        # One fused loop over the result; but the derivatives that JAX would take of it store what each step has.
        once = _calls_once(nest.reduce.body)
        form = replace(form, whole=True) if once else in_tiles(form, nest)
    return within(form, nest, backend.memory)


def _calls_once(body: ir.Expr) -> bool:
    """Whether no function is called twice for the same: XLA would call it once, and store that for every step."""
    calls = [node for node in ir.walk(body) if isinstance(node, (ir.Call, ir.Foreign))]
    return len(set(calls)) == len(calls)


def _why(nest: Nest, form: Form) -> str:
    if form.whole:
        return "one fused loop over the result: no point of it is stored, and its derivative is one as well"
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
    if reduce.reducer in POSITIONS:
        return len(reduce.indices) == 1
    if reduce.reducer in ir.RANKED:
        assert reduce.rank is not None
        ends = scope.facts.values(ir.affine_of(reduce.rank))
        return len(reduce.indices) == 1 and ends is not None and ends[0] >= 0 and ends[1] < MOST_RANKS
    return reduce.reducer is not Reducer.MEAN


def largest(node: Node, scope: Scope) -> int:
    """The bytes of the largest array below the node, as if nothing were fused; convolutions and pools store none."""
    found = 0
    pending = [node]
    while pending:
        current = pending.pop()
        if not isinstance(current, (Convolve, Pool)):
            below = operands(current)
            times = _kept(current)
            found = max(found, *(times * scope.points(inner.axes) * ir.types.width(inner.dtype) for inner in below), 0)
            pending.extend(below)
    return found


def _kept(node: Node) -> int:
    """How many steps of an unrolled reduction have values that its derivative needs: none where they are linear."""
    if not isinstance(node, Unroll):
        return 1
    steps = prod(hi - lo for _, lo, hi in node.box)
    pending: list[Node] = [node.body]
    while pending:
        current = pending.pop()
        if isinstance(current, CallBuiltin) or (isinstance(current, Apply) and _is_curved(current)):
            return steps
        pending.extend(operands(current))
    return steps if node.derivative is not None and not _stores_nothing(node.derivative) else 1


def _is_curved(node: Apply) -> bool:
    """Whether a derivative needs the arguments; a condition of indices alone is computed again."""
    if node.operator == "where":
        return holds_data(node.arguments[0])
    return node.operator in _CURVED


def _stores_nothing(node: Node) -> bool:
    """Whether a convolution or a nest is in it, which store nothing for each step."""
    return isinstance(node, (Convolve, LoopNest)) or any(map(_stores_nothing, operands(node)))


def _operands(reduce: ir.Reduce, scope: Scope) -> tuple[Operand, ...]:
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


def plain_scope(nest: Nest) -> Scope:
    """The scope of a nest on its own: it plans no further nests."""
    indices = dict.fromkeys((*nest.axes, *nest.reduce.indices, *nest.ranges))
    return Scope(
        nest.ranges,
        {o.name: o.shape for o in nest.operands},
        {o.name: o.origin for o in nest.operands},
        {index: number for number, index in enumerate(indices)},
    )
