"""Normalises the indices of a statement: they run upwards, over whole ranges without guards."""

from dataclasses import replace

from .directions import ordered, upwards
from .inlining import Step
from .joining import joined
from .limits import limited
from .split import split_floors
from .starts import from_start
from .units import without_units


def plain_indices(step: Step) -> Step:
    """The step with reductions over whole ranges, whatever direction or parts they were written in."""
    return without_units(joined(_parted(limited(from_start(upwards(step))))))


def _parted(step: Step) -> Step:
    """The step with two indices for a reduced one that is divided, as in a pixel shuffle; those of the left side are
    kept.
    """
    statement = step.statement
    left = frozenset().union(*(subscript.variables for subscript in statement.indices))
    split, box = split_floors(statement, step.box, left.union(ordered(statement)))
    return step if split is statement else replace(step, statement=split, box=dict(box))
