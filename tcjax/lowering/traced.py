"""Finds the loops in a traced function."""

from collections.abc import Iterator
from typing import Any

from jax.extend import core
from jax.interpreters import partial_eval as pe

from ..planning.data.groups import Blocks, Group
from ..planning.data.nests import LoopSchedule, Nest
from ..planning.data.preferences import Backend
from .primitive import tcjax_p

# Reductions over the same points, their loop schedule, and the backend.
Run = tuple[Group, LoopSchedule | Blocks, Backend]


def runs_of(traced: Any) -> tuple[Run, ...]:
    """The loops of a traced function that its results need, each once, in order."""
    needed, _ = pe.dce_jaxpr(traced.jaxpr, [True] * len(traced.jaxpr.outvars))
    return tuple(dict.fromkeys(_runs(needed)))


def nests_of(jaxpr: core.Jaxpr) -> dict[Nest, LoopSchedule]:
    """The nests that a traced function computes, in order, and their schedules."""
    found: dict[Nest, LoopSchedule] = {}
    for group, form, _ in _runs(jaxpr):
        if isinstance(group, Nest) and isinstance(form, LoopSchedule):
            found.setdefault(group, form)
    return found


def _runs(jaxpr: core.Jaxpr) -> Iterator[Run]:
    for equation in jaxpr.eqns:
        if equation.primitive is tcjax_p:
            yield tuple(equation.params[name] for name in ("group", "form", "backend"))
        for inner in functions_of(equation):
            yield from _runs(inner)


def functions_of(equation: Any) -> list[core.Jaxpr]:
    """The traced functions among an operation's parameters, whatever their names, which change between JAX releases."""
    values = [
        v for value in equation.params.values() for v in (value if isinstance(value, (tuple, list)) else (value,))
    ]
    # A closed jaxpr contains an open one; the latter may contain more.
    return [inner for value in values if isinstance(inner := getattr(value, "jaxpr", value), core.Jaxpr)]
