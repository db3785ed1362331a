"""The histogram of a photograph, with a gradient

Each pixel counts towards the two bins it lies between, and more towards the nearer one. So the counts change smoothly
with the pixels, and the histogram can be part of a loss; a plain histogram has no gradient at all. The bins are
targets from data: each pixel is scattered to two of them, and no array of pixels and bins is materialised.

Swain and Ballard, "Color indexing" (1991), compare pictures by histograms; linear weights are the usual softening.
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

BINS = 64

histogram = tcjax.kernel(
    """
    def histogram(float(H,W,C) image) -> (float(bins,C) count) {
        place(y,x,c) = image(y,x,c) * (bins - 1)
        below(y,x,c) = int32(floor(place(y,x,c)))
        count(below(y,x,c), c) +=! 1 - (place(y,x,c) - below(y,x,c))
        count(below(y,x,c) + 1, c) += place(y,x,c) - below(y,x,c)
    }""",
    consts={"bins": BINS},
)


def data(stride: int) -> tuple[np.ndarray, ...]:
    """A regular sample of the pixels of scikit-learn's photograph of a temple: numbers between 0 and 1."""
    from sklearn.datasets import load_sample_image

    return ((load_sample_image("china.jpg")[::stride, ::stride] + np.float32(0.5)) / np.float32(256),)


def reference(image):
    """Each pixel to each bin: one less than a bin away it counts, less the farther it is."""
    away = np.abs(image.reshape(-1, 1, image.shape[-1]) * (BINS - 1) - np.arange(BINS)[:, None])
    return np.maximum(1 - away, 0).sum(0)


def scattered(image):
    place = image.reshape(-1, image.shape[-1]) * (BINS - 1)
    below = jnp.floor(place).astype(int)
    share = place - below
    channel = jnp.arange(image.shape[-1])
    count = jnp.zeros((BINS, image.shape[-1])).at[below, channel].add(1 - share)
    return count.at[below + 1, channel].add(share)


def counted(image):
    """Two `bincount`s for each channel."""

    def channel(values):
        place = values.ravel() * (BINS - 1)
        below = jnp.floor(place).astype(int)
        share = place - below
        upper = jnp.bincount(below + 1, share, length=BINS)
        return jnp.bincount(below, 1 - share, length=BINS) + upper

    return jax.vmap(channel, -1, -1)(image)


def draw(figure, arrays, count):
    """The photograph, and how often each channel has which value."""
    (image,) = arrays
    left, right = figure.subplots(1, 2)
    left.imshow(image)
    left.axis("off")
    for channel, colour in enumerate(("#d06a5c", "#7fa35b", "#5e81ac")):
        values = np.linspace(0, 1, BINS)
        right.plot(values, count[:, channel], color=colour, label=("red", "green", "blue")[channel])
        right.fill_between(values, count[:, channel], color=colour, alpha=0.15)
    right.set(title=f"pixels in each of {BINS} bins", xlabel="value", xlim=(0, 1), ylim=(0, None))
    right.legend()


program = Program(
    histogram,
    data,
    reference,
    {"at[].add": scattered, "bincount": counted},
    draw,
    small={"stride": 12},
    full={"stride": 1},
    picture={"stride": 2},
    gradient=(0,),
)

if __name__ == "__main__":
    program.main()
