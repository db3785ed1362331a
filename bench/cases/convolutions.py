"""Convolutions: grouped (ResNeXt), dense, depthwise, and TC's WaveNet layer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.lib.stride_tricks import sliding_window_view

from .case import Arrays, Case, Form, label, normals

# (N, G, C per group, F per group, H, K)
GROUPED_SIZES = {
    "tiny": [(2, 3, 2, 2, 5, 3)],
    "small": [(4, 32, 4, 4, 56, 3), (4, 32, 8, 8, 28, 3), (4, 32, 16, 16, 14, 3), (4, 32, 32, 32, 7, 3)],
    "full": [(32, 32, 4, 4, 56, 3), (32, 32, 8, 8, 28, 3), (32, 32, 16, 16, 14, 3), (32, 32, 32, 32, 7, 3)],
}
# (N, C, F, H, K)
DENSE_SIZES = {
    "tiny": [(2, 3, 2, 5, 3)],
    "small": [(32, 4, 4, 56, 3), (8, 32, 32, 28, 3)],
    "full": [(32, 4, 4, 56, 3), (8, 64, 64, 56, 3)],
}
# (N, C, H, K)
DEPTHWISE_SIZES = {"tiny": [(2, 3, 5, 3)], "small": [(4, 64, 56, 3)], "full": [(8, 64, 112, 3), (8, 64, 56, 5)]}
# (B, residual channels, dilated channels, skip channels, receptive field, dilation)
WAVENET_SIZES = {
    "tiny": [(1, 3, 2, 4, 9, 2)],
    "small": [(1, 32, 32, 256, 4000, 1)],
    "full": [(1, 32, 32, 256, 4000, 1), (1, 32, 32, 256, 4000, 32)],
}


def cases(size: str) -> Iterator[Case]:
    """The convolutions at the sizes that `size` names."""
    yield from (grouped(*sizes) for sizes in GROUPED_SIZES[size])
    yield from (dense(*sizes) for sizes in DENSE_SIZES[size])
    yield from (depthwise(*sizes) for sizes in DEPTHWISE_SIZES[size])
    yield from (wavenet(*sizes) for sizes in WAVENET_SIZES[size])


def grouped(n: int, g: int, c: int, f: int, h: int, k: int) -> Case:
    def reference(I, W, B):
        windows = sliding_window_view(I, (k, k), axis=(3, 4))
        groups = [np.einsum("nchwyx,fcyx->nfhw", windows[:, q], W[q], optimize=True) for q in range(g)]
        return np.stack(groups, axis=1) + B[None, :, :, None, None]

    forms: dict[str, Form] = {
        "lax_conv_nchw": _grouped_lax_conv("NCHW"),
        "lax_conv_nhwc": _grouped_lax_conv("NHWC"),
        "lax_conv_per_group": _grouped_split,
        "shifted_einsum": _grouped_shifted_einsum,
        "shifted_broadcast_sum": _grouped_shifted_broadcast,
        "patches_einsum": _grouped_patches,
    }
    if c * k * k <= 150:
        forms["shifted_unrolled"] = _grouped_unrolled
    return Case(
        name=f"group_convolution/{label(n, g, c, f, h, h)}",
        text="""
        def group_convolution(float(N,G,C,H,W) I, float(G,F,C,KH,KW) W1, float(G,F) B) -> (O) {
            O(n,g,o,h,w) +=! I(n,g,r_i,h+r_kh,w+r_kw) * W1(g,o,r_i,r_kh,r_kw)
            O(n,g,o,h,w)   = O(n,g,o,h,w) + B(g,o)
        }""",
        make_arrays=lambda rng: normals(rng, (n, g, c, h, h), (g, f, c, k, k), (g, f)),
        reference=reference,
        forms=forms,
    )


def _grouped_lax_conv(layout: str) -> Form:
    def convolve(I, W, B):
        n, g, c, h, w = I.shape
        f, kh, kw = W.shape[1], W.shape[3], W.shape[4]
        image, kernel = I.reshape(n, g * c, h, w), W.reshape(g * f, c, kh, kw)
        if layout == "NHWC":
            image = image.transpose(0, 2, 3, 1)
            kernel = kernel.transpose(2, 3, 1, 0)
        dims = (layout, "HWIO" if layout == "NHWC" else "OIHW", layout)
        out = lax.conv_general_dilated(image, kernel, (1, 1), "VALID", dimension_numbers=dims, feature_group_count=g)
        if layout == "NHWC":
            out = out.transpose(0, 3, 1, 2)
        return out.reshape(n, g, f, *out.shape[2:]) + B[None, :, :, None, None]

    return convolve


def _grouped_split(I, W, B):
    parts = [lax.conv_general_dilated(I[:, g], W[g], (1, 1), "VALID") for g in range(I.shape[1])]
    return jnp.stack(parts, axis=1) + B[None, :, :, None, None]


def _shifted(I, y: int, x: int, height: int, width: int):
    return I[..., y : y + height, x : x + width]


def _grouped_unrolled(I, W, B):
    height, width = I.shape[3] - W.shape[3] + 1, I.shape[4] - W.shape[4] + 1
    total = B[None, :, :, None, None]
    for c in range(W.shape[2]):
        for y in range(W.shape[3]):
            for x in range(W.shape[4]):
                rows = _shifted(I[:, :, c], y, x, height, width)[:, :, None]
                total = total + rows * W[None, :, :, c, y, x, None, None]
    return total


def _grouped_shifted_einsum(I, W, B):
    height, width = I.shape[3] - W.shape[3] + 1, I.shape[4] - W.shape[4] + 1
    total = B[None, :, :, None, None]
    for y in range(W.shape[3]):
        for x in range(W.shape[4]):
            total = total + jnp.einsum("ngchw,gfc->ngfhw", _shifted(I, y, x, height, width), W[:, :, :, y, x])
    return total


def _grouped_shifted_broadcast(I, W, B):
    height, width = I.shape[3] - W.shape[3] + 1, I.shape[4] - W.shape[4] + 1
    total = B[None, :, :, None, None]
    for y in range(W.shape[3]):
        for x in range(W.shape[4]):
            rows = _shifted(I, y, x, height, width)[:, :, None]
            total = total + (rows * W[None, :, :, :, y, x, None, None]).sum(3)
    return total


def _grouped_patches(I, W, B):
    height, width = I.shape[3] - W.shape[3] + 1, I.shape[4] - W.shape[4] + 1
    shifts = [(y, x) for y in range(W.shape[3]) for x in range(W.shape[4])]
    patches = jnp.stack([_shifted(I, y, x, height, width) for y, x in shifts], axis=3)
    kernel = W.reshape(*W.shape[:3], -1)
    return jnp.einsum("ngckhw,gfck->ngfhw", patches, kernel) + B[None, :, :, None, None]


def dense(n: int, c: int, f: int, h: int, k: int) -> Case:
    def reference(I, W, B):
        windows = sliding_window_view(I, (k, k), axis=(2, 3))
        return np.einsum("nchwyx,fcyx->nfhw", windows, W, optimize=True) + B[None, :, None, None]

    def as_grouped(form: Form) -> Form:
        return lambda I, W, B: form(I[:, None], W[None], B[None])[:, 0]

    def shifted_matmul(I, W, B):
        height, width = I.shape[2] - W.shape[2] + 1, I.shape[3] - W.shape[3] + 1
        total = B[None, :, None, None]
        for y in range(k):
            for x in range(k):
                total = total + jnp.einsum("nchw,fc->nfhw", _shifted(I, y, x, height, width), W[:, :, y, x])
        return total

    forms: dict[str, Form] = {
        "lax_conv_nchw": as_grouped(_grouped_lax_conv("NCHW")),
        "lax_conv_nhwc": as_grouped(_grouped_lax_conv("NHWC")),
        "shifted_einsum": shifted_matmul,
        "patches_einsum": as_grouped(_grouped_patches),
    }
    if c * k * k <= 150:
        forms["shifted_unrolled"] = as_grouped(_grouped_unrolled)
    return Case(
        name=f"convolution/{label(n, c, f, h, h)}",
        text="""
        def convolution(float(N,C,H,W) I, float(F,C,KH,KW) W1, float(F) B) -> (O) {
            O(n,f,h,w) +=! I(n,c,h+kh,w+kw) * W1(f,c,kh,kw)
            O(n,f,h,w)   = O(n,f,h,w) + B(f)
        }""",
        make_arrays=lambda rng: normals(rng, (n, c, h, h), (f, c, k, k), (f,)),
        reference=reference,
        forms=forms,
    )


def depthwise(n: int, c: int, h: int, k: int) -> Case:
    def reference(I, W):
        size = h - k + 1
        return sum(_shifted(I, y, x, size, size) * W[:, y, x, None, None] for y in range(k) for x in range(k))

    def unrolled(I, W):
        size = h - k + 1
        total = jnp.zeros((), I.dtype)
        for y in range(k):
            for x in range(k):
                total = total + _shifted(I, y, x, size, size) * W[None, :, y, x, None, None]
        return total

    def lax_conv(layout: str, I, W):
        kernel = W[:, None]
        if layout == "NHWC":
            I, kernel = I.transpose(0, 2, 3, 1), kernel.transpose(2, 3, 1, 0)
        dims = (layout, "HWIO" if layout == "NHWC" else "OIHW", layout)
        out = lax.conv_general_dilated(I, kernel, (1, 1), "VALID", dimension_numbers=dims, feature_group_count=c)
        return out.transpose(0, 3, 1, 2) if layout == "NHWC" else out

    return Case(
        name=f"depthwise/{label(n, c, h, h, k, k)}",
        text="""
        def depthwise(float(N,C,H,W) I, float(C,KH,KW) W1) -> (O) {
            O(n,c,h,w) +=! I(n,c,h+kh,w+kw) * W1(c,kh,kw)
        }""",
        make_arrays=lambda rng: normals(rng, (n, c, h, h), (c, k, k)),
        reference=reference,
        forms={
            "lax_conv_nchw": partial(lax_conv, "NCHW"),
            "lax_conv_nhwc": partial(lax_conv, "NHWC"),
            "shifted_unrolled": unrolled,
        },
    )


WAVENET = """
def wavenet(float(B,RESIDUAL_C,RECEPTIVE_FIELD) Data,
            float(DILATION_C,RESIDUAL_C,2) FilterWeight, float(DILATION_C) FilterBias,
            float(DILATION_C,RESIDUAL_C,2) GateWeight, float(DILATION_C) GateBias,
            float(RESIDUAL_C,DILATION_C) ResWeight, float(RESIDUAL_C) ResBias,
            float(SKIP_C,DILATION_C) SkipWeight, float(SKIP_C) SkipBias,
            float(DILATION_FACTOR) Dilation) -> (FilterOut, GateOut, NonLin, Res, Skip) {
    FilterOut(b,d,rf) = FilterBias(d) where b in 0:B, d in 0:DILATION_C, rf in 0:RECEPTIVE_FIELD
    FilterOut(b,d,rf) += Data(b,r_c,rf) * FilterWeight(d,r_c,1)
        + ((rf - DILATION_FACTOR >= 0) ? Data(b,r_c,rf - DILATION_FACTOR) * FilterWeight(d,r_c,0) : 0.0)
        where rf in 0:RECEPTIVE_FIELD
    GateOut(b,d,rf) = GateBias(d) where b in 0:B, d in 0:DILATION_C, rf in 0:RECEPTIVE_FIELD
    GateOut(b,d,rf) += Data(b,r_c,rf) * GateWeight(d,r_c,1)
        + ((rf - DILATION_FACTOR >= 0) ? Data(b,r_c,rf - DILATION_FACTOR) * GateWeight(d,r_c,0) : 0.0)
        where rf in 0:RECEPTIVE_FIELD
    NonLin(b,d,rf)  = tanh(FilterOut(b,d,rf)) where rf in 0:RECEPTIVE_FIELD
    NonLin(b,d,rf) *= 1 / (1 + exp(-GateOut(b,d,rf))) where rf in 0:RECEPTIVE_FIELD
    Res(b,c,rf)  = Data(b,c,rf) + ResBias(c)
    Res(b,c,rf) += NonLin(b,r_d,rf) * ResWeight(c,r_d)
    Skip(b,s,rf) +=! NonLin(b,r_d,rf) * SkipWeight(s,r_d) where rf in 0:RECEPTIVE_FIELD
    Skip(b,s,rf)   = Skip(b,s,rf) + SkipBias(s)
}"""


def wavenet(b: int, residual: int, dilated: int, skip: int, field: int, dilation: int) -> Case:
    def arrays(rng: np.random.Generator) -> Arrays:
        shapes = (
            *((b, residual, field), (dilated, residual, 2), (dilated,), (dilated, residual, 2), (dilated,)),
            *((residual, dilated), (residual,), (skip, dilated), (skip,), (dilation,)),
        )
        return normals(rng, *shapes)

    def layer(causal, np, sigmoid, Data, Wf, bf, Wg, bg, Wr, br, Ws, bs, _):
        filtered = causal(Data, Wf) + bf[None, :, None]
        gate = causal(Data, Wg) + bg[None, :, None]
        hidden = np.tanh(filtered) * sigmoid(gate)
        res = Data + br[None, :, None] + np.einsum("bdt,cd->bct", hidden, Wr)
        return filtered, gate, hidden, res, np.einsum("bdt,sd->bst", hidden, Ws) + bs[None, :, None]

    def delayed(np, Data):
        return np.concatenate([np.zeros_like(Data[:, :, :dilation]), Data[:, :, :-dilation]], axis=2)

    def two_einsums(np, Data, W):
        return np.einsum("bct,dc->bdt", Data, W[:, :, 1]) + np.einsum("bct,dc->bdt", delayed(np, Data), W[:, :, 0])

    def slice_added(Data, W):
        past = jnp.einsum("bct,dc->bdt", Data[:, :, :-dilation], W[:, :, 0])
        return jnp.einsum("bct,dc->bdt", Data, W[:, :, 1]) + jnp.pad(past, ((0, 0), (0, 0), (dilation, 0)))

    def lax_conv(Data, W):
        dims = ("NCH", "OIH", "NCH")
        padding = [(dilation, 0)]
        return lax.conv_general_dilated(Data, W, (1,), padding, rhs_dilation=(dilation,), dimension_numbers=dims)

    def stacked(Data, Wf, bf, Wg, bg, *rest):
        both = jnp.concatenate([Wf, Wg])
        inputs = jnp.concatenate([delayed(jnp, Data), Data], axis=1)
        out = jnp.einsum("bct,dc->bdt", inputs, jnp.concatenate([both[:, :, 0], both[:, :, 1]], axis=1))
        halves = iter((out[:, :dilated], out[:, dilated:]))
        return layer(lambda *_: next(halves), jnp, jax.nn.sigmoid, Data, Wf, bf, Wg, bg, *rest)

    return Case(
        name=f"wavenet/{label(residual, dilated, skip, field)}d{dilation}",
        text=WAVENET,
        make_arrays=arrays,
        reference=partial(layer, partial(two_einsums, np), np, lambda x: 1 / (1 + np.exp(-x))),
        forms={
            "einsum_delayed": partial(layer, partial(two_einsums, jnp), jnp, jax.nn.sigmoid),
            "einsum_padded": partial(layer, slice_added, jnp, jax.nn.sigmoid),
            "lax_conv": partial(layer, lax_conv, jnp, jax.nn.sigmoid),
            "stacked_einsum": stacked,
        },
    )
