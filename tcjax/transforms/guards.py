"""Ranges whose ends move, as guards."""

from dataclasses import replace
from typing import TypeVar

from .. import ir, ranges

Formula = TypeVar("Formula", bound="ir.Define | ir.Accumulate")


def guard_ranges(statement: Formula) -> Formula:
    """The statement without given ranges: those whose ends use other indices are conjoined to the guards.

    What the ranges say besides is in the box that `ranges.bind` found.
    """
    guard = ranges.effective_guard(statement)
    domain = ir.Domain((), None if guard is None else _guarded(guard), statement.domain.exists, statement.domain.loops)
    return replace(statement, value=_guarded(statement.value), domain=domain)


def _guarded(expr: ir.Expr) -> ir.Expr:
    if isinstance(expr, ir.Reduce):
        expr = replace(expr, guard=ranges.effective_guard(expr), ranges=())
    return ir.rebuild(expr, _guarded)
