"""A condition that holds wherever data is in bounds of the target is dropped, as other values are dropped anyway."""

import numpy as np
import pytest

import tcjax
from tcjax import ir
from tcjax.planning import Compute

N, B, D = 60, 20, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)).astype(np.float32)
# Some are outside.
I = RNG.integers(-3, B + 3, N).astype(np.int32)

ALWAYS = (
    "O(I(n),d) +=! X(n,d) where I(n) >= 0",
    "O(I(n),d) +=! X(n,d) where I(n) < 20 && -1 < I(n)",
    "O(I(n),d) +=! X(n,d) where 0 <= I(n) + 2 && I(n) != 20",
    "O(I(n),d) +=! X(n,d) where 25 - I(n) > 5",
    "O(I(n),d) +=! X(n,d) * float(I(n) >= 0)",
    "O(I(n),d) +=! I(n) >= 0 ? X(n,d) : 0.0",
    "O(I(n),d) +=! I(n) >= 0 ? X(n,d) : 1.0",
    "O(I(n) - 2,d) +=! X(n,d) where I(n) >= 2 && I(n) <= 21",
    "O(b,d) +=! X(n,d) where b == I(n) && I(n) >= 0, b in 0:20",
    "O(I(n),d) max=! X(n,d) where I(n) >= 0",
)
SOMETIMES = (
    "O(I(n),d) +=! X(n,d) where I(n) >= 1",
    "O(I(n),d) +=! X(n,d) where I(n) < 19",
    "O(I(n) - 2,d) +=! X(n,d) where I(n) >= 3",
    "O(I(n),d) +=! X(n,d) where 2 * I(n) >= 5",
    "O(I(n),d) +=! X(n,d) * float(I(n) == 3)",
    "O(I(n),d) +=! X(n,d) where X(n,0) >= 0.0",
)


def kernel_of(text: str) -> tcjax.Kernel:
    return tcjax.kernel(f"def f(float(N,D) X, int(N) I) -> (float(20,D) O) {{ {text} }}")


def has_condition(text: str) -> bool:
    (stage,) = kernel_of(text).plan(X, I).stages
    assert isinstance(stage, Compute) and stage.proviso is None
    statement = stage.statement
    parts = [*ir.walk(statement.value)]
    if statement.domain.guard is not None:
        parts += ir.walk(statement.domain.guard)
    return any(part.dtype == "bool" for part in parts if isinstance(part, ir.Binary))


@pytest.mark.parametrize("text", ALWAYS)
def test_what_every_place_tells_is_no_condition(text: str) -> None:
    assert not has_condition(text)


@pytest.mark.parametrize("text", [text for text in SOMETIMES if "float(" not in text])
def test_what_some_places_tell_is_one(text: str) -> None:
    assert has_condition(text)


@pytest.mark.parametrize("text", ALWAYS + SOMETIMES)
def test_the_result_is_the_same(text: str) -> None:
    kernel = kernel_of(text)
    np.testing.assert_allclose(kernel(X, I), kernel.interpret(X, I), rtol=2e-5, atol=2e-5)


def test_what_is_infinite_and_has_no_place_does_not_count() -> None:
    spoiled = np.where(I[:, None] < 0, np.float32("inf"), X)
    kernel = kernel_of("O(I(n),d) +=! X(n,d) * float(I(n) >= 0)")
    assert np.isfinite(kernel(spoiled, I)).all()
    np.testing.assert_allclose(kernel(spoiled, I), kernel.interpret(spoiled, I), rtol=2e-5, atol=2e-5)
