"""The cost of a plan: operations, bytes moved, and peak temporary memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from ... import ir
from ...symbolic import IndexVar
from ..data.nodes import (
    Apply,
    Axes,
    CallBuiltin,
    Contract,
    Lookup,
    LoopNest,
    Node,
    Read,
    Strip,
    below,
    is_fused,
    operands,
)
from ..data.stages import (
    Begin,
    Call,
    CallForeign,
    Cast,
    ChunkedScatter,
    Compute,
    Loop,
    Parts,
    Plan,
    Tiled,
    TiledStep,
    Unit,
    Unstored,
    targets_of,
)
from ..data.steps import Steps
from .bill import is_view
from .meter import Meter, lies, loop_bytes
from .prices import is_one_loop, is_plain, names_read, surroundings

# Bytes of the element number of a scattered value.
PLACE_BYTES = 4


@dataclass(frozen=True, slots=True)
class Cost:
    """`flops`: scalar operations; `bytes`: read and written at least once; `temporary`: predicted peak besides
    arguments and results, in bytes.
    """

    flops: int
    bytes: int
    temporary: int


def cost_of(stage: Compute) -> Cost:
    """The cost of one statement, including what it computes first; with two alternatives, the one that needs more
    memory.
    """
    if stage.proviso is not None:
        parts = [cost_of(replace(stage, proviso=None)), *map(cost_of, stage.proviso.tests)]
        most = max(cost.temporary for cost in (*parts, cost_of(stage.proviso.otherwise)))
        return Cost(sum(cost.flops for cost in parts), sum(cost.bytes for cost in parts), most)
    own = _alone(stage) if stage.chunks is None else _in_chunks(stage.chunks)
    before = [cost_of(part) for part in stage.before]
    sizes = {part.target: prod(part.shape) * ir.types.width(part.dtype) for part in stage.before}
    result = prod(stage.shape) * ir.types.width(stage.dtype)
    # An array that a loop reads where it writes the result is overwritten.
    placed = next((name for name, size in sizes.items() if size == result and _overwrites(stage, name)), None)
    held = sum(size for name, size in sizes.items() if name != placed)
    return Cost(
        own.flops + sum(cost.flops for cost in before),
        own.bytes + sum(cost.bytes for cost in before),
        max([held + own.temporary, *(cost.temporary for cost in before)]),
    )


def _alone(stage: Compute) -> Cost:
    meter = meter_of(stage)
    extents = meter.extents
    flops = meter.flops(stage.value)
    read = meter.read(stage.value)
    left = frozenset[IndexVar]().union(*(index.variables for index in stage.statement.indices))
    points = prod(extents[index] for index in left if index in extents)
    written = min(prod(stage.shape), points) * ir.types.width(stage.dtype)
    return Cost(flops, read + written, _temporary(stage, meter))


def meter_of(stage: Compute) -> Meter:
    return Meter({index: max(0, hi - lo) for index, (lo, hi) in stage.box.items() if index not in stage.loops})


def _temporary(stage: Compute, meter: Meter) -> int:
    """The bytes besides operands and target."""
    return meter.temporaries(stage.value, root=True) if stage.store.scatter is None else _scattered(stage, meter)


def _scattered(stage: Compute, meter: Meter) -> int:
    """The bytes of the positions and values of a scatter, each an array over all points, with their operands.

    A tensor of the same size is read in place.
    """
    store, scatter = stage.store, stage.store.scatter
    assert scatter is not None
    columns = [dimension for number, dimension in enumerate(store.dimensions) if number not in scatter.rows]
    rows = [store.dimensions[number] for number in scatter.rows]
    inside = dict.fromkeys(axis for row in rows if isinstance(row, Strip) for axis, _, _ in row.factors)
    positions = [column.positions for column in columns if isinstance(column, Lookup)]
    parts = [part for part in (stage.value, store.weight) if part is not None]
    others = [] if store.mask is None else [store.mask]
    factors = [axis for column in columns if isinstance(column, Strip) for axis, _, _ in column.factors]
    axes = dict.fromkeys((*factors, *(axis for part in (*positions, *parts, *others) for axis in part.axes)))
    # If values are scattered slice by slice, there is one slice.
    points = meter.long(tuple(axis for axis in axes if axis not in inside and axis != scatter.along))
    every = (*points, *meter.long((*inside,)))
    needed = [max(0, meter.stored(part)[1]) for part in (*positions, *parts, *others)]
    given = len(columns) == 1 and not others and _lies(positions, points, meter)
    places = 0 if given else meter.count(points) * PLACE_BYTES
    width = ir.types.width(stage.accumulate)
    values = sum(meter.count(every) * width for part in parts if not _lies([part], every, meter))
    return places + values + max(needed)


def _lies(parts: Sequence[Node], axes: Axes, meter: Meter) -> bool:
    """Whether these are one tensor that has an element for each value of the axes, in their order."""
    return len(parts) == 1 and is_view(parts[0]) and meter.long(lies(parts[0])) == axes


def _in_chunks(chunks: ChunkedScatter) -> Cost:
    """The cost of all chunks; only the values of one exist at a time."""
    step = cost_of(chunks.step)
    last = Cost(0, 0, 0) if chunks.rest is None else cost_of(chunks.rest)
    flops, moved = (chunks.count * one + rest for one, rest in ((step.flops, last.flops), (step.bytes, last.bytes)))
    return Cost(flops, moved, max(step.temporary, last.temporary))


@dataclass(frozen=True, slots=True)
class Held:
    """The temporary bytes while a step of a plan runs: those that are `kept` for others, and its `own`."""

    target: str
    kept: int
    own: int


def plan_cost(plan: Plan) -> Cost:
    """The cost of a whole plan; tensors that are neither passed nor returned are temporaries."""
    costs = [cost for _, _, cost in _costs(plan)]
    peak = max((held.kept + held.own for held in memory_of(plan)), default=0)
    return Cost(sum(cost.flops for cost in costs), sum(cost.bytes for cost in costs), peak)


def memory_of(plan: Plan) -> tuple[Held, ...]:
    """What is in memory beside arguments and results, one step after the other."""
    units = dict(plan.units())
    rooms = _Rooms.of(plan, units)
    found: list[Held] = []
    loops = 0
    for number, stage, cost in _costs(plan):
        # XLA begins loops as early as it can: their accumulators are there at the same time.
        own = _loops(stage.value) if isinstance(stage, Compute) and stage.chunks is None else 0
        loops += own
        kept = rooms.held(number) + loops
        needed = max(0, cost.temporary - own - rooms.overwritten(number))
        names = (stage.target,) if isinstance(stage, Unstored) else targets_of(stage)
        found.append(Held(", ".join(map(ir.plain_name, names)), kept - own, needed + own))
    return tuple(found)


def _costs(plan: Plan) -> Iterator[tuple[int, Unit, Cost]]:
    """What each step of a plan costs."""
    for number, stage in plan.units():
        match stage:
            case Parts():
                cost = _parts_cost(stage)
            case Compute() | Tiled():
                cost = cost_of(stage) if isinstance(stage, Compute) else tiled_cost(stage)
            case Call(plan=inner, steps=steps):
                cost = plan_cost(inner)
                if steps is not None:
                    cost = Cost(cost.flops * steps.count, cost.bytes * steps.count, cost.temporary)
            case CallForeign() | Unstored():
                cost = Cost(0, 0, 0)
        yield number, stage, cost


def _parts_cost(parts: Parts) -> Cost:
    """The cost of all parts, which XLA computes concurrently; the results of each are live until they are joined."""
    costs = [plan_cost(plan) for plan in parts.plans]
    joined = sum(_written(parts).values())
    flops, moved = sum(cost.flops for cost in costs), sum(cost.bytes for cost in costs)
    return Cost(flops, moved + 2 * joined, joined + sum(cost.temporary for cost in costs))


@dataclass(frozen=True, slots=True)
class _Rooms:
    """The temporaries of a plan with their live ranges, as stage numbers."""

    stages: Mapping[int, Unit]
    sizes: Mapping[str, int]
    spans: Mapping[str, tuple[int, int]]

    @staticmethod
    def of(plan: Plan, stages: Mapping[int, Unit]) -> "_Rooms":
        around = surroundings(plan) if plan.scheduled is None else {}
        fused = next(iter(around.values())).fused if around else frozenset[str]()
        sizes: dict[str, int] = {}
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        for number, stage in stages.items():
            for name in names_read(stage):
                last[name] = number
            for name, size in _written(stage).items():
                sizes[name] = size
                first.setdefault(name, number)
                last[name] = number
        # An array that is live before a result of the same size is written is overwritten by it.
        free = {name: first[name] for name in plan.returns if name in first}
        spans: dict[str, tuple[int, int]] = {}
        for name in sorted(first.keys() - set(plan.returns) - fused, key=lambda name: (-sizes[name], first[name])):
            begin, end = first[name], last[name]
            place = next((n for n, at in free.items() if _lies_in(stages, sizes, name, end, n, at)), None)
            if place is None:
                spans[name] = begin, end
            else:
                del free[place]
        return _Rooms(stages, sizes, spans)

    def held(self, number: int) -> int:
        """The bytes that are live while a stage runs, without its own target if that overwrites another."""
        there = [name for name, (begin, end) in self.spans.items() if begin <= number <= end]
        stage = self.stages[number]
        over = 0
        if isinstance(stage, Compute) and stage.target in there and is_one_loop(stage):
            ending = [n for n in names_read(stage) & set(there) if self.spans[n][1] == number and n != stage.target]
            over = max((self.sizes[n] for n in ending if self.sizes[n] == self.sizes[stage.target]), default=0)
        return sum(self.sizes[name] for name in there) - over

    def overwritten(self, number: int) -> int:
        """The bytes that a stage computes in place of temporaries that are no longer read."""
        stage = self.stages[number]
        if not isinstance(stage, Compute):
            return 0
        ending = {self.sizes[n] for n in names_read(stage) if n in self.spans and self.spans[n][1] == number}
        meter = meter_of(stage)
        found = [meter.size(part) for part in _computed(stage.value)]
        found += [prod(part.shape) * ir.types.width(part.dtype) for part in stage.before if is_one_loop(part)]
        return max((size for size in found if size in ending), default=0)


def _written(stage: Unit) -> dict[str, int]:
    """The bytes of the tensors that a stage writes."""
    match stage:
        case Parts(plans=plans):
            found: dict[str, int] = {}
            for plan in plans:
                for tensor in plan.bound.function.returns:
                    size = prod(plan.bound.shapes[tensor.name]) * ir.types.width(tensor.dtype)
                    found[tensor.name] = found.get(tensor.name, 0) + size
            return found
        case Compute() | Tiled():
            return {stage.target: prod(stage.shape) * ir.types.width(stage.dtype)}
        case Call(_, _, _, Steps(kept=kept)):
            return {each.tensor: prod(each.shape) * ir.types.width(each.dtype) for each in kept if each.stays}
        case Call(targets, plan, _):
            shapes, tensors = plan.bound.shapes, plan.bound.function.returns
            sizes = [prod(shapes[tensor.name]) * ir.types.width(tensor.dtype) for tensor in tensors]
            return dict(zip(targets, sizes, strict=True))
        case CallForeign(targets=targets, results=results):
            sizes = [prod(shape) * ir.types.width(dtype) for dtype, shape in results]
            return dict(zip(targets, sizes, strict=True))
        case Unstored():
            return {}


def _lies_in(
    stages: Mapping[int, Unit], sizes: Mapping[str, int], name: str, end: int, result: str, written: int
) -> bool:
    """Whether a temporary that is live until the stage `end` is in the memory of a result."""
    stage = stages[written]
    in_place = isinstance(stage, Compute) and _overwrites(stage, name) and sizes[name] == sizes[result]
    return sizes[name] <= sizes[result] and (end < written or (end == written and in_place))


def _overwrites(stage: Compute, name: str) -> bool:
    """Whether a statement is one loop that reads a tensor at the position where it writes the value."""
    if is_one_loop(stage):
        return True
    pending = [stage.value] if is_plain(stage) and is_fused(stage.value) else []
    seen = set[int]()
    while pending:
        node = pending.pop()
        if isinstance(node, Read) and node.tensor == name and node.axes == stage.value.axes:
            return True
        if is_fused(node) and id(node) not in seen:
            seen.add(id(node))
            pending.extend(operands(node))
    return False


def _computed(node: Node) -> Iterator[Node]:
    """The elementwise operands of a product, which are stored as arrays."""
    for part in below(node):
        if isinstance(part, Contract):
            yield from (operand for operand in part.operands if isinstance(operand, (Apply, CallBuiltin)))


def _loops(node: Node) -> int:
    """The bytes of all nests in a computation."""
    return sum(loop_bytes(part.whole) for part in below(node) if isinstance(part, LoopNest) and part.is_alone)


def tiled_cost(stage: Tiled) -> Cost:
    """The cost of all iterations; only the temporaries of one iteration exist at a time."""
    flops, moved, temporary = _steps_cost(stage.steps, {stage.target})
    if stage.padded != stage.shape:
        temporary += prod(stage.padded) * ir.types.width(stage.dtype)
    return Cost(flops, moved, temporary)


def _steps_cost(steps: Iterable[TiledStep], known: set[str]) -> tuple[int, int, int]:
    flops = moved = peak = held = 0
    known = set(known)
    for step in steps:
        match step:
            case Loop(extent=extent, body=body):
                inner = _steps_cost(body, known)
                flops, moved, peak = flops + extent * inner[0], moved + extent * inner[1], max(peak, held + inner[2])
            case Begin(compute=compute) | (Compute() as compute):
                cost = cost_of(compute)
                flops, moved, peak = flops + cost.flops, moved + cost.bytes, max(peak, held + cost.temporary)
                if compute.target not in known:
                    known.add(compute.target)
                    held += prod(compute.shape) * ir.types.width(compute.dtype)
            case Cast():
                continue
    return flops, moved, max(peak, held)
