"""Ragged ranges: for each row, the elements between its bounds, which are data."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from .. import ir, planning, ranges
from ..markup import Axis, Layer, Plane, Rectangle
from ..planning.data.steps import Whole
from ..symbolic import IndexVar
from .cells import FINEST
from .points import Points
from .subjects import Drawn, Evaluate, Kind, Subject

Values = Mapping[str, Any]


def _planes(subject: Subject) -> Drawn:
    evaluate = subject.evaluate
    if evaluate is None:
        return
    values = {id(bound): known for bound, known in _known(subject.plan, subject.values)}
    for heading, points in subject.statements:
        known = values[id(points.bound)]
        for given in _ragged(points):
            if not _read(given) <= known.keys() and subject.compute is not None:
                statements = points.bound.function.statements
                number = next(n for n, statement in enumerate(statements) if statement is points.statement)
                known = subject.compute(points.bound, number, known)
            if _read(given) <= known.keys():
                plane = _plane(points, given, known, evaluate)
                if plane is not None:
                    yield heading, plane


def _known(plan: planning.Plan, values: Values) -> Iterator[tuple[ranges.Bound, Values]]:
    """The values of a plan's parameters, and of the parameters of definitions that it calls, by name."""
    yield plan.bound, values
    for stage in plan.stages:
        if isinstance(stage, planning.Call):
            if stage.steps is None:
                given = dict(zip(stage.plan.parameters, stage.arguments, strict=True))
            else:
                given = {name: taken.tensor for name, taken in stage.steps.inputs if isinstance(taken, Whole)}
            yield from _known(stage.plan, {name: values[own] for name, own in given.items() if own in values})


def _ragged(points: Points) -> Iterator[ir.Range]:
    """The ragged ranges of a statement and of the reductions in it."""
    statement = points.statement
    inner = (node for node in ir.walk(statement.value) if isinstance(node, ir.Reduce))
    for given in (*statement.domain.ranges, *(given for node in inner for given in node.ranges)):
        if given.is_ragged and given.index in points.box:
            yield given


def _read(given: ir.Range) -> set[str]:
    """The tensors that the bounds of a range read."""
    return {access.tensor.name for end in ir.ragged_ends((given,)) for access in ir.accesses(end)}


def _plane(points: Points, given: ir.Range, values: Values, evaluate: Evaluate) -> Plane | None:
    """A row for each value of the index that the bounds depend on; None if there are no rows."""
    depends = [index for index in _indices(given) if index in points.box]
    lo, hi = points.box[given.index]
    if not depends or any(points.extent(index) < 1 for index in depends):
        return None
    row = depends[0]
    middle = points.middle()
    first, last = points.box[row]
    shown = range(first, min(last, first + FINEST))
    spans: list[tuple[int, int]] = []
    for value in range(first, last):
        at = {**middle, row: value}
        begin, end = (evaluate(side, points.bound, at, values) for side in (given.lo, given.hi))
        begin, end = max(lo, begin), min(hi, end)
        spans.append((begin, max(begin, end)))
    lengths = [end - begin for begin, end in spans]
    counted: list[Rectangle] = [((i, i + 1), spans[i - first]) for i in shown if lengths[i - first]]
    others = "".join(f", {index} = {middle[index]}" for index in depends[1:])
    part = "" if len(shown) == last - first else f", the first {len(shown)} of {last - first} rows"
    target = ir.tensor_name(points.statement.target)
    operation = "" if points.stage is None else f" ({planning.operation_of(points.stage)})"
    told = f"rows of {min(lengths)} to {max(lengths)} of {hi - lo}, {sum(lengths)} in all"
    layers = (Layer(told, tuple(counted), 0),)
    title = f"{target}: where {given.index} runs for each {row}{others}{part}{operation}"
    return Plane(title, Axis(str(row), first, shown.stop), Axis(str(given.index), lo, hi), layers)


def _indices(given: ir.Range) -> list[IndexVar]:
    found = {index for end in ir.ragged_ends((given,)) for index in ir.free_indices(end)}
    return sorted(found, key=lambda index: (index.name, index.tag))


def _help(subject: Subject) -> str:
    read = sorted({name for _, points in subject.statements for given in _ragged(points) for name in _read(given)})
    if not read:
        return "a ragged range has ends that are data, `where p in ptr(i):ptr(i+1)`"
    if any(name not in subject.values for name in subject.plan.parameters):
        return f"the ends of its ranges are the values of {_quoted(read)}: pass arrays, not only shapes"
    return (
        f"the program computes what the ends of its ranges read, {_quoted(read)}, with too many points for a "
        "picture, or from what a caller computes: pass it as an argument"
    )


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


RAGGED: Final = Kind("ragged", _planes, "the elements of each row of a ragged range", _help)
