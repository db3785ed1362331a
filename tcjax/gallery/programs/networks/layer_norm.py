"""Layer normalisation

Each vector is normalised to mean 0 and variance 1, then scaled and shifted by learned numbers. The three lines are the
definition; `...` makes it one program for a vector, a sequence of vectors, or a batch of sequences. The compiler
recognises the squared distance from the mean and computes both statistics in one pass over the data.

Ba, Kiros and Hinton, "Layer normalization" (2016).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

layer_norm = tcjax.kernel(
    """
def layer_norm(float(...,D) x, float(D) gain, float(D) bias) -> (y) {
    centre(...) = mean[d](x(...,d))
    spread(...) = sqrt(mean[d](pow(x(...,d) - centre(...), 2)) + eps)
    y(...,d) = gain(d) * (x(...,d) - centre(...)) / spread(...) + bias(d)
}""",
    consts={"eps": 1e-5},
)


def data(batch: int, length: int, width: int) -> tuple[np.ndarray, ...]:
    """Vectors that wander through a sequence, with a few channels much louder than the rest, as in trained networks."""
    random = np.random.default_rng(0)
    x = random.normal(size=(batch, length, width)).cumsum(1) / np.sqrt(length)
    x[..., :: width // 4] *= 4
    gain, bias = 1 + 0.1 * random.normal(size=width), 0.1 * random.normal(size=width)
    return x.astype(np.float32), gain.astype(np.float32), bias.astype(np.float32)


def reference(x, gain, bias):
    return gain * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + bias


def textbook(x, gain, bias):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return gain * (x - mean) / jnp.sqrt(variance + 1e-5) + bias


def library(x, gain, bias):
    return jax.nn.standardize(x, epsilon=1e-5) * gain + bias


def folded(x, gain, bias):
    """One pass for both statistics, and one product for both scales."""
    mean = x.mean(-1, keepdims=True)
    scale = jax.lax.rsqrt((x * x).mean(-1, keepdims=True) - mean * mean + 1e-5)
    return (x - mean) * (scale * gain) + bias


def draw(figure, arrays, y):
    """The vectors of one sequence before and after."""
    x = arrays[0]
    panels = figure.subplots(1, 2, sharey=True)
    for axes, values, title in zip(panels, (x[0], y[0]), ("before", "after"), strict=True):
        axes.imshow(values.T, aspect="auto", cmap="RdBu_r", vmin=-4, vmax=4)
        axes.set(title=title, xlabel="position")
    panels[0].set_ylabel("channel")
    figure.colorbar(panels[0].images[0], ax=panels, shrink=0.9)


program = Program(
    layer_norm,
    data,
    reference,
    {"mean, var": textbook, "jax.nn.standardize": library, "E[x^2] - E[x]^2": folded},
    draw,
    small={"batch": 2, "length": 12, "width": 16},
    full={"batch": 8, "length": 512, "width": 768},
    picture={"batch": 1, "length": 96, "width": 32},
    gradient=(0, 1, 2),
)

if __name__ == "__main__":
    program.main()
