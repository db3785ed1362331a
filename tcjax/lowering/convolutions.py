"""Convolutions."""

import jax
from jax import lax

from ..planning.nodes import Axes, Convolve
from .context import Context, Lower, numeric, transpose


def lower_convolve(node: Convolve, context: Context, lower: Lower) -> jax.Array:
    """`lax.conv_general_dilated` with all batch, group, channel and feature axes flattened to one each."""
    kind = numeric(node.dtype)
    positions = tuple(window.position for window in node.windows)
    taps = tuple(window.kernel for window in node.windows)
    image, image_extents = _arranged(
        lower(node.image, context), node.image.axes, (node.batch, (*node.groups, *node.channels)), positions
    )
    kernel, kernel_extents = _arranged(
        lower(node.kernel, context), node.kernel.axes, ((*node.groups, *node.features), node.channels), taps
    )
    flips = [2 + number for number, window in enumerate(node.windows) if window.flip_kernel]
    if flips:
        kernel = lax.rev(kernel, flips)
    groups = 1
    for axis in node.groups:
        groups *= image_extents[axis]
    # 16-bit operands are widened first: the transposes of a convolution want one type throughout.
    result = lax.conv_general_dilated(
        image.astype(kind),
        kernel.astype(kind),
        window_strides=[window.stride for window in node.windows],
        padding=[(0, 0)] * len(node.windows),
        rhs_dilation=[window.dilation for window in node.windows],
        feature_group_count=groups,
    )
    extents = {**kernel_extents, **image_extents}
    plain = (*node.batch, *node.groups, *node.features)
    result = lax.reshape(result, (*(extents[axis] for axis in plain), *result.shape[2:]))
    flips = [len(plain) + number for number, window in enumerate(node.windows) if window.flip_output]
    if flips:
        result = lax.rev(result, flips)
    outputs = tuple(window.output for window in node.windows)
    return transpose(result, (*plain, *outputs), node.axes)


def _arranged(
    array: jax.Array, axes: Axes, merged: tuple[Axes, Axes], spatial: Axes
) -> tuple[jax.Array, dict[object, int]]:
    extents: dict[object, int] = dict(zip(axes, array.shape, strict=True))
    wanted = (*merged[0], *merged[1], *spatial)
    array = transpose(array, axes, wanted)
    sizes = []
    for group in merged:
        size = 1
        for axis in group:
            size *= extents[axis]
        sizes.append(size)
    return lax.reshape(array, (*sizes, *(extents[axis] for axis in spatial))), extents
