"""A grouped convolution

The channels are in groups that do not mix. Which channels a filter reads is computed from its own number: filter `o`
belongs to group `o / F` and reads the C channels of that group. That is all that grouping means, and it becomes one
convolution of XLA's with as many groups, forward and backward.

Krizhevsky, Sutskever and Hinton (2012); Xie and others, "Aggregated Residual Transformations" (ResNeXt, 2017).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

GROUPS = 3
grouped_convolution = tcjax.kernel(
    """
def grouped_convolution(float(N,H,W,I) x, float(K,K,C,O) filter) -> (y) {
    y(n,i,j,o) = sum[k,l,c](pad(x(n, i+k-K/2, j+l-K/2, C * (o / (O/G)) + c), 0) * filter(k,l,c,o))
                 where i in 0:H, j in 0:W
}""",
    consts={"G": GROUPS},
)


def data(height: int, each: int, filters: int) -> tuple[np.ndarray, ...]:
    """Two photographs: a group is a colour at `each` shifts. Filters are slopes of a bell in directions all around."""
    from sklearn.datasets import load_sample_images

    photos = np.stack(load_sample_images().images)[:, 60 : 60 + height, 200 : 200 + height] / 255
    colours = [np.roll(photos[..., colour], shift, 2) for colour in range(GROUPS) for shift in range(each)]
    x, y = np.mgrid[-2:3, -2:3, :1, :1][:2]
    angle = 2 * np.pi * np.arange(GROUPS * filters) / (GROUPS * filters)
    bell = np.exp(-(x**2 + y**2) / 2) * (np.cos(angle) * x + np.sin(angle) * y)
    return np.stack(colours, -1).astype(np.float32), np.repeat(bell / each, each, 2).astype(np.float32)


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
    """A photograph and the slopes of its three colours, each in a direction of its own."""
    x, filter = arrays
    each, filters = x.shape[3] // GROUPS, filter.shape[3] // GROUPS
    panels = figure.subplots(1, 4)
    panels[0].imshow(x[0, :, :, ::each])
    for group, axes in enumerate(panels[1:]):
        slope = y[0, 2:-2, 2:-2, group * filters]
        axes.imshow(slope, cmap="RdBu", vmin=-1, vmax=1)
        axes.set_title(f"group {group}: {('red', 'green', 'blue')[group]}")
    for axes in panels:
        axes.axis("off")


program = Program(
    grouped_convolution,
    data,
    reference,
    {"conv_general_dilated": convolution, "group by group": one_by_one},
    draw,
    small={"height": 12, "each": 2, "filters": 2},
    full={"height": 112, "each": 8, "filters": 8},
    picture={"height": 240, "each": 1, "filters": 1},
    gradient=(0, 1),
)

if __name__ == "__main__":
    program.main()
