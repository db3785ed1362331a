"""Divided, wrapped and clamped subscripts: reshapes, rolls and pads in JAX programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import lax

from .case import Case, Form, label, normals
from .gradients import GROUP, gradient

DIGITS = {"tiny": [4], "small": [1024], "full": [2048]}
HEADS = {"tiny": [(2, 3, 5, 4)], "small": [(8, 16, 256, 64)], "full": [(32, 16, 512, 64)]}
SHUFFLES = {"tiny": [(3, 2, 4, 5)], "small": [(32, 2, 256, 256)], "full": [(64, 4, 256, 256)]}
PATCHES = {"tiny": [(7, 8, 3)], "small": [(512, 512, 3)], "full": [(1024, 1024, 5)]}
STENCILS = {"tiny": [(6, 8)], "small": [(512, 512), (2048, 2048)], "full": [(1024, 1024), (4096, 4096)]}
TORI = {"tiny": [(6, 8)], "small": [(1024, 1024)], "full": [(1024, 1024), (4096, 4096)]}
CIRCLES = {"tiny": [(9, 4)], "small": [(1 << 18, 9)], "full": [(1 << 22, 9)]}


def cases(size: str) -> Iterator[Case]:
    """The subscripts at the sizes that `size` names."""
    yield from (transposed_digits(n) for n in DIGITS[size])
    yield from (merged_heads(*sizes) for sizes in HEADS[size])
    yield from (pixel_shuffle(*sizes) for sizes in SHUFFLES[size])
    yield from (patches(*sizes) for sizes in PATCHES[size])
    yield from _with_gradients(torus(*sizes) for sizes in TORI[size])
    yield from (edges(*sizes) for sizes in TORI[size])
    yield from _with_gradients(periodic(*sizes) for sizes in STENCILS[size])
    yield from _with_gradients(padded(*sizes) for sizes in STENCILS[size])
    yield from (circular(*sizes) for sizes in CIRCLES[size])


def _with_gradients(cases: Iterable[Case]) -> Iterator[Case]:
    """The cases, each with its derivative: these stencils are their own transposes."""
    for case in cases:
        by_hand = {
            f"{name}_by_hand": lambda A, weights, form=form: (form(A), form(weights))
            for name, form in case.forms.items()
        }
        yield case
        yield gradient(case, "padded", by_hand=by_hand, groups=(GROUP,))


def transposed_digits(n: int) -> Case:
    """A matrix flattened column by column."""
    return Case(
        name=f"digits/{label(n, n)}",
        text="def digits(float(N,N) A) -> (B) { B(i) = A(i % N, i / N) where i in 0:N*N }",
        make_arrays=lambda rng: normals(rng, (n, n)),
        reference=lambda A: A.T.reshape(-1),
        forms={
            "transpose_reshape": lambda A: A.T.reshape(-1),
            "gathered": lambda A: A[jnp.arange(n * n) % n, jnp.arange(n * n) // n],
        },
    )


def merged_heads(b: int, h: int, t: int, d: int) -> Case:
    """The heads of an attention, concatenated again."""
    text = f"""
    def heads(float(B,H,T,{d}) Z) -> (Y) {{ Y(b,t,e) = Z(b, e / {d}, t, e % {d}) where e in 0:H*{d} }}"""
    return Case(
        name=f"heads/{label(b, h, t, d)}",
        text=text,
        make_arrays=lambda rng: normals(rng, (b, h, t, d)),
        reference=lambda Z: Z.transpose(0, 2, 1, 3).reshape(b, t, h * d),
        forms={"transpose_reshape": lambda Z: Z.transpose(0, 2, 1, 3).reshape(b, t, h * d)},
    )


def pixel_shuffle(c: int, r: int, h: int, w: int) -> Case:
    """Channels interleaved as pixels (sub-pixel convolution)."""

    def shuffled(A):
        return A.reshape(c, r, r, h, w).transpose(0, 3, 1, 4, 2).reshape(c, h * r, w * r)

    text = f"""
    def shuffle(float(C,H,W) A) -> (O) {{
        O(c,y,x) = A(c * {r * r} + (y % {r}) * {r} + x % {r}, y / {r}, x / {r})
            where c in 0:C/{r * r}, y in 0:H*{r}, x in 0:W*{r}
    }}"""
    return Case(
        name=f"pixel_shuffle/{label(c, r, h, w)}",
        text=text,
        make_arrays=lambda rng: normals(rng, (c * r * r, h, w)),
        reference=shuffled,
        forms={"reshape_transpose": shuffled},
    )


def patches(h: int, w: int, k: int) -> Case:
    """Every patch of an image as a row of a matrix (im2col)."""
    rows, columns = h - k + 1, w - k + 1
    text = f"""
    def patches(float({h},{w}) A) -> (O) {{
        O(p,q) = A(p / {columns} + q / {k}, p % {columns} + q % {k}) where p in 0:{rows * columns}, q in 0:{k * k}
    }}"""

    def stacked(A):
        parts = [A[a : a + rows, b : b + columns] for a in range(k) for b in range(k)]
        return jnp.stack(parts, -1).reshape(rows * columns, k * k)

    def gathered(A):
        p, q = jnp.arange(rows * columns)[:, None], jnp.arange(k * k)[None, :]
        return A[p // columns + q // k, p % columns + q % k]

    def extracted(A):
        found = lax.conv_general_dilated_patches(A[None, None], (k, k), (1, 1), "VALID")
        return found.reshape(k * k, -1).T

    def reference(A):
        windows = np.lib.stride_tricks.sliding_window_view(A, (k, k))
        return windows.reshape(rows * columns, k * k)

    return Case(
        name=f"patches/{label(h, w, k)}",
        text=text,
        make_arrays=lambda rng: normals(rng, (h, w)),
        reference=reference,
        forms={"stacked": stacked, "gathered": gathered, "conv_patches": extracted},
    )


def torus(h: int, w: int) -> Case:
    """The sum of every cell and its eight neighbours on a torus, as the game of life counts them."""
    text = """
    def torus(float(H,W) A) -> (O) {
        O(i,j) +=! A((i + a) % H, (j + b) % W) where i in 0:H, j in 0:W, a in -1:2, b in -1:2
    }"""

    def rolled(A):
        return sum(jnp.roll(A, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1))

    def separated(A):
        rows = A + jnp.roll(A, 1, 0) + jnp.roll(A, -1, 0)
        return rows + jnp.roll(rows, 1, 1) + jnp.roll(rows, -1, 1)

    return Case(
        name=f"torus/{label(h, w)}",
        text=text,
        make_arrays=lambda rng: normals(rng, (h, w)),
        reference=lambda A: sum(np.roll(A, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)),
        forms={"rolled": rolled, "separated": separated, "padded": partial(_padded, "wrap", h, w)},
    )


def edges(h: int, w: int) -> Case:
    """A box blur with clamped edges."""
    text = """
    def edges(float(H,W) A) -> (O) {
        O(i,j) +=! A(min(max(i + a, 0), H - 1), min(max(j + b, 0), W - 1))
            where i in 0:H, j in 0:W, a in -1:2, b in -1:2
    }"""

    def reference(A):
        wide = np.pad(A, 1, "edge")
        return sum(wide[a : a + h, b : b + w] for a in range(3) for b in range(3))

    return Case(
        name=f"edges/{label(h, w)}",
        text=text,
        make_arrays=lambda rng: normals(rng, (h, w)),
        reference=reference,
        forms={"padded": partial(_padded, "edge", h, w)},
    )


def periodic(h: int, w: int) -> Case:
    """Five points of the Laplacian on a torus."""

    def rolled(A):
        return jnp.roll(A, 1, 0) + jnp.roll(A, -1, 0) + jnp.roll(A, 1, 1) + jnp.roll(A, -1, 1) - 4 * A

    return Case(
        name=f"periodic/{label(h, w)}",
        text="""
        def periodic(float(H,W) A) -> (O) {
            O(i,j) = A(wrap(i - 1), j) + A(wrap(i + 1), j) + A(i, wrap(j - 1)) + A(i, wrap(j + 1)) - 4 * A(i,j)
        }""",
        make_arrays=lambda rng: normals(rng, (h, w)),
        reference=lambda A: _five(np.pad(A, 1, "wrap")),
        forms={"rolled": rolled, "padded": lambda A: _five(jnp.pad(A, 1, mode="wrap"))},
    )


def padded(h: int, w: int) -> Case:
    """Five points of the Laplacian with zeros around."""
    return Case(
        name=f"padded/{label(h, w)}",
        text="""
        def padded(float(H,W) A) -> (O) {
            O(i,j) = pad(A(i - 1, j), 0) + pad(A(i + 1, j), 0) + pad(A(i, j - 1), 0) + pad(A(i, j + 1), 0) - 4 * A(i,j)
        }""",
        make_arrays=lambda rng: normals(rng, (h, w)),
        reference=lambda A: _five(np.pad(A, 1)),
        forms={"padded": lambda A: _five(jnp.pad(A, 1))},
    )


def _five(wide):
    middle = wide[1:-1, 1:-1]
    return wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:] - 4 * middle


def _padded(mode: str, h: int, w: int, A):
    wide = jnp.pad(A, 1, mode=mode)
    return sum(wide[a : a + h, b : b + w] for a in range(3) for b in range(3))


def circular(n: int, k: int) -> Case:
    """A circular convolution with a short filter."""

    def rolled(A, W):
        return sum(jnp.roll(A, j) * W[j] for j in range(k))

    def padded(A, W):
        wide = jnp.concatenate([A[n - k + 1 :], A])
        return sum(wide[k - 1 - j : k - 1 - j + n] * W[j] for j in range(k))

    def transformed(A, W):
        return jnp.fft.irfft(jnp.fft.rfft(A) * jnp.fft.rfft(W, n), n)

    def reference(A, W):
        return sum(np.roll(A, j) * W[j] for j in range(k))

    forms: dict[str, Form] = {"rolled": rolled, "padded": padded, "transformed": transformed}
    return Case(
        name=f"circular/{label(n, k)}",
        text="def circular(float(N) A, float(K) W) -> (O) { O(i) +=! A((i - k) % N) * W(k) where i in 0:N }",
        make_arrays=lambda rng: normals(rng, (n,), (k,)),
        reference=reference,
        forms=forms,
    )
