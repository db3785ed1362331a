"""Corners of a photograph

Harris and Stephens measure how much an image changes when a window moves: along an edge it changes in one direction, at
a corner in all. Slopes, window means of their products, and the response are separate statements that use the same
pixel indices. tcjax infers the ranges: it leaves out the border, where the window does not fit, and you compute no size
by hand.

Harris and Stephens, "A combined corner and edge detector" (1988).
"""

from typing import no_type_check

import jax
import jax.numpy as jnp
import numpy as np
import scipy.ndimage

import tcjax
from tcjax.gallery import Program

RADIUS = 3


@no_type_check
@tcjax.kernel
def harris(image: "float(H,W)", w: "float(K)"):
    right[y, x] = (image[y, x + 1] - image[y, x - 1]) / 2
    down[y, x] = (image[y + 1, x] - image[y - 1, x]) / 2
    rows_xx[y, x] += w[a] * right[y + a - RADIUS, x] * right[y + a - RADIUS, x]
    rows_xy[y, x] += w[a] * right[y + a - RADIUS, x] * down[y + a - RADIUS, x]
    rows_yy[y, x] += w[a] * down[y + a - RADIUS, x] * down[y + a - RADIUS, x]
    xx[y, x] += w[b] * rows_xx[y, x + b - RADIUS]
    xy[y, x] += w[b] * rows_xy[y, x + b - RADIUS]
    yy[y, x] += w[b] * rows_yy[y, x + b - RADIUS]
    response[y, x] = xx[y, x] * yy[y, x] - xy[y, x] ** 2 - 0.05 * (xx[y, x] + yy[y, x]) ** 2
    return response


def data(top: int, left: int, height: int, width: int) -> tuple[np.ndarray, ...]:
    """The brightness of a part of a photograph, and the weights of a window."""
    from sklearn.datasets import load_sample_image

    image = load_sample_image("china.jpg")[top : top + height, left : left + width].mean(-1) / 255
    window = np.exp(-(np.arange(-RADIUS, RADIUS + 1) ** 2) / 4)
    return image.astype(np.float32), (window / window.sum()).astype(np.float32)


def reference(image, w):
    down, right = (scipy.ndimage.correlate1d(image, [-0.5, 0, 0.5], axis) for axis in (0, 1))
    xx, xy, yy = (scipy.ndimage.correlate(p, np.outer(w, w)) for p in (right * right, right * down, down * down))
    rim = 1 + RADIUS
    return (xx * yy - xy**2 - 0.05 * (xx + yy) ** 2)[rim:-rim, rim:-rim]


def convolution(image, w):
    right = (image[1:-1, 2:] - image[1:-1, :-2]) / 2
    down = (image[2:, 1:-1] - image[:-2, 1:-1]) / 2
    products = jnp.stack([right * right, right * down, down * down])[:, None]
    xx, xy, yy = jax.lax.conv(products, jnp.outer(w, w)[None, None], (1, 1), "VALID")[:, 0]
    return xx * yy - xy**2 - 0.05 * (xx + yy) ** 2


def slices(image, w):
    def mean(p):
        rows = jnp.asarray(sum(w[k] * p[k : p.shape[0] - len(w) + 1 + k] for k in range(len(w))))
        return sum(w[k] * rows[:, k : p.shape[1] - len(w) + 1 + k] for k in range(len(w)))

    right = (image[1:-1, 2:] - image[1:-1, :-2]) / 2
    down = (image[2:, 1:-1] - image[:-2, 1:-1]) / 2
    xx, xy, yy = mean(right * right), mean(right * down), mean(down * down)
    return xx * yy - xy**2 - 0.05 * (xx + yy) ** 2


def draw(figure, arrays, response):
    """The photograph with its corners, and the response."""
    peaks = (response == scipy.ndimage.maximum_filter(response, 7)) & (response > 0.02 * response.max())
    rows, columns = np.nonzero(peaks)
    left, right = figure.subplots(1, 2, subplot_kw={"xticks": [], "yticks": []})
    left.imshow(arrays[0][4:-4, 4:-4], cmap="gray")
    left.plot(columns, rows, "o", mfc="none", mec="tab:orange", ms=5)
    left.set_title("corners")
    right.imshow(np.cbrt(response), cmap="RdBu_r", vmin=-np.cbrt(response.max()), vmax=np.cbrt(response.max()))
    right.set_title("response: corners red, edges blue")


program = Program(
    harris,
    data,
    reference,
    {"convolution": convolution, "slices": slices},
    draw,
    small={"top": 150, "left": 100, "height": 32, "width": 40},
    full={"top": 0, "left": 0, "height": 427, "width": 640},
    picture={"top": 110, "left": 220, "height": 150, "width": 195},
    gradient=(0, 1),
)

if __name__ == "__main__":
    program.main()
