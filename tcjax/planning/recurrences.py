"""Loops of a program: its stages are runs of statements without loops, and steps of a loop."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from math import ceil, isqrt, log2, prod
from typing import Final, Literal

from .. import ir, ranges, transforms
from ..symbolic import Size
from .cost import prices
from .cost.costs import meter_of, plan_cost
from .cost.prices import names_read, stage_price
from .data.machine import CPU, GPU, Machine
from .data.nodes import Apply, CallBuiltin, below
from .data.stages import Call, Compute, Elsewhere, Parts, Plan, Stage, targets_of
from .data.steps import AtOnce, Input, Kept, Lagged, State, Steps, Value, Whole, Window

# Platforms where each trip of a loop launches kernels. On a CPU a step costs only its operations, and sequential steps
# always need fewer.
LAUNCHING: Final = ("cuda", "rocm")

MAPS: Final = 4
# Recomputing a step may take this many times as long as moving the bytes that would be stored: in addition, a stacked
# operand is guarded, copied and read. A logsumexp takes 17 times as long and was measured to be worth it; a
# matrix-vector product, 40 times, was not measured.
AGAIN: Final = 20

# Plans a run of statements without loops, or one step of a loop.
MakePlan = Callable[[ranges.Bound, transforms.OneStep | None], Plan]
# Of a loop that one stage runs step by step: several of its steps as one, where that is better.
Together = Callable[[transforms.OneStep, Call], transforms.OneStep | None]


def plan_loops(bound: ranges.Bound, plan: MakePlan, most: int, joined: Together | None = None) -> Plan:
    """The plan of a program with loops; `plan` is that of one without, or with those inside of them.

    A derivative that would store more than `most` bytes of all steps stores those of some of them, and computes the
    others again. Where somebody says which steps are `joined`, no others run by diagonals or at once, and derivatives
    are those of the steps.
    """
    stages: list[Call] = []
    statements: list[ir.Statement] = []
    calls: dict[int, ranges.Bound] = {}
    segments = list(transforms.segments(bound))
    steps = {n: _step(segment) for n, segment in enumerate(segments) if segment.loop is not None}
    held = _held(segments, steps)
    for number, segment in enumerate(segments):
        step = steps.get(number)
        stage = _stage(segment, plan) if step is None else _loop(segment, step, held[number], plan, most)
        own = [(segment, stage)]
        if step is not None and joined is not None:
            own = _with_joined(segment, step, held[number], stage, plan, most, joined)
        elif step is not None:
            stage = _in_other_ways(segment, step, stage, plan, most)
            stage = _by_diagonals(segment, step, held[number], _begun(segments[:number], segment), stage, plan, most)
            own = [(segment, stage)]
        for part, stage in own:
            calls[len(stages)] = stage.plan.bound
            statements.append(ir.Invoke(part.results, stage.plan.bound.function, part.arguments))
            stages.append(stage)
    function = ir.Function(
        bound.function.name,
        bound.function.parameters,
        bound.function.returns,
        tuple(statements),
        declared=bound.function.declared,
        span=bound.function.span,
    )
    boxes, reasons = tuple({} for _ in stages), tuple({} for _ in stages)
    outer = replace(bound, function=function, boxes=boxes, calls=calls, reasons=reasons, is_part=True)
    parameters, returns = (tuple(t.name for t in ts) for ts in (function.parameters, function.returns))
    return Plan(function.name, parameters, returns, {}, tuple(stages), outer)


def _with_joined(
    segment: transforms.Segment,
    step: transforms.OneStep,
    held: Mapping[str, tuple[int, int]],
    stage: Call,
    plan: MakePlan,
    most: int,
    joined: Together,
) -> list[tuple[transforms.Segment, Call]]:
    """The stage of a loop; or one of several steps as one, and that of the steps that are left."""
    several = joined(step, stage)
    if several is None:
        return [(segment, stage)]
    if several.ends == step.ends:
        several = transforms.needed_step(several, segment.results)
        return [(segment, _loop(segment, several, held, plan, most))]
    (lo, hi), (first, last) = step.ends, several.ends
    rest = replace(step, ends=(last, hi) if step.loop.step > 0 else (lo, first))
    rest = transforms.needed_step(rest, segment.results)
    # Not all that a step writes is read by the steps that are left.
    handed = {taken.tensor for taken in rest.taken.values()}
    handed |= {row.tensor.name for row in rest.rows if row.dimension is not None}
    between = replace(segment, results=tuple(row.tensor for row in step.rows if row.tensor.name in handed))
    known = {tensor.name for tensor in segment.arguments}
    after = replace(
        segment, arguments=(*segment.arguments, *(tensor for tensor in between.results if tensor.name not in known))
    )
    several = transforms.needed_step(several, between.results)
    return [(between, _loop(between, several, held, plan, most)), (after, _loop(after, rest, {}, plan, most))]


def _step(segment: transforms.Segment) -> transforms.OneStep:
    """One step of a segment's loop, without what neither further steps nor the segment's results need."""
    return transforms.needed_step(transforms.one_step(segment), segment.results)


def _held(
    segments: list[transforms.Segment], steps: Mapping[int, transforms.OneStep]
) -> dict[int, dict[str, tuple[int, int]]]:
    """For each loop the tensors of which only some rows are stored before it: those written by statements before it.

    Segments with these statements are changed to store only those rows.
    """
    found: dict[int, dict[str, tuple[int, int]]] = {number: {} for number in steps}
    for number, step in steps.items():
        for row in step.rows:
            name, dimension = row.tensor.name, row.dimension
            before = [n for n in range(number) if name in _touched(segments[n])]
            if dimension is None or not before or segments[before[-1]].loop is not None:
                continue
            segment = segments[before[-1]]
            if name not in [t.name for t in segment.results] or name in [t.name for t in segment.arguments]:
                continue
            rows = transforms.written_rows(segment.bound, name, dimension)
            if rows is not None:
                segments[before[-1]] = transforms.with_rows(segment, name, dimension, rows)
                origin = segment.bound.origins[name][dimension]
                found[number][name] = rows[0] - origin, rows[1] - origin
    return found


def _touched(segment: transforms.Segment) -> set[str]:
    """The tensors that a segment needs or produces."""
    return {tensor.name for tensor in (*segment.arguments, *segment.results)}


def _stage(segment: transforms.Segment, plan: MakePlan) -> Call:
    targets = tuple(tensor.name for tensor in segment.results)
    return Call(targets, plan(segment.bound, None), tuple(tensor.name for tensor in segment.arguments))


def _loop(
    segment: transforms.Segment,
    step: transforms.OneStep,
    held: Mapping[str, tuple[int, int]],
    plan: MakePlan,
    most: int,
) -> Call:
    assert segment.loop is not None
    targets = tuple(tensor.name for tensor in segment.results)
    values = step.values
    inputs = tuple((name, _input(taken)) for name, taken in step.taken.items())
    kept = tuple(
        replace(_kept(row, segment.bound, row.tensor.name in targets), held=held.get(row.tensor.name))
        for row in step.rows
    )
    low, apart = (min(values), abs(values.step)) if values else (0, 1)
    inner = _updated_once(plan(step.bound, step), {each.tensor for each in kept if each.dimension is None})
    stored = _stored(inner)
    chunk = _chunk(len(values), stored, _carried(kept)) if len(values) * stored > most else None
    steps = Steps(
        segment.loop.index,
        len(values),
        low,
        apart,
        values.step < 0,
        inputs,
        kept,
        chunk,
        _is_tame(step),
    )
    return Call(targets, inner, tuple(tensor.name for tensor in segment.arguments), steps)


def _updated_once(step: Plan, states: Collection[str]) -> Plan:
    """The step, with states stored after every update of a part but the last.

    XLA:CPU would fuse such an update with each of its readers. Where two of them do it, each updates its own copy.
    """
    later: set[str] = set()
    stages: list[Stage] = []
    for stage in reversed(step.stages):
        if isinstance(stage, Compute) and stage.store.keeps and stage.target in states and stage.target in later:
            stages.append(replace(stage, apart=True))
        else:
            stages.append(stage)
        later |= names_read(stage) | {*targets_of(stage)}
    stages.reverse()
    return replace(step, stages=tuple(stages))


def _in_other_ways(
    segment: transforms.Segment, step: transforms.OneStep, stage: Call, plan: MakePlan, most: int
) -> Call:
    """The stage of a loop with alternatives: for its derivative, and for platforms that run many steps at once."""
    steps, inner = stage.steps, stage.plan
    assert steps is not None
    stored = _stored(inner)
    steps = replace(steps, at_once=_at_once(step, stored, most, GPU, plan))
    steps = replace(steps, again=_again(steps, inner, stored, most))
    # Each step of an inner loop, or one that scatters a part of a state, would add to the cotangent of a whole tensor.
    loops = [stage.steps for stage in inner.stages if isinstance(stage, Call) and stage.steps is not None]
    scattered = {each.target for each in inner.stages if isinstance(each, Compute) and each.store.scatter is not None}
    own = [each for each in steps.kept if each.tensor in scattered]
    is_costly = any(each.dimension is None and each.shape for each in (*own, *(k for loop in loops for k in loop.kept)))
    program = transforms.as_program(segment) if is_costly else None
    return replace(stage, steps=steps, program=None if program is None else (program, most))


def plan_unsized_loop(
    bound: ranges.Bound, loop: ir.Loop, defined: Collection[str], number: Callable[[Size], int]
) -> tuple[ranges.Bound, Steps]:
    """One step of a loop as a program, and its steps, with symbolic sizes; `number` gives the value of a size."""

    def of(size: int | Size) -> int:
        return number(Size.of(size))

    def numbers(shape: Iterable[int | Size]) -> tuple[int, ...]:
        return tuple(map(of, shape))

    segment = transforms.loop_segment(bound, loop, defined)
    step = transforms.one_step(segment)
    results = {tensor.name for tensor in segment.results}
    kept = (_kept(row, bound, row.tensor.name in results) for row in step.rows)
    inputs: list[tuple[str, Input]] = []
    for name, taken in step.taken.items():
        given = _input(taken)
        if isinstance(given, Window):
            counts = tuple([None if count is None else of(count) for count in given.counts])
            given = Window(given.tensor, tuple([(weight, of(start)) for weight, start in given.begins]), counts)
        inputs.append((name, given))
    (lo, hi), apart = map(Size.of, step.ends), abs(loop.step)
    count = (hi - lo + (apart - 1)) // apart
    low = lo if loop.step > 0 else hi - 1 - (count - 1) * apart
    steps = Steps(
        loop.index,
        of(count),
        of(low),
        apart,
        loop.step < 0,
        tuple(inputs),
        tuple([replace(each, shape=numbers(each.shape), offset=of(each.offset)) for each in kept]),
    )
    return step.bound, steps


def _begun(before: list[transforms.Segment], segment: transforms.Segment) -> dict[str, transforms.Written]:
    """The statements that write a tensor before a loop updates it, if a single run contains all of them."""
    parameters = {tensor.name for tensor in segment.bound.function.parameters}
    found: dict[str, transforms.Written] = {}
    for name in [tensor.name for tensor in segment.arguments if tensor.name not in parameters]:
        touching = [each for each in before if name in _touched(each)]
        if len(touching) == 1 and touching[0].loop is None and name not in [t.name for t in touching[0].arguments]:
            written = transforms.begun(touching[0], name, parameters & {tensor.name for tensor in segment.arguments})
            found |= {} if written is None else {name: written}
    return found


def _by_diagonals(
    segment: transforms.Segment,
    step: transforms.OneStep,
    held: Mapping[str, tuple[int, int]],
    begun: Mapping[str, transforms.Written],
    stage: Call,
    plan: MakePlan,
    most: int,
) -> Call:
    """The stage of a loop; two nested ones by diagonals where that is cheaper, possibly only on GPUs."""
    dimensions = {row.tensor.name: row.dimension for row in step.rows}
    rows = {name: (dimensions[name] or 0, ends) for name, ends in held.items()}
    found = transforms.wavefront(segment, rows, begun)
    if found is None:
        return stage
    other = Call(stage.targets, plan(found.bound, None), stage.arguments, diagonals=found.diagonals)
    if plan_cost(other.plan).temporary > most:
        return stage
    if stage_price(other) < stage_price(stage):
        return other
    if stage_price(other, GPU) < stage_price(stage, GPU):
        return replace(stage, elsewhere=Elsewhere(other.plan, LAUNCHING), diagonals=found.diagonals)
    return stage


def _at_once(step: transforms.OneStep, stored: int, most: int, machine: Machine, plan: MakePlan) -> AtOnce | None:
    """The number of steps of a loop to run at once within `most` bytes, if that is faster on the machine."""
    # Besides a step's stored values there are the two numbers of each map, and those of the combined maps.
    each, count = MAPS * stored, len(step.values)
    order = transforms.joining_steps(step) if count > 1 else None
    if order is None or not each:
        return None
    block = min(count, most // each)
    if not block:
        return None
    statements = len(step.bound.function.statements)
    programs = 1 + sum(each.shifts is not None for each in order)
    in_turn = count * (machine.trip + statements * machine.dispatch + machine.traffic(stored))
    levels = 2 * ceil(log2(block + 1)) if order else 0
    blocks = ceil(count / block)
    trips = blocks * (machine.trip + (programs * statements + levels) * machine.dispatch)
    together = trips + count * MAPS * machine.traffic(each * block) / block
    if together >= in_turn:
        return None
    shifts = {each.name: plan(each.shifts, None) for each in order if each.shifts is not None}
    return AtOnce(tuple([(each.name, each.reducer) for each in order]), block, LAUNCHING, shifts)


def _again(steps: Steps, inner: Plan, stored: int, most: int) -> Literal["in place", "by factors"] | None:
    """How a derivative recomputes steps from the rows before, instead of storing their values; None if it does not.

    It does if rows are all that a step receives from others, and recomputing is cheap compared to storing, or if only
    chunks of steps could be `stored`, which are recomputed as well.
    """
    rows = sum(prod(kept.shape) * ir.types.width(kept.dtype) for kept in steps.kept if not kept.stays)
    if rows > most or any(kept.dimension is None for kept in steps.kept):
        return None
    once = prices.stage_price(Call((), inner, (), replace(steps, count=1)))
    if steps.chunk is None and once.seconds > AGAIN * CPU.traffic(2 * stored):
        return None
    return "by factors" if steps.chunk is None and _are_numbers(steps) else "in place"


def _are_numbers(steps: Steps) -> bool:
    """Whether each step writes rows of a single element, and receives rows."""
    for _, taken in steps.inputs:
        if isinstance(taken, Window):
            moving = [d for d, (weight, _) in enumerate(taken.begins) if weight]
            if len(moving) != 1 or [d for d, count in enumerate(taken.counts) if count is None] != moving:
                return False
    return all(prod(kept.shape) == kept.shape[kept.dimension or 0] for kept in steps.kept)


def _is_tame(step: transforms.OneStep) -> bool:
    """Whether a step adds up products of rows from earlier steps, constants, and at most one other operand each."""
    for statement in step.bound.function.statements:
        if not isinstance(statement, ir.Define) or statement.domain.guard is not None:
            return False
        for _, term in ir.terms(statement.value):
            others = 0
            for factor in ir.factors(term):
                match factor:
                    case ir.Const():
                        continue
                    case ir.Access(tensor, indices) if tensor.name in step.taken:
                        taken = step.taken[tensor.name]
                        others += taken.kind != "row"
                        if taken.kind not in ("part", "whole", "row") or any(index.is_data for index in indices):
                            return False
                    case _:
                        return False
            if others > 1:
                return False
    return True


def _stored(plan: Plan) -> int:
    """An upper bound on the bytes that the derivative of a step needs: results, and values computed one by one."""
    total = 0
    for stage in plan.stages:
        match stage:
            case Compute():
                meter = meter_of(stage)
                total += prod(stage.shape) * ir.types.width(stage.dtype)
                nodes = (node for node in below(stage.value) if isinstance(node, (Apply, CallBuiltin)))
                total += sum(map(meter.size, nodes))
            case Call(plan=inner, steps=steps):
                total += _stored(inner) * (1 if steps is None else steps.count)
            case Parts(plans=plans):
                total += sum(map(_stored, plans))
            case _:
                continue
    return total


def _chunk(count: int, stored: int, carried: int) -> int:
    """The number of steps per chunk that minimises the memory for one chunk's steps and all chunks' initial states.

    A divisor, if there is one nearby.
    """
    best = max(1, isqrt(count * carried // max(1, stored)))
    near = [size for size in range(max(1, best // 2), min(count, 2 * best) + 1) if count % size == 0]
    return min(near, key=lambda size: abs(size - best), default=min(best, count))


def _carried(kept: Iterable[Kept]) -> int:
    """The bytes that a step passes on."""
    return sum(prod(_handed_on(each)) * ir.types.width(each.dtype) for each in kept)


def _handed_on(kept: Kept) -> tuple[int, ...]:
    if kept.dimension is None:
        return kept.shape
    return (kept.order, *kept.shape[: kept.dimension], *kept.shape[kept.dimension + 1 :])


def _input(taken: transforms.Taken) -> Input:
    match taken.kind:
        case "whole":
            return Whole(taken.tensor)
        case "part":
            return Window(taken.tensor, taken.begins, taken.counts)
        case "row":
            return Lagged(taken.tensor, taken.lag)
        case "state":
            return State(taken.tensor)
        case _:
            return Value()


def _kept(row: transforms.Row, bound: ranges.Bound, stays: bool) -> Kept:
    name = row.tensor.name
    offset = 0 if row.dimension is None else row.offset - bound.origins[name][row.dimension]
    return Kept(name, row.tensor.dtype, bound.shapes[name], row.dimension, offset, row.order, stays, many=row.many)
