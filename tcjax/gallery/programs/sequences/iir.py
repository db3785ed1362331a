"""Recursive filter

y(t) is a weighted sum of recent inputs and recent outputs, for many signals at once: the textbook digital filter,
SciPy's `lfilter`. `pad` says that there was silence before the beginning, so the first steps are not a special case.
You can learn the coefficients: their gradient is exact, and takes one backward pass.

Oppenheim and Schafer, "Discrete-time signal processing".
"""

import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy import signal

import tcjax
from tcjax.gallery import Program

iir = tcjax.kernel("""
def iir(float(S,T) x, float(P) b, float(Q) a) -> (float(S,T) y) {
    fed(s,t) = sum[k](b(k) * pad(x(s,t-k), 0)) where t in 0:T
    for t in 0:T { y(s,t) = fed(s,t) - sum[k](a(k) * pad(y(s,t-1-k), 0)) }
}""")


def data(signals: int, length: int, order: int) -> tuple[np.ndarray, ...]:
    """A melody in noise, and a Butterworth low-pass; a begins behind the 1 that SciPy has in front."""
    random = np.random.default_rng(0)
    time = np.arange(length) / length
    notes = np.sin(2 * np.pi * (2 + np.arange(signals))[:, None] * time) + 0.6 * random.normal(size=(signals, length))
    b, a = signal.butter(order, 0.08)
    return notes.astype(np.float32), b.astype(np.float32), a[1:].astype(np.float32)


def reference(x, b, a):
    return signal.lfilter(b, [1, *a], x)


def scan(x, b, a):
    """A step keeps the last inputs and the last outputs."""

    def step(last, now):
        inputs, outputs = last
        inputs = jnp.concatenate([now[None], inputs[:-1]])
        y = b @ inputs - a @ outputs
        return (inputs, jnp.concatenate([y[None], outputs[:-1]])), y

    start = jnp.zeros((len(b), len(x))), jnp.zeros((len(a), len(x)))
    return lax.scan(step, start, x.T)[1].T


def transposed(x, b, a):
    """SciPy's way: one state for both, as many as the order (direct form II, transposed)."""

    def step(state, now):
        y = b[0] * now + state[0]
        state = jnp.concatenate([state[1:], jnp.zeros_like(state[:1])])
        return state + b[1:, None] * now - a[:, None] * y, y

    return lax.scan(step, jnp.zeros((len(a), len(x))), x.T)[1].T


def draw(figure, arrays, y):
    """Two signals before and after."""
    x = arrays[0]
    panels = figure.subplots(2, 1, sharex=True)
    for axes, before, after in zip(panels, x, y, strict=True):
        axes.plot(before, linewidth=0.6, alpha=0.7, label="in")
        axes.plot(after, linewidth=2, label="out")
    panels[1].set_xlabel("time")
    panels[1].legend(loc="lower left", ncols=2)


program = Program(
    iir,
    data,
    reference,
    {"lax.scan": scan, "lax.scan, transposed": transposed},
    draw,
    small={"signals": 3, "length": 60, "order": 2},
    full={"signals": 64, "length": 4096, "order": 4},
    picture={"signals": 2, "length": 500, "order": 3},
    gradient=(0, 1, 2),
    peers={"scipy.signal.lfilter": reference},
)

if __name__ == "__main__":
    program.main()
