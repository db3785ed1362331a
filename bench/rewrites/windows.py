"""Sliding windows: convolutions (also by hand over patches), pooling, correlation, and a stencil."""

from collections.abc import Iterator
from functools import reduce

import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.lib.stride_tricks import sliding_window_view

from ..cases.case import normals
from .computation import Computation, definitions

# (N, C, F, H)
CONVOLUTION_SIZES = {"small": (2, 3, 2, 6), "full": (4, 16, 32, 56)}
# (N, C, H)
DEPTHWISE_SIZES = {"small": (2, 3, 6), "full": (4, 64, 56)}
POOL_SIZES = {"small": (2, 3, 6), "full": (16, 64, 56)}
# (C, X, shifts)
CORRELATION_SIZES = {"small": (3, 7, 4), "full": (32, 16384, 32)}
STENCIL_SIZES = {"small": 6, "full": 1536}
# (H, taps)
SEPARABLE_SIZES = {"small": (9, 3), "full": (1024, 7)}


def computations(size: str) -> Iterator[Computation]:
    """The windows at `size`."""
    yield convolution(*CONVOLUTION_SIZES[size])
    yield depthwise(*DEPTHWISE_SIZES[size])
    yield average_pool(*POOL_SIZES[size])
    yield max_pool(*POOL_SIZES[size])
    yield correlation(*CORRELATION_SIZES[size])
    yield jacobi(STENCIL_SIZES[size])
    yield separable(*SEPARABLE_SIZES[size])


def convolution(n: int, c: int, f: int, h: int) -> Computation:
    """A convolution with 3 x 3 windows, divided by nine."""
    size = h - 2

    def lax_conv(I, W):
        return lax.conv(I, W, (1, 1), "VALID") / 9

    def channels_last(I, W):
        dims = ("NHWC", "HWIO", "NHWC")
        image, kernel = I.transpose(0, 2, 3, 1), W.transpose(2, 3, 1, 0) / 9
        return lax.conv_general_dilated(image, kernel, (1, 1), "VALID", dimension_numbers=dims).transpose(0, 3, 1, 2)

    def shifted(I, W):
        shifts = [(i, j) for i in range(3) for j in range(3)]
        return sum(
            jnp.einsum("nchw,fc->nfhw", I[:, :, i : i + size, j : j + size], W[:, :, i, j] / 9) for i, j in shifts
        )

    def patches(I, W):
        shifts = [(i, j) for i in range(3) for j in range(3)]
        rows = jnp.stack([I[:, :, i : i + size, j : j + size] for i, j in shifts], axis=2)
        return jnp.einsum("nckhw,fck->nfhw", rows, W.reshape(f, c, 9) / 9)

    def reference(I, W):
        return np.einsum("nchwij,fcij->nfhw", sliding_window_view(I, (3, 3), axis=(2, 3)), W, optimize=True) / 9

    return Computation(
        name="convolution",
        make_arrays=lambda rng: normals(rng, (n, c, h, h), (f, c, 3, 3)),
        reference=reference,
        forms={
            "shifted_einsum": shifted,
            "lax_conv": lax_conv,
            "scaled_kernel": lambda I, W: lax.conv(I, W / 9, (1, 1), "VALID"),
            "channels_last": channels_last,
            "patches": patches,
        },
        spellings={
            **definitions(
                "def convolution(float(N,C,H,W) I, float(F,C,KH,KW) K) -> (O)",
                {
                    "quotient_inside": "O(n,f,h,w) +=! I(n,c,h+i,w+j) * K(f,c,i,j) / 9.0",
                    "quotient_after": """
O(n,f,h,w) +=! I(n,c,h+i,w+j) * K(f,c,i,j)
O(n,f,h,w) = O(n,f,h,w) / 9.0""",
                    "reciprocal_in_front": f"O(n,f,h,w) +=! {1 / 9} * I(n,c,h+i,w+j) * K(f,c,i,j)",
                    "swapped": "O(n,f,h,w) +=! K(f,c,i,j) * I(n,c,h+i,w+j) / 9.0",
                    "quotient_of_kernel": "O(n,f,h,w) +=! I(n,c,h+i,w+j) * (K(f,c,i,j) / 9.0)",
                    "quotient_of_image": "O(n,f,h,w) +=! I(n,c,h+i,w+j) / 9.0 * K(f,c,i,j)",
                    "named_kernel": """
S(f,c,i,j) = K(f,c,i,j) / 9.0
O(n,f,h,w) +=! I(n,c,h+i,w+j) * S(f,c,i,j)""",
                    "inline_sum": "O(n,f,h,w) = sum[c,i,j](I(n,c,h+i,w+j) * K(f,c,i,j)) / 9.0",
                    "channels_inside": "O(n,f,h,w) = sum[i,j](sum[c](I(n,c,h+i,w+j) * K(f,c,i,j))) / 9.0",
                    "zero_then_add": """
O(n,f,h,w) = 0.0 where n in 0:N, f in 0:F, h in 0:H-KH+1, w in 0:W-KW+1
O(n,f,h,w) += I(n,c,h+i,w+j) * K(f,c,i,j) / 9.0""",
                    "named_patches": """
P(n,c,h,w,i,j) = I(n,c,h+i,w+j) where i in 0:KH, j in 0:KW
O(n,f,h,w) +=! P(n,c,h,w,i,j) * K(f,c,i,j) / 9.0""",
                    "patches_as_rows": """
P(n,h,w,c,i,j) = I(n,c,h+i,w+j) where i in 0:KH, j in 0:KW
O(n,f,h,w) = sum[c,i,j](P(n,h,w,c,i,j) * K(f,c,i,j)) / 9.0""",
                    "transposed_result": """
T(n,h,w,f) +=! I(n,c,h+i,w+j) * K(f,c,i,j)
O(n,f,h,w) = T(n,h,w,f) / 9.0""",
                    "origin_one": """
O(n,f,h,w) +=! I(n,c,h+i-1,w+j-1) * K(f,c,i-1,j-1) / 9.0 where i in 1:KH+1, j in 1:KW+1""",
                    "channel_halves": """
O(n,f,h,w) = sum[c in 0:C/2, i, j](I(n,c,h+i,w+j) * K(f,c,i,j)) / 9.0
O(n,f,h,w) += sum[c in C/2:C, i, j](I(n,c,h+i,w+j) * K(f,c,i,j)) / 9.0""",
                    "position_inside_window": """
O(n,f,h,w) = sum[c, y, x where y >= h, y < h + KH, x >= w, x < w + KW](I(n,c,y,x) * K(f,c,y-h,x-w)) / 9.0
  where h in 0:H-KH+1, w in 0:W-KW+1""",
                    "mean_of_taps": "O(n,f,h,w) = mean[i,j](sum[c](I(n,c,h+i,w+j) * K(f,c,i,j)))",
                    "unit_axis": """
J(n,g,c,h,w) = I(n,c,h,w) where g in 0:1
Y(n,g,f,h,w) +=! J(n,g,c,h+i,w+j) * K(f,c,i,j)
O(n,f,h,w) = Y(n,0,f,h,w) / 9.0""",
                },
            ),
            "python": _convolution,
            "sac": """
float[n,f,a,b] convolution(float[n,c,h,w] I, float[f,c,p,q] K) {
    return { [m,o,y,x] -> sum({ [k,i,j] -> I[m,k,y+i,x+j] * K[o,k,i,j] }) / 9.0
             | [m,o,y,x] < [n, f, h - p + 1, w - q + 1] };
}""",
        },
        tolerance=1e-3,
    )


def _convolution(I: "float(N,C,H,W)", K: "float(F,C,KH,KW)"):
    O[n, f, h, w] += I[n, c, h + i, w + j] * K[f, c, i, j] / 9.0
    return O


def depthwise(n: int, c: int, h: int) -> Computation:
    """A depthwise convolution with 3 x 3 windows."""
    size = h - 2

    def shifted(I, W):
        parts = [I[:, :, i : i + size, j : j + size] * W[None, :, i, j, None, None] for i in range(3) for j in range(3)]
        return sum(parts)

    def lax_conv(I, W):
        return lax.conv_general_dilated(I, W[:, None], (1, 1), "VALID", feature_group_count=c)

    def channels_last(I, W):
        dims = ("NHWC", "HWIO", "NHWC")
        image, kernel = I.transpose(0, 2, 3, 1), W[:, None].transpose(2, 3, 1, 0)
        out = lax.conv_general_dilated(image, kernel, (1, 1), "VALID", dimension_numbers=dims, feature_group_count=c)
        return out.transpose(0, 3, 1, 2)

    def patches(I, W):
        rows = jnp.stack([I[:, :, i : i + size, j : j + size] for i in range(3) for j in range(3)], axis=2)
        return jnp.einsum("nckhw,ck->nchw", rows, W.reshape(c, 9))

    taps = " + ".join(f"I(n,c,h+{i},w+{j}) * K(c,{i},{j})" for i in range(3) for j in range(3))
    return Computation(
        name="depthwise",
        make_arrays=lambda rng: normals(rng, (n, c, h, h), (c, 3, 3)),
        reference=shifted,
        forms={"shifted": shifted, "lax_conv": lax_conv, "channels_last": channels_last, "patches": patches},
        spellings={
            **definitions(
                "def depthwise(float(N,C,H,W) I, float(C,3,3) K) -> (O)",
                {
                    "one_product": "O(n,c,h,w) +=! I(n,c,h+i,w+j) * K(c,i,j)",
                    "swapped": "O(n,c,h,w) +=! K(c,i,j) * I(n,c,h+i,w+j)",
                    "inline_sum": "O(n,c,h,w) = sum[i,j](I(n,c,h+i,w+j) * K(c,i,j))",
                    "nested_sums": "O(n,c,h,w) = sum[i](sum[j](I(n,c,h+i,w+j) * K(c,i,j)))",
                    "zero_then_add": """
O(n,c,h,w) = 0.0 where n in 0:N, c in 0:C, h in 0:H-2, w in 0:W-2
O(n,c,h,w) += I(n,c,h+i,w+j) * K(c,i,j)""",
                    "nine_terms": f"O(n,c,h,w) = {taps}",
                    "named_patches": """
P(n,c,h,w,i,j) = I(n,c,h+i,w+j) where i in 0:3, j in 0:3
O(n,c,h,w) +=! P(n,c,h,w,i,j) * K(c,i,j)""",
                    "taps_first_in_patches": """
P(n,c,i,j,h,w) = I(n,c,h+i,w+j) where i in 0:3, j in 0:3
O(n,c,h,w) +=! P(n,c,i,j,h,w) * K(c,i,j)""",
                    "flat_patches": """
P(n,c,t,h,w) = I(n,c,h+t/3,w+t%3) where t in 0:9, h in 0:H-2, w in 0:W-2
O(n,c,h,w) +=! P(n,c,t,h,w) * K(c,t/3,t%3) where t in 0:9""",
                    "rows_named": """
R(n,c,h,w,i) +=! I(n,c,h+i,w+j) * K(c,i,j)
O(n,c,h,w) +=! R(n,c,h,w,i)""",
                    "transposed_result": """
T(n,h,w,c) +=! I(n,c,h+i,w+j) * K(c,i,j)
O(n,c,h,w) = T(n,h,w,c)""",
                    "origin_one": "O(n,c,h,w) +=! I(n,c,h+i-1,w+j-1) * K(c,i-1,j-1) where i in 1:4, j in 1:4",
                    "flat_taps": "O(n,c,h,w) +=! I(n,c,h+t/3,w+t%3) * K(c,t/3,t%3) where t in 0:9",
                    "guarded_channels": "O(n,f,h,w) +=! I(n,c,h+i,w+j) * K(c,i,j) where f == c, f in 0:C",
                    "diagonal_kernel": """
O(n,f,h,w) +=! I(n,c,h+i,w+j) * (f == c ? K(c,i,j) : 0.0) where f in 0:C""",
                    "named_diagonal_kernel": """
L(f,c,i,j) = f == c ? K(c,i,j) : 0.0 where f in 0:C
O(n,f,h,w) +=! I(n,c,h+i,w+j) * L(f,c,i,j)""",
                    "times_identity": """
O(n,f,h,w) +=! I(n,c,h+i,w+j) * K(c,i,j) * (f == c ? 1.0 : 0.0) where f in 0:C""",
                },
            ),
            "python": _depthwise,
            "sac": """
float[n,c,a,b] depthwise(float[n,c,h,w] I, float[c,p,q] K) {
    return { [m,k,y,x] -> sum({ [i,j] -> I[m,k,y+i,x+j] * K[k,i,j] }) | [m,k,y,x] < [n, c, h - p + 1, w - q + 1] };
}""",
        },
    )


def _depthwise(I: "float(N,C,H,W)", K: "float(C,3,3)"):
    for i in range(0, 3):
        for j in range(0, 3):
            O[n, c, h, w] += I[n, c, h + i, w + j] * K[c, i, j]
    return O


def average_pool(n: int, c: int, h: int) -> Computation:
    """The means of adjacent 2 x 2 windows."""

    def reshaped(I):
        return I.reshape(n, c, h // 2, 2, h // 2, 2).mean((3, 5))

    def reduce_window(I):
        return lax.reduce_window(I, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID") / 4

    def rows_then_columns(I):
        rows = I[:, :, ::2] + I[:, :, 1::2]
        return 0.25 * (rows[..., ::2] + rows[..., 1::2])

    return Computation(
        name="average_pool",
        make_arrays=lambda rng: normals(rng, (n, c, h, h)),
        reference=reshaped,
        forms={
            "reshaped": reshaped,
            "strided_slices": lambda I: 0.25 * sum(_quarters(I)),
            "rows_then_columns": rows_then_columns,
            "reduce_window": reduce_window,
        },
        spellings={
            **definitions(
                "def average_pool(float(N,C,H,W) I) -> (O)",
                {
                    "quotient_after": """
O(n,c,y,x) +=! I(n,c,2*y+i,2*x+j) where i in 0:2, j in 0:2
O(n,c,y,x) = O(n,c,y,x) / 4""",
                    "quotient_inside": "O(n,c,y,x) +=! I(n,c,2*y+i,2*x+j) / 4 where i in 0:2, j in 0:2",
                    "reciprocal_inside": "O(n,c,y,x) +=! 0.25 * I(n,c,2*y+i,2*x+j) where i in 0:2, j in 0:2",
                    "inline_mean": "O(n,c,y,x) = mean[i in 0:2, j in 0:2](I(n,c,2*y+i,2*x+j))",
                    "inline_sum": "O(n,c,y,x) = sum[i in 0:2, j in 0:2](I(n,c,2*y+i,2*x+j)) / 4.0",
                    "nested_means": "O(n,c,y,x) = mean[i in 0:2](mean[j in 0:2](I(n,c,2*y+i,2*x+j)))",
                    "four_terms": """
O(n,c,y,x) = (I(n,c,2*y,2*x) + I(n,c,2*y,2*x+1) + I(n,c,2*y+1,2*x) + I(n,c,2*y+1,2*x+1)) / 4""",
                    "rows_then_columns": """
R(n,c,y,w) = (I(n,c,2*y,w) + I(n,c,2*y+1,w)) / 2
O(n,c,y,x) = (R(n,c,y,2*x) + R(n,c,y,2*x+1)) / 2""",
                    "named_blocks": """
B(n,c,y,i,x,j) = I(n,c,2*y+i,2*x+j) where i in 0:2, j in 0:2
O(n,c,y,x) = mean[i,j](B(n,c,y,i,x,j))""",
                    "zero_then_add": """
O(n,c,y,x) = 0.0 where n in 0:N, c in 0:C, y in 0:H/2, x in 0:W/2
O(n,c,y,x) += I(n,c,2*y+i,2*x+j) / 4 where i in 0:2, j in 0:2""",
                    "divided_target": "O(n,c,h/2,w/2) +=! I(n,c,h,w) / 4",
                    "flat_window": "O(n,c,y,x) = mean[t in 0:4](I(n,c,2*y+t/2,2*x+t%2))",
                    "weights_named": """
K(i,j) = 0.25 where i in 0:2, j in 0:2
O(n,c,y,x) +=! I(n,c,2*y+i,2*x+j) * K(i,j)""",
                    "window_guarded": """
O(n,c,y,x) = sum[h, w where h >= 2*y, h < 2*y+2, w >= 2*x, w < 2*x+2](I(n,c,h,w)) / 4
  where y in 0:H/2, x in 0:W/2""",
                },
            ),
            "python": _average_pool,
            "sac": """
{ [n,c,y,x] -> sum({ [i,j] -> I[n,c,2*y+i,2*x+j] | [i,j] < [2,2] }) / 4.0
  | [n,c,y,x] < [shape(I)[0], shape(I)[1], shape(I)[2] / 2, shape(I)[3] / 2] }""",
        },
    )


def _average_pool(I: "float(N,C,H,W)"):
    for i in range(0, 2):
        for j in range(0, 2):
            O[n, c, y, x] += I[n, c, 2 * y + i, 2 * x + j] / 4
    return O


def _quarters(I) -> list:
    return [I[:, :, i::2, j::2] for i in range(2) for j in range(2)]


def max_pool(n: int, c: int, h: int) -> Computation:
    """The maxima of adjacent 2 x 2 windows."""

    def reshaped(I):
        return I.reshape(n, c, h // 2, 2, h // 2, 2).max((3, 5))

    def reduce_window(I):
        return lax.reduce_window(I, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def selected(I):
        return reduce(lambda a, b: jnp.where(a < b, b, a), _quarters(I))

    def rows_then_columns(I):
        rows = jnp.maximum(I[:, :, ::2], I[:, :, 1::2])
        return jnp.maximum(rows[..., ::2], rows[..., 1::2])

    return Computation(
        name="max_pool",
        make_arrays=lambda rng: normals(rng, (n, c, h, h)),
        reference=reshaped,
        forms={
            "reshaped": reshaped,
            "strided_slices": lambda I: reduce(jnp.maximum, _quarters(I)),
            "selected": selected,
            "rows_then_columns": rows_then_columns,
            "reduce_window": reduce_window,
        },
        spellings={
            **definitions(
                "def max_pool(float(N,C,H,W) I) -> (O)",
                {
                    "statement": "O(n,c,y,x) max=! I(n,c,2*y+i,2*x+j) where i in 0:2, j in 0:2",
                    "inline_maximum": "O(n,c,y,x) = max[i in 0:2, j in 0:2](I(n,c,2*y+i,2*x+j))",
                    "nested_maxima": "O(n,c,y,x) = max[i in 0:2](max[j in 0:2](I(n,c,2*y+i,2*x+j)))",
                    "negated_minimum": "O(n,c,y,x) = -min[i in 0:2, j in 0:2](-I(n,c,2*y+i,2*x+j))",
                    "four_terms": """
O(n,c,y,x) = max(max(I(n,c,2*y,2*x), I(n,c,2*y,2*x+1)), max(I(n,c,2*y+1,2*x), I(n,c,2*y+1,2*x+1)))""",
                    "rows_then_columns": """
R(n,c,y,w) max=! I(n,c,2*y+i,w) where i in 0:2
O(n,c,y,x) max=! R(n,c,y,2*x+j) where j in 0:2""",
                    "columns_then_rows": """
R(n,c,h,x) = max(I(n,c,h,2*x), I(n,c,h,2*x+1))
O(n,c,y,x) = max(R(n,c,2*y,x), R(n,c,2*y+1,x))""",
                    "named_blocks": """
B(n,c,y,x,i,j) = I(n,c,2*y+i,2*x+j) where i in 0:2, j in 0:2
O(n,c,y,x) = max[i,j](B(n,c,y,x,i,j))""",
                    "one_then_others": """
O(n,c,y,x) = I(n,c,2*y,2*x)
O(n,c,y,x) max= I(n,c,2*y+i,2*x+j) where i in 0:2, j in 0:2""",
                    "divided_target": "O(n,c,h/2,w/2) max=! I(n,c,h,w)",
                    "flat_window": "O(n,c,y,x) = max[t in 0:4](I(n,c,2*y+t/2,2*x+t%2))",
                    "window_guarded": """
O(n,c,y,x) = max[h, w where h/2 == y, w/2 == x](I(n,c,h,w)) where y in 0:H/2, x in 0:W/2""",
                    "origin_one": "O(n,c,y,x) max=! I(n,c,2*y+i-1,2*x+j-1) where i in 1:3, j in 1:3",
                },
            ),
            "python": _max_pool,
            "sac": """
{ [n,c,y,x] -> maxval({ [i,j] -> I[n,c,2*y+i,2*x+j] | [i,j] < [2,2] })
  | [n,c,y,x] < [shape(I)[0], shape(I)[1], shape(I)[2] / 2, shape(I)[3] / 2] }""",
        },
    )


def _max_pool(I: "float(N,C,H,W)"):
    O[n, c, y, x] = max[i in range(0, 2), j in range(0, 2)](I[n, c, 2 * y + i, 2 * x + j])
    return O


def correlation(c: int, x: int, shifts: int) -> Computation:
    """The mean over channels of one signal times a shifted one, for each shift."""

    def by_shift(F, G):
        return jnp.stack([(F * G[:, d : d + x]).sum(0) for d in range(shifts)], axis=1) / c

    def einsum_by_shift(F, G):
        return jnp.stack([jnp.einsum("cx,cx->x", F, G[:, d : d + x]) for d in range(shifts)], axis=1) / c

    def gathered(F, G):
        return jnp.einsum("cx,cxd->xd", F, G[:, jnp.arange(x)[:, None] + jnp.arange(shifts)]) / c

    def blocks(F, G):
        """Each block of positions times all that it is correlated with, and the diagonals of the product."""
        size = shifts
        count = -(-x // size)
        left = jnp.pad(F, [(0, 0), (0, count * size - x)]).reshape(c, count, size)
        padded = jnp.pad(G, [(0, 0), (0, (count + 1) * size - G.shape[1])]).reshape(c, count + 1, size)
        right = jnp.concatenate([padded[:, :-1], padded[:, 1:]], axis=2)
        products = jnp.einsum("cbi,cbj->bij", left, right)
        skewed = jnp.pad(products.reshape(count, -1), [(0, 0), (0, size)]).reshape(count, size, 2 * size + 1)
        return skewed[:, :, :shifts].reshape(-1, shifts)[:x] / c

    def reference(F, G):
        return np.stack([(F * G[:, d : d + x]).mean(0) for d in range(shifts)], axis=1)

    return Computation(
        name="correlation",
        make_arrays=lambda rng: normals(rng, (c, x), (c, x + shifts - 1)),
        reference=reference,
        forms={"by_shift": by_shift, "einsum_by_shift": einsum_by_shift, "gathered": gathered, "blocks": blocks},
        spellings={
            **definitions(
                "def correlation(float(C,X) F, float(C,Y) G) -> (O)",
                {
                    "quotient_after": "O(x,d) +=! F(c,x) * G(c,x+d)\nO(x,d) = O(x,d) / C",
                    "quotient_inside": "O(x,d) +=! F(c,x) * G(c,x+d) / C",
                    "swapped": "O(x,d) +=! G(c,x+d) * F(c,x) / C",
                    "quotient_of_one": "O(x,d) +=! (F(c,x) / C) * G(c,x+d)",
                    "inline_sum": "O(x,d) = sum[c](F(c,x) * G(c,x+d)) / C",
                    "inline_mean": "O(x,d) = mean[c](F(c,x) * G(c,x+d))",
                    "scaled_signal": "S(c,x) = F(c,x) / C\nO(x,d) +=! S(c,x) * G(c,x+d)",
                    "zero_then_add": """
O(x,d) = 0.0 where x in 0:X, d in 0:Y-X+1
O(x,d) += F(c,x) * G(c,x+d) / C""",
                    "transposed_result": "T(d,x) +=! F(c,x) * G(c,x+d)\nO(x,d) = T(d,x) / C",
                    "transposed_signals": """
f(x,c) = F(c,x)
g(y,c) = G(c,y)
O(x,d) +=! f(x,c) * g(x+d,c) / C""",
                    "named_shifts": """
S(c,d,x) = G(c,x+d) where x in 0:X
O(x,d) +=! F(c,x) * S(c,d,x) / C""",
                    "difference_as_subscript": "O(x,d) +=! F(c,x) * G(c,y) / C where y = x + d, d in 0:Y-X+1",
                    "two_halves": """
O(x,d) = (sum[c in 0:C/2](F(c,x) * G(c,x+d)) + sum[c in C/2:C](F(c,x) * G(c,x+d))) / C""",
                    "reversed_index": "O(x,d) +=! F(C-1-c,x) * G(C-1-c,x+d) / C",
                    "unit_axis": """
g(u,c,y) = G(c,y) where u in 0:1
O(x,d) +=! F(c,x) * g(u,c,x+d) / C""",
                },
            ),
            "python": _correlation,
            "sac": """
float[x,d] correlation(float[c,x] F, float[c,y] G) {
    return { [i,s] -> sum({ [k] -> F[k,i] * G[k,i+s] }) / tof(c) | [i,s] < [x, y - x + 1] };
}""",
        },
    )


def _correlation(F: "float(C,X)", G: "float(C,Y)"):
    O[x, d] = sum[c](F[c, x] * G[c, x + d]) / C
    return O


def jacobi(n: int) -> Computation:
    """The mean of each inner element and its four neighbours."""

    def slices(A):
        return 0.2 * (A[1:-1, 1:-1] + A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:])

    def rolled(A):
        total = A + jnp.roll(A, 1, 0) + jnp.roll(A, -1, 0) + jnp.roll(A, 1, 1) + jnp.roll(A, -1, 1)
        return (0.2 * total)[1:-1, 1:-1]

    def lax_conv(A):
        cross = jnp.array([[0, 0.2, 0], [0.2, 0.2, 0.2], [0, 0.2, 0]], A.dtype)
        return lax.conv(A[None, None], cross[None, None], (1, 1), "VALID")[0, 0]

    return Computation(
        name="jacobi",
        make_arrays=lambda rng: normals(rng, (n, n)),
        reference=slices,
        forms={"slices": slices, "rolled": rolled, "lax_conv": lax_conv},
        spellings={
            **definitions(
                "def jacobi(float(N,N) A) -> (B)",
                {
                    "factor_in_front": "B(i,j) = 0.2 * (A(i,j) + A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1))",
                    "quotient": "B(i,j) = (A(i,j) + A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1)) / 5",
                    "distributed": "B(i,j) = 0.2*A(i,j) + 0.2*A(i-1,j) + 0.2*A(i+1,j) + 0.2*A(i,j-1) + 0.2*A(i,j+1)",
                    "counted_from_zero": """
B(i,j) = (A(i+1,j+1) + A(i,j+1) + A(i+2,j+1) + A(i+1,j) + A(i+1,j+2)) / 5.0""",
                    "other_order": "B(i,j) = (A(i,j+1) + (A(i,j-1) + A(i+1,j)) + (A(i-1,j) + A(i,j))) * 0.2",
                    "named_neighbours": """
S(i,j) = A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1)
B(i,j) = 0.2 * (A(i,j) + S(i,j))""",
                    "named_axes": """
V(i,j) = A(i-1,j) + A(i+1,j)
H(i,j) = A(i,j-1) + A(i,j+1)
B(i,j) = (A(i,j) + V(i,j) + H(i,j)) / 5""",
                    "added_in_steps": """
B(i,j) = A(i,j) where i in 1:N-1, j in 1:N-1
B(i,j) += A(i-1,j) + A(i+1,j)
B(i,j) += A(i,j-1) + A(i,j+1)
B(i,j) = 0.2 * B(i,j)""",
                    "two_short_sums": """
B(i,j) = 0.2 * (sum[a in -1:2](A(i+a,j)) + sum[b in -1:2](A(i,j+b)) - A(i,j))""",
                    "guarded_window": """
B(i,j) = 0.2 * sum[a in -1:2, b in -1:2 where a*b == 0](A(i+a,j+b)) where i in 1:N-1, j in 1:N-1""",
                    "ternary_window": """
B(i,j) +=! (a*b == 0 ? 0.2 : 0.0) * A(i+a,j+b) where a in -1:2, b in -1:2""",
                },
            ),
            "python": _jacobi,
            "sac": """
{ [i,j] -> (A[i+1,j+1] + A[i,j+1] + A[i+2,j+1] + A[i+1,j] + A[i+1,j+2]) / 5.0 | [i,j] < shape(A) - 2 }""",
        },
    )


def _jacobi(A: "float(N,N)"):
    B[i, j] = (A[i, j] + A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]) / 5
    return B


def separable(h: int, taps: int) -> Computation:
    """A separable filter: one axis at a time takes twice the taps, not their square."""
    size = h - taps + 1

    def along(A, weights, axis):
        return sum(lax.slice_in_dim(A, t, t + size, axis=axis) * weights[t] for t in range(taps))

    def passes(I, k, l):
        return along(along(I, k, 0), l, 1)

    def stored(I, k, l):
        return along(lax.optimization_barrier(along(I, k, 0)), l, 1)

    def rows_first(I, k, l):
        return along(lax.optimization_barrier(along(I, l, 1)), k, 0)

    def convolutions(I, k, l):
        rows = lax.conv(I[None, None], l[None, None, None, :], (1, 1), "VALID")
        return lax.conv(rows, k[None, None, :, None], (1, 1), "VALID")[0, 0]

    return Computation(
        name="separable",
        make_arrays=lambda rng: normals(rng, (h, h), (taps,), (taps,)),
        reference=passes,
        forms={"passes": passes, "stored": stored, "rows_first": rows_first, "convolutions": convolutions},
        spellings={
            **definitions(
                "def separable(float(H,W) I, float(P) k, float(P) l) -> (O)",
                {
                    "one_sum": "O(y,x) +=! I(y+i,x+j) * k(i) * l(j)",
                    "weights_first": "O(y,x) +=! k(i) * l(j) * I(y+i,x+j)",
                    "inline_sum": "O(y,x) = sum[i,j](I(y+i,x+j) * k(i) * l(j))",
                    "nested_sums": "O(y,x) = sum[i](k(i) * sum[j](I(y+i,x+j) * l(j)))",
                    "columns_inside": "O(y,x) = sum[j](sum[i](I(y+i,x+j) * k(i)) * l(j))",
                    "weights_named": """
K(i,j) = k(i) * l(j)
O(y,x) +=! I(y+i,x+j) * K(i,j)""",
                    "rows_named": """
R(h,x) +=! I(h,x+j) * l(j)
O(y,x) +=! R(y+i,x) * k(i)""",
                    "columns_named": """
R(y,w) +=! I(y+i,w) * k(i)
O(y,x) +=! R(y,x+j) * l(j)""",
                    "zero_then_add": """
O(y,x) = 0.0 where y in 0:H-P+1, x in 0:W-P+1
O(y,x) += I(y+i,x+j) * k(i) * l(j)""",
                    "transposed_result": """
T(x,y) +=! I(y+i,x+j) * k(i) * l(j)
O(y,x) = T(x,y)""",
                    "flat_taps": """
O(y,x) +=! I(y+t/P,x+t%P) * k(t/P) * l(t%P) where t in 0:P*P, y in 0:H-P+1, x in 0:W-P+1""",
                    "flipped": """
a(i) = k(P-1-i)
b(j) = l(P-1-j)
O(y,x) +=! I(y+P-1-i,x+P-1-j) * a(i) * b(j)""",
                    "two_halves": """
O(y,x) = sum[i in 0:P/2, j](I(y+i,x+j) * k(i) * l(j)) + sum[i in P/2:P, j](I(y+i,x+j) * k(i) * l(j))
  where y in 0:H-P+1""",
                    "origin_one": "O(y,x) +=! I(y+i-1,x+j-1) * k(i-1) * l(j-1) where i in 1:P+1, j in 1:P+1",
                },
            ),
            "python": _separable,
            "sac": """
float[a,b] separable(float[h,w] I, float[p] k, float[p] l) {
    return { [y,x] -> sum({ [i,j] -> I[y+i,x+j] * k[i] * l[j] }) | [y,x] < [h - p + 1, w - p + 1] };
}""",
        },
        tolerance=1e-3,
    )


def _separable(I: "float(H,W)", k: "float(P)", l: "float(P)"):
    O[y, x] += I[y + i, x + j] * k[i] * l[j]
    return O
