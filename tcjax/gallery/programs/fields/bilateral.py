"""An edge-preserving filter (bilateral)

Each pixel becomes a weighted mean of its neighbours. Neighbours that are near and similar in colour get the largest
weights, so noise disappears and edges stay. The weights depend on both pixels, so this is not a convolution, and an
array of all windows would be 49 times the size of the photograph. Instead, two `for` loops walk through the window and
accumulate what each neighbour contributes; beyond the edges, `clamp` repeats the last pixel. The gradient with respect
to the pixels and both widths stores no windows either.

Tomasi and Manduchi, "Bilateral filtering for gray and color images" (1998).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

RADIUS = 3

bilateral = tcjax.kernel(
    """
def bilateral(float(H,W,C) image, float near, float alike) -> (out) {
    above(y,x,c) = 0.0 where y in 0:H, x in 0:W, c in 0:C
    below(y,x) = 0.0 where y in 0:H, x in 0:W
    for a in -radius:radius+1 {
        for b in -radius:radius+1 {
            apart(y,x) = sum[c](pow(image(clamp(y+a), clamp(x+b), c) - image(y,x,c), 2))
            weight(y,x) = exp(-(a*a + b*b) / (2 * near * near) - apart(y,x) / (2 * alike * alike))
            above(y,x,c) = above(y,x,c) + weight(y,x) * image(clamp(y+a), clamp(x+b), c)
            below(y,x) = below(y,x) + weight(y,x)
        }
    }
    out(y,x,c) = above(y,x,c) / below(y,x)
}""",
    consts={"radius": RADIUS},
)


def data(top: int, left: int, height: int, width: int) -> tuple[np.ndarray, ...]:
    """A part of a photograph with noise, and widths in pixels and in brightness."""
    from sklearn.datasets import load_sample_image

    image = load_sample_image("china.jpg")[top : top + height, left : left + width] / 255
    noise = np.random.default_rng(0).normal(scale=0.06, size=image.shape)
    return (image + noise).astype(np.float32), np.array(2.0, np.float32), np.array(0.25, np.float32)


def reference(image, near, alike):
    height, width, _ = image.shape
    padded = np.pad(image, ((RADIUS, RADIUS), (RADIUS, RADIUS), (0, 0)), mode="edge")
    above, below = np.zeros_like(image), np.zeros_like(image)
    for a in range(-RADIUS, RADIUS + 1):
        for b in range(-RADIUS, RADIUS + 1):
            other = padded[RADIUS + a :, RADIUS + b :][:height, :width]
            distance = ((other - image) ** 2).sum(-1, keepdims=True)
            weight = np.exp(-(a**2 + b**2) / (2 * near**2) - distance / (2 * alike**2))
            above += weight * other
            below += weight
    return above / below


def windows(image, near, alike):
    offsets = jnp.arange(-RADIUS, RADIUS + 1)
    rows = jnp.clip(jnp.arange(image.shape[0])[:, None] + offsets, 0, image.shape[0] - 1)
    columns = jnp.clip(jnp.arange(image.shape[1])[:, None] + offsets, 0, image.shape[1] - 1)
    others = image[rows[:, None, :, None], columns[None, :, None, :]]
    distance = ((others - image[:, :, None, None]) ** 2).sum(-1)
    away = offsets[:, None] ** 2 + offsets**2
    weight = jnp.exp(-away / (2 * near**2) - distance / (2 * alike**2))
    return jnp.einsum("yxab,yxabc->yxc", weight, others) / weight.sum((2, 3))[..., None]


def unrolled(image, near, alike):
    height, width, _ = image.shape
    padded = jnp.pad(image, ((RADIUS, RADIUS), (RADIUS, RADIUS), (0, 0)), mode="edge")
    above = below = 0.0
    for a in range(-RADIUS, RADIUS + 1):
        for b in range(-RADIUS, RADIUS + 1):
            other = padded[RADIUS + a : RADIUS + a + height, RADIUS + b : RADIUS + b + width]
            distance = ((other - image) ** 2).sum(-1, keepdims=True)
            weight = jnp.exp(-(a**2 + b**2) / (2 * near**2) - distance / (2 * alike**2))
            above, below = above + weight * other, below + weight
    return above / below


def scanned(image, near, alike):
    padded = jnp.pad(image, ((RADIUS, RADIUS), (RADIUS, RADIUS), (0, 0)), mode="edge")

    @jax.checkpoint
    def step(sums, offset):
        other = jax.lax.dynamic_slice(padded, (offset[0], offset[1], 0), image.shape)
        distance = ((other - image) ** 2).sum(-1, keepdims=True)
        away = ((offset - RADIUS) ** 2).sum()
        weight = jnp.exp(-away / (2 * near**2) - distance / (2 * alike**2))
        return (sums[0] + weight * other, sums[1] + weight), None

    offsets = jnp.stack(jnp.meshgrid(jnp.arange(2 * RADIUS + 1), jnp.arange(2 * RADIUS + 1)), -1).reshape(-1, 2)
    (above, below), _ = jax.lax.scan(step, (jnp.zeros_like(image), jnp.zeros_like(image[..., :1])), offsets)
    return above / below


def draw(figure, arrays, out):
    """Before and after."""
    for axes, image, title in zip(figure.subplots(1, 2), (arrays[0], out), ("with noise", "filtered"), strict=True):
        axes.imshow(np.clip(image, 0, 1))
        axes.set(title=title, xticks=[], yticks=[])


program = Program(
    bilateral,
    data,
    reference,
    {"windows": windows, "unrolled": unrolled, "scan": scanned},
    draw,
    small={"top": 150, "left": 100, "height": 20, "width": 24},
    full={"top": 0, "left": 0, "height": 427, "width": 640},
    picture={"top": 110, "left": 220, "height": 150, "width": 195},
    gradient=(0, 1, 2),
)

if __name__ == "__main__":
    program.main()
