"""Tiled kernels: the memory that a schedule saves, and the time that it costs."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from .case import Case, label, normals

# Rows, inputs, hidden units, outputs, rows of a tile.
MLP_SIZES = {"tiny": [(7, 3, 5, 2, 3)], "small": [(4096, 128, 2048, 10, 512)], "full": [(16384, 256, 4096, 16, 512)]}
# Rows, columns, rows of a tile.
SOFTMAX_SIZES = {"tiny": [(7, 5, 3)], "small": [(4096, 512, 128)], "full": [(16384, 2048, 128)]}
# Height, width, first and second kernel, tile.
CONVOLUTION_SIZES = {"tiny": [(9, 8, 3, 2, 4)], "small": [(260, 260, 3, 3, 32)], "full": [(1032, 1032, 5, 5, 64)]}


def cases(size: str) -> Iterator[Case]:
    """The scheduled kernels at the sizes that `size` names."""
    yield from (mlp_by_rows(*sizes) for sizes in MLP_SIZES[size])
    yield from (softmax_by_rows(*sizes) for sizes in SOFTMAX_SIZES[size])
    yield from (two_convolutions(*sizes) for sizes in CONVOLUTION_SIZES[size])


def mlp_by_rows(b: int, i: int, h: int, o: int, rows: int) -> Case:
    """Two layers whose hidden units exist for a few rows at a time."""

    def scheduled(library):
        kernel = library["mlp"]
        schedule = kernel.schedule().split("y", "b", rows, outer="bo")
        return kernel.with_schedule(schedule.compute_at("r", "y", "bo").compute_at("t", "y", "bo"))

    def by_rows(x, w, v):
        padded = jnp.pad(x, ((0, -b % rows), (0, 0))).reshape(-1, rows, i)
        return jax.lax.map(lambda row: jnp.maximum(row @ w, 0) @ v, padded).reshape(-1, o)[:b]

    return Case(
        name=f"tiled_mlp/{label(b, i, h, o)}",
        text="""
        def mlp(float(B,I) x, float(I,H) w, float(H,O) v) -> (y) {
            t(b,h) +=! x(b,i) * w(i,h)
            r(b,h)   = fmax(t(b,h), 0.0)
            y(b,o) +=! r(b,h) * v(h,o)
        }""",
        make_arrays=lambda rng: normals(rng, (b, i), (i, h), (h, o)),
        reference=lambda x, w, v: np.maximum(x @ w, 0) @ v,
        forms={"whole": lambda x, w, v: jnp.maximum(x @ w, 0) @ v, "map over rows": by_rows},
        tolerance=1e-3,
        compose=scheduled,
    )


def softmax_by_rows(n: int, d: int, rows: int) -> Case:
    """Four statements that XLA fuses by itself: here tiles can only cost."""

    def scheduled(library):
        kernel = library["softmax"]
        schedule = kernel.schedule().split("y", "n", rows, outer="no")
        for stage in ("s", "e", "m"):
            schedule = schedule.compute_at(stage, "y", "no")
        return kernel.with_schedule(schedule)

    def reference(x):
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    return Case(
        name=f"tiled_softmax/{label(n, d)}",
        text="""
        def softmax(float(N,D) x) -> (y) {
            m(n) max=! x(n,d)
            e(n,d)   = exp(x(n,d) - m(n))
            s(n)  +=! e(n,d)
            y(n,d)   = e(n,d) / s(n)
        }""",
        make_arrays=lambda rng: normals(rng, (n, d)),
        reference=reference,
        forms={"whole": lambda x: jax.nn.softmax(x, axis=1)},
        compose=scheduled,
    )


def two_convolutions(height: int, width: int, first: int, second: int, tile: int) -> Case:
    """A convolution of a convolution, tile by tile with the halo that a tile needs."""

    def scheduled(library):
        kernel = library["twice"]
        schedule = kernel.schedule().tile("O", "y", "x", tile, tile, names=("yo", "xo", "yi", "xi"))
        return kernel.with_schedule(schedule.compute_at("T", "O", "xo"))

    def convolve(image, kernel):
        return jax.lax.conv(image[None, None], kernel[None, None], (1, 1), "VALID")[0, 0]

    def shifted(image, kernel):
        h, w = image.shape[0] - kernel.shape[0] + 1, image.shape[1] - kernel.shape[1] + 1
        return sum(
            image[p : p + h, q : q + w] * kernel[p, q] for p in range(kernel.shape[0]) for q in range(kernel.shape[1])
        )

    return Case(
        name=f"tiled_convolutions/{label(height, width, first, second)}",
        text="""
        def twice(float(H,W) I, float(P,Q) K, float(R,S) L) -> (O) {
            T(y,x) +=! I(y+p,x+q) * K(p,q)
            O(y,x) +=! T(y+r,x+s) * L(r,s)
        }""",
        make_arrays=lambda rng: normals(rng, (height, width), (first, first), (second, second)),
        reference=lambda I, K, L: shifted(shifted(I, K), L),
        forms={
            "conv": lambda I, K, L: convolve(convolve(I, K), L),
            "shifted slices": lambda I, K, L: shifted(shifted(I, K), L),
        },
        tolerance=1e-3,
        compose=scheduled,
    )
