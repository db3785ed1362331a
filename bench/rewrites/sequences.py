"""Sequences: the sum of everything up to each element."""

from collections.abc import Iterator

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


def running_sum(n: int, t: int) -> Computation:
    """The sums of every prefix of each row."""

    def cumsum(x):
        return jnp.cumsum(x, 1)

    def scan(x):
        return lax.associative_scan(jnp.add, x, axis=1)

    def triangle(x):
        return x @ jnp.triu(jnp.ones((t, t), x.dtype))

    return Computation(
        name="running_sum",
        make_arrays=lambda rng: normals(rng, (n, t)),
        reference=lambda x: np.cumsum(x, 1),
        forms={"cumsum": cumsum, "associative_scan": scan, "triangle": triangle},
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
