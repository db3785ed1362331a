"""Plans one statement: a computation, and where its values are stored."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import TypeVar

from .. import ir, transforms
from ..diagnostics import Span
from ..ir import Reducer
from ..symbolic import Affine, Box, IndexVar, Size
from ..transforms.factors import non_negative
from ..transforms.widening import widened
from .access.normalisation import straighten
from .access.reads import as_strip, plan_integer
from .branches import branch, is_risky
from .choice import sent
from .chunked_scatter import in_chunks
from .data.nodes import Lookup, Node, Strip, below
from .data.preferences import DEFAULT, Preferences
from .data.price import Price
from .data.stages import Compute, Scatter, Store
from .folds import plan_elements
from .monoids import plan_monoid
from .operations.placement import Placement
from .printer import name_of
from .reductions import plan_reduce
from .rules import plan_value
from .scope import Origins, Scope, fill, masked_by
from .unsized import open_question

Formula = TypeVar("Formula", bound="ir.Define | ir.Accumulate")


def plan_formula(
    statement: ir.Define | ir.Accumulate,
    box: Box,
    shapes: Mapping[str, tuple[int, ...]],
    origins: Origins,
    *,
    defined: bool,
    loops: frozenset[IndexVar] = frozenset(),
    preferences: Preferences = DEFAULT,
) -> Compute:
    """One statement with numbers for sizes and guards for given ranges.

    `defined` says that its target may have content; `loops` are indices of enclosing loops, whose ranges are in the
    box, and which origins may use. `preferences` are for loop nests.
    """
    target, given = statement.target, statement
    statement, decided = transforms.decide(_without_empty(statement, box), box)
    whole = box
    first = origins[target.name]
    if not loops and all(isinstance(one, int) for one in first):
        start = tuple(one for one in first if isinstance(one, int))
        statement, box = transforms.receive(statement, box, shapes[target.name], start, filled=not defined)
    statement, box = _split(statement, box, loops)
    decided = (*decided, *_splits(whole, box))
    statement, straight = straighten(statement, box, shapes, origins, loops)
    order = _order(statement, box)
    form = preferences.forms.get(target.name)
    plain = bool(loops) or (form is None and target.name in preferences.forms)
    scope = Scope(
        box,
        straight.shapes,
        straight.origins,
        order,
        loops,
        views=straight.views,
        nests=None if plain else preferences,
        form=form,
    )
    stage = replace(_stage(statement, scope, defined=defined), loops=loops, decided=decided)
    if stage.store.is_scatter:

        def planned(other: ir.Accumulate, within: Box) -> Compute:
            return plan_formula(other, within, shapes, origins, defined=defined, preferences=preferences)

        first = origins[target.name]
        placed = None if plain or not all(isinstance(one, int) for one in first) else planned
        begin = tuple(one if isinstance(one, int) else 0 for one in first)
        stage = sent(Placement(stage, given, whole, begin, scope, placed))
    if not isinstance(given, ir.Accumulate) or plain:
        return stage

    whole_only = Preferences({target.name: None})

    def plan(part: ir.Accumulate, within: Box, around: frozenset[IndexVar]) -> Compute:
        return plan_formula(part, within, shapes, origins, defined=True, loops=around, preferences=whole_only)

    return replace(stage, chunks=in_chunks(stage, given, whole, scope, preferences.backend.memory, plan))


def plan_unsized_formula(
    statement: ir.Define | ir.Accumulate,
    box: Mapping[IndexVar, tuple[Size, Size]],
    shapes: Mapping[str, tuple[int, ...]],
    origins: Origins,
    sizes: Callable[[Size], int],
    *,
    defined: bool,
) -> Compute:
    """One statement with symbolic sizes and guards for given ranges; `sizes` gives the value of a size.

    Only operations that need no numbers are used. Raises `CompileError` (TC0901) if there is none.
    """
    order = {index: number for number, index in enumerate(dict.fromkeys((*ir.left_indices(statement), *box)))}
    # The ends of these ranges are never compared.
    scope = Scope(box, shapes, origins, order, sizes=sizes)  # type: ignore[arg-type]
    stage = _stage(statement, scope, defined=defined)
    if not stage.store.is_scatter:
        return stage
    if isinstance(stage.store.combine, ir.Monoid):
        raise open_question(f"`{stage.store.combine.value}` into computed places needs a plan", statement.span)
    return Placement(stage, statement, scope.box, (), scope, None).by(Scatter())


def _stage(statement: ir.Define | ir.Accumulate, scope: Scope, *, defined: bool) -> Compute:
    """The values of a statement and their store."""
    target = statement.target
    store = replace(_store(statement.indices, scope, target.name), keeps=defined)
    statement = _within_store(statement, store, scope)
    if isinstance(statement, ir.Define):
        accumulate = target.dtype
        value, mask = _defined(statement, scope)
        store = replace(store, mask=mask)
    else:
        accumulate = statement.accumulate
        value, store = _accumulated(statement, store, scope)
        if isinstance(statement.reducer, ir.Monoid):
            accumulate = statement.reducer.components(accumulate)[0]
    names = target.name, target.dtype, scope.shapes[target.name]
    return Compute(*names, accumulate, value, store, statement, scope.box, runner_up=_runner_up(value, scope))


def _runner_up(value: Node, scope: Scope) -> tuple[str, Price] | None:
    """The computation that differs from `value` in one choice and costs least more."""
    rivals = [scope.rivals[id(node)] for node in below(value) if id(node) in scope.rivals] if scope.rivals else []
    if not rivals:
        return None
    closest = min(rivals, key=lambda rival: rival.dearer.seconds)
    return name_of(closest.node), closest.dearer


def _without_empty(statement: Formula, box: Box) -> Formula:
    """The statement with constants in place of expressions that are evaluated at no point.

    These are inline reductions over nothing, which depend on no index, and the whole right side if a left index has no
    values: JAX cannot differentiate all of its operations on empty arrays.
    """

    def empty(indices: Iterable[IndexVar]) -> bool:
        return any(box[index][1] <= box[index][0] for index in indices)

    def visit(expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Reduce) and empty(expr.indices) and not isinstance(expr.reducer, ir.Monoid):
            return constant(expr.reducer.empty(expr.dtype), expr.dtype, expr.span)
        return ir.rebuild(expr, visit)

    if empty(index for subscript in statement.indices for index in subscript.variables):
        unguarded = replace(statement.domain, guard=None)
        return replace(statement, value=constant(0, statement.value.dtype, statement.span), domain=unguarded)
    guard = statement.domain.guard
    domain = replace(statement.domain, guard=None if guard is None else visit(guard))
    return replace(statement, value=visit(statement.value), domain=domain)


def constant(value: bool | int | float, dtype: str, span: Span) -> ir.Const:
    """A constant of a type, with a value of the corresponding Python type."""
    kind = complex if ir.types.is_complex(dtype) else float if ir.types.is_float(dtype) else type(value)
    return ir.Const(bool(value) if dtype == "bool" else kind(value), dtype, span=span)


def _split(statement: Formula, box: Box, loops: frozenset[IndexVar]) -> tuple[Formula, Box]:
    """The statement without floors; an index of which only a quotient remains on the left side is reduced over.

    ``O(i / 2) +=! A(i)`` is ``O(i1) +=! A(2*i1 + i0)``.
    """
    if isinstance(statement, ir.Accumulate) and not statement.reducer.commutative:
        # A position counts only the points of the reduction.
        return statement, box
    statement, box = transforms.turn(statement, box, loops)
    split, parts = transforms.split_floors(statement, box, loops)
    if isinstance(split, ir.Accumulate):
        left = frozenset[IndexVar]().union(*(index.variables for index in split.indices))
        before = frozenset[IndexVar]().union(*(index.variables for index in statement.indices))
        inside = ir.bound_indices(split.value)
        lost = (before | (parts.keys() - box.keys())) & parts.keys() - left - inside - loops - set(split.reduction)
        split = replace(split, reduction=(*sorted(lost, key=str), *split.reduction))
    return split, parts


def _splits(whole: Box, parts: Box) -> Iterator[str]:
    """In words, the indices that were split in two."""
    for inner in sorted(parts.keys() - whole.keys(), key=str):
        index = IndexVar(inner.name.removesuffix("%"), inner.tag)
        if index != inner and index in whole:
            by = parts[inner][1]
            yield f"`{index}` runs over whole rows of {by}: `{index} / {by}` and `{index} % {by}` count on their own"


def _defined(statement: ir.Define, scope: Scope) -> tuple[Node, Node | None]:
    """The values and their mask."""
    guard = statement.domain.guard
    if guard is None:
        return plan_value(statement.value, scope), None
    mask = plan_value(guard, scope)
    return plan_value(statement.value, branch(statement.value, guard, mask, scope)), mask


def _accumulated(statement: ir.Accumulate, store: Store, scope: Scope) -> tuple[Node, Store]:
    """The values and their store."""
    if isinstance(statement.reducer, ir.Monoid):
        return _registered(statement, statement.reducer, store, scope)
    reducer, guard = statement.reducer, statement.domain.guard
    meets = any(isinstance(dimension, Lookup) for dimension in store.dimensions)
    if reducer.operator is not None and guard is not None and not is_risky(statement.value):
        store, guard = _left_out(store, guard, scope)

    def reduced(by: Reducer, body: ir.Expr, accumulate: str, dtype: str) -> Node:
        reduce = ir.Reduce(by, statement.reduction, (), guard, body, None, accumulate, dtype)
        return plan_reduce(reduce, scope) if statement.reduction else _unreduced(reduce, scope)

    body, accumulate = statement.value, statement.accumulate
    mask = weight = None
    if not reducer.continues and (meets or not statement.restart):
        mask = _takes_part(statement, scope)
    if reducer is Reducer.MEAN and meets:
        value = reduced(Reducer.SUM, body, accumulate, accumulate)
        weight = reduced(Reducer.SUM, ir.Const(1, "int32"), "int32", "int32")
    elif not reducer.continues and meets:
        value = reduced(reducer, body, body.dtype, "int32")
        weight = reduced(reducer.variant(gives_position=False), body, body.dtype, body.dtype)
    else:
        value = reduced(reducer, body, accumulate, reducer.result(accumulate, accumulate))
    blank = reducer.empty(accumulate)
    store = replace(store, combine=reducer, restart=statement.restart, blank=blank, mask=mask, weight=weight)
    return value, store


def _left_out(store: Store, guard: ir.Expr, scope: Scope) -> tuple[Store, ir.Expr | None]:
    """The store with the excluded points masked by position, and the rest of the guard.

    There are fewer positions than stored elements in their rows, which then need not be computed.
    """
    rest: list[ir.Expr] = []
    dimensions = list(store.dimensions)
    for part in ir.conjuncts(guard):
        free = ir.free_indices(part)
        for number in store.open:
            place = dimensions[number]
            if isinstance(place, Lookup) and free <= set(place.positions.axes):
                nowhere = (plan_value(part, scope), place.positions, fill(-1, "int32"))
                dimensions[number] = replace(place, positions=scope.apply("where", nowhere, "int32"))
                break
        else:
            rest.append(part)
    return replace(store, dimensions=tuple(dimensions)), ir.conjunction(rest)


def _registered(statement: ir.Accumulate, monoid: ir.Monoid, store: Store, scope: Scope) -> tuple[Node, Store]:
    """The values of a registered reduction; if its results are not states, the old content is the first element.

    If data decides the target, the values are the elements of the reduction, which the scatter combines.
    """
    body, accumulate, guard = statement.value, statement.accumulate, statement.domain.guard
    dtype = monoid.components(accumulate)[0]
    reduce = ir.Reduce(monoid, statement.reduction, (), guard, body, None, accumulate, dtype)
    store = replace(store, combine=monoid, restart=statement.restart)
    if any(isinstance(dimension, Lookup) for dimension in store.dimensions):
        value, mask = plan_elements(reduce, scope)
        return value, replace(store, mask=mask)
    if statement.restart:
        return plan_reduce(reduce, scope), store
    if store.keeps and not monoid.continues:
        before = scope.cast(plan_value(ir.Access(statement.target, statement.indices), scope), accumulate)
        value = plan_monoid(reduce, scope, before)
    else:
        value = plan_reduce(reduce, scope)
    return value, replace(store, mask=_takes_part(statement, scope))


def _takes_part(statement: ir.Accumulate, scope: Scope) -> Node | None:
    """Whether any point of an element is active; None if all are."""
    if scope.points(statement.reduction) == 0:
        return fill(False, "bool")
    if statement.domain.guard is None:
        return None
    some = ir.Reduce(Reducer.ANY, statement.reduction, (), None, statement.domain.guard, None, "bool", "bool")
    return plan_reduce(some, scope)


def _unreduced(reduce: ir.Reduce, scope: Scope) -> Node:
    """An accumulation without a reduction index: the value itself, or the identity where the guard is false."""
    if reduce.reducer.gives_position:
        return fill(0, "int32")
    body = widened(reduce.body, reduce.accumulate)
    body = masked_by(reduce.guard, body, reduce.reducer, reduce.accumulate)
    return scope.cast(plan_value(body, scope), reduce.accumulate)


def _order(statement: ir.Define | ir.Accumulate, box: Box) -> dict[IndexVar, int]:
    """First the left-side indices in memory order, then all others in the memory order of the operands.

    The operand with most of them decides, then the largest one: the order in which a reduction names its indices has no
    meaning. Scattered values come in the order in which they are read.
    """
    is_sent = any(subscript.is_data for subscript in statement.indices)
    written = () if is_sent else statement.indices
    left = frozenset[IndexVar]().union(*(subscript.variables for subscript in written))

    def rank(access: ir.Access) -> tuple[int, int, str]:
        free = frozenset[IndexVar]().union(*(subscript.variables for subscript in access.indices))
        points = prod(box[index][1] - box[index][0] for index in free if index in box)
        return -len(free - left), -points, access.tensor.name

    places = ir.accesses_of(replace(statement, value=ir.Const(0, "int32"))) if is_sent else ()
    read = sorted(dict.fromkeys((*ir.accesses(statement.value), *places)), key=rank)
    subscripts = (*written, *(subscript for access in read for subscript in access.indices), *statement.indices)
    order: dict[IndexVar, int] = {}
    for subscript in subscripts:
        linear = [(atom, weight) for atom, weight in subscript.terms if isinstance(atom, IndexVar)]
        for atom, _ in sorted(linear, key=lambda term: -abs(term[1].constant or 0)):
            order.setdefault(atom, len(order))
        for atom in sorted(subscript.variables, key=str):
            order.setdefault(atom, len(order))
    for index in (*(statement.reduction if isinstance(statement, ir.Accumulate) else ()), *box):
        order.setdefault(index, len(order))
    return order


def _store(indices: tuple[Affine, ...], scope: Scope, target: str) -> Store:
    shape, origins = scope.shapes[target], scope.origins[target]
    dimensions: list[Strip | Lookup] = []
    taken: set[IndexVar] = set()
    for subscript, origin, extent in zip(indices, origins, shape, strict=True):
        moved = subscript - origin
        strip = as_strip(moved, extent, scope)
        axes = {axis for axis, _, _ in strip.factors} if strip is not None else set()
        if strip is None or axes & taken or not _is_cut(strip):
            dimensions.append(Lookup(plan_integer(moved, scope), clamp=False))
        else:
            dimensions.append(strip)
        taken |= moved.variables
    looked_up = any(isinstance(dimension, Lookup) for dimension in dimensions)
    shared = [a for d in dimensions if isinstance(d, Lookup) for a in d.positions.axes]
    for number, dimension in enumerate(dimensions):
        # Once one dimension is looked up by an axis, so are all dimensions that use the axis, and all that are cut.
        if not isinstance(dimension, Strip):
            continue
        cut = looked_up and (dimension.low or dimension.high)
        if cut or any(axis in shared for axis, _, _ in dimension.factors):
            dimensions[number] = Lookup(plan_integer(indices[number] - origins[number], scope), clamp=False)
    return Store(tuple(dimensions), tuple(number for number, index in enumerate(indices) if index.is_data))


def _within_store(statement: Formula, store: Store, scope: Scope) -> Formula:
    """The statement without conditions that only keep the left side in bounds: the store cuts off the rest."""
    name = statement.target.name
    inside: set[Affine | None] = set()
    for subscript, first, extent, dimension in zip(
        statement.indices, scope.origins[name], scope.shapes[name], store.dimensions, strict=True
    ):
        if isinstance(dimension, Strip) and (dimension.low or dimension.high):
            inside |= {subscript - first, first + extent - 1 - subscript}
    if not inside:
        return statement
    rest = [part for part in ir.conjuncts(statement.domain.guard) if non_negative(part) not in inside]
    return replace(statement, domain=replace(statement.domain, guard=ir.conjunction(rest)))


def _is_cut(strip: Strip) -> bool:
    """Whether the elements beyond the ends of a dimension, if any, are at the ends of the values."""
    if not strip.low and not strip.high:
        return True
    whole = prod(extent for _, extent, _ in strip.factors) == strip.count
    return strip.stride == 1 and whole and strip.start.constant is not None and strip.low + strip.high < strip.count
