"""How each statement of a bound function is computed, and why."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from .. import ir, ranges, transforms
from ..ir import Reducer
from ..symbolic import Affine, IndexVar
from .factors import masked
from .nodes import Lookup, Node, Strip
from .reads import as_strip, plan_integer
from .reductions import plan_reduce
from .scope import Scope, identity
from .values import plan_value


@dataclass(frozen=True, slots=True)
class Store:
    """Where a statement's values go.

    `dimensions` address the target like a read does. The value is combined with what is there by `combine` (None:
    it takes its place) if `keeps`; otherwise every element that is not written is `blank`. Where `mask` is false
    nothing is written.
    """

    dimensions: tuple[Strip | Lookup, ...]
    combine: Reducer | None
    keeps: bool
    restart: bool
    blank: bool | int | float
    mask: Node | None


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
    """A Python function, on whole tensors; `results` are the types and shapes it must return."""

    targets: tuple[str, ...]
    function: str
    arguments: tuple[str, ...]
    results: tuple[tuple[str, tuple[int, ...]], ...]


Stage = Compute | Call | CallForeign


@dataclass(frozen=True, slots=True)
class Plan:
    """The stages of a function in order; `parameters` and `returns` by name.

    `initial` gives type, shape and identity of the outputs that start from a caller's array, or from the identity.
    """

    name: str
    parameters: tuple[str, ...]
    returns: tuple[str, ...]
    initial: Mapping[str, tuple[str, tuple[int, ...], bool | int | float]]
    stages: tuple[Stage, ...]
    bound: ranges.Bound = field(repr=False, compare=False)

    def __str__(self) -> str:
        from .printer import show_plan

        return show_plan(self)


def make_plan(bound: ranges.Bound) -> Plan:
    """Chooses the operation for each statement."""
    function = bound.function
    defined = {tensor.name for tensor in function.initial}
    firsts: dict[str, bool | int | float] = {}
    stages: list[Stage] = []
    for number, statement in enumerate(function.statements):
        match statement:
            case ir.Define() | ir.Accumulate():
                if isinstance(statement, ir.Accumulate):
                    firsts.setdefault(statement.target.name, identity(statement.reducer, statement.target.dtype))
                stages.append(_compute(statement, bound, bound.boxes[number], statement.target.name in defined))
                defined.add(statement.target.name)
            case ir.Invoke(targets, _, arguments):
                stages.append(Call(_names(targets), make_plan(bound.calls[number]), _names(arguments)))
                defined.update(_names(targets))
            case ir.ApplyForeign(targets, name, arguments):
                results = tuple((tensor.dtype, bound.shapes[tensor.name]) for tensor in targets)
                stages.append(CallForeign(_names(targets), name, _names(arguments), results))
                defined.update(_names(targets))
    initial = {t.name: (t.dtype, bound.shapes[t.name], firsts.get(t.name, 0)) for t in function.initial}
    return Plan(function.name, _names(function.parameters), _names(function.returns), initial, tuple(stages), bound)


def _names(tensors: Iterable[ir.Tensor]) -> tuple[str, ...]:
    return tuple(tensor.name for tensor in tensors)


def _compute(statement: ir.Define | ir.Accumulate, bound: ranges.Bound, box: ranges.Box, defined: bool) -> Compute:
    target = statement.target
    statement = transforms.specialize(transforms.guard_ranges(statement), bound.sizes)
    statement, box = transforms.split_floors(statement, box)
    scope = Scope(box, bound.shapes, bound.origins, _order(statement, box))
    guard = statement.domain.guard
    if isinstance(statement, ir.Define):
        value, accumulate = plan_value(statement.value, scope), target.dtype
        mask = None if guard is None else plan_value(guard, scope)
        store = _store(statement.indices, scope, target.name, defined)
        store = replace(store, mask=mask, keeps=defined)
    else:
        accumulate = statement.accumulate
        reduce = ir.Reduce(
            statement.reducer, statement.reduction, (), guard, statement.value, None, accumulate, accumulate
        )
        value = plan_reduce(reduce, scope) if statement.reduction else _unreduced(reduce, scope)
        blank = identity(statement.reducer, target.dtype)
        store = _store(statement.indices, scope, target.name, defined)
        store = replace(store, combine=statement.reducer, keeps=defined, restart=statement.restart, blank=blank)
    return Compute(target.name, target.dtype, bound.shapes[target.name], accumulate, value, store, statement, box)


def _unreduced(reduce: ir.Reduce, scope: Scope) -> Node:
    """An accumulation without a reduction index: the value itself, or the identity where the guard is false."""
    if reduce.reducer in (Reducer.ARGMIN, Reducer.ARGMAX):
        return plan_value(ir.Const(0, "int32"), scope)
    body = masked(reduce.guard, reduce.body, identity(reduce.reducer, reduce.body.dtype))
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


def _store(indices: tuple[Affine, ...], scope: Scope, target: str, defined: bool) -> Store:
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
    return Store(tuple(dimensions), None, defined, False, 0, None)
