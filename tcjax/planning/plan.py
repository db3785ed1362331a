"""How each statement of a bound function is computed, and why."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from .. import ir, ranges, transforms
from ..ir import Reducer
from ..symbolic import Affine, IndexVar
from .assembly import Assembly, Overlay, assemblies
from .factors import masked
from .folds import plan_fold
from .nodes import Apply, Fill, Iota, Lookup, Node, Read, Strip, operands
from .reads import as_strip, plan_integer
from .reductions import plan_reduce
from .scope import POSITIONS, RESTARTING, Scope, fill, identity
from .values import branch, plan_value
from .widening import widened


@dataclass(frozen=True, slots=True)
class Store:
    """Where a statement's values go.

    `dimensions` address the target like a read does; those numbered in `open` are decided by data. The value is
    combined with what is there by `combine` (None: it takes its place). With `restart`, and in a target that is
    new, what the left side names first becomes `blank` (of the accumulating type), whatever the data of open
    dimensions. A new target is zero elsewhere; `keeps` says that it may not be new. Where `mask` is false
    nothing is written. Where several points may meet in one element, `weight` is what a mean or a position
    needs beside its value: the number of points, the extremum.
    """

    dimensions: tuple[Strip | Lookup, ...]
    open: tuple[int, ...] = ()
    combine: Reducer | None = None
    keeps: bool = False
    restart: bool = False
    blank: bool | int | float = 0
    mask: Node | None = None
    weight: Node | None = None


@dataclass(frozen=True, slots=True)
class Compute:
    """One statement: a computation and where it goes. `accumulate` is the type in which it is combined."""

    target: str
    dtype: str
    shape: tuple[int, ...]
    accumulate: str
    value: Node
    store: Store
    statement: ir.Define | ir.Accumulate = field(compare=False)
    box: ranges.Box = field(compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """Another definition, on whole tensors."""

    targets: tuple[str, ...]
    plan: "Plan"
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallForeign:
    """A Python function, on whole tensors; `results` are the types and shapes it must return.

    `frame` counts the leading dimensions of the results that it is mapped over, with those arguments that are
    `varying`.
    """

    targets: tuple[str, ...]
    function: str
    arguments: tuple[str, ...]
    results: tuple[tuple[str, tuple[int, ...]], ...]
    frame: int = 0
    varying: tuple[bool, ...] = ()


Formula = TypeVar("Formula", bound="ir.Define | ir.Accumulate")
Stage = Compute | Call | CallForeign


@dataclass(frozen=True, slots=True)
class Plan:
    """The stages of a function in order; `parameters` and `returns` by name.

    `initial` gives the types of the outputs that may start from a caller's array, `assemblies` the runs of stages
    whose values are put together into one array, by the number of the first stage.
    """

    name: str
    parameters: tuple[str, ...]
    returns: tuple[str, ...]
    initial: Mapping[str, str]
    stages: tuple[Stage, ...]
    bound: ranges.Bound = field(repr=False, compare=False)
    assemblies: Mapping[int, Assembly] = field(default_factory=dict)

    def __str__(self) -> str:
        from .printer import show_plan

        return show_plan(self)


def make_plan(bound: ranges.Bound) -> Plan:
    """Chooses the operation for each statement."""
    function = bound.function
    defined = {tensor.name for tensor in function.initial}
    stages: list[Stage] = []
    for number, statement in enumerate(function.statements):
        match statement:
            case ir.Define() | ir.Accumulate():
                stages.append(_compute(statement, bound, bound.boxes[number], statement.target.name in defined))
                defined.add(statement.target.name)
            case ir.Invoke(targets, _, arguments):
                stages.append(Call(_names(targets), make_plan(bound.calls[number]), _names(arguments)))
                defined.update(_names(targets))
            case ir.ApplyForeign(targets, name, arguments, frame, varying):
                results = tuple((tensor.dtype, bound.shapes[tensor.name]) for tensor in targets)
                stages.append(CallForeign(_names(targets), name, _names(arguments), results, frame, varying))
                defined.update(_names(targets))
    initial = {tensor.name: tensor.dtype for tensor in function.initial}
    names = _names(function.parameters), _names(function.returns)
    groups = assemblies(stages)
    for number, assembly in groups.items():
        if isinstance(assembly.whole, Overlay):
            wide = _widened(number + 1, bound)
            if wide is not None:
                stages[number + 1] = wide
                whole = replace(assembly.whole, everywhere=True)
                groups[number] = replace(assembly, whole=whole)
    return Plan(function.name, *names, initial, tuple(stages), bound, groups)


def _widened(number: int, bound: ranges.Bound) -> Compute | None:
    """A statement that writes a box, computed along the whole axes of its target; None where that is not as safe.

    It is where every read stays inside its tensor, and nothing that is computed has infinite derivatives.
    """
    statement = bound.function.statements[number]
    assert isinstance(statement, (ir.Define, ir.Accumulate))
    box = dict(bound.boxes[number])
    for index, extent in zip(statement.indices, bound.shapes[statement.target.name], strict=True):
        if index.bare is None:
            return None
        box[index.bare] = (0, extent)
    wide = _compute(statement, bound, box, True)
    pending = [wide.value]
    while pending:
        node = pending.pop()
        match node:
            case Read(dimensions=dimensions):
                if any(not isinstance(d, Strip) or d.low or d.high for d in dimensions):
                    return None
            case Apply("+" | "-" | "*" | "neg" | "min" | "max" | "cast") | Fill() | Iota():
                pending.extend(operands(node))
            case _:
                return None
    return wide


def _names(tensors: Iterable[ir.Tensor]) -> tuple[str, ...]:
    return tuple(tensor.name for tensor in tensors)


def _compute(statement: ir.Define | ir.Accumulate, bound: ranges.Bound, box: ranges.Box, defined: bool) -> Compute:
    target = statement.target
    statement = transforms.specialize(transforms.guard_ranges(statement), bound.sizes)
    statement, box = _split(_without_empty(statement, box), box)
    scope = Scope(box, bound.shapes, bound.origins, _order(statement, box))
    store = replace(_store(statement.indices, scope, target.name), keeps=defined)
    if isinstance(statement, ir.Define):
        accumulate = target.dtype
        value, mask = _defined(statement, scope)
        store = replace(store, mask=mask)
    else:
        accumulate = statement.accumulate
        value, store = _accumulated(statement, store, scope)
    return Compute(target.name, target.dtype, bound.shapes[target.name], accumulate, value, store, statement, box)


def _without_empty(statement: Formula, box: ranges.Box) -> Formula:
    """The statement with what is evaluated at no point as constants.

    Those are inline reductions over nothing, which change with no index, and the whole right side where a left index
    has no values: JAX cannot differentiate all of its operations on empty arrays.
    """

    def empty(indices: Iterable[IndexVar]) -> bool:
        return any(box[index][1] <= box[index][0] for index in indices)

    def visit(expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Reduce) and empty(expr.indices):
            return _constant(identity(expr.reducer, expr.dtype), expr)
        return ir.rebuild(expr, visit)

    if empty(index for subscript in statement.indices for index in subscript.variables):
        unguarded = replace(statement.domain, guard=None)
        return replace(statement, value=_constant(0, statement.value), domain=unguarded)
    guard = statement.domain.guard
    domain = replace(statement.domain, guard=None if guard is None else visit(guard))
    return replace(statement, value=visit(statement.value), domain=domain)


def _constant(value: bool | int | float, of: ir.Expr) -> ir.Const:
    """A constant in the place and of the type of an expression."""
    dtype = of.dtype
    kind = complex if ir.types.is_complex(dtype) else float if ir.types.is_float(dtype) else type(value)
    return ir.Const(bool(value) if dtype == "bool" else kind(value), dtype, span=of.span)


def _split(statement: Formula, box: ranges.Box) -> tuple[Formula, ranges.Box]:
    """The statement without floors; an index of the left side of which only a quotient is left there, is reduced.

    ``O(i / 2) +=! A(i)`` is ``O(i1) +=! A(2*i1 + i0)``.
    """
    if isinstance(statement, ir.Accumulate) and statement.reducer in POSITIONS:
        # A position counts the points of the reduction alone.
        return statement, box
    split, parts = transforms.split_floors(statement, box)
    if isinstance(split, ir.Accumulate):
        left = frozenset[IndexVar]().union(*(index.variables for index in split.indices))
        before = frozenset[IndexVar]().union(*(index.variables for index in statement.indices))
        inside = {index for node in ir.walk(split.value) if isinstance(node, ir.Reduce) for index in node.indices}
        lost = (before | (parts.keys() - box.keys())) & parts.keys() - left - inside - set(split.reduction)
        split = replace(split, reduction=(*sorted(lost, key=str), *split.reduction))
    return split, parts


def _defined(statement: ir.Define, scope: Scope) -> tuple[Node, Node | None]:
    """The values and where they count."""
    guard = statement.domain.guard
    if guard is None:
        return plan_value(statement.value, scope), None
    mask = plan_value(guard, scope)
    return plan_value(statement.value, branch(statement.value, mask, scope)), mask


def _accumulated(statement: ir.Accumulate, store: Store, scope: Scope) -> tuple[Node, Store]:
    """The values and how they are stored."""
    reducer, guard = statement.reducer, statement.domain.guard
    meets = any(isinstance(dimension, Lookup) for dimension in store.dimensions)

    def reduced(by: Reducer, body: ir.Expr, accumulate: str, dtype: str) -> Node:
        reduce = ir.Reduce(by, statement.reduction, (), guard, body, None, accumulate, dtype)
        return plan_reduce(reduce, scope) if statement.reduction else _unreduced(reduce, scope)

    body, accumulate = statement.value, statement.accumulate
    mask = weight = None
    if reducer in RESTARTING and (meets or not statement.restart):
        mask = _takes_part(statement, scope)
    if reducer is Reducer.MEAN and meets:
        value = reduced(Reducer.SUM, body, accumulate, accumulate)
        weight = reduced(Reducer.SUM, ir.Const(1, "int32"), "int32", "int32")
    elif reducer in RESTARTING and meets:
        value = reduced(reducer, body, body.dtype, "int32")
        extremum = Reducer.MIN if reducer is Reducer.ARGMIN else Reducer.MAX
        weight = reduced(extremum, body, body.dtype, body.dtype)
    else:
        value = reduced(reducer, body, accumulate, "int32" if reducer in POSITIONS else accumulate)
    blank = identity(reducer, accumulate)
    store = replace(store, combine=reducer, restart=statement.restart, blank=blank, mask=mask, weight=weight)
    return value, store


def _takes_part(statement: ir.Accumulate, scope: Scope) -> Node | None:
    """Whether any point of an element takes part; None where all do."""
    if scope.points(statement.reduction) == 0:
        return fill(False, "bool")
    if statement.domain.guard is None:
        return None
    return plan_fold(Reducer.ANY, statement.reduction, statement.domain.guard, None, "bool", scope)


def _unreduced(reduce: ir.Reduce, scope: Scope) -> Node:
    """An accumulation without a reduction index: the value itself, or the identity where the guard is false."""
    if reduce.reducer in POSITIONS:
        return fill(0, "int32")
    body = widened(reduce.body, reduce.accumulate)
    body = masked(reduce.guard, body, identity(reduce.reducer, body.dtype))
    return scope.cast(plan_value(body, scope), reduce.accumulate)


def _order(statement: ir.Define | ir.Accumulate, box: ranges.Box) -> dict[IndexVar, int]:
    """Left-side indices first, as they lie in memory, then the reduction's, then those of inline reductions."""
    order: dict[IndexVar, int] = {}
    for subscript in statement.indices:
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
        if strip is None or strip.low or strip.high or axes & taken:
            dimensions.append(Lookup(plan_integer(moved, scope), clamp=False))
        else:
            dimensions.append(strip)
        taken |= moved.variables
    shared = [a for d in dimensions if isinstance(d, Lookup) for a in d.positions.axes]
    for number, dimension in enumerate(dimensions):
        # Once one dimension is looked up by an axis, all that use the axis are.
        if isinstance(dimension, Strip) and any(axis in shared for axis, _, _ in dimension.factors):
            dimensions[number] = Lookup(plan_integer(indices[number] - origins[number], scope), clamp=False)
    return Store(tuple(dimensions), tuple(number for number, index in enumerate(indices) if index.is_data))
