"""Loops whose steps need the one before: a cumulative sum, a linear recurrence, a recurrent layer, warping in time."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .case import Arrays, Case, label, normals
from .gradients import gradient

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
        yield linear(*sizes)
        yield gradient(linear(*sizes), "scan")
    for sizes in LAYERS[size]:
        yield recurrent(*sizes)
        yield gradient(recurrent(*sizes), "scan")
    for sizes in WARPINGS[size]:
        yield warping(*sizes)
    # On longer paths float32 takes other turns than the float64 of the reference.
    yield gradient(warping(*WARPINGS[size][0]), "scans")


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
        forms={"cumsum": lambda x: jnp.cumsum(x, 0), "scan": lambda x: _scanned(jnp.ones_like(x), x)},
        tolerance=1e-3,
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
        forms={"scan": _scanned, "associative": associative},
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
    def scans(c):
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
        make_arrays=lambda rng: tuple(np.abs(a) for a in normals(rng, (n, m))),
        reference=reference,
        forms={"scans": scans},
    )


def _scanned(a: jax.Array, b: jax.Array) -> jax.Array:
    """``h[t] = a[t] * h[t-1] + b[t]`` from zero."""

    def step(h, given):
        h = given[0] * h + given[1]
        return h, h

    return lax.scan(step, jnp.zeros_like(b[0]), (a, b))[1]
