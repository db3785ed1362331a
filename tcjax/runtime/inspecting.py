"""Kernels with ``checked=True``: the data of a call is checked before it is computed."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.experimental import checkify

from .. import planning, ranges
from ..diagnostics import DataError
from ..transforms.runtime_checks import NOWHERE, RuntimeCheck, inspect
from . import pipeline
from .frontends import Frontend, Value

if TYPE_CHECKING:
    from .calls import Calls

Inspection = tuple[planning.Plan, tuple[RuntimeCheck, ...]]


def inspection(frontend: Frontend, bound: ranges.Bound) -> Inspection:
    """The run-time checks of a call's data, and their messages."""
    with frontend.within_depth():
        found = inspect(bound, nan=frontend.options.checked == "nan")
    return pipeline.plan(frontend, found.bound, planning.Preferences()), found.checks


def inspected(
    kernel: "Calls",
    compiled: Callable[..., Any],
    initial: tuple[str, ...],
    sizes: tuple[tuple[str, int], ...],
    values: tuple[Value, ...],
) -> Callable[..., Any]:
    """The compiled kernel, preceded by checks of its data.

    With arrays it raises `DataError`. Inside a transformation it calls `checkify.check`, whose errors a surrounding
    `checkify.checkify` reports.
    """
    from .calls import call_of, named

    @jax.jit
    def look(*arrays: jax.Array) -> jax.Array:
        by_name, begin = named(kernel._frontend, initial, arrays)
        plan, _ = kernel._compiler.inspection(call_of(tuple(by_name.values()), begin, sizes, values))
        return jnp.stack(pipeline.lower(kernel._frontend, plan, by_name, begin))

    def run(*arrays: Any) -> Any:
        by_name, begin = named(kernel._frontend, initial, arrays)
        call = call_of(tuple(by_name.values()), begin, sizes, values)
        _, checks = kernel._compiler.inspection(call)
        if checks:
            _report(look(*map(jax.lax.stop_gradient, arrays)), checks)
        return compiled(*arrays)

    return run


def _report(found: Any, checks: tuple[RuntimeCheck, ...]) -> None:
    """Raises for the first check that failed; `found` has a point and a value for each."""
    if isinstance(found, Tracer):
        for number, check in enumerate(checks):
            first, value = found[2 * number], found[2 * number + 1]
            checkify.check(first == NOWHERE, check.said(), *_places(check, first), value)
        return
    numbers = np.asarray(found)
    for number, check in enumerate(checks):
        first, value = int(numbers[2 * number]), int(numbers[2 * number + 1])
        if first != NOWHERE:
            raise DataError(check.said().format(*_places(check, first), value), check.span)


def _places(check: RuntimeCheck, number: Any) -> list[Any]:
    """The values of the indices at the point with this number."""
    places: list[Any] = []
    for _, lo, extent in reversed(check.axes):
        places.insert(0, lo + number % extent)
        number = number // extent
    return places
