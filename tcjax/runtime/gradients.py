"""What the derivative of a plan needs, without computing it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import ir, planning
from ..diagnostics import CompileError
from ..planning.stages import scope_of


@dataclass(frozen=True, slots=True)
class Gradient:
    """Bytes that reverse mode by all float parameters needs beside arguments and results: the `peak`, and for each
    stage by its scope. Without a derivative, `reason` says why."""

    peak: int | None
    stages: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""


def gradient_of(plan: planning.Plan, fns: Mapping[str, Callable[..., Any]]) -> Gradient:
    """The derivative of a plan that may call `fns`, traced and not compiled; no output has an initial value."""
    reason = without_derivative(plan)
    if reason:
        return Gradient(None, reason=reason)
    from ..lowering.buffers import buffers

    try:
        found = buffers(traced_cotangents(plan, fns).jaxpr, frozenset(_scopes(plan)))
    except CompileError as error:
        return Gradient(None, reason=error.message)
    except Exception as error:
        # A Python function of the user may have no derivative.
        return Gradient(None, reason=f"JAX finds none: {str(error).splitlines()[0] if str(error) else error!r}"[:200])
    return Gradient(found.peak, found.stages)


def without_derivative(plan: planning.Plan) -> str:
    """Why there is nothing to differentiate; empty where there is."""
    function = plan.bound.function
    if not any(_is_smooth(tensor.dtype) for tensor in function.parameters):
        return "no parameter is a float"
    if not any(_is_smooth(tensor.dtype) for tensor in function.returns):
        return "no result is a float"
    return ""


def traced_cotangents(plan: planning.Plan, fns: Mapping[str, Callable[..., Any]]) -> Any:
    """The jaxpr of `cotangents`."""
    import jax

    arrays = {tensor.name: _shape(plan, tensor) for tensor in plan.bound.function.parameters}
    return jax.make_jaxpr(cotangents(plan, fns))(arrays, {}, weights(plan))


def weights(plan: planning.Plan) -> list[Any]:
    """The shapes and types of the float results."""
    return [_shape(plan, tensor) for tensor in plan.bound.function.returns if _is_smooth(tensor.dtype)]


def cotangents(plan: planning.Plan, fns: Mapping[str, Callable[..., Any]]) -> Callable[..., dict[str, Any]]:
    """Reverse mode as a function of the arguments by name, of initial values by name, and of the float results'
    cotangents: those of the float parameters by name."""
    import jax

    from .. import lowering

    smooth = {tensor.name for tensor in plan.bound.function.parameters if _is_smooth(tensor.dtype)}
    chosen = [number for number, tensor in enumerate(plan.bound.function.returns) if _is_smooth(tensor.dtype)]

    def pulled(arrays: Mapping[str, Any], initial: Mapping[str, Any], given: list[Any]) -> dict[str, Any]:
        def results(moving: dict[str, Any]) -> list[Any]:
            found = lowering.lower(plan, {**arrays, **moving}, initial, fns)
            return [found[number] for number in chosen]

        moving = {name: array for name, array in arrays.items() if name in smooth}
        return jax.vjp(results, moving)[1](given)[0]

    return pulled


def _shape(plan: planning.Plan, tensor: ir.Tensor) -> Any:
    import jax

    from ..lowering.context import numeric

    return jax.ShapeDtypeStruct(plan.bound.shapes[tensor.name], numeric(tensor.dtype))


def _is_smooth(dtype: str) -> bool:
    return ir.types.is_float(dtype) or ir.types.is_complex(dtype)


def _scopes(plan: planning.Plan) -> Iterator[str]:
    for number, stage in enumerate(plan.stages):
        name = scope_of(stage, number)
        yield name
        if isinstance(stage, planning.Call):
            yield from (f"{name}/{inner}" for inner in _scopes(stage.plan))


__all__ = ["Gradient", "cotangents", "gradient_of", "traced_cotangents", "weights", "without_derivative"]
