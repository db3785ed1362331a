"""The conditions for a point to be active: explicit guards, and those from ranges with varying ends."""

from collections.abc import Iterator
from typing import assert_never

from .. import ir
from ..symbolic import IndexVar


def effective_guard(node: ir.Statement | ir.Reduce) -> ir.Expr | None:
    """The conjunction of the guards from ranges with varying ends and the explicit guard of a statement or inline
    reduction.

    A range whose end uses another index runs over the hull of its values; ``lo <= k`` and ``k < hi`` restrict it, for
    each varying end. None if every point is active. The parts are joined by ``&&``, range guards first, so that the
    rest is only evaluated inside them.
    """
    return ir.conjunction([part for part in (moving_guard(node), explicit_guard(node)) if part is not None])


def explicit_guard(node: ir.Statement | ir.Reduce) -> ir.Expr | None:
    """The guard as written."""
    match node:
        case ir.Define(domain=domain) | ir.Accumulate(domain=domain):
            return domain.guard
        case ir.Reduce(guard=guard):
            return guard
        case ir.Invoke() | ir.ApplyForeign():
            return None
        case _:
            assert_never(node)


def running_guard(statement: ir.Define | ir.Accumulate) -> ir.Expr | None:
    """Where the loops around a statement run, if the range of one uses the index of another.

    Elsewhere nothing is executed.
    """
    loops = statement.domain.loops
    found = [given for given in last_of_each(statement.domain.ranges).values() if given.index in loops]
    return ir.conjunction([test for given in found for test in moving_ends(given)])


def moving_guard(node: ir.Statement | ir.Reduce) -> ir.Expr | None:
    """The guards that restrict the hulls of ranges whose ends use other indices or data."""
    match node:
        case ir.Define(domain=domain) | ir.Accumulate(domain=domain):
            ranges = domain.ranges
        case ir.Reduce(ranges=ranges):
            pass
        case ir.Invoke() | ir.ApplyForeign():
            ranges = ()
        case _:
            assert_never(node)
    return ir.conjunction([test for given in last_of_each(ranges).values() for test in moving_ends(given)])


def last_of_each(ranges: tuple[ir.Range, ...]) -> dict[IndexVar, ir.Range]:
    """The range of each index; if it has two, the last one wins."""
    return {given.index: given for given in ranges}


def moving_ends(given: ir.Range) -> Iterator[ir.Expr]:
    """``lo <= index`` and ``index < hi``, for each end that depends on an index; both of a ragged range."""
    index = ir.Index(given.index, span=given.span)
    if given.lo.variables or given.is_ragged:
        yield ir.Binary("<=", ir.integer(given.lo), index, "bool", span=given.span)
    if given.hi.variables or given.is_ragged:
        yield ir.Binary("<", index, ir.integer(given.hi), "bool", span=given.span)
