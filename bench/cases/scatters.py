"""Sums scattered by data: rows of a matrix, and the weights of a histogram."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .case import Case, label, normals


def row_scatter(n: int, d: int, b: int) -> Case:
    """Each row of a matrix added to the row of the result that an index array names."""

    def in_order(X, I):
        order = jnp.argsort(I)
        return jax.ops.segment_sum(X[order], I[order], num_segments=b, indices_are_sorted=True)

    def reference(X, I):
        out = np.zeros((b, d))
        np.add.at(out, I, X)
        return out

    return Case(
        name=f"row_scatter/{label(n, d, b)}",
        text=f"def row_scatter(float(N,D) X, int32(N) I) -> (float({b},D) O) {{ O(I(n),d) +=! X(n,d) }}",
        make_arrays=lambda rng: (*normals(rng, (n, d)), rng.integers(0, b, n, dtype=np.int32)),
        reference=reference,
        forms={
            "at_add": lambda X, I: jnp.zeros((b, d), X.dtype).at[I].add(X),
            "in_bounds": lambda X, I: jnp.zeros((b, d), X.dtype).at[I].add(X, mode="promise_in_bounds"),
            "segment_sum": lambda X, I: jax.ops.segment_sum(X, I, num_segments=b),
            "in_order": in_order,
        },
        tolerance=1e-3,
    )


def histogram(n: int, b: int) -> Case:
    """The sum of the weights that fall into each bin."""

    def one_hot(w, bin):
        """A product with a one-hot matrix, a few thousand values at a time."""
        size = 1024 if n % 1024 == 0 else n
        hot = (bin.reshape(-1, size)[:, :, None] == jnp.arange(b)).astype(w.dtype)
        return jnp.einsum("gnb,gn->b", hot, w.reshape(-1, size))

    def in_parts(parts: int):
        """A histogram of each part, and their sum: additions to one bin wait for each other."""

        def counted(w, bin):
            if n % parts:
                return jnp.zeros(b, w.dtype).at[bin].add(w)
            places = bin.reshape(parts, -1) + b * jnp.arange(parts)[:, None]
            return jnp.zeros(parts * b, w.dtype).at[places.T].add(w.reshape(parts, -1).T).reshape(parts, b).sum(0)

        return counted

    def two_digits(w, bin):
        """The bin as two digits: a product of weighted and unweighted one-hot matrices, as a scan over blocks."""
        size, low = (4096 if n % 4096 == 0 else n), 16
        high = -(-b // low)

        def block(total, part):
            weight, place = part
            rows = jnp.where(place // low == jnp.arange(high)[:, None], weight, 0)
            columns = (place % low == jnp.arange(low)[:, None]).astype(w.dtype)
            return total + rows @ columns.T, None

        start = jnp.zeros((high, low), w.dtype)
        total, _ = jax.lax.scan(block, start, (w.reshape(-1, size), bin.reshape(-1, size)))
        return total.reshape(-1)[:b]

    return Case(
        name=f"histogram/{label(n, b)}",
        text=f"def histogram(float(N) w, int32(N) bin) -> (float({b}) H) {{ H(bin(n)) +=! w(n) }}",
        make_arrays=lambda rng: (*normals(rng, (n,)), rng.integers(0, b, n, dtype=np.int32)),
        reference=lambda w, bin: np.bincount(bin, w, b),
        forms={
            "at_add": lambda w, bin: jnp.zeros(b, w.dtype).at[bin].add(w),
            "in_bounds": lambda w, bin: jnp.zeros(b, w.dtype).at[bin].add(w, mode="promise_in_bounds"),
            "bincount": lambda w, bin: jnp.bincount(bin, weights=w, length=b),
            "segment_sum": lambda w, bin: jax.ops.segment_sum(w, bin, num_segments=b),
            "one_hot": one_hot,
            "in_two_parts": in_parts(2),
            "in_eight_parts": in_parts(8),
            "two_digits": two_digits,
        },
        tolerance=1e-3,
    )
