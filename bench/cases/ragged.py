"""Rows that pointers cut out of an axis, and running sums by a guard: work that grows with what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .case import Arrays, Case, label

# Rows and their elements.
RAGGED_SIZES = {
    "tiny": [(5, 12)],
    "small": [(5000, 50_000)],
    "full": [(5000, 50_000), (50_000, 1_000_000)],
}
# The table of rows, and the test whether pointers are in order, are kept where XLA fuses a form by hand.
SLACK = 1 << 20
RUNNING_SIZES = {"tiny": [(9,)], "small": [(20_000,)], "full": [(20_000,), (1_000_000,)]}

Rows = Callable[[jax.Array], jax.Array]


def cases(size: str) -> Iterator[Case]:
    """Sparse products, softmaxes of rows, and running sums, at the sizes that `size` names."""
    for rows, elements in RAGGED_SIZES[size]:
        yield sparse_product(rows, elements)
        yield segment_softmax(rows, elements)
    for (length,) in RUNNING_SIZES[size]:
        yield running_sum(length)


def sparse_product(rows: int, elements: int) -> Case:
    """A matrix in compressed rows times a vector."""

    def by(row_of: Rows):
        def product(v, col, ptr, x):
            return jax.ops.segment_sum(v * x[col], row_of(ptr), rows, indices_are_sorted=True)

        return product

    def reference(v, col, ptr, x):
        return np.bincount(np.repeat(np.arange(rows), np.diff(ptr)), v.astype(np.float64) * x[col], rows)

    def make_arrays(rng: np.random.Generator) -> Arrays:
        v, x = rng.standard_normal(elements, np.float32), rng.standard_normal(rows, np.float32)
        return v, rng.integers(0, rows, elements, dtype=np.int32), _pointers(rng, rows, elements), x

    return Case(
        name=f"csr_product/{label(rows, elements)}",
        text="""
        def csr(float(E) v, int32(E) col, int32(R) ptr, float(C) x) -> (y) {
            y(i) +=! v(p) * x(col(p)) where p in ptr(i):ptr(i+1)
        }""",
        make_arrays=make_arrays,
        reference=reference,
        forms={name: by(row_of) for name, row_of in _ways(rows, elements).items()},
        tolerance=1e-3,
        slack=SLACK,
    )


def segment_softmax(rows: int, elements: int) -> Case:
    """The softmax of the elements of each row."""

    def by(row_of: Rows):
        def softmax(s, ptr):
            row = row_of(ptr)
            peak = lax.stop_gradient(jax.ops.segment_max(s, row, rows, indices_are_sorted=True))
            power = jnp.exp(s - peak[row])
            return power / jax.ops.segment_sum(power, row, rows, indices_are_sorted=True)[row]

        return softmax

    def reference(s, ptr):
        row = np.repeat(np.arange(rows), np.diff(ptr))
        power = np.exp(s.astype(np.float64))
        return power / np.bincount(row, power, rows)[row]

    return Case(
        name=f"segment_softmax/{label(rows, elements)}",
        text="""
        def softmax(float(E) s, int32(R) ptr) -> (w) {
            m(i) max=! s(p) where p in ptr(i):ptr(i+1)
            z(i) +=! exp(s(p) - m(i)) where p in ptr(i):ptr(i+1)
            w(p) = exp(s(p) - m(i)) / z(i) where p in ptr(i):ptr(i+1)
        }""",
        make_arrays=lambda rng: (rng.standard_normal(elements, np.float32), _pointers(rng, rows, elements)),
        reference=reference,
        forms={name: by(row_of) for name, row_of in _ways(rows, elements).items()},
        slack=SLACK,
    )


def running_sum(length: int) -> Case:
    """The sum of all elements up to each."""
    return Case(
        name=f"running_sum/{label(length)}",
        text="def running(float(N) x) -> (y) { y(i) = sum[j where j <= i](x(j)) where i in 0:x.0 }",
        make_arrays=lambda rng: (rng.standard_normal(length, np.float32),),
        reference=lambda x: np.cumsum(x, dtype=np.float64),
        forms={
            "cumsum": jnp.cumsum,
            "associative_scan": lambda x: lax.associative_scan(jnp.add, x),
        },
        tolerance=1e-2,
    )


def _pointers(rng: np.random.Generator, rows: int, elements: int) -> np.ndarray:
    inner = np.sort(rng.integers(0, elements + 1, rows - 1))
    return np.array([0, *inner, elements], np.int32)


def _ways(rows: int, elements: int) -> dict[str, Rows]:
    """Ways in which people find the row of each element."""

    def counted(ptr):
        begin = jnp.zeros(elements, jnp.int32).at[ptr].add(1, mode="drop", indices_are_sorted=True)
        return jnp.cumsum(begin) - 1

    return {
        "repeat": lambda ptr: jnp.repeat(
            jnp.arange(rows, dtype=jnp.int32), jnp.diff(ptr), total_repeat_length=elements
        ),
        "searchsorted": lambda ptr: jnp.searchsorted(ptr, jnp.arange(elements, dtype=jnp.int32), side="right") - 1,
        "counted": counted,
    }
