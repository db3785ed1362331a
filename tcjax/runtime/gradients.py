"""Reverse mode of a plan, traced but not computed: whether it exists, and which loops it runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import ir, planning
from ..diagnostics import CompileError
from .depth import within_depth

if TYPE_CHECKING:
    from ..lowering.traced import Run


def reverse_mode(plan: planning.Plan, fns: Mapping[str, Callable[..., Any]]) -> tuple[str, Sequence["Run"]]:
    """Why a plan that may call `fns` has no derivative with respect to float parameters (empty if it has one); its
    loops.
    """
    from ..lowering.traced import runs_of

    reason = without_derivative(plan)
    if reason:
        return reason, ()
    try:
        with within_depth(plan.name, plan.bound.function.span):
            return "", runs_of(traced_cotangents(plan, fns))
    except CompileError as error:
        return error.message, ()
    except Exception:
        # JAX may be unable to differentiate the user's functions, and may raise anything. Other exceptions are bugs.
        reason = _underivable(plan, fns)
        if reason is None:
            raise
        return reason, ()


def without_derivative(plan: planning.Plan) -> str:
    """Why there is nothing to differentiate; empty if there is."""
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
    """Reverse mode as a function of the arguments, the initial values (both by name), and the float results'
    cotangents; it returns the cotangents of the float parameters by name.
    """
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


class _Underivable(Exception):
    """A user's function has no derivative."""


def _underivable(plan: planning.Plan, fns: Mapping[str, Callable[..., Any]]) -> str | None:
    """The user's function that JAX cannot differentiate, with JAX's message; None if there is none."""

    def alone(name: str) -> Callable[..., Any]:
        def called(*arrays: Any) -> Any:
            _differentiate(name, fns[name], arrays)
            return fns[name](*arrays)

        return called

    try:
        for monoid in _monoids(plan):
            _differentiate(monoid.name, *_folded(monoid))
        traced_cotangents(plan, {name: alone(name) for name in fns})
    except _Underivable as error:
        return str(error)
    return None


def _differentiate(name: str, function: Callable[..., Any], arrays: Sequence[Any]) -> None:
    """Raises `_Underivable` if JAX has no reverse mode of a function for arrays of these shapes and types."""
    import jax
    import jax.numpy as jnp

    moving = [number for number, array in enumerate(arrays) if _is_smooth(str(jnp.result_type(array)))]

    def results(*given: Any) -> list[Any]:
        everything = dict(enumerate(arrays)) | dict(zip(moving, given, strict=True))
        found = jax.tree.leaves(function(*everything.values()))
        return [part for part in found if _is_smooth(str(jnp.result_type(part)))]

    def pulled(*given: Any) -> Any:
        found, back = jax.vjp(results, *given)
        return back(found)

    specs = [jax.ShapeDtypeStruct(jnp.shape(arrays[n]), jnp.result_type(arrays[n])) for n in moving]
    try:
        jax.eval_shape(pulled, *specs)
    except Exception as error:  # Only the user's function runs here.
        said = str(error).splitlines()[0] if str(error) else repr(error)
        raise _Underivable(f"JAX finds none of `{name}`: {said}"[:200]) from error


def _folded(monoid: ir.Monoid) -> tuple[Callable[[Any], Any], tuple[Any]]:
    """A registered reduction as a function of two elements, and the two."""
    import jax.numpy as jnp

    from ..lowering import registered

    dtype = monoid.element("float32")

    def reduced(pair: Any) -> Any:
        return registered.finish(monoid, registered.fold(monoid, registered.inject(monoid, pair, dtype)))

    return reduced, (jnp.ones(2, dtype),)


def _monoids(plan: planning.Plan) -> Iterator[ir.Monoid]:
    """The registered reductions of a plan and of its callees."""
    for stage in plan.stages:
        match stage:
            case planning.Compute(statement=statement):
                found = [node.reducer for node in ir.nodes_of(statement) if isinstance(node, ir.Reduce)]
                found += [statement.reducer] if isinstance(statement, ir.Accumulate) else []
                yield from (reducer for reducer in found if isinstance(reducer, ir.Monoid))
            case planning.Call(plan=inner):
                yield from _monoids(inner)
            case planning.CallForeign() | planning.Unstored():
                continue


def _shape(plan: planning.Plan, tensor: ir.Tensor) -> Any:
    import jax

    from ..lowering.context import numeric

    return jax.ShapeDtypeStruct(plan.bound.shapes[tensor.name], numeric(tensor.dtype))


def _is_smooth(dtype: str) -> bool:
    return ir.types.is_float(dtype) or ir.types.is_complex(dtype)


__all__ = ["cotangents", "reverse_mode", "traced_cotangents", "weights", "without_derivative"]
