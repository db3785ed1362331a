"""Ways to write a softmax, each with the same formula in jnp, where all scores are one array."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .formulas import Formula, below, distances

SHAPES = ((5, 3), (7, 3), (7, 2))
SCORES = "sum[d](q(i,d) * k(j,d)) / sqrt(D)"
AGAIN = "sum[d](q(i,d) * k(l,d)) / sqrt(D)"
HEAD = "def f(float(N,D) q, float(M,D) k, float(M,E) v) -> (O)"


def scores(q: jax.Array, k: jax.Array) -> jax.Array:
    return q @ k.T / np.sqrt(q.shape[1])


def attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    return jax.nn.softmax(scores(q, k), axis=1) @ v


def causal(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    seen = below(q.shape[0], k.shape[0])
    return jax.nn.softmax(jnp.where(seen, scores(q, k), -jnp.inf), axis=1) @ v


def biased(heads: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    def mapped(q: jax.Array, k: jax.Array, v: jax.Array, slope: jax.Array, bias: jax.Array) -> Any:
        far = np.arange(q.shape[1])[:, None] - np.arange(k.shape[1])[None]
        return jax.vmap(heads)(scores_of(q, k) - slope[:, None, None] * far + bias, v, slope)

    return mapped


def scores_of(q: jax.Array, k: jax.Array) -> jax.Array:
    return jnp.einsum("hid,hjd->hij", q, k)


def moments(x: jax.Array, y: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    weights = jax.nn.softmax(x[:, None] * y, axis=1)
    mean = weights @ b
    return mean, weights @ (b * b) - mean * mean


SOFTMAXES: dict[str, Formula] = {
    "logsumexp inside": Formula(
        f"{HEAD} {{ O(i,e) = sum[j](exp({SCORES} - logsumexp[l]({AGAIN})) * v(j,e)) }}", attention, SHAPES
    ),
    "a quotient": Formula(
        f"{HEAD} {{ O(i,e) = sum[j](exp({SCORES} - max[l]({AGAIN})) * v(j,e))"
        f" / sum[j](exp({SCORES} - max[l]({AGAIN}))) }}",
        attention,
        SHAPES,
    ),
    "a chain": Formula(
        f"{HEAD} {{ m(i) = max[j]({SCORES})  z(i) = sum[j](exp({SCORES} - m(i)))"
        f"  O(i,e) = sum[j](exp({SCORES} - m(i)) * v(j,e)) / z(i) }}",
        attention,
        SHAPES,
    ),
    "statements": Formula(
        f"{HEAD} {{ m(i) max=! {SCORES}\n z(i) +=! exp(-m(i) + {SCORES})\n"
        f" O(i,e) +=! v(j,e) * exp({SCORES} - m(i)) / z(i) }}",
        attention,
        SHAPES,
    ),
    "the logarithm named": Formula(
        f"{HEAD} {{ l(i) logsumexp=! {SCORES}\n O(i,e) +=! exp({SCORES} - l(i)) * v(j,e) }}", attention, SHAPES
    ),
    "a guard": Formula(
        f"{HEAD} {{ m(i) = max[j where j <= i]({SCORES})  z(i) = sum[j where j <= i](exp({SCORES} - m(i)))"
        f"  O(i,e) = sum[j where j <= i](exp({SCORES} - m(i)) * v(j,e)) / z(i) }}",
        causal,
        ((7, 3), (7, 3), (7, 2)),
    ),
    "a ternary": Formula(
        f"{HEAD} {{ m(i) = max[j](j <= i ? {SCORES} : -1.0 / 0.0)"
        f"  z(i) = sum[j](exp((j <= i ? {SCORES} : -1.0 / 0.0) - m(i)))"
        f"  O(i,e) = sum[j](exp((j <= i ? {SCORES} : -1.0 / 0.0) - m(i)) * v(j,e)) / z(i) }}",
        causal,
        ((7, 3), (7, 3), (7, 2)),
    ),
    "heads and biases": Formula(
        "def f(float(H,N,D) q, float(H,N,D) k, float(H,N,E) v, float(H) s, float(N,N) b) -> (O) {"
        " m(h,i) = max[j](sum[d](q(h,i,d) * k(h,j,d)) - s(h) * (i - j) + b(i,j))"
        " O(h,i,e) = sum[j](exp(sum[d](q(h,i,d) * k(h,j,d)) - s(h) * (i - j) + b(i,j) - m(h,i)) * v(h,j,e))"
        " / sum[j](exp(sum[d](q(h,i,d) * k(h,j,d)) - s(h) * (i - j) + b(i,j) - m(h,i))) }",
        biased(lambda s, v, _: jax.nn.softmax(s, axis=1) @ v),
        ((2, 5, 3), (2, 5, 3), (2, 5, 2), (2,), (5, 5)),
    ),
    "moments of a mixture": Formula(
        "def f(float(N) x, float(M) y, float(M) b) -> (mean, spread) {"
        " m(i) = max[j](x(i) * y(j))  z(i) = sum[j](exp(x(i) * y(j) - m(i)))"
        " mean(i) = sum[j](exp(x(i) * y(j) - m(i)) * b(j)) / z(i)"
        " spread(i) = sum[j](exp(x(i) * y(j) - m(i)) * b(j) * b(j)) / z(i) - mean(i) * mean(i) }",
        moments,
        ((5,), (8,), (8,)),
    ),
    "a mean shift": Formula(
        "def f(float(N,D) x, float(M,D) y) -> (O) {"
        " l(i) = logsumexp[j](-sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d))))"
        " O(i,c) = sum[j](exp(-sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d))) - l(i)) * (y(j,c) - x(i,c))) }",
        lambda x, y: jax.nn.softmax(-distances(x, y), axis=1) @ y - x,
        ((5, 2), (7, 2)),
    ),
    "two loops": Formula(
        "def f(float(N) x, float(A,B) y, float(A,B) v) -> (O) {"
        " l(i) = logsumexp[a,b](x(i) * y(a,b))  O(i) = sum[a,b](exp(x(i) * y(a,b) - l(i)) * v(a,b)) }",
        lambda x, y, v: jax.nn.softmax(x[:, None] * y.ravel(), axis=1) @ v.ravel(),
        ((5,), (3, 4), (3, 4)),
    ),
    "one row": Formula(
        "def f(float(M) x, float(M) v) -> (O) {"
        " l = logsumexp[j](x(j) * x(j))  O = sum[j](exp(x(j) * x(j) - l) * v(j)) }",
        lambda x, v: jax.nn.softmax(x * x) @ v,
        ((7,), (7,)),
    ),
}
