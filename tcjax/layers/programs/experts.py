"""A mixture of experts: a gate sends each input to a few of several two-layer networks."""

from dataclasses import dataclass
from functools import lru_cache
from math import isqrt

import jax
import jax.numpy as jnp

from ...runtime.kernel import Kernel
from ..adapter import Adapter, Learned
from ..precision import at_precision
from .notation import check_lengths, compiled, names

# The networks, with the roles of their parameters.
NETWORKS = """
def networks(x, up, down) -> (y) {
  hidden(t, e, f) +=! x(t, e, d) * up(e, d, f)
  y(t, e, o) +=! hidden(t, e, f) * down(e, f, o)
}"""

# Copying an expert's matrices for a block of inputs takes as long as multiplying this many inputs with them
# (bench/experts.py, 2 CPU cores).
COPY = 32


def parameters(experts: int, chosen: int, inputs: int, hidden: int, outputs: int | None) -> Learned:
    """The parameters of a mixture. Raises `ValueError` if there are fewer experts than `chosen`."""
    if not 1 <= chosen <= experts:
        raise ValueError(f"top_k is {chosen}, but there are {experts} experts")
    up, down = (experts, inputs, hidden), (experts, hidden, inputs if outputs is None else outputs)
    shapes = {"gate": (inputs, experts), "up": up, "up_bias": up[::2], "down": down, "down_bias": down[::2]}
    return Learned(shapes, NETWORKS, ("up", "down"))


def experts(own: Adapter, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The outputs for inputs ``(.., D)``, and the weights of the experts ``(.., experts)``.

    The weights are a softmax over the `top_k` experts with the largest ``x @ gate`` (the first ones on ties), and zero
    for the others. Every expert computes ``activation(x @ up + up_bias) @ down + down_bias``: for all inputs, or, if
    `sparse`, for those that chose it; None picks the faster way.
    """
    chosen, activation, sparse = own.layer.top_k, own.layer.activation, own.layer.sparse
    learned = (own.parameter(name) for name in ("gate", "up", "up_bias", "down", "down_bias"))
    x, gate, up, up_bias, down, down_bias = own.promoted(x, *learned)
    lead = x.shape[:-1]
    check_lengths(
        inputs=(x, [*names("a", len(lead)), "d"]),
        gate=(gate, "de"),
        up=(up, "edf"),
        up_bias=(up_bias, "ef"),
        down=(down, "efo"),
        down_bias=(down_bias, "eo"),
    )
    x = x.reshape(-1, x.shape[-1])
    blocks = Blocks.of(x.shape[0] * chosen, gate.shape[1])
    with at_precision(own.layer.precision):
        if blocks.win(x.shape[0]) if sparse is None else sparse and x.shape[0] > 0:
            choice, weight, shares = gate_program(chosen)(x, gate)
            token, owner, block, place = blocks.sorted(choice)
            networks = sparse_program(activation)
            y = networks(x, weight, token, owner, choice, block, place, up, up_bias, down, down_bias)
        else:
            y, shares = dense_program(chosen, activation)(x, gate, up, up_bias, down, down_bias)
    return y.reshape(*lead, y.shape[-1]), shares.reshape(*lead, shares.shape[-1])


@dataclass(frozen=True, slots=True)
class Blocks:
    """`choices` sorted by expert, in blocks of `rows` rows; each block belongs to one expert and may have empty rows at
    its end.

    `count` blocks suffice for any distribution of the choices.
    """

    choices: int
    experts: int
    rows: int

    @staticmethod
    def of(choices: int, experts: int) -> "Blocks":
        """Blocks long enough to amortise copying the matrices, and short enough to be mostly full."""
        return Blocks(choices, experts, max(1, isqrt(COPY * choices // experts)))

    @property
    def count(self) -> int:
        """The largest possible number of blocks, since only the last one of each expert may be partly empty."""
        return (self.choices + self.experts * (self.rows - 1)) // self.rows

    def win(self, inputs: int) -> bool:
        """Whether multiplying the blocks and copying matrices for them is cheaper than multiplying all inputs with all
        experts.
        """
        return self.count * (self.rows + COPY) < inputs * self.experts

    def sorted(self, choice: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """For the experts ``(T, chosen)``: the input of each row of each block, the expert of each block, and the block
        and row of each choice.
        """
        inputs = choice.shape[0]
        own = choice[..., None] == jnp.arange(self.experts)
        taken = jnp.cumsum(own.any(1), 0, dtype=jnp.int32)
        filled = -(-taken[-1] // self.rows)
        end = jnp.cumsum(filled)
        # An input chooses an expert at most once: its position is the number of inputs before it.
        place = jnp.take_along_axis(taken, choice, 1) - 1
        block = (end - filled)[choice] + place // self.rows
        place = place % self.rows
        token = jnp.zeros((self.count, self.rows), jnp.int32)
        token = token.at[block, place].set(jnp.arange(inputs, dtype=jnp.int32)[:, None])
        owner = (jnp.arange(self.count)[:, None] >= end).sum(1, dtype=jnp.int32)
        return token, jnp.minimum(owner, self.experts - 1), block, place


# The ranking of the experts for each input; the number of experts ahead has zero derivative.
_GATE = """
  liking(t, e) +=! x(t, d) * gate(d, e)
  before(t, e) = sum[f](liking(t, f) > liking(t, e) || (liking(t, f) == liking(t, e) && f < e) ? 1 : 0)
  total(t) = logsumexp[e where before(t, e) < {chosen}](liking(t, e))
  share(t, e) = before(t, e) < {chosen} ? exp(liking(t, e) - total(t)) : 0.0"""


@lru_cache(maxsize=64)
def dense_program(chosen: int, activation: str) -> Kernel:
    """A gate that keeps `chosen` experts, and the networks of all experts."""
    return compiled(f"""
def experts(x, gate, up, up_bias, down, down_bias) -> (y, share) {{{_GATE.format(chosen=chosen)}
  hidden(t, e, f) +=! x(t, d) * up(e, d, f)
  hidden(t, e, f) = share(t, e) * {activation}(hidden(t, e, f) + up_bias(e, f))
  y(t, o) +=! hidden(t, e, f) * down(e, f, o)
  y(t, o) = y(t, o) + sum[e](share(t, e) * down_bias(e, o))
}}""")


@lru_cache(maxsize=64)
def gate_program(chosen: int) -> Kernel:
    """The experts that each input chooses, best first, their weights, and the weights of all experts."""
    return compiled(f"""
def gate(x, gate) -> (choice, weight, share) {{{_GATE.format(chosen=chosen)}
  choice(t, j) = sum[e where before(t, e) == j](e) where j in 0:{chosen}
  weight(t, j) = share(t, choice(t, j)) where j in 0:{chosen}
}}""")


@lru_cache(maxsize=64)
def sparse_program(activation: str) -> Kernel:
    """The networks for blocks of inputs that chose the same expert."""
    return compiled(f"""
def experts(x, weight, token, owner, choice, block, place, up, up_bias, down, down_bias) -> (y) {{
  row(b, r, d) = x(token(b, r), d)
  hidden(b, r, f) +=! row(b, r, d) * up(owner(b), d, f)
  hidden(b, r, f) = {activation}(hidden(b, r, f) + up_bias(owner(b), f))
  out(b, r, o) +=! hidden(b, r, f) * down(owner(b), f, o)
  y(t, o) +=! weight(t, j) * (out(block(t, j), place(t, j), o) + down_bias(choice(t, j), o))
}}""")
