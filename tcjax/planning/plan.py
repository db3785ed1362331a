"""How each statement of a bound function is computed, and why."""

from collections.abc import Iterable
from dataclasses import replace

from .. import ir, ranges, transforms
from .assembly import Overlay, assemblies
from .formulas import plan_formula
from .nodes import Apply, Fill, Iota, Node, Read, Strip, holds_data, operands
from .online import fuse
from .preferences import DEFAULT, Preferences
from .sharing import share
from .stages import Call, CallForeign, Compute, Plan, Stage


def make_plan(bound: ranges.Bound, preferences: Preferences = DEFAULT) -> Plan:
    """Chooses the operation for each statement."""
    function = bound.function
    defined = {tensor.name for tensor in function.initial}
    stages: list[Stage] = []
    for number, statement in enumerate(function.statements):
        match statement:
            case ir.Define() | ir.Accumulate():
                stages.append(
                    _compute(statement, bound, bound.boxes[number], statement.target.name in defined, preferences)
                )
                defined.add(statement.target.name)
            case ir.Invoke(targets, _, arguments):
                stages.append(Call(_names(targets), make_plan(bound.calls[number], preferences), _names(arguments)))
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
            wide = _widened(number + 1, bound, preferences)
            if wide is not None:
                stages[number + 1] = wide
                whole = replace(assembly.whole, everywhere=True)
                groups[number] = replace(assembly, whole=whole)
    fused = share(fuse(stages, initial, preferences), initial, preferences)
    return Plan(function.name, *names, initial, fused, bound, groups)


def _widened(number: int, bound: ranges.Bound, preferences: Preferences) -> Compute | None:
    """A statement that writes a box, computed along the whole axes of its target; None where that is not as safe.

    It is where every read stays inside its tensor, and no derivative depends on the data: what lies beside the box may
    be infinite.
    """
    statement = bound.function.statements[number]
    assert isinstance(statement, (ir.Define, ir.Accumulate))
    name = statement.target.name
    box = dict(bound.boxes[number])
    for index, origin, extent in zip(statement.indices, bound.origins[name], bound.shapes[name], strict=True):
        if index.bare is None:
            return None
        box[index.bare] = (origin, origin + extent)
    wide = _compute(statement, bound, box, True, preferences)
    pending: list[Node] = [wide.value]
    while pending:
        node = pending.pop()
        match node:
            case Read(dimensions=dimensions):
                if any(not isinstance(d, Strip) or d.low or d.high for d in dimensions):
                    return None
            case Apply("*", factors) if sum(map(holds_data, factors)) > 1:
                return None
            case Apply("+" | "-" | "*" | "neg" | "min" | "max" | "cast") | Fill() | Iota():
                pending.extend(operands(node))
            case _:
                return None
    return wide


def _names(tensors: Iterable[ir.Tensor]) -> tuple[str, ...]:
    return tuple(tensor.name for tensor in tensors)


def _compute(
    statement: ir.Define | ir.Accumulate, bound: ranges.Bound, box: ranges.Box, defined: bool, preferences: Preferences
) -> Compute:
    statement = transforms.specialize(transforms.guard_ranges(statement), bound.sizes)
    name = statement.target.name
    statement, solved = transforms.solve(statement, box, bound.shapes[name], bound.origins[name])
    found = plan_formula(statement, box, bound.shapes, bound.origins, defined=defined, preferences=preferences)
    return replace(found, decided=(*solved, *found.decided)) if solved else found
