"""`deterministic=True`: only the program and the shapes determine the order of a sum."""

from pathlib import Path

import jax
import numpy as np
import pytest

import tcjax
from tcjax.runtime import compiler, determinism

ROWS = "def f(float(N,M) A) -> (O) { O(i) +=! A(i,j) }"


def picture() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(20, 30)).astype("float32")


def test_what_was_tuned_is_not_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[object] = []
    monkeypatch.setattr(compiler, "remembered", lambda *given: asked.append(given))

    tcjax.kernel(ROWS, deterministic=True)(picture())
    assert asked == []

    tcjax.kernel(ROWS)(picture())
    assert len(asked) == 1


def test_it_is_not_tuned() -> None:
    kernel = tcjax.kernel(ROWS, deterministic=True)

    with pytest.raises(tcjax.CompileError, match="TC0308") as caught:
        kernel.tune(picture(), seconds=1)

    assert "schedule" in str(caught.value)


def test_a_gpu_has_to_add_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.delenv("XLA_FLAGS", raising=False)

    with pytest.raises(tcjax.CompileError, match="xla_gpu_deterministic_ops"):
        tcjax.kernel(ROWS, deterministic=True)(picture())

    monkeypatch.setenv("XLA_FLAGS", f"--some {determinism.FLAG}")
    found = tcjax.kernel(ROWS, deterministic=True)(picture())
    np.testing.assert_allclose(found, picture().sum(1), rtol=1e-5, atol=1e-5)


def test_it_is_true_or_false() -> None:
    with pytest.raises(tcjax.CompileError, match="True or False"):
        tcjax.kernel(ROWS, deterministic="yes")  # type: ignore[arg-type]
