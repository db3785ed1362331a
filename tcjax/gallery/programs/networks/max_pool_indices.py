"""Max pooling that keeps the positions, and unpooling

Pooling returns the maximum of each square of S x S pixels and its position. Unpooling puts each maximum back at its
position. It is written as a condition on the position, not as a scatter. In both results, the gradient goes to the
pixel that won.

Zeiler and others (2011); Badrinarayanan, Kendall and Cipolla, "SegNet" (2017).
"""

import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

SIDE = 4
max_pool_indices = tcjax.kernel(
    """
def max_pool_indices(float(N,H,W,C) x) -> (pooled, place, unpooled) {
    pooled(n,i,j,c) max=! x(n,S*i+k,S*j+l,c) where k in 0:S, l in 0:S
    place(n,i,j,c) argmax=! x(n,S*i+k,S*j+l,c) where k in 0:S, l in 0:S
    unpooled(n,y,z,c) = place(n,y/S,z/S,c) == S * (y%S) + z%S ? pooled(n,y/S,z/S,c) : 0.0
}""",
    consts={"S": SIDE},
)


def data(images: int, height: int, width: int) -> tuple[np.ndarray]:
    """Photographs, with a little noise, so that no two pixels are equal."""
    from sklearn.datasets import load_sample_images

    top, left = 213 - height // 2, 320 - width // 2
    photos = np.stack(load_sample_images().images[-images:])[:, top : top + height, left : left + width] / 255
    return ((0.999 * photos + np.random.default_rng(0).uniform(0, 1e-3, photos.shape)).astype(np.float32),)


def squares(x):
    """The pixels of each square along the last dimension."""
    N, H, W, C = x.shape
    parts = x.reshape(N, H // SIDE, SIDE, W // SIDE, SIDE, C)
    return parts.transpose(0, 1, 3, 5, 2, 4).reshape(N, H // SIDE, W // SIDE, C, SIDE * SIDE)


def put_back(parts):
    """The inverse of `squares`."""
    N, H, W, C, _ = parts.shape
    return parts.reshape(N, H, W, C, SIDE, SIDE).transpose(0, 1, 4, 2, 5, 3).reshape(N, H * SIDE, W * SIDE, C)


def reference(x):
    parts = squares(x)
    place = parts.argmax(-1)
    unpooled = put_back(np.where(np.arange(SIDE * SIDE) == place[..., None], parts, 0))
    return parts.max(-1), place.astype(np.int32), unpooled


def by_reshape(x):
    parts = squares(x)
    place = jnp.argmax(parts, -1)
    pooled = jnp.take_along_axis(parts, place[..., None], -1)
    return pooled[..., 0], place, put_back(jnp.where(jnp.arange(SIDE * SIDE) == place[..., None], pooled, 0))


def by_slices(x):
    """Pixel after pixel of the squares, each a slice with stride: nothing is transposed."""
    parts = {SIDE * k + l: x[:, k::SIDE, l::SIDE] for k in range(SIDE) for l in range(SIDE)}
    pooled, place = parts[0], jnp.zeros(parts[0].shape, jnp.int32)
    for number, part in parts.items():
        pooled, place = jnp.where(part > pooled, part, pooled), jnp.where(part > pooled, number, place)
    wide = (jnp.repeat(jnp.repeat(each, SIDE, 1), SIDE, 2) for each in (pooled, place))
    largest, number = wide
    own = SIDE * (jnp.arange(x.shape[1])[:, None, None] % SIDE) + jnp.arange(x.shape[2])[:, None] % SIDE
    return pooled, place, jnp.where(number == own, largest, 0)


def draw(figure, arrays, results):
    """A part of a photograph, pooled, the places, and unpooled."""
    pooled, place, unpooled = results
    titles = ("photograph", "largest of each square", "where it stood", "put back there")
    shown = (arrays[0][0], pooled[0], place[0, :, :, 0], unpooled[0])
    for axes, title, image in zip(figure.subplots(1, 4), titles, shown, strict=True):
        axes.imshow(image)
        axes.set_title(title)
        axes.axis("off")


program = Program(
    max_pool_indices,
    data,
    reference,
    {"argmax of squares": by_reshape, "strided slices": by_slices},
    draw,
    small={"images": 1, "height": 8, "width": 12},
    full={"images": 2, "height": 376, "width": 512},
    picture={"images": 1, "height": 128, "width": 128},
    gradient=(0,),
)

if __name__ == "__main__":
    program.main()
