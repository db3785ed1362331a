"""A mixture of experts: each input goes to the few two-layer networks that a gate likes best."""

from functools import lru_cache
from typing import Any

import jax

from ...runtime.kernel import Kernel
from ..precision import at_precision
from .notation import compiled


def experts(
    x: jax.Array,
    gate: jax.Array,
    up: jax.Array,
    up_bias: jax.Array,
    down: jax.Array,
    down_bias: jax.Array,
    *,
    chosen: int,
    activation: str,
    precision: Any = None,
) -> tuple[jax.Array, jax.Array]:
    """The outputs for inputs ``(.., D)``, and the share of each expert ``(.., experts)``.

    Shares are a softmax over the `chosen` experts with the largest ``x @ gate``, the first ones on ties, and zero for
    the others. Every expert computes ``activation(x @ up + up_bias) @ down + down_bias``.
    """
    lead = x.shape[:-1]
    with at_precision(precision):
        y, shares = experts_program(chosen, activation)(x.reshape(-1, x.shape[-1]), gate, up, up_bias, down, down_bias)
    return y.reshape(*lead, y.shape[-1]), shares.reshape(*lead, shares.shape[-1])


@lru_cache(maxsize=64)
def experts_program(chosen: int, activation: str) -> Kernel:
    """A gate that keeps so many experts, and their networks."""
    return compiled(f"""
def experts(x, gate, up, up_bias, down, down_bias) -> (y, share) {{
  liking(t, e) +=! x(t, d) * gate(d, e)
  # How many experts stand before this one; that has no slope.
  before(t, e) = sum[f](liking(t, f) > liking(t, e) || (liking(t, f) == liking(t, e) && f < e) ? 1 : 0)
  total(t) = logsumexp[e where before(t, e) < {chosen}](liking(t, e))
  share(t, e) = before(t, e) < {chosen} ? exp(liking(t, e) - total(t)) : 0.0
  hidden(t, e, f) +=! x(t, d) * up(e, d, f)
  hidden(t, e, f) = share(t, e) * {activation}(hidden(t, e, f) + up_bias(e, f))
  y(t, o) +=! hidden(t, e, f) * down(e, f, o)
  y(t, o) = y(t, o) + sum[e](share(t, e) * down_bias(e, o))
}}""")
