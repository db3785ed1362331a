"""Interpreted kernels in which masked lanes hold poison."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.pallas import triton

from tcjax.lowering.pallas_triton import emitter
from tcjax.lowering.pallas_triton import tile_values as expressions


def _poison(dtype: Any) -> Any:
    """A value that no test expects: NaN, or a large number."""
    kind = np.dtype(dtype)
    if jnp.issubdtype(kind, jnp.floating):
        return np.asarray(np.nan, kind)[()]
    return np.asarray(kind.type(1) if kind == np.bool_ else np.iinfo(kind).max - 5, kind)[()]


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Reads and writes as on a GPU: nothing is clamped, and masked lanes are undefined.

    A lane whose mask is set must be in bounds, even if its value is not used. A masked lane gets poison instead of the
    fill that the kernel requests.
    """
    outside: list[str] = []

    def check(kind: str, reference: Any, mask: Any) -> None:
        (offset,) = reference.transforms[-1].indices
        leaves = (offset < 0) | (offset >= reference.ref.shape[0])
        wrong = jnp.any(leaves if mask is None else leaves & mask)
        jax.debug.callback(lambda found: outside.append(kind) if found else None, wrong)

    def load(reference: Any, *, mask: Any = None, other: Any = None) -> Any:
        check("a read", reference, mask)
        if mask is None:
            return triton.load(reference)
        value = triton.load(reference, mask=mask, other=other)
        return jnp.where(mask, value, _poison(value.dtype))

    def store(reference: Any, value: Any, *, mask: Any = None) -> None:
        check("a write", reference, mask)
        triton.store(reference, value, mask=mask)

    monkeypatch.setattr(expressions, "triton", SimpleNamespace(load=load))
    monkeypatch.setattr(emitter, "triton", SimpleNamespace(store=store, CompilerParams=triton.CompilerParams))
    yield
    jax.effects_barrier()
    assert not outside, f"outside of an array: {outside}"
