"""Counts the scalar operations of a traced function, so that spellings that would run for minutes are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import jax

from tcjax.planning.blocked.vector_accumulators import plan_alone
from tcjax.planning.cost.meter import Meter
from tcjax.planning.data.nests import Nest

from ..cases.case import Form


def operations(function: Form, *arrays: Any) -> int:
    """The operations of ``function(*arrays)``, which is traced and not run; a loop without a known end counts once."""
    return _operations(jax.make_jaxpr(function)(*arrays).jaxpr)


def _operations(jaxpr: Any) -> int:
    return sum(map(_of_equation, jaxpr.eqns))


def _of_equation(equation: Any) -> int:
    given, found = ([variable.aval for variable in side] for side in (equation.invars, equation.outvars))
    params = equation.params
    if "group" in params:
        return sum(map(_of_nest, params["group"].results))
    match equation.primitive.name:
        case "scan":
            return params["length"] * _operations(params["jaxpr"].jaxpr)
        case "cond":
            return max(_operations(branch.jaxpr) for branch in params["branches"])
        case "dot_general":
            (contracted, _), _ = params["dimension_numbers"]
            return 2 * _size(found[0]) * prod(given[0].shape[axis] for axis in contracted)
        case "conv_general_dilated":
            kernel = given[1].shape
            return 2 * _size(found[0]) * prod(kernel) // kernel[params["dimension_numbers"].rhs_spec[0]]
    inner = list(_inner(params))
    return sum(map(_operations, inner)) if inner else max(map(_size, (*given, *found)), default=0)


def _of_nest(nest: Nest) -> int:
    return Meter({index: max(0, hi - lo) for index, lo, hi in nest.box}).flops(plan_alone(nest))


def _inner(params: dict[str, Any]) -> Iterator[Any]:
    """The jaxprs that an equation calls."""
    for value in params.values():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(one, "jaxpr"):
                yield one.jaxpr
            elif hasattr(one, "eqns"):
                yield one


def _size(aval: Any) -> int:
    return prod(getattr(aval, "shape", ()))
