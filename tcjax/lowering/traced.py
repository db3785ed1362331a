"""The loops inside of a traced function."""

from collections.abc import Iterator
from typing import Any

from jax.extend import core
from jax.interpreters import partial_eval as pe

from ..planning.data.groups import Blocks, Group
from ..planning.data.nests import LoopSchedule, Nest
from ..planning.data.preferences import Backend
from .primitive import tcjax_p

# Reductions over the same points, how their loops run, and on which backend.
Run = tuple[Group, LoopSchedule | Blocks, Backend]


def runs_of(traced: Any) -> tuple[Run, ...]:
    """What a traced function runs that its results need, each once, in order."""
    needed, _ = pe.dce_jaxpr(traced.jaxpr, [True] * len(traced.jaxpr.outvars))
    return tuple(dict.fromkeys(_runs(needed)))


def nests_of(jaxpr: core.Jaxpr) -> dict[Nest, LoopSchedule]:
    """The nests that a traced function computes, in order, and the forms that they run in."""
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
    """The traced functions that an operation has as parameters, whatever their names: JAX's releases rename them."""
    values = [
        v for value in equation.params.values() for v in (value if isinstance(value, (tuple, list)) else (value,))
    ]
    # A function with its constants holds one without; the latter may hold itself.
    return [inner for value in values if isinstance(inner := getattr(value, "jaxpr", value), core.Jaxpr)]
