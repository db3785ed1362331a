"""A grouped convolution

Channels are split into groups that do not mix. The channels a filter reads are computed from its number: filter `o`
belongs to group `o / (O/G)` and reads the C channels of that group. Nothing else is needed. Groups of four channels, as
here, run in one fused loop, faster than XLA's own grouped convolution.

Xie and others, "Aggregated Residual Transformations for Deep Neural Networks" (ResNeXt, 2017).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

GROUPS = 32
grouped_convolution = tcjax.kernel(
    """
def grouped_convolution(float(N,H,W,I) x, float(K,K,C,O) filter) -> (y) {
    y(n,i,j,o) = sum[k,l,c](pad(x(n, i+k-K/2, j+l-K/2, C * (o / (O/G)) + c), 0) * filter(k,l,c,o))
                 where i in 0:H, j in 0:W
}""",
    consts={"G": GROUPS},
)


def data(images: int, height: int) -> tuple[np.ndarray, ...]:
    """Photographs, with the colours and the brightness in each group; a group finds the slopes in its own direction."""
    from sklearn.datasets import load_sample_images

    photos = np.stack(load_sample_images().images[:images])[:, 60 : 60 + height, 200 : 200 + height] / 255
    channels = np.concatenate([photos, photos.mean(-1, keepdims=True)], -1)
    x, y = np.mgrid[-1:2, -1:2] / 4
    angle = 2 * np.pi * np.arange(GROUPS)[:, None, None] / GROUPS
    slopes = np.einsum("gkl,cf->klcgf", np.cos(angle) * x + np.sin(angle) * y, np.eye(4)).reshape(3, 3, 4, -1)
    return np.tile(channels, GROUPS).astype(np.float32), slopes.astype(np.float32)


def reference(x, filter):
    """Group by group, from all windows."""
    side = len(filter) // 2
    padded = np.pad(x, ((0, 0), (side, side), (side, side), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, filter.shape[:2], (1, 2))
    groups = zip(np.split(windows, GROUPS, 3), np.split(filter, GROUPS, 3), strict=True)
    return np.concatenate([np.einsum("nijckl,klco->nijo", *pair, optimize=True) for pair in groups], -1)


def convolution(x, filter, groups=GROUPS):
    dimensions = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        x, filter, (1, 1), "SAME", dimension_numbers=dimensions, feature_group_count=groups
    )


def one_by_one(x, filter):
    pairs = zip(jnp.split(x, GROUPS, 3), jnp.split(filter, GROUPS, 3), strict=True)
    return jnp.concatenate([convolution(*pair, groups=1) for pair in pairs], 3)


def draw(figure, arrays, y):
    """A photograph, and the slopes of its brightness that three groups find."""
    panels = figure.subplots(1, 4)
    panels[0].imshow(arrays[0][0, :, :, :3])
    for group, axes in zip((0, 4, 8), panels[1:], strict=True):
        axes.imshow(y[0, 1:-1, 1:-1, 4 * group + 3], cmap="RdBu", vmin=-0.4, vmax=0.4)
        axes.set_title(f"group {group}: {360 * group // GROUPS} degrees")
    for axes in panels:
        axes.axis("off")


program = Program(
    grouped_convolution,
    data,
    reference,
    {"conv_general_dilated": convolution, "group by group": one_by_one},
    draw,
    small={"images": 1, "height": 8},
    full={"images": 2, "height": 56},
    picture={"images": 1, "height": 240},
    gradient=(0, 1),
)

if __name__ == "__main__":
    program.main()
