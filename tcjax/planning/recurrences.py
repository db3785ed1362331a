"""Loops of a program: its stages are runs of statements without loops, and steps of a loop."""

from collections.abc import Callable
from dataclasses import replace

from .. import ir, ranges, transforms
from .data.stages import Call, Plan
from .data.steps import Input, Kept, Lagged, State, Steps, Value, Whole, Window

MakePlan = Callable[[ranges.Bound], Plan]


def plan_loops(bound: ranges.Bound, plan: MakePlan) -> Plan:
    """The plan of a program with loops; `plan` is that of one without, or with those inside of them."""
    stages: list[Call] = []
    statements: list[ir.Statement] = []
    calls: dict[int, ranges.Bound] = {}
    for number, segment in enumerate(transforms.segments(bound)):
        stage = _stage(segment, plan)
        stages.append(stage)
        calls[number] = stage.plan.bound
        statements.append(ir.Invoke(segment.results, stage.plan.bound.function, segment.arguments))
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


def _stage(segment: transforms.Segment, plan: MakePlan) -> Call:
    targets = tuple(tensor.name for tensor in segment.results)
    arguments = tuple(tensor.name for tensor in segment.arguments)
    if segment.loop is None:
        return Call(targets, plan(segment.bound), arguments)
    step = transforms.one_step(segment)
    values = step.values
    inputs = tuple((name, _input(taken)) for name, taken in step.taken.items())
    kept = tuple(_kept(row, segment.bound, row.tensor.name in targets) for row in step.rows)
    low, apart = (min(values), abs(values.step)) if values else (0, 1)
    steps = Steps(segment.loop.index, len(values), low, apart, values.step < 0, inputs, kept)
    return Call(targets, plan(step.bound), arguments, steps)


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
    return Kept(name, row.tensor.dtype, bound.shapes[name], row.dimension, offset, row.order, stays)
