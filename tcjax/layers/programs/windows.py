"""Windows that slide over spatial axes: convolutions and pooling, with Flax's padding options."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import jax
import numpy as np
from jax import lax

from ...diagnostics import Code, CompileError
from ...runtime.kernel import Kernel
from ..adapter import Adapter
from ..precision import is_pair
from .notation import at, check_lengths, definition, names, run, where

# JAX's named paddings, in addition to "CIRCULAR" and "CAUSAL" for convolutions.
_PADDINGS = ("VALID", "SAME", "SAME_LOWER")

Padding = str | int | Sequence[int | tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Window:
    """A window along an axis of length `extent`: `size` taps at distance `dilation`, every `stride` elements.

    `low` and `high` elements are added at the ends: zeros (or the identity of a reduction), or the elements of the
    other end if the axis `wraps`.
    """

    extent: int
    size: int
    stride: int
    dilation: int
    low: int
    high: int
    wraps: bool = False

    @property
    def outputs(self) -> int:
        """The number of window positions."""
        return max(0, (self.extent + self.low + self.high - (self.size - 1) * self.dilation - 1) // self.stride + 1)

    def place(self, output: str, tap: str) -> str:
        """The subscript that a tap reads."""
        first = _times(self.stride, output) + " + " + _times(self.dilation, tap)
        place = f"{first} - {self.low}" if self.low else first
        return f"({place}) % {self.extent}" if self.wraps else place

    def guards(self, output: str, tap: str) -> list[str]:
        """The conditions for a read to be inside the array."""
        if self.wraps:
            return []
        low = [f"{self.place(output, tap)} >= 0"] if self.low else []
        high = [f"{self.place(output, tap)} < {self.extent}"] if self.high else []
        return low + high


def windows_of(
    shape: Sequence[int], sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int], padding: Padding
) -> tuple[Window, ...]:
    """A window for each spatial axis. Raises `CompileError` (TC0308) for invalid options."""
    for name, numbers in (("strides", strides), ("dilations", dilations)):
        _check_numbers(name, numbers, len(sizes))
    reach = [(size - 1) * dilation + 1 for size, dilation in zip(sizes, dilations, strict=True)]
    if padding == "CIRCULAR":
        pads = [((length - 1) // 2, length // 2) for length in reach]
    elif padding == "CAUSAL":
        if len(sizes) != 1:
            raise CompileError(
                Code.BAD_OPTION,
                f"padding 'CAUSAL' is for one spatial axis, and there are {len(sizes)}",
                help="write a pair of numbers for each axis: padding=((before, after), ...)",
            )
        pads = [(reach[0] - 1, 0)]
    elif isinstance(padding, str):
        if padding.upper() not in _PADDINGS:
            raise CompileError(
                Code.BAD_OPTION,
                f"there is no padding {padding!r}",
                help=f"write {', '.join(map(repr, _PADDINGS))}, a number, or a pair of numbers for each axis",
            )
        pads = lax.padtype_to_pads(shape, reach, strides, padding)
    else:
        listed = [padding] * len(sizes) if isinstance(padding, int) else list(padding)
        pads = [(pad, pad) if isinstance(pad, int) else (pad[0], pad[1]) for pad in listed]
        if len(pads) != len(sizes):
            raise CompileError(
                Code.BAD_OPTION,
                f"padding {padding!r} is not a pair of numbers for each of the spatial axes, {len(sizes)}",
                help="write one number, or a pair of numbers for each axis: padding=((before, after), ...)",
            )
    return tuple(
        Window(extent, size, stride, dilation, low, high, padding == "CIRCULAR")
        for extent, size, stride, dilation, (low, high) in zip(shape, sizes, strides, dilations, pads, strict=True)
    )


def _check_numbers(name: str, numbers: Sequence[int], rank: int) -> None:
    """Raises unless these are positive whole numbers, one for each spatial axis."""
    if len(numbers) == rank and all(isinstance(number, (int, np.integer)) and number > 0 for number in numbers):
        return
    raise CompileError(
        Code.BAD_OPTION,
        f"{name} {tuple(numbers)} is not a positive number for each of the spatial axes, {rank}",
        help=f"write {name}={(2,) * rank}, for example",
    )


def convolution(own: Adapter, inputs: jax.Array, kernel_size: Sequence[int], *others: Any) -> jax.Array:
    """Inputs ``(.., spatial.., channels)`` with a kernel ``(spatial.., channels / groups, features)``.

    Flax computes the cases without a program: masked kernels, dilated inputs, and mirrored ends.
    """
    layer, rank, groups = own.layer, len(kernel_size), own.layer.feature_group_count
    options = ("conv_general_dilated", "conv_general_dilated_cls", "preferred_element_type", "mask")
    unusual = layer.padding == "REFLECT" or any(n != 1 for n in _per_axis(layer.input_dilation, rank))
    if unusual or own.is_given(options, others) or is_pair(layer.precision):
        return own.flax(inputs, *others)
    inputs, kernel, bias = own.promoted(inputs, own.parameter("kernel"), own.parameter("bias"))
    lead = max(inputs.ndim - rank - 1, 0)
    # Kernels keep their lengths: their spatial axes have names of their own.
    kept, spatial, taps = names("a", lead), names("h", rank), names("k", rank)
    whole = jax.ShapeDtypeStruct((*kernel.shape[:-2], kernel.shape[-2] * groups, kernel.shape[-1]), kernel.dtype)
    name = "kernel" if groups == 1 else "kernel of all groups"
    check_lengths(inputs=(inputs, [*kept, *spatial, "c"]), **{name: (whole, [*taps, "c", "o"])}, bias=(bias, "o"))
    strides, dilations = _per_axis(layer.strides, rank), _per_axis(layer.kernel_dilation, rank)
    windows = windows_of(inputs.shape[lead:-1], kernel.shape[:rank], strides, dilations, layer.padding)
    if groups > 1:
        inputs = inputs.reshape(*inputs.shape[:-1], groups, inputs.shape[-1] // groups)
        kernel = kernel.reshape(*kernel.shape[:-1], groups, kernel.shape[-1] // groups)
        bias = None if bias is None else bias.reshape(groups, -1)
    program = convolution_program(lead, windows, groups > 1, bias is not None)
    y = run(program, inputs, kernel, bias, precision=layer.precision)
    return y.reshape(*y.shape[:-2], -1) if groups > 1 else y


@lru_cache(maxsize=1024)
def convolution_program(lead: int, windows: tuple[Window, ...], grouped: bool, has_bias: bool) -> Kernel:
    """A convolution with these windows and `lead` leading axes; groups have their own axis."""
    kept, out, taps = names("a", lead), names("h", len(windows)), names("k", len(windows))
    group = ["g"] if grouped else []
    y = at("y", *kept, *out, *group, "o")
    x = at("x", *kept, *_places(windows), *group, "c")
    w = at("w", *taps, "c", *group, "o")
    statements = [f"{y} +=! {x} * {w}{where(_clauses(windows))}"]
    if has_bias:
        statements.append(f"{y} = {y} + {at('b', *group, 'o')}")
    return definition("convolution", ("x", "w", "b")[: 3 if has_bias else 2], ("y",), statements)


def pooling(
    inputs: jax.Array, reducer: str, sizes: Sequence[int], strides: Sequence[int] | None, padding: Padding
) -> jax.Array:
    """``min``, ``max``, ``sum``, ``mean`` or ``average`` over windows of inputs ``(.., spatial.., channels)``.

    Padding is ignored: a mean is over the elements inside, an average is the sum divided by the window's size.
    """
    _check_numbers("window_shape", sizes, len(sizes))
    lead = inputs.ndim - len(sizes) - 1
    if lead < 0:
        raise CompileError(
            Code.ARGUMENT_RANK,
            f"the input has the shape {inputs.shape}, and a window {tuple(sizes)} needs {len(sizes) + 1} dimensions",
            help="pass an input (batch.., spatial.., channels)",
        )
    ones = (1,) * len(sizes)
    windows = windows_of(inputs.shape[lead:-1], sizes, strides or ones, ones, padding)
    return pooling_program(lead, windows, reducer)(inputs)


@lru_cache(maxsize=1024)
def pooling_program(lead: int, windows: tuple[Window, ...], reducer: str) -> Kernel:
    """A reduction over these windows, with `lead` leading axes."""
    kept, out, taps = names("a", lead), names("h", len(windows)), names("k", len(windows))
    y, x = at("y", *kept, *out, "c"), at("x", *kept, *_places(windows), "c")
    clauses = [f"{tap} in 0:{window.size}" for tap, window in zip(taps, windows, strict=True)]
    operator = {"sum": "+", "mean": "+", "average": "+"}.get(reducer, f" {reducer}")
    statements = [f"{y}{operator}=! {x}{where([*clauses, *_clauses(windows)])}"]
    guards = _guards(windows)
    if reducer == "mean" and guards:
        statements.append(f"{y} = {y} / sum[{', '.join(clauses)} where {', '.join(guards)}](1.0)")
    elif reducer in ("mean", "average"):
        statements.append(f"{y} = {y} / {prod(window.size for window in windows)}")
    return definition("pooling", ("x",), ("y",), statements)


def _places(windows: Sequence[Window]) -> list[str]:
    return [window.place(f"h{axis}", f"k{axis}") for axis, window in enumerate(windows)]


def _clauses(windows: Sequence[Window]) -> list[str]:
    """Ranges where padding makes more positions than there are whole windows, and guards."""
    ranges = [f"h{axis} in 0:{window.outputs}" for axis, window in enumerate(windows) if window.low or window.high]
    return ranges + _guards(windows)


def _guards(windows: Sequence[Window]) -> list[str]:
    return [guard for axis, window in enumerate(windows) for guard in window.guards(f"h{axis}", f"k{axis}")]


def _times(factor: int, index: str) -> str:
    return index if factor == 1 else f"{factor}*{index}"


def _per_axis(given: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """One number per axis, from one for all, or 1 for None."""
    return (1 if given is None else given,) * rank if given is None or isinstance(given, int) else tuple(given)
