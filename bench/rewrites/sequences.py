"""Sequences: the sum, or the largest, of everything up to each element."""

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..cases.case import normals
from .computation import Computation, definitions

# (N, T)
SIZES = {"small": (3, 7), "full": (256, 1024)}


def computations(size: str) -> Iterator[Computation]:
    """The sequences at `size`."""
    yield running_sum(*SIZES[size])
    yield running_maximum(*SIZES[size])


def stepped(combine: Callable[[jax.Array, jax.Array], jax.Array], start: float, x: jax.Array) -> jax.Array:
    """The reduction of all columns up to each, step by step, four per iteration."""

    def step(before, column):
        found = combine(before, column)
        return found, found

    return lax.scan(step, jnp.full(x.shape[0], start, x.dtype), x.T, unroll=4)[1].T


def running_sum(n: int, t: int) -> Computation:
    """The sums of every prefix of each row."""

    def cumsum(x):
        return jnp.cumsum(x, 1)

    def scan(x):
        return lax.associative_scan(jnp.add, x, axis=1)

    def triangle(x):
        return x @ jnp.triu(jnp.ones((t, t), x.dtype))

    def blocks(x):
        """A product for the columns of each block, and one for the blocks."""
        width = 16 if t % 16 == 0 else 1
        parts = x.reshape(n, t // width, width)
        inside = parts @ jnp.triu(jnp.ones((width, width), x.dtype))
        before = inside[..., -1] @ jnp.triu(jnp.ones((t // width, t // width), x.dtype), 1)
        return (inside + before[..., None]).reshape(n, t)

    return Computation(
        name="running_sum",
        make_arrays=lambda rng: normals(rng, (n, t)),
        reference=lambda x: np.cumsum(x, 1),
        forms={
            "cumsum": cumsum,
            "associative_scan": scan,
            "triangle": triangle,
            "stepped": lambda x: stepped(jnp.add, 0, x),
            "blocks": blocks,
        },
        spellings={
            **definitions(
                "def running_sum(float(N,T) x) -> (o)",
                {
                    "forwards": "o(n,t) = sum[s in 0:t+1](x(n,s)) where t in 0:T",
                    "backwards": "o(n,t) = sum[b in 0:t+1](x(n,t-b)) where t in 0:T",
                    "backwards_where": "o(n,t) = sum[b in 0:T where b <= t](x(n,t-b)) where t in 0:T",
                    "accumulated": "o(n,t) +=! x(n,s) where t in 0:T, s <= t",
                    "accumulated_backwards": "o(n,t) +=! x(n,t-b) where t in 0:T, b in 0:T, b <= t",
                    "strictly": "o(n,t) = x(n,t) + sum[s where s < t](x(n,s))",
                    "ternary": "o(n,t) = sum[s](s <= t ? x(n,s) : 0.0) where t in 0:T",
                    "negated": "o(n,t) = sum[s where !(s > t)](x(n,s)) where t in 0:T",
                    "left_out": "o(n,t) = sum[s](s > t ? 0.0 : x(n,s)) where t in 0:T",
                    "what_follows_turned": """
r(n,t) = x(n,T-1-t) where t in 0:T
o(n,t) = sum[b in 0:t+1](r(n,T-1-t+b)) where t in 0:T""",
                },
            ),
            "python": _running_sum,
            "sac": """
float[n,t] running_sum(float[n,t] x) {
    return { [i,k] -> sum({ [s] -> s <= k ? x[i,s] : 0.0 }) | [i,k] < [n, t] };
}""",
        },
    )


def _running_sum(x: "float(N,T)"):
    for t in range(0, T):
        for b in range(0, t + 1):
            o[n, t] += x[n, t - b]
    return o


def running_maximum(n: int, t: int) -> Computation:
    """The largest element of every prefix of each row."""

    def doubled(x):
        """The maximum of twice as many elements in each step."""
        reach = 1
        while reach < t:
            before = jnp.pad(x, ((0, 0), (reach, 0)), constant_values=-jnp.inf)
            x = jnp.maximum(x, before[:, :t])
            reach *= 2
        return x

    return Computation(
        name="running_maximum",
        make_arrays=lambda rng: normals(rng, (n, t)),
        reference=lambda x: np.maximum.accumulate(x, 1),
        forms={
            "cummax": lambda x: lax.cummax(x, axis=1),
            "associative_scan": lambda x: lax.associative_scan(jnp.maximum, x, axis=1),
            "stepped": lambda x: stepped(jnp.maximum, -jnp.inf, x),
            "doubled": doubled,
        },
        spellings={
            **definitions(
                "def running_maximum(float(N,T) x) -> (o)",
                {
                    "forwards": "o(n,t) = max[s in 0:t+1](x(n,s)) where t in 0:T",
                    "backwards": "o(n,t) = max[b in 0:t+1](x(n,t-b)) where t in 0:T",
                    "accumulated": "o(n,t) max=! x(n,s) where t in 0:T, s <= t",
                    "accumulated_backwards": "o(n,t) max=! x(n,t-b) where t in 0:T, b in 0:T, b <= t",
                    "guarded": "o(n,t) = max[s where s <= t](x(n,s)) where t in 0:T",
                    "negated_guard": "o(n,t) = max[s where !(s > t)](x(n,s)) where t in 0:T",
                    "ternary": "o(n,t) = max[s](s <= t ? x(n,s) : -inf) where t in 0:T",
                    "with_itself": "o(n,t) = max(x(n,t), max[s where s < t](x(n,s)))",
                    "smallest_of_negatives": "o(n,t) = -min[s in 0:t+1](-x(n,s)) where t in 0:T",
                    "transposed": """
y(s,n) = x(n,s)
m(t,n) max=! y(s,n) where t in 0:T, s <= t
o(n,t) = m(t,n)""",
                },
            ),
            "python": _running_maximum,
            "sac": """
float[n,t] running_maximum(float[n,t] x) {
    return { [i,k] -> maxval({ [s] -> x[i,s] | [s] < [k + 1] }) | [i,k] < [n, t] };
}""",
        },
    )


def _running_maximum(x: "float(N,T)"):
    for t in range(0, T):
        o[n, t] = max[s, s <= t](x[n, s])
    return o
