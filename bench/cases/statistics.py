"""Row statistics: TC's moments and group normalisation, layer normalisation and softmax."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .case import Arrays, Case, Form, label, normals

MOMENTS_SIZES = {"tiny": [(3, 10)], "small": [(128, 2304)], "full": [(128, 2304), (1024, 36864)]}
# (N, G, D, H, W): C = G*D
GROUP_NORM_SIZES = {
    "tiny": [(2, 3, 2, 4)],
    "small": [(4, 32, 16, 12)],
    "full": [(4, 32, 16, 12), (32, 32, 16, 48)],
}
ROWS_SIZES = {"tiny": [(3, 10)], "small": [(512, 1024)], "full": [(4096, 1024)]}
EPSILON = 1e-5


def cases(size: str) -> Iterator[Case]:
    """The statistics at the sizes that `size` names."""
    for sizes in MOMENTS_SIZES[size]:
        yield row_sum(*sizes)
        yield row_mean(*sizes)
        yield row_sum_squares(*sizes)
        yield row_variance(*sizes)
        yield moments(*sizes)
    for sizes in GROUP_NORM_SIZES[size]:
        yield group_norm_two_kernels(*sizes)
        yield group_norm_fused(*sizes)
    yield from (softmax(*sizes) for sizes in ROWS_SIZES[size])
    yield from (layer_norm(*sizes) for sizes in ROWS_SIZES[size])


def two_level_sum(x):
    """The row sums of `x`, 64 columns at a time when they divide the row."""
    if x.shape[-1] % 64:
        return x.sum(-1)
    return x.reshape(*x.shape[:-1], -1, 64).sum(-1).sum(-1)


def dot_with_ones(x):
    return x @ jnp.ones((x.shape[-1],), x.dtype)


def row_sum(n: int, k: int) -> Case:
    return Case(
        name=f"sum/{label(n, k)}",
        text="def sum_2d(float(N,K) I) -> (O) { O(n) +=! I(n,r_k) }",
        make_arrays=lambda rng: normals(rng, (n, k)),
        reference=lambda I: I.sum(1),
        forms={
            "sum": lambda I: I.sum(1),
            "two_level_sum": two_level_sum,
            "dot_ones": dot_with_ones,
        },
    )


def row_mean(n: int, k: int) -> Case:
    return Case(
        name=f"mean/{label(n, k)}",
        text="def mean_2d(float(N,K) I) -> (O) { O(n) +=! I(n,r_k)  O(n) = O(n) / K }",
        make_arrays=lambda rng: normals(rng, (n, k)),
        reference=lambda I: I.mean(1),
        forms={
            "mean": lambda I: I.mean(1),
            "two_level_mean": lambda I: two_level_sum(I) / k,
            "dot_ones": lambda I: dot_with_ones(I) / k,
        },
    )


def row_sum_squares(n: int, k: int) -> Case:
    return Case(
        name=f"sum_squares/{label(n, k)}",
        text="def sum_squares(float(N,K) I) -> (O) { O(n) +=! I(n,r_k) * I(n,r_k) }",
        make_arrays=lambda rng: normals(rng, (n, k)),
        reference=lambda I: (I * I).sum(1),
        forms={
            "square_sum": lambda I: jnp.square(I).sum(1),
            "two_level_sum": lambda I: two_level_sum(I * I),
            "einsum": lambda I: jnp.einsum("nk,nk->n", I, I),
        },
    )


def row_variance(n: int, k: int) -> Case:
    return Case(
        name=f"var/{label(n, k)}",
        text="""
        def var_2d(float(N,K) I, float(N) mean) -> (var) {
            var(n) +=! I(n,r_k) * I(n,r_k)
            var(n)   = var(n) / K - mean(n) * mean(n)
        }""",
        make_arrays=lambda rng: _with_row_means(*normals(rng, (n, k))),
        reference=lambda I, mean: (I * I).mean(1) - mean * mean,
        forms={
            "square_mean": lambda I, mean: (I * I).mean(1) - mean * mean,
            "two_level": lambda I, mean: two_level_sum(I * I) / k - mean * mean,
            "einsum": lambda I, mean: jnp.einsum("nk,nk->n", I, I) / k - mean * mean,
        },
    )


def _with_row_means(I: np.ndarray) -> Arrays:
    return I, I.mean(1)


def moments(n: int, k: int) -> Case:
    return Case(
        name=f"moments/{label(n, k)}",
        text="""
        def moments(float(N,K) I) -> (mean, var) {
            mean(n) +=! I(n,r_k)
            mean(n)   = mean(n) / K
            var(n)  +=! I(n,r_k) * I(n,r_k)
            var(n)    = var(n) / K - mean(n) * mean(n)
        }""",
        make_arrays=lambda rng: normals(rng, (n, k)),
        reference=lambda I: (I.mean(1), I.var(1)),
        forms={
            "mean_var": lambda I: (I.mean(1), I.var(1)),
            "mean_of_squares": lambda I: _moments(lambda x: x.mean(-1), I),
            "two_level": lambda I: _moments(lambda x: two_level_sum(x) / k, I),
            "einsum": lambda I: (I.mean(1), jnp.einsum("nk,nk->n", I, I) / k - jnp.square(I.mean(1))),
            "dot_ones": lambda I: _moments_of(dot_with_ones(I) / k, (I * I).mean(1)),
            "variadic_reduce": _variadic_moments,
        },
    )


def column_moments(n: int, k: int) -> Case:
    def split(rows: int) -> Form:
        """The sums of some rows at a time, and their sum."""

        def sums(x):
            return x.reshape(-1, rows, k).sum(1).sum(0) if n % rows == 0 else x.sum(0)

        return lambda I: _moments_of(sums(I) / n, sums(I * I) / n)

    def split_outside(parts: int) -> Form:
        def sums(x):
            return x.reshape(parts, -1, k).sum(1).sum(0) if n % parts == 0 else x.sum(0)

        return lambda I: _moments_of(sums(I) / n, sums(I * I) / n)

    def dot_ones(I):
        ones = jnp.ones(n, I.dtype)
        return _moments_of(ones @ I / n, ones @ (I * I) / n)

    return Case(
        name=f"column_moments/{label(n, k)}",
        text="""
        def column_moments(float(N,K) I) -> (mean, var) {
            mean(k) +=! I(n,k)
            mean(k)   = mean(k) / N
            var(k)  +=! I(n,k) * I(n,k)
            var(k)    = var(k) / N - mean(k) * mean(k)
        }""",
        make_arrays=lambda rng: normals(rng, (n, k)),
        reference=lambda I: (I.mean(0), I.var(0)),
        forms={
            "mean_var": lambda I: (I.mean(0), I.var(0)),
            "mean_of_squares": lambda I: _moments_of(I.mean(0), (I * I).mean(0)),
            "split_32": split(32),
            "split_64": split(64),
            "two_parts": split_outside(2),
            "64_parts": split_outside(64),
            "dot_ones": dot_ones,
            "einsum": lambda I: _moments_of(I.mean(0), jnp.einsum("nk,nk->k", I, I) / n),
        },
    )


def row_log_sum_exp(n: int, k: int) -> Case:
    def explicit(I):
        m = I.max(1)
        return jnp.log(jnp.exp(I - m[:, None]).sum(1)) + m

    def two_level(I):
        m = I.max(1)
        return jnp.log(two_level_sum(jnp.exp(I - m[:, None]))) + m

    def split(I):
        """Sums of 64 values each, with a maximum per sum."""
        if k % 64:
            return explicit(I)
        parts = I.reshape(n, -1, 64)
        m = parts.max(2)
        s = jnp.exp(parts - m[:, :, None]).sum(2)
        top = m.max(1)
        return jnp.log((s * jnp.exp(m - top[:, None])).sum(1)) + top

    def reference(I):
        m = I.max(1)
        return np.log(np.exp(I - m[:, None]).sum(1)) + m

    return Case(
        name=f"row_log_sum_exp/{label(n, k)}",
        text="""
        def row_log_sum_exp(float(N,D) I) -> (O) {
            m(n) max=! I(n,d)
            s(n) +=! exp(I(n,d) - m(n))
            O(n) = log(s(n)) + m(n)
        }""",
        make_arrays=lambda rng: normals(rng, (n, k)),
        reference=reference,
        forms={
            "explicit": explicit,
            "logsumexp": lambda I: jax.nn.logsumexp(I, axis=1),
            "two_level": two_level,
            "split": split,
        },
    )


def _moments(mean: Form, x):
    return _moments_of(mean(x), mean(x * x))


def _moments_of(mean, mean_of_squares):
    return mean, mean_of_squares - mean * mean


def _variadic_moments(x):
    zero = jnp.zeros((), x.dtype)
    total, squares = lax.reduce((x, x * x), (zero, zero), lambda a, b: (a[0] + b[0], a[1] + b[1]), (x.ndim - 1,))
    mean = total / x.shape[-1]
    return mean, squares / x.shape[-1] - mean * mean


GROUP_MOMENTS = """
        def group_moments(float(N,K) I) -> (mean, var) {
            mean(n) +=! I(n,r_k)
            mean(n)   = mean(n) / K
            var(n)  +=! I(n,r_k) * I(n,r_k)
            var(n)    = var(n) / K - mean(n) * mean(n)
        }
        def group_norm(float(N,G,D,H,W) I, float(G,D) gamma, float(G,D) beta, float(N,G) mean, float(N,G) var) -> (O) {
            O(n,g,d,h,w) = gamma(g,d) * (I(n,g,d,h,w) - mean(n,g)) * rsqrt(var(n,g) + 1e-5) + beta(g,d)
        }"""
GROUP_NORM = """
        def group_norm(float(N,G,D,H,W) I, float(G,D) gamma, float(G,D) beta) -> (O, mean, var) {
            mean(n,g) +=! I(n,g,r_d,r_h,r_w)
            mean(n,g)   = mean(n,g) / (D * H * W)
            var(n,g)  +=! I(n,g,r_d,r_h,r_w) * I(n,g,r_d,r_h,r_w)
            var(n,g)    = var(n,g) / (D * H * W) - mean(n,g) * mean(n,g)
            O(n,g,d,h,w) = gamma(g,d) * (I(n,g,d,h,w) - mean(n,g)) * rsqrt(var(n,g) + 1e-5) + beta(g,d)
        }"""


def group_norm_two_kernels(n: int, g: int, d: int, h: int) -> Case:
    def compose(library) -> Form:
        def group_norm(I, gamma, beta):
            mean, var = library.group_moments(I.reshape(n * g, -1))
            return library.group_norm(I, gamma, beta, mean.reshape(n, g), var.reshape(n, g))

        return group_norm

    return Case(
        name=f"group_norm_2/{label(n, g, d, h, h)}",
        text=GROUP_MOMENTS,
        make_arrays=lambda rng: normals(rng, (n, g, d, h, h), (g, d), (g, d)),
        reference=lambda *arrays: _group_norm_reference(*arrays)[0],
        forms={name: lambda *arrays, form=form: form(*arrays)[0] for name, form in _group_norm_forms().items()},
        compose=compose,
    )


def group_norm_fused(n: int, g: int, d: int, h: int) -> Case:
    return Case(
        name=f"group_norm/{label(n, g, d, h, h)}",
        text=GROUP_NORM,
        make_arrays=lambda rng: normals(rng, (n, g, d, h, h), (g, d), (g, d)),
        reference=_group_norm_reference,
        forms=_group_norm_forms(),
    )


def _group_norm_reference(I, gamma, beta):
    mean, var = I.mean((2, 3, 4)), I.var((2, 3, 4))
    scale = gamma / np.sqrt(var + EPSILON)[:, :, None]
    return (I - mean[:, :, None, None, None]) * scale[..., None, None] + beta[..., None, None], mean, var


def _group_norm_forms() -> dict[str, Form]:
    def normalised(I, gamma, beta, mean, var):
        centred = I - mean[:, :, None, None, None]
        scale = gamma * lax.rsqrt(var + EPSILON)[:, :, None]
        return centred * scale[..., None, None] + beta[..., None, None], mean, var

    def library(I, gamma, beta):
        return normalised(I, gamma, beta, I.mean((2, 3, 4)), I.var((2, 3, 4)))

    def mean_of_squares(I, gamma, beta):
        mean = I.mean((2, 3, 4))
        return normalised(I, gamma, beta, mean, (I * I).mean((2, 3, 4)) - mean * mean)

    def flat_rows(I, gamma, beta):
        rows = I.reshape(*I.shape[:2], -1)
        return normalised(I, gamma, beta, *_moments(lambda x: x.mean(-1), rows))

    def two_level(I, gamma, beta):
        rows = I.reshape(*I.shape[:2], -1)
        return normalised(I, gamma, beta, *_moments(lambda x: two_level_sum(x) / x.shape[-1], rows))

    return {"mean_var": library, "mean_of_squares": mean_of_squares, "flat_rows": flat_rows, "two_level": two_level}


def softmax(n: int, k: int) -> Case:
    def explicit(I):
        e = jnp.exp(I - I.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def recomputed(I):
        m = I.max(1, keepdims=True)
        s = lax.optimization_barrier(jnp.exp(I - m).sum(1, keepdims=True))
        return jnp.exp(I - m) / s

    def two_level(I):
        e = jnp.exp(I - I.max(1, keepdims=True))
        return e / two_level_sum(e)[:, None]

    def log_sum_exp(I):
        return jnp.exp(I - jax.nn.logsumexp(I, axis=1, keepdims=True))

    def reference(I):
        e = np.exp(I - I.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    return Case(
        name=f"softmax/{label(n, k)}",
        text="""
        def softmax(float(N,D) I) -> (O) {
            m(n) max=! I(n,d)
            e(n,d) = exp(I(n,d) - m(n))
            s(n) +=! e(n,d)
            O(n,d) = e(n,d) / s(n)
        }""",
        make_arrays=lambda rng: normals(rng, (n, k)),
        reference=reference,
        forms={
            "nn_softmax": lambda I: jax.nn.softmax(I, axis=1),
            "explicit": explicit,
            "two_level": two_level,
            "recomputed_exp": recomputed,
            "log_sum_exp": log_sum_exp,
        },
    )


def layer_norm(n: int, k: int) -> Case:
    def normalised(I, g, b, mean, var):
        return (I - mean[:, None]) * lax.rsqrt(var + EPSILON)[:, None] * g + b

    return Case(
        name=f"layer_norm/{label(n, k)}",
        text="""
        def layer_norm(float(N,D) I, float(D) gamma, float(D) beta) -> (O) {
            mean(n) +=! I(n,d)
            mean(n)   = mean(n) / D
            var(n)  +=! I(n,d) * I(n,d)
            var(n)    = var(n) / D - mean(n) * mean(n)
            O(n,d) = (I(n,d) - mean(n)) * rsqrt(var(n) + 1e-5) * gamma(d) + beta(d)
        }""",
        make_arrays=lambda rng: normals(rng, (n, k), (k,), (k,)),
        reference=lambda I, g, b: (I - I.mean(1)[:, None]) / np.sqrt(I.var(1) + EPSILON)[:, None] * g + b,
        forms={
            "mean_var": lambda I, g, b: normalised(I, g, b, I.mean(1), I.var(1)),
            "standardize": lambda I, g, b: jax.nn.standardize(I, axis=1, epsilon=EPSILON) * g + b,
            "mean_of_squares": lambda I, g, b: normalised(I, g, b, *_moments(lambda x: x.mean(-1), I)),
            "two_level": lambda I, g, b: normalised(I, g, b, *_moments(lambda x: two_level_sum(x) / k, I)),
        },
    )
