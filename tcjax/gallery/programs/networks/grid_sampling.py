"""Sampling an image at positions between the pixels

Each result is a weighted mean of the four pixels around its position: first along the rows above and below, then
between them. Positions are real numbers and can lie anywhere; `clamp` repeats the pixels at the edge. Spatial
transformers, optical flow and registration learn from the gradient with respect to the positions.

Jaderberg and others, "Spatial Transformer Networks" (2015).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

grid_sampling = tcjax.kernel("""
def grid_sampling(float(H,W,C) image, float(M,N,2) at) -> (out) {
    i(m,n) = int32(floor(at(m,n,0)))
    j(m,n) = int32(floor(at(m,n,1)))
    y(m,n) = at(m,n,0) - i(m,n)
    x(m,n) = at(m,n,1) - j(m,n)
    upper(m,n,c) = (1 - x(m,n)) * image(clamp(i(m,n)), clamp(j(m,n)), c)
                 + x(m,n) * image(clamp(i(m,n)), clamp(j(m,n) + 1), c)
    lower(m,n,c) = (1 - x(m,n)) * image(clamp(i(m,n) + 1), clamp(j(m,n)), c)
                 + x(m,n) * image(clamp(i(m,n) + 1), clamp(j(m,n) + 1), c)
    out(m,n,c) = (1 - y(m,n)) * upper(m,n,c) + y(m,n) * lower(m,n,c)
}""")


def data(height: int, width: int) -> tuple[np.ndarray, ...]:
    """A photograph and a whirl: positions are turned about the middle, the further inside the more."""
    from sklearn.datasets import load_sample_image

    top, left = 213 - height // 2, 320 - width // 2
    photo = load_sample_image("flower.jpg")[top : top + height, left : left + width] / 255
    middle = np.array([height, width]) / 2 - 0.3
    y, x = np.mgrid[:height, :width] - middle[:, None, None]
    angle = 2.5 * np.exp(-(x**2 + y**2) / (0.3 * height) ** 2)
    turned = np.stack([np.cos(angle) * y - np.sin(angle) * x, np.sin(angle) * y + np.cos(angle) * x], -1)
    return photo.astype(np.float32), (turned * 1.05 + middle).astype(np.float32)


def reference(image, at):
    """SciPy's spline of degree one, colour by colour."""
    from scipy.ndimage import map_coordinates

    places = np.moveaxis(at, 2, 0)
    return np.stack(
        [map_coordinates(colour, places, order=1, mode="nearest") for colour in np.moveaxis(image, 2, 0)], -1
    )


def four_reads(image, at):
    base = jnp.floor(at)
    row, column = jnp.moveaxis(base.astype(jnp.int32), 2, 0)
    y, x = jnp.split(at - base, 2, 2)

    def pixel(i, j):
        return image[jnp.clip(i, 0, image.shape[0] - 1), jnp.clip(j, 0, image.shape[1] - 1)]

    upper = (1 - x) * pixel(row, column) + x * pixel(row, column + 1)
    lower = (1 - x) * pixel(row + 1, column) + x * pixel(row + 1, column + 1)
    return (1 - y) * upper + y * lower


def library(image, at):
    places = list(jnp.moveaxis(at, 2, 0))

    def sampled(colour):
        return jax.scipy.ndimage.map_coordinates(colour, places, order=1, mode="nearest")

    return jax.vmap(sampled, in_axes=2, out_axes=2)(image)


def draw(figure, arrays, out):
    """The photograph, some of the positions, and what was sampled there."""
    image, at = arrays
    left, middle, right = figure.subplots(1, 3)
    left.imshow(image)
    left.set_title("image")
    step = len(image) // 24
    middle.scatter(
        at[::step, ::step, 1], at[::step, ::step, 0], s=3, c=np.clip(out[::step, ::step].reshape(-1, 3), 0, 1)
    )
    middle.set(title="positions", aspect="equal", xlim=left.get_xlim(), ylim=left.get_ylim())
    right.imshow(np.clip(out, 0, 1))
    right.set_title("sampled there")
    for axes in (left, middle, right):
        axes.axis("off")


program = Program(
    grid_sampling,
    data,
    reference,
    {"four reads": four_reads, "map_coordinates": library},
    draw,
    small={"height": 20, "width": 24},
    full={"height": 400, "width": 600},
    picture={"height": 300, "width": 320},
    gradient=(0, 1),
)

if __name__ == "__main__":
    program.main()
