"""The loop nests inside of a traced function."""

from typing import Any

from jax.extend import core

from ..planning.data.nests import LoopSchedule, Nest
from .primitive import tcjax_p


def nests_of(jaxpr: core.Jaxpr) -> dict[Nest, LoopSchedule]:
    """The nests that a traced function computes, in order, and the forms that they run in."""
    found: dict[Nest, LoopSchedule] = {}
    for equation in jaxpr.eqns:
        if equation.primitive is tcjax_p and isinstance(equation.params["group"], Nest):
            found.setdefault(equation.params["group"], equation.params["form"])
        for inner in functions_of(equation):
            found = {**nests_of(inner), **found}
    return found


def functions_of(equation: Any) -> list[core.Jaxpr]:
    """The traced functions that an operation has as parameters, whatever their names: JAX's releases rename them."""
    values = [
        v for value in equation.params.values() for v in (value if isinstance(value, (tuple, list)) else (value,))
    ]
    # A function with its constants holds one without; the latter may hold itself.
    return [inner for value in values if isinstance(inner := getattr(value, "jaxpr", value), core.Jaxpr)]
