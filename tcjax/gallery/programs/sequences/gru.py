"""Gated recurrent unit

A hidden state is carried through a sequence. One gate says how much of it a new candidate sees, another how much of it
is kept. The equations are those of the paper. Batching needs no second function, because the batch index n is already
in them. The gradient stores the state once every few steps, and recomputes the steps in between.

Cho et al., "Learning phrase representations using RNN encoder-decoder for statistical machine translation" (2014); the
reset gate is applied after the product, as in cuDNN and PyTorch.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tcjax
from tcjax.gallery import Program

gru = tcjax.kernel("""
def gru(float(T,N,D) x, float(3,D,H) W, float(3,H,H) U, float(3,H) b) -> (y) {
    h(n,j) = 0.0 where n in 0:N, j in 0:H
    for t in 0:T {
        reset(n,j) = sigmoid(sum[d](x(t,n,d) * W(0,d,j)) + sum[k](h(n,k) * U(0,k,j)) + b(0,j))
        keep(n,j)  = sigmoid(sum[d](x(t,n,d) * W(1,d,j)) + sum[k](h(n,k) * U(1,k,j)) + b(1,j))
        seen(n,j)  = tanh(sum[d](x(t,n,d) * W(2,d,j)) + reset(n,j) * sum[k](h(n,k) * U(2,k,j)) + b(2,j))
        h(n,j) = keep(n,j) * h(n,j) + (1 - keep(n,j)) * seen(n,j)
        y(t,n,j) = h(n,j)
    }
}""")


def data(length: int, batch: int, width: int, hidden: int) -> tuple[np.ndarray, ...]:
    """Short bursts in noise; weights as PyTorch draws them, and a bias towards keeping."""
    random = np.random.default_rng(0)
    bursts = np.repeat(random.normal(size=(length // 10 + 1, batch, width)), 10, 0)[:length]
    x = bursts * (np.arange(length) % 20 < 10)[:, None, None] + 0.1 * random.normal(size=(length, batch, width))
    bound = 1 / np.sqrt(hidden)
    shapes = (3, width, hidden), (3, hidden, hidden), (3, hidden)
    W, U, b = (random.uniform(-bound, bound, shape).astype(np.float32) for shape in shapes)
    b[1] += 1
    return x.astype(np.float32), W, U, b


def reference(x, W, U, b):
    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    h, found = np.zeros((x.shape[1], U.shape[1])), []
    for now in x:
        reset = sigmoid(now @ W[0] + h @ U[0] + b[0])
        keep = sigmoid(now @ W[1] + h @ U[1] + b[1])
        h = keep * h + (1 - keep) * np.tanh(now @ W[2] + reset * (h @ U[2]) + b[2])
        found.append(h)
    return np.array(found)


def cell(x, W, U, b):
    """Each step multiplies its own input."""

    def step(h, now):
        reset = jax.nn.sigmoid(now @ W[0] + h @ U[0] + b[0])
        keep = jax.nn.sigmoid(now @ W[1] + h @ U[1] + b[1])
        h = keep * h + (1 - keep) * jnp.tanh(now @ W[2] + reset * (h @ U[2]) + b[2])
        return h, h

    return lax.scan(step, jnp.zeros((x.shape[1], U.shape[1])), x)[1]


def hoisted(x, W, U, b):
    """What the inputs add is computed before the loop, for all steps at once."""

    def step(h, new):
        reset = jax.nn.sigmoid(new[0] + h @ U[0])
        keep = jax.nn.sigmoid(new[1] + h @ U[1])
        h = keep * h + (1 - keep) * jnp.tanh(new[2] + reset * (h @ U[2]))
        return h, h

    return lax.scan(step, jnp.zeros((x.shape[1], U.shape[1])), [x @ W[g] + b[g] for g in range(3)])[1]


def draw(figure, arrays, h):
    """The inputs of one sequence, and the state."""
    panels = figure.subplots(2, 1, sharex=True)
    for axes, values, label in zip(panels, (arrays[0], h), ("input", "hidden state"), strict=True):
        bound = np.abs(values).max() * 0.8
        axes.imshow(values[:, 0].T, aspect="auto", cmap="RdBu_r", vmin=-bound, vmax=bound)
        axes.set(ylabel=label, yticks=[])
    panels[1].set_xlabel("time")


program = Program(
    gru,
    data,
    reference,
    {"lax.scan of the cell": cell, "inputs first": hoisted},
    draw,
    small={"length": 14, "batch": 3, "width": 5, "hidden": 8},
    full={"length": 128, "batch": 32, "width": 128, "hidden": 256},
    picture={"length": 160, "batch": 2, "width": 8, "hidden": 24},
    gradient=(0, 1, 2, 3),
)

if __name__ == "__main__":
    program.main()
