"""Windows without channels: pooling, the Jacobi stencil, the blur; and the correlation of two signals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce

import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.lib.stride_tricks import sliding_window_view

from .case import Case, Form, label, normals

# (N, C, H, window, stride)
POOL_SIZES = {
    "tiny": [(2, 3, 6, 2, 2), (2, 3, 7, 3, 1)],
    "small": [(4, 64, 56, 2, 2), (4, 64, 56, 3, 2)],
    "full": [(16, 64, 112, 2, 2), (16, 64, 112, 3, 2), (4, 64, 56, 7, 1)],
}
JACOBI_SIZES = {"tiny": [7], "small": [1024], "full": [4096]}
BLUR_SIZES = {"tiny": [(7, 3)], "small": [(1024, 5)], "full": [(4096, 5)]}


def cases(size: str) -> Iterator[Case]:
    """The window kernels at the sizes that `size` names."""
    yield from (max_pool(*sizes) for sizes in POOL_SIZES[size])
    yield from (average_pool(*sizes) for sizes in POOL_SIZES[size])
    yield from (jacobi(n) for n in JACOBI_SIZES[size])
    yield from (blur(*sizes) for sizes in BLUR_SIZES[size])


def max_pool(n: int, c: int, h: int, k: int, s: int) -> Case:
    def reduce_window(I):
        return lax.reduce_window(I, -jnp.inf, lax.max, (1, 1, k, k), (1, 1, s, s), "VALID")

    return Case(
        name=f"max_pool/{label(n, c, h, h)}k{k}s{s}",
        text=f"""
        def max_pool(float(N,C,H,W) I) -> (O) {{
            O(n,c,h,w) max=! I(n,c,{s}*h+kh,{s}*w+kw) where kh in 0:{k}, kw in 0:{k}
        }}""",
        make_arrays=lambda rng: normals(rng, (n, c, h, h)),
        reference=lambda I: sliding_window_view(I, (k, k), axis=(2, 3))[:, :, ::s, ::s].max((-2, -1)),
        forms={
            "reduce_window": reduce_window,
            "select_slices": lambda I: _select_maximum(_window_slices(I, k, s)),
            "select_separable": lambda I: _select_separable(I, k, s),
            **_pool_forms(k, s, (jnp.maximum, lax.max, -jnp.inf), jnp.max),
        },
    )


def max_pool_place(n: int, c: int, h: int, k: int) -> Case:
    """The maxima of adjacent windows, and the position of each within its window."""

    def by_selection(I):
        largest, place = I[:, :, ::k, ::k], jnp.zeros((n, c, h // k, h // k), jnp.int32)
        for q in range(1, k * k):
            other = I[:, :, q // k :: k, q % k :: k]
            higher = other > largest
            largest, place = jnp.where(higher, other, largest), jnp.where(higher, q, place)
        return largest, place

    def blocks(I):
        return I.reshape(n, c, h // k, k, h // k, k).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // k, h // k, k * k)

    def moved(I):
        rows = blocks(I)
        return rows.max(-1), rows.argmax(-1).astype(jnp.int32)

    def stacked(I):
        terms = jnp.stack(_window_slices(I, k, k))
        return terms.max(0), terms.argmax(0).astype(jnp.int32)

    def found_again(I):
        terms = _window_slices(I, k, k)
        largest = reduce(jnp.maximum, terms)
        place = jnp.full(largest.shape, k * k - 1, jnp.int32)
        for q in reversed(range(k * k - 1)):
            place = jnp.where(terms[q] == largest, q, place)
        return largest, place

    def reference(I):
        rows = sliding_window_view(I, (k, k), axis=(2, 3))[:, :, ::k, ::k].reshape(n, c, h // k, h // k, k * k)
        return rows.max(-1), rows.argmax(-1)

    return Case(
        name=f"max_pool_place/{label(n, c, h, h)}k{k}",
        text=f"""
        def max_pool_place(float(N,C,H,W) I) -> (O, P) {{
            O(n,c,h,w) max=! I(n,c,{k}*h+kh,{k}*w+kw) where kh in 0:{k}, kw in 0:{k}
            P(n,c,h,w) argmax=! I(n,c,{k}*h+kh,{k}*w+kw) where kh in 0:{k}, kw in 0:{k}
        }}""",
        make_arrays=lambda rng: normals(rng, (n, c, h, h)),
        reference=reference,
        forms={"moved": moved, "stacked": stacked, "selected": by_selection, "found_again": found_again},
    )


def average_pool(n: int, c: int, h: int, k: int, s: int) -> Case:
    def reduce_window(I):
        return lax.reduce_window(I, 0.0, lax.add, (1, 1, k, k), (1, 1, s, s), "VALID") / (k * k)

    forms = _pool_forms(k, s, (jnp.add, lax.add, 0.0), jnp.sum)
    return Case(
        name=f"average_pool/{label(n, c, h, h)}k{k}s{s}",
        text=f"""
        def average_pool(float(N,C,H,W) I) -> (O) {{
            O(n,c,h,w) +=! I(n,c,{s}*h+kh,{s}*w+kw) where kh in 0:{k}, kw in 0:{k}
            O(n,c,h,w)   = O(n,c,h,w) / {k * k}.0
        }}""",
        make_arrays=lambda rng: normals(rng, (n, c, h, h)),
        reference=lambda I: sliding_window_view(I, (k, k), axis=(2, 3))[:, :, ::s, ::s].mean((-2, -1)),
        forms={
            "reduce_window": reduce_window,
            **{name: lambda I, form=form: form(I) / (k * k) for name, form in forms.items()},
        },
    )


def _shifts(I, axis: int, k: int, s: int) -> list:
    size = (I.shape[axis] - k) // s + 1
    return [lax.slice_in_dim(I, q, q + s * (size - 1) + 1, s, axis) for q in range(k)]


def _window_slices(I, k: int, s: int) -> list:
    return [part for rows in _shifts(I, 2, k, s) for part in _shifts(rows, 3, k, s)]


def _select_maximum(terms: list):
    """The maximum of `terms`, NaN where one of them is NaN, without the slow ``jnp.maximum``."""
    largest = reduce(lambda a, b: jnp.where(a < b, b, a), terms)
    return jnp.where(reduce(jnp.logical_or, [term != term for term in terms]), jnp.nan, largest)


def _select_separable(I, k: int, s: int):
    rows = lax.optimization_barrier(_select_maximum(_shifts(I, 2, k, s)))
    return _select_maximum(_shifts(rows, 3, k, s))


def _pool_forms(k: int, s: int, monoid: tuple, reduce_axes: Callable) -> dict[str, Form]:
    combine, primitive, identity = monoid

    def separable(I):
        return reduce(combine, _shifts(reduce(combine, _shifts(I, 2, k, s)), 3, k, s))

    def separable_passes(I):
        rows = lax.optimization_barrier(reduce(combine, _shifts(I, 2, k, s)))
        return reduce(combine, _shifts(rows, 3, k, s))

    def reduce_window_passes(I):
        rows = lax.reduce_window(I, identity, primitive, (1, 1, k, 1), (1, 1, s, 1), "VALID")
        return lax.reduce_window(rows, identity, primitive, (1, 1, 1, k), (1, 1, 1, s), "VALID")

    def reshaped(I):
        n, c, h, w = I.shape
        return reduce_axes(I.reshape(n, c, h // k, k, w // k, k), axis=(3, 5))

    forms = {
        "strided_slices": lambda I: reduce(combine, _window_slices(I, k, s)),
        "separable_slices": separable,
        "separable_passes": separable_passes,
        "reduce_window_passes": reduce_window_passes,
    }
    if k == s:
        forms["reshaped"] = reshaped
    return forms


def jacobi(n: int) -> Case:
    def neighbours(A):
        return A[1:-1, 1:-1] + A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:]

    def rolled(A):
        total = A + jnp.roll(A, 1, 0) + jnp.roll(A, -1, 0) + jnp.roll(A, 1, 1) + jnp.roll(A, -1, 1)
        return (0.2 * total)[1:-1, 1:-1]

    def lax_conv(A):
        cross = jnp.array([[0, 0.2, 0], [0.2, 0.2, 0.2], [0, 0.2, 0]], A.dtype)
        return lax.conv_general_dilated(A[None, None], cross[None, None], (1, 1), "VALID")[0, 0]

    return Case(
        name=f"jacobi/{label(n, n)}",
        text="def jacobi(float(N,N) A) -> (B) { B(i,j) = 0.2 * (A(i,j) + A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1)) }",
        make_arrays=lambda rng: normals(rng, (n, n)),
        reference=lambda A: 0.2 * neighbours(A),
        forms={"slices": lambda A: 0.2 * neighbours(A), "rolled": rolled, "lax_conv": lax_conv},
    )


def blur(n: int, k: int) -> Case:
    size = n - k + 1

    def shifted(A, K):
        return sum(A[y : y + size, x : x + size] * K[y, x] for y in range(k) for x in range(k))

    def lax_conv(A, K):
        return lax.conv_general_dilated(A[None, None], K[None, None], (1, 1), "VALID")[0, 0]

    def stacked(A, K):
        rows = [A[y : y + size, x : x + size] for y in range(k) for x in range(k)]
        return jnp.einsum("khw,k->hw", jnp.stack(rows), K.reshape(-1))

    return Case(
        name=f"blur/{label(n, n)}k{k}",
        text="def blur(float(H,W) I, float(KH,KW) K) -> (O) { O(h,w) +=! I(h+kh,w+kw) * K(kh,kw) }",
        make_arrays=lambda rng: normals(rng, (n, n), (k, k)),
        reference=lambda A, K: np.asarray(shifted(A, K)),
        forms={"shifted_unrolled": shifted, "lax_conv": lax_conv, "stacked_einsum": stacked},
    )


def correlation(c: int, x: int, shifts: int) -> Case:
    """The sum over channels of one signal times a shifted one, for each shift."""

    def by_shift(F, G):
        return jnp.stack([(F * G[:, d : d + x]).sum(0) for d in range(shifts)], axis=1)

    def einsum_by_shift(F, G):
        return jnp.stack([jnp.einsum("cx,cx->x", F, G[:, d : d + x]) for d in range(shifts)], axis=1)

    def gathered(F, G):
        return jnp.einsum("cx,cxd->xd", F, G[:, jnp.arange(x)[:, None] + jnp.arange(shifts)])

    def blocks(size: int) -> Form:
        """Each block of positions times its own and the next block, and the diagonals of the product."""

        def skewed(F, G):
            count = -(-x // size)
            wide = size + shifts - 1
            left = jnp.pad(F, [(0, 0), (0, count * size - x)]).reshape(c, count, size)
            padded = jnp.pad(G, [(0, 0), (0, (count + 1) * size - G.shape[1])]).reshape(c, count + 1, size)
            right = jnp.concatenate([padded[:, :-1], padded[:, 1:, : shifts - 1]], axis=2)
            products = jnp.einsum("cbi,cbj->bij", left, right)
            turned = jnp.pad(products.reshape(count, -1), [(0, 0), (0, size)]).reshape(count, size, wide + 1)
            return turned[:, :, :shifts].reshape(-1, shifts)[:x]

        return skewed

    def channel_by_channel(F, G):
        """All shifts of some channels at a time, accumulated, on all cores."""
        times = 4 if c % 4 == 0 else 1

        def trip(t, carry):
            total, seed = carry
            seed = seed @ seed  # As in `blocks.lanes`.
            base = (t + seed[0, 0].astype(jnp.int32)) * times
            f, g = lax.optimization_barrier([lax.dynamic_slice_in_dim(a, base, times) for a in (F, G)])
            rows = [sum(f[u] * g[u, d : d + x] for u in range(times)) for d in range(shifts)]
            return [row + more for row, more in zip(total, rows, strict=True)], seed

        start = [jnp.zeros(x, F.dtype)] * shifts, jnp.zeros((16, 16), jnp.float32)
        return jnp.stack(lax.fori_loop(0, c // times, trip, start)[0], axis=1)

    def reference(F, G):
        return np.stack([(F * G[:, d : d + x]).sum(0) for d in range(shifts)], axis=1)

    few = {"by_shift": by_shift, "gathered": gathered}
    sizes = [size for size in (32, 64, 128, 256) if shifts <= size < x] or [shifts - 1]
    return Case(
        name=f"correlation/{label(c, x, shifts)}",
        text="def correlation(float(C,X) F, float(C,Y) G) -> (O) { O(x,d) +=! F(c,x) * G(c,x+d) }",
        make_arrays=lambda rng: normals(rng, (c, x), (c, x + shifts - 1)),
        reference=reference,
        forms={
            "einsum_by_shift": einsum_by_shift,
            **(few if c * x * shifts < 1 << 24 else {}),  # Seconds, and hundreds of megabytes.
            **{f"blocks_{size}": blocks(size) for size in sizes},
            "channel_by_channel": channel_by_channel,
        },
        tolerance=1e-3,
    )
