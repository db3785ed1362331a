"""Typical nests, each with the same formula in jnp, where the whole space is one array."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tcjax


@dataclass(frozen=True, eq=False)
class Formula:
    """A program, the jnp function of the same arguments, and their shapes; `whole` has the extents of int32 arguments.

    An argument of whole numbers is a table of positions below its entry.
    """

    text: str
    jnp: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    whole: tuple[int | None, ...] = ()

    @cached_property
    def kernel(self) -> tcjax.Kernel:
        return tcjax.kernel(self.text)

    def fresh(self) -> tcjax.Kernel:
        """A kernel that has not been planned yet."""
        return tcjax.kernel(self.text)

    def arrays(self, seed: int = 0) -> tuple[np.ndarray, ...]:
        """Arguments in general position: no ties, nothing near zero."""
        rng = np.random.default_rng(seed)
        whole = self.whole or (None,) * len(self.shapes)
        return tuple(
            rng.uniform(0.3, 1.5, shape).astype("float32") * rng.choice([-1, 1], shape).astype("float32")
            if below is None
            else rng.integers(0, below, shape).astype("int32")
            for shape, below in zip(self.shapes, whole, strict=True)
        )

    @property
    def floats(self) -> tuple[int, ...]:
        """The positions of the arguments with derivatives."""
        return tuple(n for n in range(len(self.shapes)) if not self.whole or self.whole[n] is None)


def distances(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.sum((x[:, None, :] - y[None, :, :]) ** 2, -1)


def below(i: int, j: int) -> np.ndarray:
    """Where ``j <= i``."""
    return np.arange(j)[None, :] <= np.arange(i)[:, None]


def attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    return jax.nn.softmax(q @ k.T, axis=1) @ v


def mixture(w: jax.Array, x: jax.Array, m: jax.Array, s: jax.Array) -> jax.Array:
    return jax.nn.logsumexp(w[None] - distances(x, m) * s[None] ** 2, axis=1)


FORMULAS: dict[str, Formula] = {
    "a kernel sum": Formula(
        "O(i) = sum[j](exp(-sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))) * b(j))",
        lambda x, y, b: jnp.exp(-distances(x, y)) @ b,
        ((5, 3), (7, 3), (7,)),
    ),
    "a sum of distances": Formula(
        "O(i) +=! fabs(x(i) - y(j)) * b(j)",
        lambda x, y, b: jnp.abs(x[:, None] - y) @ b,
        ((6,), (11,), (11,)),
    ),
    "a logsumexp": Formula(
        "O(i) = logsumexp[j](x(i) * y(j))",
        lambda x, y: jax.nn.logsumexp(x[:, None] * y, axis=1),
        ((5,), (13,)),
    ),
    "a mixture": Formula(
        "O(i) = logsumexp[j](w(j) - sum[d]((x(i,d) - m(j,d)) * (x(i,d) - m(j,d))) * s(j) * s(j))",
        mixture,
        ((7,), (4, 2), (7, 2), (7,)),
    ),
    "a shortest path": Formula(
        "C(i,j) min=! A(i,k) + B(k,j)",
        lambda a, b: jnp.min(a[:, :, None] + b[None], axis=1),
        ((3, 7), (7, 5)),
    ),
    "a nearest neighbour": Formula(
        "O(i) = min[j](sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d))))",
        lambda x, y: jnp.min(distances(x, y), axis=1),
        ((5, 3), (11, 3)),
    ),
    "the nearest point's value": Formula(
        "P(i) argmin=! fabs(x(i) - y(j))  O(i) = v(P(i))",
        lambda x, y, v: v[jnp.argmin(jnp.abs(x[:, None] - y), axis=1)],
        ((5,), (11,), (11,)),
    ),
    "three nearest": Formula(
        "O(i,r) = mink[j](fabs(x(i) - y(j)), r) where r in 0:3",
        lambda x, y: jnp.sort(jnp.abs(x[:, None] - y), axis=1)[:, :3],
        ((4,), (9,)),
    ),
    "a product": Formula(
        "O(i) *=! x(i) - y(j)",
        lambda x, y: jnp.prod(x[:, None] - y, axis=1),
        ((4,), (5,)),
    ),
    "a mean": Formula(
        "O(i) mean=! tanh(x(i) - y(j))",
        lambda x, y: jnp.mean(jnp.tanh(x[:, None] - y), axis=1),
        ((5,), (12,)),
    ),
    "a triangle": Formula(
        "O(i) = sum[j where j <= i](tanh(x(i) * y(j)) * v(j))",
        lambda x, y, v: jnp.where(below(7, 7), jnp.tanh(x[:, None] * y), 0.0) @ v,
        ((7,), (7,), (7,)),
    ),
    "a masked maximum": Formula(
        "O(i) = max[j where g(i) == h(j) || j == 0](x(i) * y(j))",
        lambda g, h, x, y: jnp.max(
            jnp.where((g[:, None] == h) | (np.arange(9) == 0), x[:, None] * y, -jnp.inf), axis=1
        ),
        ((5,), (9,), (5,), (9,)),
        (3, 3, None, None),
    ),
    "a looked-up sum": Formula(
        "O(i) +=! fabs(E(I(j)) - x(i))",
        lambda e, i, x: jnp.sum(jnp.abs(e[i][None] - x[:, None]), axis=1),
        ((6,), (11,), (4,)),
        (None, 6, None),
    ),
    "a slope along a signal": Formula(
        "O(i) = sum[j](fabs(x(i+j) - w(j)))",
        lambda x, w: jnp.sum(jnp.abs(x[np.arange(8)[:, None] + np.arange(4)] - w), axis=1),
        ((11,), (4,)),
    ),
    "an attention": Formula(
        "O(i,e) = sum[j](exp(sum[d](q(i,d) * k(j,d)) - logsumexp[l](sum[d](q(i,d) * k(l,d)))) * v(j,e))",
        attention,
        ((4, 3), (7, 3), (7, 2)),
    ),
    "a smoothed image": Formula(
        "O(i) = sum[j in 0:5](exp(-(x(i+2) - x(i+j)) * (x(i+2) - x(i+j))) * x(i+j))",
        lambda x: jnp.sum(
            jnp.exp(-((x[np.arange(8)[:, None] + 2] - x[np.arange(8)[:, None] + np.arange(5)]) ** 2))
            * x[np.arange(8)[:, None] + np.arange(5)],
            axis=1,
        ),
        ((12,),),
    ),
}
