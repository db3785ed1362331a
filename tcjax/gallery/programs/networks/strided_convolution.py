"""The stem of an image network: a padded convolution with stride

Windows of seven by seven pixels at stride two, zero padding around the photograph, a bias, and a relu. `pad` goes
around the read, and the stride into its subscript. The plan is one convolution with that padding and that stride.

He and others, "Deep Residual Learning for Image Recognition" (2015); filters after Gabor (1946).
"""

import jax
import numpy as np

import tcjax
from tcjax.gallery import Program

strided_convolution = tcjax.kernel("""
def stem(float(N,H,W,C) photo, float(K,K,C,O) filter, float(O) bias) -> (y) {
    s(n,i,j,o) = sum[k,l,c](pad(photo(n, 2*i+k-K/2, 2*j+l-K/2, c), 0) * filter(k,l,c,o))
                 where i in 0:(H+1)/2, j in 0:(W+1)/2
    y(n,i,j,o) = relu(s(n,i,j,o) + bias(o))
}""")


def data(height: int, width: int, filters: int) -> tuple[np.ndarray, ...]:
    """Two photographs, and waves under a bell in all directions, of brightness and of colour in turn."""
    from sklearn.datasets import load_sample_images

    photos = np.stack(load_sample_images().images)[:, 20 : 20 + height, 40 : 40 + width] / 255 - 0.5
    x, y, angle = np.meshgrid(np.arange(-3, 4), np.arange(-3, 4), np.pi * np.arange(filters) / filters, indexing="ij")
    waves = np.exp(-(x**2 + y**2) / 6) * np.sin(1.2 * (np.cos(angle) * x + np.sin(angle) * y))
    colours = np.array([[1, 1, 1], [1, -1, 0]])[np.arange(filters) % 2].T
    filter = waves[:, :, None] * colours / 4
    return photos.astype(np.float32), filter.astype(np.float32), np.full(filters, -0.05, np.float32)


def reference(photo, filter, bias):
    """From all windows of the padded photographs, of which every second one is taken."""
    side = len(filter) // 2
    padded = np.pad(photo, ((0, 0), (side, side), (side, side), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, filter.shape[:2], (1, 2))[:, ::2, ::2]
    return np.maximum(np.einsum("nijckl,klco->nijo", windows, filter, optimize=True) + bias, 0)


def convolution(photo, filter, bias):
    side = len(filter) // 2
    dimensions = ("NHWC", "HWIO", "NHWC")
    y = jax.lax.conv_general_dilated(photo, filter, (2, 2), [(side, side)] * 2, dimension_numbers=dimensions)
    return jax.nn.relu(y + bias)


def patches(photo, filter, bias):
    """All windows as rows of a matrix (im2col), then a matrix product."""
    K = len(filter)
    dimensions = ("NHWC", "HWIO", "NHWC")
    windows = jax.lax.conv_general_dilated_patches(
        photo, (K, K), (2, 2), [(K // 2, K // 2)] * 2, dimension_numbers=dimensions
    )
    return jax.nn.relu(windows @ filter.transpose(2, 0, 1, 3).reshape(-1, filter.shape[3]) + bias)


def draw(figure, arrays, y):
    """A photograph, filters, and where they answer."""
    photo, filter, _ = arrays
    panels = figure.subplots(2, 4)
    panels[0, 0].imshow(photo[0] + 0.5)
    panels[1, 0].imshow(photo[1] + 0.5)
    for column, which in enumerate((0, 2, 4), start=1):
        for row in range(2):
            panels[row, column].imshow(y[row, 2:-2, 2:-2, which], vmax=1)
        inset = panels[0, column].inset_axes((0, 0.65, 0.25, 0.35))
        inset.imshow(filter[:, :, 0, which], cmap="gray")
        inset.axis("off")
    for axes in panels.flat:
        axes.axis("off")


program = Program(
    strided_convolution,
    data,
    reference,
    {"conv_general_dilated": convolution, "patches": patches},
    draw,
    small={"height": 13, "width": 16, "filters": 4},
    full={"height": 224, "width": 224, "filters": 64},
    picture={"height": 400, "width": 560, "filters": 8},
    gradient=(0, 1, 2),
)

if __name__ == "__main__":
    program.main()
