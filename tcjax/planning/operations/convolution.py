"""Sums of products of a sliding read and a plain read, as convolutions."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from ... import ir
from ...symbolic import Affine, IndexVar
from ...transforms.factors import masked
from ..access.padding import is_padding, within_zeros
from ..access.reads import as_stored, as_strip
from ..access.windows import Sliding, as_sliding, slide
from ..data.nodes import Convolve, Unroll
from ..folds import unroll
from ..rules import plan_value
from ..scope import Scope
from .reduction import Reduction

# The maximum number of groups that become separate convolutions.
FEW_GROUPS = 32
# With one input and one output channel, the derivative of this few slices is one fused loop: lax.conv is ten times
# slower.
FEW_SUMMANDS = 25


def propose(reduction: Reduction, scope: Scope) -> Iterator[Convolve]:
    """``sum image[.. s*x + d*k ..] * kernel[.. k ..]`` as a convolution, in all possible ways."""
    for node in _convolutions(reduction, scope):
        yield node
        if 1 < scope.points(node.groups) <= FEW_GROUPS:
            yield replace(node, split=True)


def differentiates_well(node: Convolve, scope: Scope) -> bool:
    """Whether the derivative of a convolution is better than that of a sum of shifted slices.

    JAX would make a padded array of each slice for the image, and a reduction of each for the kernel: thousands of
    operations that take seconds to compile, and run slower than convolutions.
    """
    if scope.points(node.groups) > 1 and not node.split:
        # The derivatives of a grouped convolution with respect to its kernel are a hundred times slower on CPUs.
        return False
    alone = scope.points(node.channels) * scope.points(node.features) == 1
    terms = scope.points((*node.channels, *(window.kernel for window in node.windows)))
    return not alone or terms > FEW_SUMMANDS


def pads_slowly(node: Convolve, scope: Scope) -> bool:
    """Whether XLA:CPU is many times slower for the derivatives of a convolution, in which it pads an operand.

    This happens in one dimension, with one input and one output channel: 2048 terms for each of 4095 sums took 114 ms,
    and 1.6 ms with explicit padding. As separate sums the derivatives have explicit padding.
    """
    alone = scope.points((*node.groups, *node.channels, *node.features, *node.batch)) == 1
    taps = scope.points(window.kernel for window in node.windows)
    return alone and len(node.windows) == 1 and node.exact is None and taps > FEW_SUMMANDS


def _convolutions(reduction: Reduction, scope: Scope) -> Iterator[Convolve]:
    """The sum as a convolution, with its kernel, in all possible ways."""
    factors, mask, around = reduction.factors, reduction.mask, reduction.around
    if len(factors) != 2 or not ir.types.is_float(reduction.accumulate):
        return
    reads = [factor.operand if isinstance(factor, ir.Cast) else factor for factor in factors]
    reads = [within_zeros(read, scope, slides=True) for read in reads]
    for image, kernel in (reads, reads[::-1]):
        if isinstance(image, ir.Access) and isinstance(kernel, ir.Access) and image.dtype == kernel.dtype:
            if mask is not None and not is_padding(mask, (image,), scope, slides=True):
                continue
            guard = ir.both(mask, around)
            for slidings in _windows(reduction.indices, image, scope):
                found = _convolution(slidings, reduction.indices, image, kernel, reduction.accumulate, scope)
                if found is not None and guard is not None:
                    found = replace(found, exact=_term_by_term(reduction, guard, scope), everywhere=around is None)
                if found is not None:
                    yield found


def _term_by_term(reduction: Reduction, guard: ir.Expr, scope: Scope) -> Unroll:
    """The sum of the products that the guard selects."""
    inside = scope.unrolling(reduction.indices)
    body = inside.cast(plan_value(masked(guard, ir.multiply(reduction.factors), 0), inside), reduction.accumulate)
    return unroll(ir.Reducer.SUM, reduction.indices, body, scope, "one term after the other")


def _windows(indices: tuple[IndexVar, ...], image: ir.Access, scope: Scope) -> Iterator[dict[int, Sliding]]:
    """The sliding dimensions of an image; windows that do not overlap may be two axes, such as groups and channels."""
    reduced = frozenset(indices)
    found = {
        dimension: sliding
        for dimension, subscript in enumerate(image.indices)
        if (sliding := as_sliding(subscript, reduced, scope)) is not None
    }
    meeting = {dimension: sliding for dimension, sliding in found.items() if _meet(sliding, scope)}
    for slidings in (found, meeting) if len(meeting) < len(found) else (found,):
        if slidings:
            yield slidings


def _meet(sliding: Sliding, scope: Scope) -> bool:
    return abs(sliding.output_step) < abs(sliding.kernel_step) * scope.extent(sliding.kernel)


def _convolution(
    slidings: dict[int, Sliding],
    indices: tuple[IndexVar, ...],
    image: ir.Access,
    kernel: ir.Access,
    accumulate: str,
    scope: Scope,
) -> Convolve | None:
    reduced = frozenset(indices)
    outputs = {sliding.output for sliding in slidings.values()}
    taps = {sliding.kernel for sliding in slidings.values()}
    image_axes = _plain_axes(image, slidings, scope)
    kernel_axes = _plain_axes(kernel, (), scope)
    if image_axes is None or kernel_axes is None or len(outputs) + len(taps) < 2 * len(slidings):
        return None
    if not taps <= kernel_axes or (outputs | taps) & image_axes or outputs & kernel_axes:
        return None
    shared = image_axes & (kernel_axes - taps)
    channels, groups = shared & reduced, shared - reduced
    batch, features = image_axes - shared, kernel_axes - taps - shared
    if batch & reduced or features & reduced or reduced != taps | channels:
        return None
    read, windows, inner = slide(image, slidings, scope)
    return Convolve(
        as_stored(read),
        as_stored(plan_value(kernel, scope)),
        inner.sorted(batch),
        inner.sorted(groups),
        inner.sorted(channels),
        inner.sorted(features),
        windows,
        dtype=accumulate,
        axes=scope.sorted(batch | groups | features | outputs),
        why=f"{_listed(taps)} slide{'s' if len(taps) == 1 else ''} along {_listed(outputs)}, "
        f"with {scope.points(channels)} x {scope.points(features)} channels to multiply at each",
    )


def _listed(indices: Iterable[IndexVar]) -> str:
    return ", ".join(sorted(map(str, indices)))


def _plain_axes(access: ir.Access, apart: Collection[int], scope: Scope) -> frozenset[IndexVar] | None:
    """The indices of subscripts, except those of some dimensions, if each has its own axes; None otherwise."""
    found: list[IndexVar] = []
    name = access.tensor.name
    for dimension, (subscript, origin) in enumerate(zip(access.indices, scope.origins[name], strict=True)):
        variables = subscript.variables - scope.unrolled
        if dimension in apart:
            continue
        if not subscript.is_linear or (
            len(variables) > 1 and not _is_split(subscript - origin, access, dimension, scope)
        ):
            return None
        found.extend(variables)
    return frozenset(found) if len(set(found)) == len(found) else None


def _is_split(subscript: Affine, access: ir.Access, dimension: int, scope: Scope) -> bool:
    """Whether several indices count through a dimension like digits."""
    strip = as_strip(subscript, scope.shapes[access.tensor.name][dimension], scope)
    return strip is not None and not strip.low and not strip.high
