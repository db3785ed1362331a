"""Ragged rows between pointers, and running sums by a guard: work proportional to the number of elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .case import Arrays, Case, Form, label
from .gradients import GROUP, gradient

# Rows and their elements.
RAGGED_SIZES = {
    "tiny": [(5, 12)],
    "small": [(5000, 50_000)],
    "full": [(5000, 50_000), (50_000, 1_000_000)],
}
# tcjax stores the table of rows and the test whether pointers are sorted, which XLA fuses in hand-written forms.
SLACK = 1 << 20
RUNNING_SIZES = {"tiny": [(9,)], "small": [(20_000,)], "full": [(20_000,), (1_000_000,)]}

Rows = Callable[[jax.Array], jax.Array]


def cases(size: str) -> Iterator[Case]:
    """Sparse products, softmaxes of rows, and running sums, at the sizes that `size` names."""
    for rows, elements in RAGGED_SIZES[size]:
        ways = _ways(rows, elements)
        yield sparse_product(rows, elements)
        by_hand = {f"{name}_by_hand": _product_gradient(way, rows) for name, way in ways.items()}
        yield gradient(sparse_product(rows, elements), "repeat", by_hand=by_hand, groups=(GROUP,))
        yield segment_softmax(rows, elements)
        by_hand = {f"{name}_by_hand": _softmax_gradient(way, rows) for name, way in ways.items()}
        yield gradient(segment_softmax(rows, elements), "repeat", by_hand=by_hand, groups=(GROUP,))
    for (length,) in RUNNING_SIZES[size]:
        yield running_sum(length)
        yield gradient(running_sum(length), "cumsum", by_hand=sum_gradients(length), groups=(GROUP,))
        yield running_logsumexp(length)
        yield gradient(running_logsumexp(length), "cumlogsumexp", by_hand=logsumexp_gradients(), groups=(GROUP,))


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
            return _softmax_of_rows(s, row_of(ptr), rows)

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
        forms=sum_forms(length),
        tolerance=1e-2,
    )


def running_logsumexp(length: int) -> Case:
    """The logarithm of the sum of the exponentials of all elements up to each."""
    return Case(
        name=f"running_logsumexp/{label(length)}",
        text="def running(float(N) x) -> (y) { y(i) = logsumexp[j where j <= i](x(j)) where i in 0:x.0 }",
        make_arrays=lambda rng: (rng.standard_normal(length, np.float32),),
        reference=logsumexp_reference,
        forms=logsumexp_forms(),
    )


def sum_forms(length: int) -> dict[str, Form]:
    """Running sums along the first axis."""
    return {
        "cumsum": lambda x: jnp.cumsum(x, 0),
        "associative_scan": lambda x: lax.associative_scan(jnp.add, x),
        "blocks": partial(_sums_of_blocks, size=_block(length)),
    }


def sum_gradients(length: int) -> dict[str, Form]:
    """The same with the gradient, which is a running sum from the other end."""
    return {
        "cumsum_by_hand": lambda x, w: (lax.cumsum(x), lax.cumsum(w, reverse=True)),
        "blocks_by_hand": lambda x, w: tuple(
            _sums_of_blocks(a, size=_block(length), reverse=reverse) for a, reverse in ((x, False), (w, True))
        ),
    }


def _block(length: int) -> int:
    """A divisor near the square root."""
    return max(size for size in range(1, int(length**0.5) + 1) if length % size == 0)


def _sums_of_blocks(x: jax.Array, *, size: int, reverse: bool = False) -> jax.Array:
    """Sums in each block, and before each."""
    blocks = x.reshape(-1, size, *x.shape[1:])
    inside = lax.cumsum(blocks, 1, reverse=reverse)
    whole = inside[:, 0 if reverse else -1]
    return (inside + (lax.cumsum(whole, 0, reverse=reverse) - whole)[:, None]).reshape(x.shape)


def logsumexp_reference(x: np.ndarray) -> np.ndarray:
    return np.logaddexp.accumulate(x.astype(np.float64), 0)


def logsumexp_forms() -> dict[str, Form]:
    """Running sums of exponentials along the first axis, as their logarithms.

    One maximum for all does not work: values a hundred below it become minus infinity.
    """

    def online(x):
        def step(state, value):
            peak, total = state
            new = jnp.maximum(peak, value)
            total = total * jnp.exp(peak - new) + jnp.exp(value - new)
            return (new, total), new + jnp.log(total)

        return lax.scan(step, (jnp.full_like(x[0], -jnp.inf), jnp.zeros_like(x[0])), x)[1]

    def scan(x):
        def step(before, value):
            new = jnp.logaddexp(before, value)
            return new, new

        return lax.scan(step, jnp.full_like(x[0], -1e30), x)[1]

    return {
        "cumlogsumexp": lambda x: lax.cumlogsumexp(x),
        "associative_scan": lambda x: lax.associative_scan(jnp.logaddexp, x),
        "scan": scan,
        "online": online,
    }


def logsumexp_gradients() -> dict[str, Form]:
    """The same with the gradient: ``d_x[j] = sum of w[i] * exp(x[j] - y[i])`` over i from j on."""

    def scan(x, w):
        y = logsumexp_forms()["online"](x)

        def step(later, given):
            value, weight, share = given
            here = weight + later
            return here * share, here * value

        before = jnp.concatenate([y[:1], y[:-1]])
        parts = jnp.exp(x - y), w, jnp.exp(before - y)
        return y, lax.scan(step, jnp.zeros_like(x[0]), parts, reverse=True)[1]

    return {"scan_by_hand": scan}


def _product_gradient(row_of: Rows, rows: int) -> Form:
    def product(v, col, ptr, x, w):
        row, read = row_of(ptr), x[col]
        handed = w[row]
        y = jax.ops.segment_sum(v * read, row, rows, indices_are_sorted=True)
        return y, handed * read, jax.ops.segment_sum(handed * v, col, x.shape[0])

    return product


def _softmax_gradient(row_of: Rows, rows: int) -> Form:
    def softmax(s, ptr, w):
        row = row_of(ptr)
        share = _softmax_of_rows(s, row, rows)
        return share, share * (w - jax.ops.segment_sum(share * w, row, rows, indices_are_sorted=True)[row])

    return softmax


def _softmax_of_rows(s: jax.Array, row: jax.Array, rows: int) -> jax.Array:
    peak = lax.stop_gradient(jax.ops.segment_max(s, row, rows, indices_are_sorted=True))
    power = jnp.exp(s - peak[row])
    return power / jax.ops.segment_sum(power, row, rows, indices_are_sorted=True)[row]


def _pointers(rng: np.random.Generator, rows: int, elements: int) -> np.ndarray:
    inner = np.sort(rng.integers(0, elements + 1, rows - 1))
    return np.array([0, *inner, elements], np.int32)


def _ways(rows: int, elements: int) -> dict[str, Rows]:
    """Common ways to find the row of each element."""

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
