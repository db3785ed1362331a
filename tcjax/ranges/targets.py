"""The positions of the elements of a statement's target."""

from collections.abc import Mapping
from dataclasses import replace

from .. import ir
from ..symbolic import Facts, Interval, Size, SizeLike, SizeVar
from . import mistakes
from .rounds import Place, Solution
from .survey import Comprehension


def declared_place(tensor: ir.Tensor, sizes: Mapping[SizeVar, SizeLike], *, written: bool = False) -> Place:
    """The position given by the tensor's shape: every dimension starts at 0."""
    return Place(tuple(Interval(Size.of(0), size.substitute(sizes)) for size in tensor.shape), written)


def found_place(statement: Comprehension, solution: Solution, sizes: Mapping[SizeVar, SizeLike]) -> Place:
    """The hull of what the statement writes.

    None for a dimension whose subscript depends on data, or whose range depends on sizes.
    """
    intervals: list[Interval | None] = []
    for index in statement.indices:
        values = solution.facts.interval(index.substitute_sizes(sizes))
        if values is not None and index.bare is None:
            values = Interval(values.lo, solution.facts.maximum(values.lo, values.hi))
        intervals.append(values)
    places = (dimension for dimension, index in enumerate(statement.indices) if index.is_place)
    return Place(tuple(intervals), open=frozenset(places))


def grown_place(statement: Comprehension, solution: Solution, sizes: Mapping[SizeVar, SizeLike]) -> Place:
    """The hull of what a statement writes of a tensor that grows.

    None also where the tensor's own extent says it: a boundary ends where others have written.
    """
    target, found = statement.target, found_place(statement, solution, sizes)
    own = {variable for size in target.shape for variable in size.variables()}
    own |= {ir.first_of(target.name, dimension) for dimension in range(target.rank)}
    intervals = [
        None if interval is not None and own & {*interval.lo.variables(), *interval.hi.variables()} else interval
        for interval in found.intervals
    ]
    return replace(found, intervals=tuple(intervals))


def joined_place(one: Place, other: Place, dimensions: frozenset[int], facts: Facts) -> Place:
    """The hull of two places along the `dimensions` that grow; elsewhere, or if `other` is unknown, `one`."""
    intervals = [
        mine if theirs is None or d not in dimensions else theirs if mine is None else _hull(mine, theirs, facts)
        for d, (mine, theirs) in enumerate(zip(one.intervals, other.intervals, strict=True))
    ]
    return Place(tuple(intervals), open=one.open & other.open)


def _hull(one: Interval, other: Interval, facts: Facts) -> Interval:
    return Interval(facts.minimum(one.lo, other.lo), facts.maximum(one.hi, other.hi))


def settled_place(
    function: ir.Function,
    statement: Comprehension,
    solution: Solution,
    given: Place | None,
    found: Place,
    *,
    declared: bool,
) -> Place:
    """The position of the target from now on; every size is a number.

    The first statement fixes it, unless a declaration or an initial value (`given`, not yet written) does. Raises
    `CompileError`: TC0401 if it depends on data, TC0603 if an inferred range does not fill what was given.
    """
    if given is not None and given.written:
        return given
    intervals: list[Interval] = []
    for dimension, values in enumerate(found.intervals):
        wanted = None if given is None else given.intervals[dimension]
        if wanted is None:
            if values is None:
                raise mistakes.unbound_target(function, statement, dimension)
            intervals.append(values)
            continue
        index = statement.indices[dimension].bare
        inferred = index is not None and index not in solution.survey.ranges
        if not declared and index is not None and values is not None and values.extent == wanted.extent:
            # An initial value has no origin of its own: it takes the statement's.
            wanted = values
        if inferred and values is not None and values != wanted:
            given_by = "the declaration gives" if declared else "the initial value gives"
            fits = (
                other.bare
                for other, found_at in zip(statement.indices, found.intervals, strict=True)
                if found_at == wanted
            )
            meant = next((other for other in fits if other is not None), None)
            raise mistakes.output_size(statement, dimension, values, wanted.extent, given_by, meant)
        intervals.append(wanted)
    return Place(tuple(intervals))
