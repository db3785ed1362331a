"""The indices of a statement in one form: they run upwards, over whole ranges that no guard cuts."""

from dataclasses import replace

from .directions import ordered, upwards
from .inlining import Step
from .joining import joined
from .limits import limited
from .split import split_floors
from .starts import from_start
from .units import without_units


def plain_indices(step: Step) -> Step:
    """The step with reductions over whole ranges, whichever way round, and in whichever parts, they were written."""
    return without_units(joined(_parted(limited(from_start(upwards(step))))))


def _parted(step: Step) -> Step:
    """The step with two indices for one that is reduced and divided: those of the left side have a place each."""
    statement = step.statement
    left = frozenset().union(*(subscript.variables for subscript in statement.indices))
    split, box = split_floors(statement, step.box, left.union(ordered(statement)))
    return step if split is statement else replace(step, statement=split, box=dict(box))
