"""Loop nests: all pairs of points, products of matrices in other algebras, attention, windows with weights.

Sums of products are matrix products, which libraries have. These are not, and the usual JAX code broadcasts: it creates
an array of the whole iteration space, which XLA may or may not fuse away.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import pairwise, semirings
from .blocks import by_rows
from .case import Case, Form, label, normals
from .gradients import gradient
from .pairwise import GROUP, SLACK

# (M, N, K)
SEMIRING_SIZES = {"tiny": [(4, 5, 6)], "small": [(256, 256, 256)], "full": [(512, 512, 512)]}
# (T, S, D)
ATTENTION_SIZES = {"tiny": [(6, 5, 4)], "small": [(1024, 1024, 64)], "full": [(4096, 4096, 64)]}
# (H, W, taps)
WINDOW_SIZES = {"tiny": [(9, 10, 3)], "small": [(512, 512, 15)], "full": [(2048, 2048, 15)]}
# (B, D, L, E)
BAG_SIZES = {"tiny": [(3, 4, 5, 7)], "small": [(128, 64, 50, 10_000)], "full": [(512, 64, 50, 100_000)]}


def cases(size: str) -> Iterator[Case]:
    """The nests at the sizes that `size` names, each with its gradient if it has one."""
    yield from pairwise.cases(size)
    for sizes in SEMIRING_SIZES[size]:
        yield from semirings.cases(*sizes)
    for sizes in ATTENTION_SIZES[size]:
        yield from attention(*sizes)
        yield from causal_attention(*sizes)
    for sizes in WINDOW_SIZES[size]:
        yield from weighted_window(*sizes)
    for sizes in BAG_SIZES[size]:
        yield from bag(*sizes)


def attention(t: int, s: int, d: int) -> Iterator[Case]:
    """The mean of V by the softmax of Q.K over all keys."""

    def plain(Q, K, V):
        return jax.nn.softmax(Q @ K.T / np.float32(d) ** 0.5, axis=1) @ V

    forms = {"jnp": plain, "jax.nn": partial(_library, causal=False), "online": _online(causal=False)}
    yield from _attention("attention", "", (t, s, d), forms)


def causal_attention(t: int, _: int, d: int) -> Iterator[Case]:
    """Attention to earlier positions only: half of the pairs take no part."""

    def masked(Q, K, V):
        scores = Q @ K.T / np.float32(d) ** 0.5
        return jax.nn.softmax(jnp.where(jnp.tri(t, dtype=bool), scores, -jnp.inf), axis=1) @ V

    def by_blocks(Q, K, V):
        size = -(-t // 8)
        parts = []
        for first in range(0, t, size):
            end = min(first + size, t)
            scores = Q[first:end] @ K[:end].T / np.float32(d) ** 0.5
            seen = jnp.arange(end)[None] <= jnp.arange(first, end)[:, None]
            parts.append(jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=1) @ V[:end])
        return jnp.concatenate(parts)

    forms = {
        "jnp": masked,
        "jax.nn": partial(_library, causal=True),
        "eight_blocks": by_blocks,
        "online": _online(causal=True),
    }
    yield from _attention("causal_attention", " where k <= q", (t, t, d), forms)


def _library(Q, K, V, *, causal: bool):
    batch = (a[None, :, None, :] for a in (Q, K, V))
    return jax.nn.dot_product_attention(*batch, is_causal=causal)[0, :, 0]


def _attention(name: str, guard: str, sizes: tuple[int, int, int], forms: dict[str, Form]) -> Iterator[Case]:
    """Attention that names its scores, so that they may be stored, and attention that does not."""
    t, s, d = sizes
    keys = "T" if guard else "S"
    scores = "sum[d](Q(q,d) * K(k,d)) / sqrt(D)"
    named = f"""
        def {name}(float(T,D) Q, float({keys},D) K, float({keys},E) V) -> (O) {{
            s(q,k) = {scores}
            m(q)   = max[k{guard}](s(q,k))
            O(q,e) = sum[k{guard}](exp(s(q,k) - m(q)) * V(k,e)) / sum[k{guard}](exp(s(q,k) - m(q)))
        }}"""
    unnamed = f"""
        def {name}(float(T,D) Q, float({keys},D) K, float({keys},E) V) -> (O) {{
            l(q)   = logsumexp[k{guard}]({scores})
            O(q,e) = sum[k{guard}](exp({scores} - l(q)) * V(k,e))
        }}"""

    def reference(Q, K, V):
        values = Q @ K.T / d**0.5
        if guard:
            values[np.arange(s)[None] > np.arange(t)[:, None]] = -np.inf
        weights = np.exp(values - values.max(1, keepdims=True))
        return weights @ V / weights.sum(1, keepdims=True)

    for suffix, text in {"": named, "_unnamed": unnamed}.items():
        case = Case(
            name=f"{name}{suffix}/{label(*sizes)}",
            text=text,
            make_arrays=lambda rng: normals(rng, (t, d), (s, d), (s, d)),
            reference=reference,
            forms=forms,
            groups=(GROUP,),
            slack=SLACK,
        )
        yield case
        yield gradient(case, "jnp")


def _online(*, causal: bool, rows: int = 128) -> Form:
    """Blocks of rows of Q in sequence, as in flash attention; the gradient recomputes each block."""

    def mapped(Q, K, V):
        def block(Q, q, K, V):
            scores = Q @ K.T / np.float32(Q.shape[1]) ** 0.5
            if causal:
                scores = jnp.where(jnp.arange(K.shape[0])[None] <= q[:, None], scores, -jnp.inf)
            return jax.nn.softmax(scores, axis=1) @ V

        return by_rows(block, 0, 1, rows=rows)(Q, jnp.arange(Q.shape[0]), K, V)

    return mapped


def weighted_window(h: int, w: int, taps: int) -> Iterator[Case]:
    """A window with separable weights: two passes along one axis each, if that is noticed."""
    tall, wide = h - taps + 1, w - taps + 1

    def passes(I, g):
        rows = sum(I[:, j : j + wide] * g[j] for j in range(taps))
        return sum(rows[i : i + tall] * g[i] for i in range(taps))

    def conv(I, g):
        return lax.conv(I[None, None], (g[:, None] * g)[None, None], (1, 1), "VALID")[0, 0]

    def two_convs(I, g):
        rows = lax.conv(I[None, None], g[None, None, None, :], (1, 1), "VALID")
        return lax.conv(rows, g[None, None, :, None], (1, 1), "VALID")[0, 0]

    def scanned(I, g):
        def offset(total, place):
            y, x = place // taps, place % taps
            return total + lax.dynamic_slice(I, (y, x), (tall, wide)) * g[y] * g[x], None

        return lax.scan(offset, jnp.zeros((tall, wide), I.dtype), jnp.arange(taps * taps))[0]

    case = Case(
        name=f"weighted_window/{label(h, w, taps)}",
        text="def weighted_window(float(H,W) I, float(P) g) -> (O) { O(y,x) +=! I(y+i,x+j) * g(i) * g(j) }",
        make_arrays=lambda rng: normals(rng, (h, w), (taps,)),
        reference=lambda I, g: np.asarray(passes(I, g)),
        forms={"conv": conv, "two_convs": two_convs, "two_passes": passes, "scanned": scanned},
        tolerance=1e-3,
        groups=(GROUP,),
        slack=SLACK,
    )
    yield case
    yield gradient(case, "two_passes", leave_out=("scanned",))


def bag(b: int, d: int, length: int, e: int) -> Iterator[Case]:
    """The sum of rows of a table, and its gradient, which is scattered into a table."""

    def unrolled(T, I):
        return sum(T.at[I[:, place]].get(mode="clip") for place in range(length))

    def scanned(T, I):
        start = jnp.zeros((b, d), T.dtype)
        return lax.scan(lambda total, places: (total + T.at[places].get(mode="clip"), None), start, I.T)[0]

    case = Case(
        name=f"bag/{label(b, d, length, e)}",
        text="def bag(float(E,D) T, int32(B,L) I) -> (O) { O(b,d) +=! T(I(b,l),d) }",
        make_arrays=lambda rng: (*normals(rng, (e, d)), rng.integers(0, e, (b, length), dtype=np.int32)),
        reference=lambda T, I: T[I].sum(1),
        forms={"jnp": lambda T, I: T[I].sum(1), "unrolled": unrolled, "scanned": scanned},
        groups=(GROUP,),
        slack=SLACK,
    )
    yield case
    yield gradient(case, "jnp")
