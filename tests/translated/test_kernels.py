"""Every spelling of every kernel: its values, and its gradients against differences of the reference."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.translated import CASES
from tests.translated.case import Array, Case, Results

SPELLINGS = [pytest.param(case, spelling, id=f"{case.name}-{spelling}") for case in CASES for spelling in case.programs]
SMOOTH = [parameter for parameter in SPELLINGS if parameter.values[0].smooth]


def single(value: Array) -> Array:
    """The array in 32 bits, as programs take it."""
    narrow = {"float64": np.float32, "complex128": np.complex64, "int64": np.int32}
    return value.astype(narrow.get(value.dtype.name, value.dtype))


def called(case: Case, spelling: str, arguments: dict[str, Any]) -> tuple[jax.Array, ...]:
    results = case.programs[spelling](*arguments.values(), **case.sizes)
    return results if isinstance(results, tuple) else (results,)


def close(results: Any, expected: Results, tolerance: float) -> None:
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        assert result.shape == wanted.shape
        scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
        np.testing.assert_allclose(np.asarray(result), wanted, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize(("case", "spelling"), SPELLINGS)
def test_values(case: Case, spelling: str):
    arguments = {name: single(value) for name, value in case.arguments.items()}
    close(called(case, spelling, arguments), case.expected(), case.tolerance)


@pytest.mark.parametrize(("case", "spelling"), SPELLINGS)
def test_the_interpreter_agrees(case: Case, spelling: str):
    arguments = {name: single(value) for name, value in case.arguments.items()}
    results = case.programs[spelling].interpret(*arguments.values(), **case.sizes)
    close(results if isinstance(results, tuple) else (results,), case.expected(), case.tolerance)


def weighed(results: Any, weights: list[Array], numbers: Any) -> Any:
    """One number of all results: their sum with weights that tell the elements apart."""
    return sum(numbers.sum(result * weight) for result, weight in zip(results, weights, strict=True))


@pytest.mark.parametrize(("case", "spelling"), SMOOTH)
def test_gradients(case: Case, spelling: str):
    rng = np.random.default_rng(7)
    weights = [rng.normal(size=result.shape) for result in case.expected()]
    fixed = {name: single(value) for name, value in case.arguments.items()}

    def loss(moving: dict[str, Any]) -> jax.Array:
        return weighed(called(case, spelling, fixed | moving), [single(weight) for weight in weights], jnp)

    gradient = jax.grad(loss)({name: fixed[name] for name in case.smooth})
    for name in case.smooth:
        direction = rng.normal(size=case.arguments[name].shape)

        def moved(step: float, name: str = name, direction: Array = direction) -> float:
            return float(weighed(case.expected(**{name: case.arguments[name] + step * direction}), weights, np))

        slope = (moved(1e-5) - moved(-1e-5)) / 2e-5
        size = float(np.abs(np.asarray(gradient[name], np.float64) * direction).sum())
        found = float((np.asarray(gradient[name], np.float64) * direction).sum())
        assert np.isfinite(found)
        assert abs(found - slope) <= 100 * case.tolerance * max(1.0, size, abs(slope)), f"of {name}"
