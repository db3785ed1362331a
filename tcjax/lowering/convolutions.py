"""Convolutions."""

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.nodes import Axes, Convolve, LoopNest, Window
from .context import Context, Lower, numeric, transpose
from .finite import finite_p
from .placing import placed_as
from .reductions import as_nest, looped


def lower_convolve(node: Convolve, context: Context, lower: Lower) -> jax.Array:
    """The convolution; term by term if infinities or NaN could multiply masked values."""
    if isinstance(node.derivative, LoopNest):
        return as_nest(node.derivative, node.axes, context, lower)
    image, kernel, exact = lower(node.image, context), lower(node.kernel, context), node.exact
    if exact is None:
        return _convolution(node, image, kernel)
    names = sorted(context.arrays)

    def one_by_one(*arrays: jax.Array) -> jax.Array:
        inside = Context(dict(zip(names, arrays, strict=True)), context.foreign, context.steps)
        return transpose(looped(exact, inside, lower), exact.axes, node.axes)

    arrays = [context.arrays[name] for name in names]
    watched = [kernel] if node.everywhere else [image, kernel]
    finite = finite_p.bind(*watched)
    # Outside the branches: inside one, XLA:CPU convolves fifteen times as slowly. If the other branch runs, the zero
    # cotangent of this one must not multiply an infinity.
    plain = _convolution(node, *(jnp.where(finite, array, 0) for array in (image, kernel)))
    return lax.cond(finite, lambda: plain, lambda: placed_as(plain, one_by_one, arrays))


def _convolution(node: Convolve, image: jax.Array, kernel: jax.Array) -> jax.Array:
    """`lax.conv_general_dilated` with all batch, group, channel and feature axes flattened to one each."""
    kind = numeric(node.dtype)
    positions = tuple(window.position for window in node.windows)
    taps = tuple(window.kernel for window in node.windows)
    image, image_extents = _arranged(image, node.image.axes, (node.batch, (*node.groups, *node.channels)), positions)
    kernel, kernel_extents = _arranged(kernel, node.kernel.axes, ((*node.groups, *node.features), node.channels), taps)
    flips = [2 + number for number, window in enumerate(node.windows) if window.flip_kernel]
    if flips:
        kernel = lax.rev(kernel, flips)
    groups = 1
    for axis in node.groups:
        groups *= image_extents[axis]
    # 16-bit operands are widened first: the transposes of a convolution require a single type.
    image, kernel = image.astype(kind), kernel.astype(kind)
    if node.split:
        images = lax.reshape(image, (image.shape[0], groups, image.shape[1] // groups, *image.shape[2:]))
        kernels = lax.reshape(kernel, (groups, kernel.shape[0] // groups, *kernel.shape[1:]))
        result = jnp.stack([_convolve(images[:, g], kernels[g], node.windows, 1) for g in range(groups)], axis=1)
    else:
        result = _convolve(image, kernel, node.windows, groups)
    extents = {**kernel_extents, **image_extents}
    plain = (*node.batch, *node.groups, *node.features)
    spatial = result.shape[result.ndim - len(node.windows) :]
    result = lax.reshape(result, (*(extents[axis] for axis in plain), *spatial))
    flips = [len(plain) + number for number, window in enumerate(node.windows) if window.flip_output]
    if flips:
        result = lax.rev(result, flips)
    outputs = tuple(window.output for window in node.windows)
    return transpose(result, (*plain, *outputs), node.axes)


def _convolve(image: jax.Array, kernel: jax.Array, windows: tuple[Window, ...], groups: int) -> jax.Array:
    return lax.conv_general_dilated(
        image,
        kernel,
        window_strides=[window.stride for window in windows],
        padding=[(0, 0)] * len(windows),
        rhs_dilation=[window.dilation for window in windows],
        feature_group_count=groups,
    )


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
