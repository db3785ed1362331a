"""Loops whose steps need earlier ones: cumulative sums, a linear recurrence, a recurrent layer, time warping."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .case import Arrays, Case, Form, label, normals
from .gradients import GROUP, gradient
from .ragged import logsumexp_forms, logsumexp_gradients, logsumexp_reference, sum_forms, sum_gradients

# (T, D)
SEQUENCES = {"tiny": [(7, 3)], "small": [(4096, 64)], "full": [(4096, 64), (16384, 64)]}
# (T, N)
LAYERS = {"tiny": [(5, 3)], "small": [(1024, 64)], "full": [(1024, 64), (4096, 128)]}
# (N, M)
WARPINGS = {"tiny": [(4, 5)], "small": [(256, 256)], "full": [(256, 256), (1024, 1024)]}


def cases(size: str) -> Iterator[Case]:
    """The loops at the sizes that `size` names, each with its derivative."""
    for sizes in SEQUENCES[size]:
        yield cumulative(*sizes)
        yield gradient(cumulative(*sizes), "cumsum", by_hand=sum_gradients(sizes[0]), groups=(GROUP,))
        yield cumulative_log(*sizes)
        yield gradient(cumulative_log(*sizes), "cumlogsumexp", by_hand=logsumexp_gradients(), groups=(GROUP,))
        yield linear(*sizes)
        yield gradient(linear(*sizes), "scan", by_hand={"by_hand": _linear_gradient, "unrolled": _unrolled_gradient})
    for sizes in LAYERS[size]:
        yield recurrent(*sizes)
        yield gradient(recurrent(*sizes), "scan")
    for sizes in WARPINGS[size]:
        yield warping(*sizes)
        yield gradient(warping(*sizes), "scans", by_hand={"by_hand": _warping_gradient}, groups=(GROUP,))


def cumulative(t: int, d: int) -> Case:
    return Case(
        name=f"running_loop/{label(t, d)}",
        text="""
        def running(float(T,D) x) -> (y) {
            y(0,d) = x(0,d)
            for t in 1:T { y(t,d) = y(t-1,d) + x(t,d) }
        }""",
        make_arrays=lambda rng: normals(rng, (t, d)),
        reference=lambda x: np.cumsum(x, 0, dtype=np.float64),
        forms={**sum_forms(t), "scan": lambda x: _scanned(jnp.ones_like(x), x)},
        tolerance=1e-3,
    )


def cumulative_log(t: int, d: int) -> Case:
    return Case(
        name=f"running_logsumexp_loop/{label(t, d)}",
        text="""
        def running(float(T,D) x) -> (y) {
            y(0,d) = x(0,d)
            for t in 1:T { y(t,d) = logaddexp(y(t-1,d), x(t,d)) }
        }""",
        make_arrays=lambda rng: normals(rng, (t, d)),
        reference=logsumexp_reference,
        forms=logsumexp_forms(),
    )


def linear(t: int, d: int) -> Case:
    def associative(a, b):
        return lax.associative_scan(lambda one, two: (one[0] * two[0], two[0] * one[1] + two[1]), (a, b))[1]

    def reference(a, b):
        h = b.astype(np.float64)
        for step in range(1, t):
            h[step] += a[step] * h[step - 1]
        return h

    def make_arrays(rng: np.random.Generator) -> Arrays:
        return rng.uniform(0.5, 1.0, (t, d)).astype(np.float32), *normals(rng, (t, d))

    return Case(
        name=f"linear_loop/{label(t, d)}",
        text="""
        def linear(float(T,D) a, float(T,D) b) -> (h) {
            h(0,d) = b(0,d)
            for t in 1:T { h(t,d) = a(t,d) * h(t-1,d) + b(t,d) }
        }""",
        make_arrays=make_arrays,
        reference=reference,
        forms={"scan": _scanned, "unrolled": partial(_scanned, unroll=4), "associative": associative},
    )


def recurrent(t: int, n: int) -> Case:
    def scan(W, x):
        def step(h, row):
            h = jnp.tanh(W @ h + row)
            return h, h

        _, rows = lax.scan(step, x[0], x[1:])
        return jnp.concatenate([x[:1], rows])

    def reference(W, x):
        h = x.astype(np.float64)
        for step in range(1, t):
            h[step] = np.tanh(W.astype(np.float64) @ h[step - 1] + x[step])
        return h

    def make_arrays(rng: np.random.Generator) -> Arrays:
        W, x = normals(rng, (n, n), (t, n))
        return W / np.float32(2 * np.sqrt(n)), x

    return Case(
        name=f"recurrent_layer/{label(t, n)}",
        text="""
        def layer(float(N,N) W, float(T,N) x) -> (h) {
            h(0,n) = x(0,n)
            for t in 1:T { h(t,n) = tanh(sum[m](W(n,m) * h(t-1,m)) + x(t,n)) }
        }""",
        make_arrays=make_arrays,
        reference=reference,
        forms={"scan": scan},
    )


def warping(n: int, m: int) -> Case:
    def make_arrays(rng: np.random.Generator) -> Arrays:
        # Sums of such numbers are exact in float32, so that each minimum is where it is in float64.
        return tuple(np.round(np.abs(a) * 4096) / np.float32(4096) for a in normals(rng, (n, m)))

    def reference(c):
        D = c.astype(np.float64)
        for i in range(1, n):
            for j in range(1, m):
                D[i, j] += min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
        return D

    return Case(
        name=f"warping/{label(n, m)}",
        text="""
        def warping(float(N,M) c) -> (D) {
            D(i,0) = c(i,0)
            D(0,j) = c(0,j)
            for i in 1:N { for j in 1:M { D(i,j) = c(i,j) + min(D(i-1,j), min(D(i,j-1), D(i-1,j-1))) } }
        }""",
        make_arrays=make_arrays,
        reference=reference,
        forms={"scans": _warped, "diagonals": _by_diagonals},
    )


def _warped(c: jax.Array) -> jax.Array:
    def row(before, costs):
        def cell(left, given):
            cost, up, diagonal = given
            value = cost + jnp.minimum(up, jnp.minimum(left, diagonal))
            return value, value

        _, values = lax.scan(cell, costs[0], (costs[1:], before[1:], before[:-1]))
        values = jnp.concatenate([costs[:1], values])
        return values, values

    _, rows = lax.scan(row, c[0], c[1:])
    return jnp.concatenate([c[:1], rows])


def _by_diagonals(c: jax.Array) -> jax.Array:
    n, m = c.shape
    i = jnp.arange(n)

    def diagonal(two, given):
        costs, d = given
        before, last = two
        above, corner = (jnp.pad(a[:-1], (1, 0)) for a in (last, before))
        left = last
        inner = costs + jnp.minimum(above, jnp.minimum(left, corner))
        values = jnp.where((i == 0) | (i == d), costs, inner)
        return (last, values), values

    nothing = jnp.zeros(n, c.dtype)
    _, found = lax.scan(diagonal, (nothing, nothing), (_skewed(c), jnp.arange(n + m - 1)))
    return _straight(found, m)


def _skewed(c: jax.Array) -> jax.Array:
    """The diagonals of ``(n, m)`` as rows: ``c[i, d - i]`` at ``(d, i)``."""
    n, m = c.shape
    return jnp.pad(c, ((0, 0), (0, n))).reshape(-1)[: n * (n + m - 1)].reshape(n, n + m - 1).T


def _straight(rows: jax.Array, m: int) -> jax.Array:
    d, n = rows.shape
    return jnp.pad(rows.T.reshape(-1), (0, n)).reshape(n, d + 1)[:, :m]


def _warping_gradient(c: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Row by row from the last one: each element passes its derivative to the smallest of its three predecessors."""
    D = _warped(c)
    up, left, corner = D[:-1, 1:], D[1:, :-1], D[:-1, :-1]
    to_up = _part(up, jnp.minimum(left, corner))
    to_left = (1 - to_up) * _part(left, corner)
    parts = to_up, to_left, 1 - to_up - to_left

    def row(below, given):
        weights, (ups, lefts, corners) = given

        def cell(right, given):
            value = given[0] + right
            return value * given[1], value

        first, values = lax.scan(cell, jnp.zeros((), c.dtype), (weights[1:] + below[1:], lefts), reverse=True)
        # The first element of a row passes nothing on.
        corner = jnp.concatenate([values * corners, jnp.zeros(1, c.dtype)])
        above = jnp.concatenate([jnp.zeros(1, c.dtype), values * ups]) + corner
        return above, jnp.concatenate([(weights[0] + below[0] + first)[None], values])

    first, rows = lax.scan(row, jnp.zeros_like(c[0]), (w[1:], parts), reverse=True)
    return D, jnp.concatenate([(w[0] + first)[None], rows])


def _part(one: jax.Array, other: jax.Array) -> jax.Array:
    return jnp.where(one < other, 1.0, jnp.where(one == other, 0.5, 0.0)).astype(one.dtype)


def _scanned(a: jax.Array, b: jax.Array, unroll: int = 1) -> jax.Array:
    """``h[t] = a[t] * h[t-1] + b[t]`` from zero."""

    def step(h, given):
        h = given[0] * h + given[1]
        return h, h

    return lax.scan(step, jnp.zeros_like(b[0]), (a, b), unroll=unroll)[1]


def _linear_gradient(
    a: jax.Array, b: jax.Array, w: jax.Array, unroll: int = 1
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The same loop backwards: ``d_b[t] = a[t+1] * d_b[t+1] + w[t]``, and ``d_a[t] = d_b[t] * h[t-1]``."""
    h = _scanned(a, b, unroll)

    def step(later, given):
        factor, weight, before = given
        here = later + weight
        return factor * here, (here * before, here)

    before = jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]])
    _, (d_a, d_b) = lax.scan(step, jnp.zeros_like(b[0]), (a, w, before), reverse=True, unroll=unroll)
    return h, d_a, d_b


_unrolled_gradient: Form = partial(_linear_gradient, unroll=4)
