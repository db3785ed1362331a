"""A Gaussian blur with clamped edges

Rows are blurred first, then columns. Beyond the edge of the photograph, `clamp` repeats the last pixel. The kernel
computes the weights from the width itself, so you get the gradient with respect to the width along with that of the
pixels, and can estimate an unknown blur.

Szeliski, "Computer Vision: Algorithms and Applications" (2010), section 3.2.
"""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.ndimage

import tcjax
from tcjax.gallery import Program

RADIUS = 8

blur = tcjax.kernel(
    """
def blur(float(H,W,C) image, float sigma) -> (out) {
    weight(k) = exp(-k * k / (2 * sigma * sigma)) where k in -radius:radius+1
    total() +=! weight(k)
    rows(y,x,c) = sum[k](weight(k) * image(clamp(y+k), x, c)) / total where y in 0:H
    out(y,x,c) = sum[k](weight(k) * rows(y, clamp(x+k), c)) / total where x in 0:W
}""",
    consts={"radius": RADIUS},
)


def data(top: int, left: int, height: int, width: int) -> tuple[np.ndarray, ...]:
    """A part of a photograph, in linear light, and a width in pixels."""
    from sklearn.datasets import load_sample_image

    image = load_sample_image("flower.jpg")[top : top + height, left : left + width]
    return ((image / 255) ** 2.2).astype(np.float32), np.array(2.5, np.float32)


def reference(image, sigma):
    return scipy.ndimage.gaussian_filter(image, sigma, mode="nearest", radius=RADIUS, axes=(0, 1))


def weights(sigma):
    w = jnp.exp(-(jnp.arange(-RADIUS, RADIUS + 1) ** 2) / (2 * sigma**2))
    return w / w.sum()


def convolution(image, sigma):
    padded = jnp.pad(image, ((RADIUS, RADIUS), (RADIUS, RADIUS), (0, 0)), mode="edge").transpose(2, 0, 1)[:, None]
    w = weights(sigma)
    rows = jax.lax.conv(padded, w[None, None, :, None], (1, 1), "VALID")
    return jax.lax.conv(rows, w[None, None, None], (1, 1), "VALID")[:, 0].transpose(1, 2, 0)


def slices(image, sigma):
    (height, width, _), w = image.shape, weights(sigma)
    padded = jnp.pad(image, ((RADIUS, RADIUS), (0, 0), (0, 0)), mode="edge")
    rows = sum(w[k] * padded[k : k + height] for k in range(len(w)))
    padded = jnp.pad(rows, ((0, 0), (RADIUS, RADIUS), (0, 0)), mode="edge")
    return sum(w[k] * padded[:, k : k + width] for k in range(len(w)))


def draw(figure, arrays, out):
    """Before and after."""
    for axes, image, title in zip(figure.subplots(1, 2), (arrays[0], out), ("photograph", "blurred"), strict=True):
        axes.imshow(np.clip(image, 0, 1) ** (1 / 2.2))
        axes.set(title=title, xticks=[], yticks=[])


program = Program(
    blur,
    data,
    reference,
    {"convolutions": convolution, "slices": slices},
    draw,
    small={"top": 150, "left": 250, "height": 32, "width": 48},
    full={"top": 0, "left": 0, "height": 427, "width": 640},
    picture={"top": 100, "left": 200, "height": 200, "width": 260},
    gradient=(0, 1),
    peers={"scipy.ndimage": reference},
)

if __name__ == "__main__":
    program.main()
