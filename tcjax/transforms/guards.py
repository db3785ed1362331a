"""Ranges with varying ends as guards."""

from dataclasses import replace
from typing import TypeVar

from .. import ir, ranges
from .definitions import as_define

Formula = TypeVar("Formula", bound="ir.Define | ir.Accumulate")


def guard_ranges(statement: Formula) -> "Formula | ir.Define":
    """The statement without given ranges: those whose ends use other indices become guards.

    The constant parts of the ranges are in the box from `ranges.bind`. A reduction that restarts does so only where its
    loops run: if that is not the whole box, it becomes a definition.
    """
    running = ranges.running_guard(statement)
    if running is not None and isinstance(statement, ir.Accumulate) and statement.restart:
        domain = statement.domain
        own = tuple(given for given in domain.ranges if given.index not in domain.loops)
        define = as_define(guard_ranges(replace(statement, domain=replace(domain, ranges=own))), False)
        return replace(define, domain=ir.Domain((), running, domain.exists, domain.loops))
    guard = ranges.effective_guard(statement)
    domain = ir.Domain((), None if guard is None else _guarded(guard), statement.domain.exists, statement.domain.loops)
    return replace(statement, value=_guarded(statement.value), domain=domain)


def _guarded(expr: ir.Expr) -> ir.Expr:
    if isinstance(expr, ir.Reduce):
        expr = replace(expr, guard=ranges.effective_guard(expr), ranges=())
    return ir.rebuild(expr, _guarded)
