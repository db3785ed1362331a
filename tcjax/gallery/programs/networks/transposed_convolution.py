"""A transposed convolution, which enlarges images

Each pixel adds a copy of the filter to the result, S positions further than its neighbour's. The formula is that of a
convolution with its two sides exchanged: the computed subscript is on the left, and `+=!` adds what overlaps. The
compiler turns each of the S x S phases of the result into a small convolution of its own, so no zeros are multiplied
and nothing is scattered.

Zeiler and others, "Deconvolutional Networks" (2010); Dumoulin and Visin, "A guide to convolution arithmetic" (2016).
"""

import jax
import numpy as np

import tcjax
from tcjax.gallery import Program

STRIDE = 4
transposed_convolution = tcjax.kernel(
    """
def transposed_convolution(float(N,H,W,C) x, float(K,K,C,O) filter) -> (y) {
    y(n, S*i+k, S*j+l, o) +=! x(n,i,j,c) * filter(k,l,c,o)
}""",
    consts={"S": STRIDE},
)


def data(images: int, channels: int, filters: int) -> tuple[np.ndarray, ...]:
    """Handwritten digits of 8 x 8 pixels, and tents twice as wide as the stride, which interpolate linearly."""
    from sklearn.datasets import load_digits

    digits = load_digits().images[:images, :, :, None] / 16
    tent = 1 - np.abs(np.arange(2 * STRIDE) - STRIDE + 0.5) / STRIDE
    weight = np.random.default_rng(0).uniform(size=(channels, filters))
    filter = tent[:, None, None, None] * tent[:, None, None] * weight / weight.sum(0)
    return np.repeat(digits, channels, 3).astype(np.float32), filter.astype(np.float32)


def reference(x, filter):
    """Adds the filter to the result at the place of each pixel."""
    (N, H, W, _), (K, _, _, O) = x.shape, filter.shape
    y = np.zeros((N, STRIDE * (H - 1) + K, STRIDE * (W - 1) + K, O))
    for i, j in np.ndindex(H, W):
        y[:, STRIDE * i : STRIDE * i + K, STRIDE * j : STRIDE * j + K] += np.einsum("nc,klco->nklo", x[:, i, j], filter)
    return y


def library(x, filter):
    dimensions = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_transpose(x, filter[::-1, ::-1], (STRIDE, STRIDE), "VALID", dimension_numbers=dimensions)


def phases(x, filter):
    """No zero is multiplied: each of S x S phases of the result is a small convolution of its own."""
    (K, _, _, O), taps = filter.shape, len(filter) // STRIDE
    parts = filter.reshape(taps, STRIDE, taps, STRIDE, -1, O)[::-1, :, ::-1]
    stacked = parts.transpose(0, 2, 4, 1, 3, 5).reshape(taps, taps, -1, STRIDE * STRIDE * O)
    pad, dimensions = [(taps - 1, taps - 1)] * 2, ("NHWC", "HWIO", "NHWC")
    y = jax.lax.conv_general_dilated(x, stacked, (1, 1), pad, dimension_numbers=dimensions)
    N, H, W, _ = y.shape
    y = y.reshape(N, H, W, STRIDE, STRIDE, O).transpose(0, 1, 3, 2, 4, 5)
    return y.reshape(N, STRIDE * H, STRIDE * W, O)


def draw(figure, arrays, y):
    """Digits, and the same enlarged."""
    for axes, small, large in zip(figure.subplots(2, len(y)).T, arrays[0], y, strict=True):
        axes[0].imshow(small[:, :, 0], cmap="gray")
        axes[1].imshow(large[:, :, 0], cmap="gray")
        for each in axes:
            each.axis("off")


program = Program(
    transposed_convolution,
    data,
    reference,
    {"conv_transpose": library, "phases": phases},
    draw,
    small={"images": 2, "channels": 2, "filters": 3},
    full={"images": 64, "channels": 16, "filters": 16},
    picture={"images": 6, "channels": 1, "filters": 1},
    gradient=(0, 1),
)

if __name__ == "__main__":
    program.main()
