"""The predicted cost of a plan, in seconds: the basis of all choices.

A price is a sum over the kernels that XLA makes of a computation, each with the time of its arithmetic or of its
memory, whichever is longer, by the constants of a `Machine`. Prices are for comparing plans of one computation;
``python -m bench.prices`` compares them with measured times.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType

from ... import ir
from ...ir import Monoid, Reducer
from ...symbolic import IndexVar
from ..data.assembly import Overlay
from ..data.machine import CPU, MACHINES, Machine
from ..data.nodes import Axes, Fold, Lookup, Node, Read, below, is_elementwise, tensors_read
from ..data.price import NOTHING, Price
from ..data.stages import (
    Begin,
    Call,
    CallForeign,
    Cast,
    Compute,
    Loop,
    Parts,
    Plan,
    Scatter,
    ScheduledStage,
    Tiled,
    TiledStep,
    Unstored,
)
from .bill import LEAST_ROW, Bill, Kernel, is_view
from .meter import Meter, fuses, lies

# With fewer values, functions are not vectorised.
FEW_LANES = 16

# The cost of a running reduction in sections, by halving, relative to that of a whole row.
RUNNING = 3


Shapes = Mapping[str, tuple[int, ...]]
NO_SHAPES: Shapes = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Around:
    """How a statement is affected by others: its values are part of an array (`joined`), or not stored (`inside`).

    `turned` applies to one computed inside another loop that traverses it in another order. `fused` tensors are not
    stored.
    """

    joined: bool = False
    inside: bool = False
    fused: frozenset[str] = frozenset()
    turned: bool = False


ALONE = Around()


def price_of(node: Node, extents: Mapping[IndexVar, int], machine: Machine = CPU, shapes: Shapes = NO_SHAPES) -> Price:
    """The price of a computation whose result is stored; `extents` are those of its indices.

    `shapes` are those of looked-up tensors, which are assumed to be small otherwise.
    """
    bill = Bill(machine, Meter(extents), shapes)
    if is_view(node):
        kernel = Kernel(node.axes)
        bill.fuse(node, kernel)
        bill.close(kernel, bill.meter.size(node), bill.meter.points(node))
    else:
        bill.stored(node)
    return _price(bill)


def price_of_copy(
    node: Node, extents: Mapping[IndexVar, int], order: Axes | None = None, machine: Machine = CPU
) -> Price:
    """The price of a transposed copy of an array; with an `order` in memory, of a loop that reads it so."""
    bill = Bill(machine, Meter(extents), NO_SHAPES)
    bill.transposed(node, node.axes if order is None else order, node.axes)
    return _price(bill)


def price(stage: Compute, machine: Machine = CPU, shapes: Shapes = NO_SHAPES, around: "Around | None" = None) -> Price:
    """The price of one statement, including the store of its values; `around` says how others affect it."""
    total = _alone(stage, machine, shapes, around)
    for part in (*stage.before, *(() if stage.proviso is None else stage.proviso.asked)):
        total += price(part, machine, shapes)
    return total


def _alone(stage: Compute, machine: Machine, shapes: Shapes, around: "Around | None") -> Price:
    """The price without the computations before it."""
    if stage.chunks is not None:
        step = price(stage.chunks.step, machine, shapes)
        total = step * stage.chunks.count + Price.waiting(stage.chunks.count * machine.trip)
        return total if stage.chunks.rest is None else total + price(stage.chunks.rest, machine, shapes)
    extents = {index: max(0, hi - lo) for index, (lo, hi) in stage.box.items() if index not in stage.loops}
    around = around or ALONE
    bill = Bill(machine, Meter(extents), shapes, around.fused, around.turned)
    if stage.store.is_scatter:
        _scatter(stage, bill)
    else:
        _dense(stage, bill, around)
    return _price(bill)


def plan_price(plan: Plan, machine: Machine = CPU) -> Price:
    """The price of a call: all of its statements, one after the other."""
    return Price.waiting(machine.launch) + _statements(plan, machine)


def _statements(plan: Plan, machine: Machine) -> Price:
    total = NOTHING
    shapes = plan.bound.shapes
    around = surroundings(plan) if plan.scheduled is None else {}
    for number, stage in plan.units():
        match stage:
            case Compute():
                total += price(stage, machine, shapes, around.get(number))
            case Parts():
                total += _parts(stage, machine, shapes)
            case Tiled(steps=steps):
                total += _steps(steps, machine, shapes)
            case Call():
                total += stage_price(stage, machine)
            case CallForeign() | Unstored():
                continue
    return total


def stage_price(stage: Call, machine: Machine = CPU) -> Price:
    """The price of a call of a definition, or of all steps of a loop."""
    once = _statements(stage.plan, machine)
    if stage.steps is None:
        return once
    if once.bytes <= machine.small:
        widest = max((prod(inner.shape) for inner in stage.plan.stages if isinstance(inner, Compute)), default=0)
        # A loop in such a step is part of the same kernel.
        call = MACHINES[machine.kind].call * (machine.alone if widest < FEW_LANES else 1.0)
        once = _statements(stage.plan, replace(machine, dispatch=0.0, fork=0.0, call=call))
    return (once + Price.waiting(machine.step)) * stage.steps.count


def _parts(parts: Parts, machine: Machine, shapes: Shapes) -> Price:
    """The price of all parts, and of joining their results."""
    total = NOTHING
    for plan in parts.plans:
        total += _statements(plan, machine)
    tensors = parts.plans[0].bound.function.returns
    joined = sum(2 * prod(shapes[tensor.name]) * ir.types.width(tensor.dtype) for tensor in tensors)
    begun, moved = len(tensors) * (machine.dispatch + machine.fork), machine.traffic(joined)
    return total + Price(begun + moved, joined, moved, begun)


def run_price(plan: Plan, numbers: Iterable[int], machine: Machine = CPU) -> Price:
    """The price of some of the statements of a plan, by number, each as a whole."""
    around = surroundings(plan)
    total = NOTHING
    for number in numbers:
        stage = plan.stages[number]
        if isinstance(stage, Compute):
            total += price(stage, machine, plan.bound.shapes, around.get(number))
    return total


def surroundings(plan: Plan) -> dict[int, Around]:
    """How XLA combines neighbours: parts that are joined, and values that are computed where they are read."""
    joined = {first + n: False for first, assembly in plan.assemblies.items() for n in range(assembly.stages)}
    # The base of an overlay is not an array of its own.
    joined |= {first: isinstance(assembly.whole, Overlay) for first, assembly in plan.assemblies.items()}
    stages = plan.stages
    made = Counter(stage.target for stage in stages if isinstance(stage, Compute))
    readers: dict[str, list[int]] = {}
    for number, stage in enumerate(stages):
        for name in names_read(stage):
            readers.setdefault(name, []).append(number)
    fused: dict[int, str] = {}
    turned: set[int] = set()
    for number, stage in enumerate(stages):
        if not isinstance(stage, Compute) or stage.apart or stage.target in plan.returns or made[stage.target] > 1:
            continue
        users = [stages[user] for user in readers.get(stage.target, [])]
        if len(users) == 1 and is_one_loop(stage) and isinstance(users[0], Compute) and _fuses_with(users[0]):
            fused[number] = stage.target
            if _is_turned(users[0], stage.target):
                turned.add(number)
    gone = frozenset(fused.values())
    return {n: Around(n in joined, n in fused or joined.get(n, False), gone, n in turned) for n in range(len(stages))}


def _is_turned(stage: Compute, tensor: str) -> bool:
    """Whether a statement traverses a tensor along another axis than the minor one."""
    for part in below(stage.value):
        if isinstance(part, Read) and part.tensor == tensor:
            order = lies(part)
            own = [axis for axis in _axes(stage) if axis in order]
            return bool(own) and own[-1] != order[-1]
    return False


def _axes(stage: Compute) -> tuple[IndexVar, ...]:
    """The axes of the loop that computes a statement."""
    if isinstance(stage.value, Fold):
        return stage.value.operand.axes
    return stage.store.sliced


def names_read(stage: ScheduledStage | Parts) -> set[str]:
    """The tensors that a stage reads."""
    match stage:
        case Parts(plans=plans):
            return {name for plan in plans for name in plan.parameters}
        case Compute():
            return _reads(stage)
        case Tiled():
            return set[str]().union(*(_reads(compute) for compute, _ in stage.computes()))
        case Call(arguments=arguments) | CallForeign(arguments=arguments):
            return set(arguments)
        case Unstored():
            return set()


def _reads(stage: Compute) -> set[str]:
    own = {name for node in (stage.value, stage.store.mask) if node is not None for name in tensors_read(node)}
    others = () if stage.proviso is None else (*stage.proviso.tests, stage.proviso.otherwise)
    return own.union(*map(_reads, (*stage.before, *others)))


def is_one_loop(stage: Compute) -> bool:
    """Whether a statement is one fused loop over its target."""
    return is_plain(stage) and is_elementwise(stage.value)


def is_plain(stage: Compute) -> bool:
    """Whether a statement is a single computation, whose values go to a box of the target."""
    return not stage.store.is_scatter and stage.chunks is None and stage.proviso is None


def _fuses_with(stage: Compute) -> bool:
    """Whether the operand of a statement can be computed in the loop that reads it."""
    value = stage.value
    if isinstance(value, Fold) and fuses(value):
        value = value.operand
    return is_plain(stage) and is_elementwise(value)


def _steps(steps: Iterable[TiledStep], machine: Machine, shapes: Shapes) -> Price:
    total = NOTHING
    for step in steps:
        match step:
            case Loop(extent=extent, body=body):
                total += (_steps(body, machine, shapes) + Price.waiting(machine.trip)) * extent
            case Begin(compute=compute) | (Compute() as compute):
                total += price(compute, machine, shapes)
            case Cast():
                continue
    return total


def _price(bill: Bill) -> Price:
    return Price(bill.seconds, bill.bytes, bill.memory, bill.overhead)


def _dense(stage: Compute, bill: Bill, around: Around) -> None:
    """Values in a box of the target: written by the kernel that computes them, unless that is a separate operation."""
    store, value, meter = stage.store, stage.value, bill.meter
    width = ir.types.width(stage.dtype)
    target = prod(stage.shape)
    axes = store.sliced
    written = meter.count(tuple(dict.fromkeys(axes)))
    going_on = store.keeps and store.goes_on and not store.restart
    plainly = stage.dtype == value.dtype and written == target and store.mask is None and not going_on
    kernel = Kernel(axes)
    before = bill.seconds
    bill.fuse(value, kernel)
    alone = bill.seconds > before and not kernel.called and kernel.read.is_only(id(value))
    if alone and plainly and bill.meter.long(value.axes) == bill.meter.long(axes):
        return
    if store.mask is not None:
        bill.fuse(store.mask, kernel)
    if going_on:
        kernel.read.arrays[stage.target] = written * width
    # A new array is padded with zeros; in an existing one, XLA writes the part in place.
    count = written if store.keeps or around.joined else max(written, target)
    bill.close(kernel, 0 if around.inside else count * width, count)


def _scatters(reducer: Reducer) -> int:
    """The number of XLA scatters: one per stored number; for a position, two more that find the first one.

    Values added through a function are taken relative to the largest, which needs another one.
    """
    return reducer.states + 2 * reducer.gives_position + (reducer.inject is not None)


def _scatter(stage: Compute, bill: Bill) -> None:
    """Values at data-dependent positions: they are stored first, and then each point or row is scattered."""
    store, value, machine, meter = stage.store, stage.value, bill.machine, bill.meter
    width = ir.types.width(stage.accumulate)
    parts = [value, *(part for part in (store.mask, store.weight) if part is not None)]
    places = [d.positions for d in store.dimensions if isinstance(d, Lookup)]
    for part in (*parts, *places):
        bill.stored(part)
    axes = dict.fromkeys((*store.sliced, *(axis for part in (*parts, *places) for axis in part.axes)))
    points = meter.count(tuple(axes))
    scatter = store.scatter or Scatter()
    row = prod(stage.shape[number] for number in scatter.rows)
    times = 1 if isinstance(store.combine, Monoid) or store.combine is None else _scatters(store.combine)
    target = prod(stage.shape) * width
    if row >= LEAST_ROW:
        each = points // row * machine.scatter_row + points * width * machine.scatter_byte
    else:
        far = target > machine.near
        each = points * (machine.scatter_far if far else machine.scatter)
    if scatter.is_sorted:
        each += points * (max(1, points.bit_length()) * machine.sort + machine.gather + RUNNING * machine.running)
    if scatter.along is not None:
        each += meter.extents.get(scatter.along, 1) * machine.trip
    bill.moved(2 * target + points * width, times * each, points)
