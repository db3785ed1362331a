"""Selective state space (Mamba)

Each channel has a state of N numbers that decays and takes in the input. At each step, the input itself chooses how
fast it decays, what enters and what is read. The recurrence is written as in the paper, with its step sizes, and `for`
makes it one scan. The state has no time index, so only one step's is kept, and the forward pass does not make an array
of all states.

Gu and Dao, "Mamba: Linear-time sequence modeling with selective state spaces" (2023), algorithm 2.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

import tcjax
from tcjax.gallery import Program

selective_scan = tcjax.kernel("""
def selective_scan(float(T,D) x, float(T,D) delta, float(D,N) A, float(T,N) B, float(T,N) C) -> (y) {
    h(d,n) = 0.0 where d in 0:D, n in 0:N
    for t in 0:T {
        h(d,n) = exp(delta(t,d) * A(d,n)) * h(d,n) + delta(t,d) * B(t,n) * x(t,d)
        y(t,d) = sum[n](C(t,n) * h(d,n))
    }
}""")


def data(length: int, width: int, states: int) -> tuple[np.ndarray, ...]:
    """Noise with marked steps, which open the gate; A is -1, -2, ... as in the paper."""
    random = np.random.default_rng(0)
    marked = (random.random((length, 1)) < 8 / length).astype(float)
    x = random.normal(size=(length, width)) * (0.3 + marked)
    delta = np.logaddexp(0, random.normal(size=(length, width)) * 0.5 - 5 + 5 * marked)
    A = -np.tile(np.arange(1.0, states + 1), (width, 1))
    B, C = random.normal(size=(2, length, states)) * 0.3 + 1
    return tuple(array.astype(np.float32) for array in (x, delta, A, B, C))


def reference(x, delta, A, B, C):
    h, y = np.zeros_like(A), []
    for t in range(len(x)):
        h = np.exp(delta[t, :, None] * A) * h + (delta[t] * x[t])[:, None] * B[t]
        y.append(h @ C[t])
    return np.array(y)


def scan(x, delta, A, B, C):
    def step(h, now):
        x, delta, B, C = now
        h = jnp.exp(delta[:, None] * A) * h + (delta * x)[:, None] * B
        return h, h @ C

    return lax.scan(step, jnp.zeros_like(A), (x, delta, B, C))[1]


def unrolled(x, delta, A, B, C):
    """The scan with several steps in one turn of its loop."""

    def step(h, now):
        x, delta, B, C = now
        h = jnp.exp(delta[:, None] * A) * h + (delta * x)[:, None] * B
        return h, h @ C

    return lax.scan(step, jnp.zeros_like(A), (x, delta, B, C), unroll=8)[1]


def parallel(x, delta, A, B, C):
    """In logarithmic depth, with all states in memory."""
    decay = jnp.exp(delta[:, :, None] * A)
    entering = (delta * x)[:, :, None] * B[:, None, :]
    _, h = lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (decay, entering))
    return jnp.einsum("tdn,tn->td", h, C)


def draw(figure, arrays, y):
    """The input, how far each step opens the gate, and what is remembered."""
    x, delta, *_ = arrays
    panels = figure.subplots(3, 1, sharex=True)
    for axes, values, label in zip(panels, (x, delta, y), ("input", "step size", "output"), strict=True):
        bound = np.abs(values).max() * 0.8
        limits = {"cmap": "viridis", "vmin": 0} if label == "step size" else {"cmap": "RdBu_r", "vmin": -bound}
        axes.imshow(values.T, aspect="auto", vmax=bound, **limits)
        axes.set(ylabel=label, yticks=[])
    panels[2].set_xlabel("time")


program = Program(
    selective_scan,
    data,
    reference,
    {"lax.scan": scan, "lax.scan, unroll=8": unrolled, "associative_scan": parallel},
    draw,
    small={"length": 40, "width": 6, "states": 4},
    full={"length": 1024, "width": 256, "states": 16},
    picture={"length": 300, "width": 16, "states": 8},
    gradient=(0, 1, 2, 3, 4),
)

if __name__ == "__main__":
    program.main()
