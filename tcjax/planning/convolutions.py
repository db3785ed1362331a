"""Sums of products of a sliding read and a plain read, as convolutions."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from .. import ir
from ..symbolic import Affine, IndexVar
from ..transforms.factors import ProductSum, both, masked, multiply, non_negative
from .folds import unroll
from .nodes import Convolve, Node, Strip, Unroll
from .reads import as_stored, plan_read
from .scope import Scope
from .values import plan_value
from .windows import as_sliding, slide

# Up to this many multiply-adds an output element, shifted slices can beat lax.conv (bench/, 2 CPU cores) where few
# channels leave it no matrices to multiply: so many pairs of channels, or so few input channels of a group, ...
FEW_TERMS = 150
FEW_PAIRS = 64
FEW_CHANNELS = 4
# ... but in one dimension, where lax.conv is better, only so many.
FEW_TAPS = 32
# ... and not from so many channels to so many: there lax.conv has matrices that are worth it.
MATRIX_SIDE = 8
# Where the features lie side by side in the result, each slice is multiplied with a vector of the kernel. That is slow
# where the vector is no piece of memory, or short, and there are many: except for so few pairs, ...
FEW_LOOSE_PAIRS = 12
# ... the sum may have so many terms, and only half of them with fewer features than this.
FEW_LANE_TERMS = 110
FEW_LANES = 4
# From one channel to one the derivative of so few slices is one fused loop: lax.conv is ten times slower.
FEW_SUMMANDS = 25
# Up to this many groups become a convolution each: XLA:CPU computes those 2 to 3 times faster than a grouped one.
FEW_GROUPS = 32


def as_convolution(products: ProductSum, scope: Scope) -> Node | None:
    """``sum image[.. s*x + d*k ..] * kernel[.. k ..]`` as a convolution, if it is one and worth it."""
    found = _convolutions(products, scope)
    return next((node for node, kernel in found if not _slices_win(node, kernel, scope)), None)


def slices_derivative(products: ProductSum, scope: Scope) -> Node | None:
    """What has the derivative of a convolution that is computed as a sum of shifted slices, None for any other sum.

    JAX would make a padded array of each slice for the image, and a reduction of each for the kernel: thousands of
    operations that compile for seconds, and run slower than convolutions.
    """
    found = next(_convolutions(products, scope), None)
    if found is None:
        return None
    node, _ = found
    if scope.points(node.groups) > 1 and not node.split:
        # The derivatives of a grouped convolution by its kernel are a hundred times slower on CPUs.
        return None
    alone = scope.points(node.channels) * scope.points(node.features) == 1
    return None if alone and scope.points(products.indices) <= FEW_SUMMANDS else node


def _convolutions(products: ProductSum, scope: Scope) -> Iterator[tuple[Convolve, ir.Access]]:
    """The sum as a convolution, with its kernel, in the ways in which it is one."""
    factors, mask, around = products.factors, products.mask, products.around
    if len(factors) != 2 or not ir.types.is_float(products.accumulate):
        return
    reads = [factor.operand if isinstance(factor, ir.Cast) else factor for factor in factors]
    for image, kernel in (reads, reads[::-1]):
        if isinstance(image, ir.Access) and isinstance(kernel, ir.Access) and image.dtype == kernel.dtype:
            if mask is not None and not is_padding(mask, (image,), scope, slides=True):
                continue
            found = _convolution(products.indices, image, kernel, products.accumulate, scope)
            guard = both(mask if products.left_out else None, around)
            if found is not None and guard is not None:
                found = replace(found, exact=_term_by_term(products, guard, scope), everywhere=around is None)
            if found is not None:
                yield found, kernel


def _term_by_term(products: ProductSum, guard: ir.Expr, scope: Scope) -> Unroll:
    """The sum of the products that the guard lets count."""
    inside = scope.unrolling(products.indices)
    body = inside.cast(plan_value(masked(guard, multiply(products.factors), 0), inside), products.accumulate)
    return unroll(ir.Reducer.SUM, products.indices, body, scope, "one term after the other")


def _convolution(
    indices: tuple[IndexVar, ...], image: ir.Access, kernel: ir.Access, accumulate: str, scope: Scope
) -> Convolve | None:
    reduced = frozenset(indices)
    slidings = {
        dimension: sliding
        for dimension, subscript in enumerate(image.indices)
        if (sliding := as_sliding(subscript, reduced, scope)) is not None
    }
    if not slidings:
        return None
    outputs = {sliding.output for sliding in slidings.values()}
    taps = {sliding.kernel for sliding in slidings.values()}
    plain = [s for dimension, s in enumerate(image.indices) if dimension not in slidings]
    image_axes = _single_axes(plain, scope)
    kernel_axes = _single_axes(kernel.indices, scope)
    if image_axes is None or kernel_axes is None or len(outputs) + len(taps) < 2 * len(slidings):
        return None
    if not taps <= kernel_axes or (outputs | taps) & image_axes or outputs & kernel_axes:
        return None
    shared = image_axes & (kernel_axes - taps)
    channels, groups = shared & reduced, shared - reduced
    batch, features = image_axes - shared, kernel_axes - taps - shared
    if batch & reduced or features & reduced or reduced != taps | channels:
        return None
    count = scope.points(groups)
    read, windows, inner = slide(image, slidings, scope)
    return Convolve(
        as_stored(read),
        as_stored(plan_value(kernel, scope)),
        inner.sorted(batch),
        inner.sorted(groups),
        inner.sorted(channels),
        inner.sorted(features),
        windows,
        split=1 < count <= FEW_GROUPS,
        dtype=accumulate,
        axes=scope.sorted(batch | groups | features | outputs),
        why=f"{_listed(taps)} slide{'s' if len(taps) == 1 else ''} along {_listed(outputs)}, "
        f"with {scope.points(channels)} x {scope.points(features)} channels to multiply at each",
    )


def _listed(indices: Iterable[IndexVar]) -> str:
    return ", ".join(sorted(map(str, indices)))


def _slices_win(node: Convolve, kernel: ir.Access, scope: Scope) -> bool:
    """Whether the sum of shifted slices is faster than `lax.conv_general_dilated`."""
    channels, features = scope.points(node.channels), scope.points(node.features)
    taps = scope.points(window.kernel for window in node.windows)
    pairs, terms = channels * features, channels * taps
    if terms > FEW_TERMS or (len(node.windows) == 1 and taps > FEW_TAPS):
        return False
    if scope.points(node.groups) > 1 and channels <= FEW_CHANNELS:
        return True
    lanes = scope.extent(node.axes[-1]) if node.axes and node.axes[-1] in node.features else 1
    if lanes > 1 and pairs > FEW_LOOSE_PAIRS:
        if kernel.indices[-1].bare != node.axes[-1]:
            return False
        if terms > (FEW_LANE_TERMS if lanes >= FEW_LANES else FEW_LANE_TERMS // 2):
            return False
    return pairs <= FEW_PAIRS and min(channels, features) < MATRIX_SIDE


def _single_axes(subscripts: Iterable[Affine], scope: Scope) -> frozenset[IndexVar] | None:
    """The indices of subscripts that use one index or none each, all different; None otherwise."""
    found: list[IndexVar] = []
    for subscript in subscripts:
        variables = subscript.variables - scope.unrolled
        if len(variables) > 1 or not subscript.is_linear:
            return None
        found.extend(variables)
    return frozenset(found) if len(set(found)) == len(found) else None


def is_padding(mask: ir.Expr, reads: Iterable[ir.Access], scope: Scope, *, slides: bool = False) -> bool:
    """Whether the mask says no more than "inside the arrays", and zeros around them say it too.

    Only a slice is read from a padded array, not a lookup; with `slides` the sliding dimensions become slices later.
    """
    inside = set()
    for read in reads:
        origins, shape = scope.origins[read.tensor.name], scope.shapes[read.tensor.name]
        dimensions = plan_read(read, scope).dimensions
        sliced = slides or all(isinstance(dimension, Strip) for dimension in dimensions)
        for number, (subscript, origin, extent) in enumerate(zip(read.indices, origins, shape, strict=True)):
            if sliced or isinstance(dimensions[number], Strip):
                inside.add(subscript - origin)
                inside.add(origin + extent - 1 - subscript)
    return all(non_negative(condition) in inside for condition in ir.conjuncts(mask))
