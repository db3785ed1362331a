"""How results and gradients are compared with those of a reference in double precision."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.translated.case import Array, Case, Results


def single(value: Array) -> Array:
    """The array in 32 bits, as programs take it."""
    narrow = {"float64": np.float32, "complex128": np.complex64, "int64": np.int32}
    return value.astype(narrow.get(value.dtype.name, value.dtype))


def called(case: Case, spelling: str, arguments: dict[str, Any]) -> tuple[jax.Array, ...]:
    results = case.kernel(spelling)(*arguments.values(), **case.sizes)
    return results if isinstance(results, tuple) else (results,)


def close(results: Any, expected: Results, tolerance: float) -> None:
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        assert result.shape == wanted.shape
        scale = max(1.0, float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)))
        np.testing.assert_allclose(np.asarray(result), wanted, rtol=tolerance, atol=tolerance * scale)


def interpreted(case: Case, spelling: str) -> Results:
    """The interpreter's results."""
    arguments = [single(value) for value in case.arguments.values()]
    results = case.kernel(spelling).interpret(*arguments, **case.sizes)
    return results if isinstance(results, tuple) else (results,)


def weighed(results: Any, weights: list[Array], numbers: Any) -> Any:
    """One number of all results: their sum with weights that tell the elements apart."""
    return sum(numbers.sum(result * weight) for result, weight in zip(results, weights, strict=True))


def differentiated(case: Case, spelling: str) -> tuple[jax.Array, ...]:
    """The results of the pass that also gives the gradients, after a comparison of these with differences."""
    rng = np.random.default_rng(7)
    weights = [rng.normal(size=result.shape) for result in case.expected()]
    fixed = {name: single(value) for name, value in case.arguments.items()}

    def loss(moving: dict[str, Any]) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        results = called(case, spelling, fixed | moving)
        return weighed(results, [single(weight) for weight in weights], jnp), results

    gradient, results = jax.grad(loss, has_aux=True)({name: fixed[name] for name in case.smooth})
    for name in case.smooth:
        direction = rng.normal(size=case.arguments[name].shape)

        def moved(step: float, name: str = name, direction: Array = direction) -> float:
            return float(weighed(case.expected(**{name: case.arguments[name] + step * direction}), weights, np))

        slope = (moved(1e-5) - moved(-1e-5)) / 2e-5
        size = float(np.abs(np.asarray(gradient[name], np.float64) * direction).sum())
        found = float((np.asarray(gradient[name], np.float64) * direction).sum())
        assert np.isfinite(found)
        assert abs(found - slope) <= 100 * case.tolerance * max(1.0, size, abs(slope)), f"of {name}"
    return results
