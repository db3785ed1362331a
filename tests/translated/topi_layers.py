"""Operators of networks in TVM's library: convolutions, pools, norms, resizing."""

import numpy as np

import tcjax
from tests.translated.case import Array, Results, Text, integers, normal, one, uniform


def conv2d(x: Array, w: Array, stride: int = 1, pad: int = 0, dilation: int = 1, groups: int = 1) -> Array:
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    n, _, H, W = x.shape
    O, I, KH, KW = w.shape
    oh = (H - dilation * (KH - 1) - 1) // stride + 1
    ow = (W - dilation * (KW - 1) - 1) // stride + 1
    out = np.zeros((n, O, oh, ow))
    for o in range(O):
        g = o // (O // groups)
        for i in range(oh):
            for j in range(ow):
                for a in range(KH):
                    for b in range(KW):
                        part = x[:, g * I : (g + 1) * I, i * stride + a * dilation, j * stride + b * dilation]
                        out[:, o, i, j] += part @ w[o, :, a, b]
    return out


def transposed(x: Array, w: Array, stride: int = 2, pad: int = 1) -> Array:
    n, _, H, W = x.shape
    _, O, KH, KW = w.shape
    out = np.zeros((n, O, (H - 1) * stride + KH, (W - 1) * stride + KW))
    for i in range(H):
        for j in range(W):
            out[:, :, i * stride : i * stride + KH, j * stride : j * stride + KW] += np.einsum(
                "nc,cohw->nohw", x[:, :, i, j], w
            )
    return out[:, :, pad:-pad, pad:-pad]


@tcjax.kernel
def same_conv(x: "float(N,C,H,W)", w: "float(O,C,KH,KW)"):
    for h in range(H):
        for v in range(W):
            y[n, o, h, v] += pad(x[n, c, h + kh - KH // 2, v + kw - KW // 2], 0) * w[o, c, kh, kw]
    return y


@tcjax.kernel
def dilated_conv(x: "float(N,C,H,W)", w: "float(O,C,KH,KW)"):
    y[n, o, h, v] += x[n, c, h + 2 * kh, v + 2 * kw] * w[o, c, kh, kw]
    return y


@tcjax.kernel
def grouped_conv(x: "float(N,C,H,W)", w: "float(O,I,KH,KW)"):
    y[n, o, h, v] += x[n, o // (O // 2) * I + c, h + kh, v + kw] * w[o, c, kh, kw]
    return y


TRANSPOSED = """
def transposed(float(N,C,H,W) x, float(C,O,KH,KW) w) -> (float(N,O,OH,OW) y) {
    y(n,o,2*h + a - 1, 2*v + b - 1) +=! x(n,c,h,v) * w(c,o,a,b)
        where 2*h + a >= 1, 2*v + b >= 1, 2*h + a - 1 < OH, 2*v + b - 1 < OW
}"""

# Like the operator itself: the image dilated with zeros, then a convolution with flipped weights.
TRANSPOSED_BY_DILATION = """
def transposed(float(N,C,H,W) x, float(C,O,KH,KW) w) -> (y) {
    d(n,c,i,j) = (i - KH + 2) % 2 == 0 && (j - KW + 2) % 2 == 0
                 ? pad(x(n,c,(i - KH + 2) / 2, (j - KW + 2) / 2), 0) : 0.0
                 where i in 0:2*H-1 + 2*(KH-2), j in 0:2*W-1 + 2*(KW-2)
    y(n,o,i,j) +=! d(n,c,i+a,j+b) * w(c,o,KH-1-a,KW-1-b)
}"""


@tcjax.kernel
def transposed_conv(x: "float(N,C,H,W)", w: "float(C,O,4,4)"):
    for i in range(2 * H):
        for j in range(2 * W):
            for a in range(4):
                for b in range(4):
                    if (i + 1 - a) % 2 == 0 and (j + 1 - b) % 2 == 0:
                        y[n, o, i, j] += pad(x[n, c, (i + 1 - a) // 2, (j + 1 - b) // 2], 0) * w[c, o, a, b]
    return y


def packed(x: Array, w: Array) -> Array:
    """Channels in blocks of four: NCHWc with weights OIHWio."""
    n, C, H, W, c = x.shape
    plain = x.transpose(0, 1, 4, 2, 3).reshape(n, C * c, H, W)
    O, _, KH, KW, _, o = w.shape
    weights = w.transpose(0, 5, 1, 4, 2, 3).reshape(O * o, C * c, KH, KW)
    y = conv2d(plain, weights)
    return y.reshape(n, O, o, *y.shape[2:]).transpose(0, 1, 3, 4, 2)


WINOGRAD = """
def winograd(float(C,H,W) x, float(O,C,3,3) w, float(4,4) B, float(4,3) G, float(4,2) A) -> (y) {
    U(p,q,o,c) +=! G(p,a) * w(o,c,a,b) * G(q,b)
    V(p,q,c,i,j) +=! B(a,p) * x(c,2*i+a,2*j+b) * B(b,q)
    M(p,q,o,i,j) +=! U(p,q,o,c) * V(p,q,c,i,j)
    t(o,i,j,a,b) +=! A(p,a) * M(p,q,o,i,j) * A(q,b)
    y(o,h,v) = t(o, h/2, v/2, h%2, v%2)
}"""
WINOGRAD_B = np.array([[1, 0, 0, 0], [0, 1, -1, 1], [-1, 1, 1, 0], [0, 0, 0, -1]], np.float64)
WINOGRAD_G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float64)
WINOGRAD_A = np.array([[1, 0], [1, 1], [1, -1], [0, -1]], np.float64)

IMAGE, FILTER = normal(2, 4, 6, 7), normal(6, 4, 3, 3)

CONVOLUTIONS = (
    one(
        "topi_conv2d_same",
        "def conv(float(N,C,H,W) x, float(O,C,KH,KW) w) -> (y) {"
        " y(n,o,h,v) +=! pad(x(n,c,h+a-1,v+b-1), 0) * w(o,c,a,b) where h in 0:H, v in 0:W }",
        lambda x, w: conv2d(x, w, pad=1),
        {"x": IMAGE, "w": FILTER},
        "x w",
        python=same_conv,
    ),
    one(
        "topi_conv2d_strided",
        "def conv(float(N,C,H,W) x, float(O,C,KH,KW) w) -> (y) {"
        " p(n,c,i,j) = pad(x(n,c,i-1,j-1), 0) where i in 0:H+2, j in 0:W+2"
        " y(n,o,h,v) +=! p(n,c,2*h+a,2*v+b) * w(o,c,a,b) }",
        lambda x, w: conv2d(x, w, 2, 1),
        {"x": IMAGE, "w": FILTER},
        "x w",
    ),
    one(
        "topi_conv2d_dilated",
        "y(n,o,h,v) +=! x(n,c,h+2*a,v+2*b) * w(o,c,a,b)",
        lambda x, w: conv2d(x, w, dilation=2),
        {"x": IMAGE, "w": FILTER},
        "x w",
        python=dilated_conv,
    ),
    one(
        "topi_group_conv2d",
        "def conv(float(N,C,H,W) x, float(O,I,KH,KW) w) -> (y) {"
        " y(n,o,h,v) +=! x(n,o/(O/2)*I + c,h+a,v+b) * w(o,c,a,b) }",
        lambda x, w: conv2d(x, w, groups=2),
        {"x": IMAGE, "w": normal(6, 2, 3, 3)},
        "x w",
        python=grouped_conv,
    ),
    one(
        "topi_depthwise_nhwc",
        "y(n,h,v,c) +=! x(n,2*h+a,2*v+b,c/2) * w(a,b,c/2,c%2)",
        lambda x, w: conv2d(
            x.transpose(0, 3, 1, 2), w.transpose(2, 3, 0, 1).reshape(6, 1, 3, 3), 2, groups=3
        ).transpose(0, 2, 3, 1),
        {"x": normal(2, 6, 7, 3), "w": normal(3, 3, 3, 2)},
        "x w",
    ),
    one(
        "topi_conv2d_packed",
        "y(n,O,h,v,o) +=! x(n,C,h+a,v+b,c) * w(O,C,a,b,c,o)",
        packed,
        {"x": normal(1, 2, 5, 5, 4), "w": normal(3, 2, 3, 3, 4, 2)},
        "x w",
    ),
    one(
        "topi_conv2d_transpose",
        TRANSPOSED,
        lambda x, w: transposed(x, w),
        {"x": normal(2, 3, 3, 4), "w": normal(3, 2, 4, 4)},
        "x w",
        sizes={"OH": 6, "OW": 8},
    ),
    one(
        "topi_conv2d_transpose_by_dilation",
        TRANSPOSED_BY_DILATION,
        lambda x, w: transposed(x, w),
        {"x": normal(2, 3, 3, 4), "w": normal(3, 2, 4, 4)},
        "x w",
        python=transposed_conv,
    ),
    one(
        "topi_conv1d",
        "y(n,o,t) +=! x(n,c,2*t+k) * w(o,c,k)",
        lambda x, w: conv2d(x[:, :, None], w[:, :, None])[:, :, 0, ::2],
        {"x": normal(2, 3, 9), "w": normal(4, 3, 3)},
        "x w",
    ),
    one(
        "topi_conv3d",
        "def conv(float(C,D,H,W) x, float(O,C,A,B,E) w) -> (y) {"
        " y(o,d,h,v) +=! pad(x(c,d+a-1,h+b,v+e), 0) * w(o,c,a,b,e) where d in 0:D, h in 0:H-B+1, v in 0:W-E+1 }",
        lambda x, w: np.stack(
            [
                sum(conv2d(x[None, :, d + a - 1], w[:, :, a])[0] for a in range(3) if 0 <= d + a - 1 < x.shape[1])
                for d in range(x.shape[1])
            ],
            1,
        ),
        {"x": normal(2, 3, 4, 5), "w": normal(2, 2, 3, 2, 2)},
        "x w",
    ),
    one(
        "topi_winograd",
        WINOGRAD,
        lambda x, w, B, G, A: conv2d(x[None], w)[0],
        {"x": normal(2, 6, 8), "w": normal(3, 2, 3, 3), "B": WINOGRAD_B, "G": WINOGRAD_G, "A": WINOGRAD_A},
        "x w",
    ),
    one(
        "topi_correlation",
        "y(n,d,e,h,v) = mean[c](x1(n,c,h,v) * pad(x2(n,c,h+d-1,v+e-1), 0)) where d in 0:3, e in 0:3",
        lambda x1, x2: np.stack(
            [
                [(x1 * np.pad(x2, [(0, 0)] * 2 + [(1, 1)] * 2)[:, :, d : d + 4, e : e + 5]).mean(1) for e in range(3)]
                for d in range(3)
            ]
        ).transpose(2, 0, 1, 3, 4),
        {"x1": normal(2, 3, 4, 5), "x2": normal(2, 3, 4, 5, seed=1)},
        "x1 x2",
    ),
    one(
        "topi_bitserial",
        "y(i,j) = sum[b in 0:4, k](popcount(a(b,i,k) & w(j,k)) << b)",
        lambda a, w: np.array(
            [
                [
                    sum(bin(int(a[b, i, k]) & int(w[j, k])).count("1") << b for b in range(4) for k in range(3))
                    for j in range(2)
                ]
                for i in range(3)
            ],
            np.int32,
        ),
        {"a": integers(4, 3, 3, high=1 << 16), "w": integers(2, 3, high=1 << 16)},
    ),
)

# ---------------------------------------------------------------- Pools


def adaptive(x: Array) -> Array:
    H, W = x.shape[1:]
    out = np.zeros((len(x), 3, 4))
    for i in range(3):
        for j in range(4):
            rows = slice(i * H // 3, -(-(i + 1) * H // 3))
            out[:, i, j] = x[:, rows, j * W // 4 : -(-(j + 1) * W // 4)].mean((1, 2))
    return out


@tcjax.kernel
def adaptive_pool(x: "float(C,H,W)"):
    for i in range(3):
        for j in range(4):
            y[c, i, j] = mean[
                h in range(i * H // 3, ((i + 1) * H + 2) // 3), v in range(j * W // 4, ((j + 1) * W + 3) // 4)
            ](x[c, h, v])
    return y


def padded_average(x: Array) -> Array:
    """The mean over the elements in bounds of windows of three by three."""
    H, W = x.shape[1:]
    out = np.zeros_like(x)
    for i in range(H):
        for j in range(W):
            out[:, i, j] = x[:, max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2].mean((1, 2))
    return out


@tcjax.kernel
def average_of_inside(x: "float(C,H,W)"):
    for i in range(H):
        for j in range(W):
            y[c, i, j] = mean[a in range(-1, 2), b in range(-1, 2), 0 <= i + a < H, 0 <= j + b < W](x[c, i + a, j + b])
    return y


def pool_with_places(x: Array) -> Results:
    C, H, W = x.shape
    most, at = np.zeros((C, H // 2, W // 2)), np.zeros((C, H // 2, W // 2), np.int32)
    for c in range(C):
        for i in range(H // 2):
            for j in range(W // 2):
                part = x[c, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
                a, b = divmod(int(part.argmax()), 2)
                most[c, i, j], at[c, i, j] = part.max(), (2 * i + a) * W + 2 * j + b
    return most, at


POOL_WITH_PLACES = """
def pool(float(C,H,W) x) -> (most, at) {
    most(c,i,j) max=! x(c,2*i+a,2*j+b) where a in 0:2, b in 0:2
    k(c,i,j) argmax=! x(c,2*i+a,2*j+b) where a in 0:2, b in 0:2
    at(c,i,j) = (2*i + k(c,i,j) / 2) * W + 2*j + k(c,i,j) % 2
}"""


def pool_gradient(dy: Array, x: Array) -> Array:
    """The cotangent of a pool with overlapping windows."""
    dx = np.zeros_like(x)
    for i in range(dy.shape[0]):
        for j in range(dy.shape[1]):
            a, b = divmod(int(x[2 * i : 2 * i + 3, 2 * j : 2 * j + 3].argmax()), 3)
            dx[2 * i + a, 2 * j + b] += dy[i, j]
    return dx


POOL_GRADIENT = """
def back(float(OH,OW) dy, float(H,W) x) -> (float(H,W) dx) {
    k(i,j) argmax=! x(2*i+a, 2*j+b) where a in 0:3, b in 0:3
    dx(2*i + k(i,j) / 3, 2*j + k(i,j) % 3) +=! dy(i,j)
}"""

POOLS = (
    one(
        "topi_adaptive_pool",
        "def pool(float(C,H,W) x) -> (y) { y(c,i,j) = mean[h in i*H/3:((i+1)*H + 2)/3, v in j*W/4:((j+1)*W +"
        " 3)/4](x(c,h,v))"
        " where i in 0:3, j in 0:4 }",
        adaptive,
        {"x": normal(2, 7, 9)},
        "x",
        python=adaptive_pool,
    ),
    one(
        "topi_average_pool",
        "def pool(float(C,H,W) x) -> (y) {"
        " n(i,j) = sum[a in -1:2, b in -1:2 where 0 <= i+a && i+a < H && 0 <= j+b && j+b < W](1)"
        " where i in 0:H, j in 0:W"
        " y(c,i,j) = sum[a in -1:2, b in -1:2](pad(x(c,i+a,j+b), 0)) / n(i,j) }",
        padded_average,
        {"x": normal(2, 4, 5)},
        "x",
        python=average_of_inside,
    ),
    one("topi_pool_with_places", POOL_WITH_PLACES, pool_with_places, {"x": normal(2, 4, 6)}),
    one("topi_pool_gradient", POOL_GRADIENT, pool_gradient, {"dy": normal(3, 3), "x": normal(7, 7)}, "dy"),
    one("topi_global_pool", "y(n,c) = mean[h,w](x(n,c,h,w))", lambda x: x.mean((2, 3)), {"x": normal(2, 3, 4, 5)}, "x"),
    one(
        "topi_lp_pool",
        "y(c,i) = pow(sum[k in 0:3](pow(abs(x(c,2*i+k)), 3)), 1.0/3)",
        lambda x: np.stack([(np.abs(x[:, 2 * i : 2 * i + 3]) ** 3).sum(1) for i in range(4)], 1) ** (1 / 3),
        {"x": normal(2, 9)},
        "x",
    ),
)

# ---------------------------------------------------------------- Norms


def lrn(x: Array) -> Array:
    total = np.stack([(x[:, max(c - 2, 0) : c + 3] ** 2).sum(1) for c in range(x.shape[1])], 1)
    return x / (2 + 1e-1 * total / 5) ** 0.75


@tcjax.kernel
def local_response(x: "float(N,C,H,W)"):
    for c in range(C):
        for k in range(-2, 3):
            s[n, c, h, w] += pad(x[n, c + k, h, w], 0) ** 2
    y[n, c, h, w] = x[n, c, h, w] / (2 + 0.1 * s[n, c, h, w] / 5) ** 0.75
    return y


def batch_norm(x: Array, gamma: Array, beta: Array, running: Array) -> Results:
    m, v = x.mean((0, 2, 3)), x.var((0, 2, 3))
    y = (x - m[:, None, None]) / np.sqrt(v[:, None, None] + 1e-5) * gamma[:, None, None] + beta[:, None, None]
    n = x.size // x.shape[1]
    return y, 0.9 * running + 0.1 * np.stack([m, v * n / (n - 1)])


BATCH_NORM = """
def batch_norm(float(N,C,H,W) x, float(C) gamma, float(C) beta, float(2,C) running) -> (y, float(2,C) moving) {
    mu(c) = mean[n,h,w](x(n,c,h,w))
    var(c) = mean[n,h,w](pow(x(n,c,h,w) - mu(c), 2))
    y(n,c,h,w) = gamma(c) * (x(n,c,h,w) - mu(c)) * rsqrt(var(c) + 1e-5) + beta(c)
    moving(0,c) = 0.9 * running(0,c) + 0.1 * mu(c)
    moving(1,c) = 0.9 * running(1,c) + 0.1 * var(c) * (N*H*W) / (N*H*W - 1)
}"""


def group_norm(x: Array, gamma: Array) -> Array:
    parts = x.reshape(len(x), 2, -1)
    y = (parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + 1e-5)
    return y.reshape(x.shape) * gamma[:, None]


GROUP_NORM = """
def group_norm(float(N,C,T) x, float(C) gamma) -> (y) {
    mu(n,g) = mean[d in 0:C/2, t](x(n, g*(C/2) + d, t)) where g in 0:2
    var(n,g) = mean[d in 0:C/2, t](pow(x(n, g*(C/2) + d, t) - mu(n,g), 2))
    y(n,c,t) = (x(n,c,t) - mu(n,c/(C/2))) * rsqrt(var(n,c/(C/2)) + 1e-5) * gamma(c)
}"""


@tcjax.kernel
def norm_of_groups(x: "float(N,C,T)", gamma: "float(C)"):
    for g in range(2):
        for d in range(C // 2):
            m[n, g] += x[n, g * (C // 2) + d, t] / (C // 2 * T)
    for g in range(2):
        for d in range(C // 2):
            v[n, g] += (x[n, g * (C // 2) + d, t] - m[n, g]) ** 2 / (C // 2 * T)
    y[n, c, t] = (x[n, c, t] - m[n, c // (C // 2)]) / sqrt(v[n, c // (C // 2)] + 1e-5) * gamma[c]
    return y


NORMS = (
    one(
        "topi_lrn",
        "def lrn(float(N,C,H,W) x) -> (y) { s(n,c,h,w) = sum[k in -2:3](pow(pad(x(n,c+k,h,w), 0), 2)) where c in 0:C"
        " y(n,c,h,w) = x(n,c,h,w) / pow(2 + 0.1 * s(n,c,h,w) / 5, 0.75) }",
        lrn,
        {"x": normal(2, 6, 2, 3)},
        "x",
        python=local_response,
    ),
    one(
        "topi_batch_norm",
        BATCH_NORM,
        batch_norm,
        {"x": normal(3, 2, 2, 3), "gamma": uniform(2, low=0.5), "beta": normal(2), "running": uniform(2, 2)},
        "x gamma beta running",
    ),
    one(
        "topi_instance_norm",
        "def norm(float(N,C,H,W) x) -> (y) { mu(n,c) = mean[h,w](x(n,c,h,w))  d(n,c,h,w) = x(n,c,h,w) - mu(n,c)"
        " y(n,c,h,w) = d(n,c,h,w) / sqrt(mean[i,j](d(n,c,i,j) * d(n,c,i,j)) + 1e-5) }",
        lambda x: (x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5),
        {"x": normal(2, 3, 3, 4)},
        "x",
    ),
    one(
        "topi_group_norm",
        GROUP_NORM,
        group_norm,
        {"x": normal(2, 4, 3), "gamma": normal(4)},
        "x gamma",
        python=norm_of_groups,
    ),
    one(
        "topi_rms_norm",
        "y(n,d) = x(n,d) * rsqrt(mean[e](x(n,e) * x(n,e)) + 1e-6) * w(d)",
        lambda x, w: x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * w,
        {"x": normal(3, 5), "w": normal(5)},
        "x w",
    ),
    one(
        "topi_l2_normalize",
        "y(n,c,h) = x(n,c,h) / sqrt(max(sum[k](x(n,k,h) * x(n,k,h)), 1e-4))",
        lambda x: x / np.sqrt((x * x).sum(1, keepdims=True)),
        {"x": normal(2, 3, 4)},
        "x",
    ),
    one(
        "topi_softmax_on_axis",
        "y(n,c,h) = exp(x(n,c,h) - max[k](x(n,k,h))) / sum[k](exp(x(n,k,h) - max[l](x(n,l,h))))",
        lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True),
        {"x": normal(2, 4, 3)},
        "x",
    ),
    one(
        "topi_log_softmax",
        "y(n,c) = x(n,c) - logsumexp[k](x(n,k))",
        lambda x: x - np.log(np.exp(x).sum(1, keepdims=True)),
        {"x": normal(3, 4)},
        "x",
    ),
    one(
        "topi_prelu",
        "y(n,c,h) = x(n,c,h) > 0 ? x(n,c,h) : a(c) * x(n,c,h)",
        lambda x, a: np.where(x > 0, x, a[:, None] * x),
        {"x": normal(2, 3, 4), "a": normal(3)},
        "x a",
    ),
    one(
        "topi_nll_loss",
        "def loss(float(N,C) p, int32(N) t, float(C) w) -> (l) { total = sum[n](w(t(n)))"
        "  l = sum[n where t(n) != 1](-p(n,t(n)) * w(t(n))) / (total - sum[n where t(n) == 1](w(t(n)))) }",
        lambda p, t, w: np.array(-(p[np.arange(6), t] * w[t] * (t != 1)).sum() / (w[t] * (t != 1)).sum()),
        {"p": normal(6, 4), "t": integers(6, high=4), "w": uniform(4, low=1, high=2)},
        "p w",
    ),
)

# ---------------------------------------------------------------- Resizing


def bilinear(x: Array, H: int, W: int, aligned: bool) -> Array:
    h, w = x.shape[1:]
    out = np.zeros((len(x), H, W))
    for i in range(H):
        for j in range(W):
            u = i * (h - 1) / (H - 1) if aligned else min(max((i + 0.5) * h / H - 0.5, 0), h - 1)
            v = j * (w - 1) / (W - 1) if aligned else min(max((j + 0.5) * w / W - 0.5, 0), w - 1)
            a, b = int(u), int(v)
            c, d = min(a + 1, h - 1), min(b + 1, w - 1)
            out[:, i, j] = (1 - u + a) * ((1 - v + b) * x[:, a, b] + (v - b) * x[:, a, d]) + (u - a) * (
                (1 - v + b) * x[:, c, b] + (v - b) * x[:, c, d]
            )
    return out


BILINEAR = """
def resize(float(C,H,W) x) -> (y) {
    u(i) = min(max((i + 0.5) * H / 7 - 0.5, 0.0), H - 1.0) where i in 0:7
    v(j) = min(max((j + 0.5) * W / 5 - 0.5, 0.0), W - 1.0) where j in 0:5
    a(i) = int32(u(i))
    b(j) = int32(v(j))
    top(c,i,j) = (1 - v(j) + b(j)) * x(c,a(i),b(j)) + (v(j) - b(j)) * x(c,a(i),clamp(b(j)+1))
    low(c,i,j) = (1 - v(j) + b(j)) * x(c,clamp(a(i)+1),b(j)) + (v(j) - b(j)) * x(c,clamp(a(i)+1),clamp(b(j)+1))
    y(c,i,j) = (1 - u(i) + a(i)) * top(c,i,j) + (u(i) - a(i)) * low(c,i,j)
}"""

# Two products with matrices of weights.
BILINEAR_BY_WEIGHTS = """
def resize(float(C,H,W) x) -> (y) {
    rows(i,h) = max(1 - abs(min(max((i + 0.5) * H / 7 - 0.5, 0.0), H - 1.0) - h), 0.0) where i in 0:7, h in 0:H
    columns(j,w) = max(1 - abs(min(max((j + 0.5) * W / 5 - 0.5, 0.0), W - 1.0) - w), 0.0) where j in 0:5, w in 0:W
    y(c,i,j) +=! rows(i,h) * columns(j,w) * x(c,h,w)
}"""


@tcjax.kernel
def aligned_resize(x: "float(C,H,W)"):
    for i in range(7):
        for j in range(6):
            u[i] = i * (H - 1) / 6
            v[j] = j * (W - 1) / 5
            y[c, i, j] = sum[a in range(2), b in range(2)](
                (u[i] - floor(u[i]) if a == 1 else 1 - u[i] + floor(u[i]))
                * (v[j] - floor(v[j]) if b == 1 else 1 - v[j] + floor(v[j]))
                * x[c, clamp(int32(floor(u[i])) + a), clamp(int32(floor(v[j])) + b)]
            )
    return y


def cubic(x: Array) -> Array:
    def weight(d: float, a: float = -0.75) -> float:
        d = abs(d)
        if d <= 1:
            return (a + 2) * d**3 - (a + 3) * d**2 + 1
        return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0

    out = np.zeros((len(x), 6))
    for i in range(6):
        u = (i + 0.5) * x.shape[1] / 6 - 0.5
        base = int(np.floor(u))
        for o in range(-1, 3):
            out[:, i] += weight(u - base - o) * x[:, min(max(base + o, 0), x.shape[1] - 1)]
    return out


CUBIC = """
def cubic(float(C,W) x) -> (y) {
    u(i) = (i + 0.5) * W / 6 - 0.5 where i in 0:6
    base(i) = int32(floor(u(i)))
    d(i,o) = abs(u(i) - base(i) - o) where o in -1:3
    k(i,o) = d(i,o) <= 1 ? (1.25 * d(i,o) - 2.25) * d(i,o) * d(i,o) + 1
             : -0.75 * (d(i,o) * (d(i,o) * (d(i,o) - 5) + 8) - 4)
    y(c,i) = sum[o in -1:3](k(i,o) * x(c,clamp(base(i)+o)))
}"""


def crop_and_resize(x: Array, boxes: Array, of: Array) -> Array:
    out = np.zeros((len(boxes), 3, 3))
    H, W = x.shape[1:]
    for r, (y1, x1, y2, x2) in enumerate(boxes):
        for i in range(3):
            for j in range(3):
                u = y1 * (H - 1) + i * (y2 - y1) * (H - 1) / 2
                v = x1 * (W - 1) + j * (x2 - x1) * (W - 1) / 2
                a, b = int(u), int(v)
                f, g = u - a, v - b
                p = x[of[r]]
                out[r, i, j] = (1 - f) * ((1 - g) * p[a, b] + g * p[a, min(b + 1, W - 1)]) + f * (
                    (1 - g) * p[min(a + 1, H - 1), b] + g * p[min(a + 1, H - 1), min(b + 1, W - 1)]
                )
    return out


CROP = """
def crop(float(N,H,W) x, float(R,4) boxes, int32(R) of) -> (y) {
    u(r,i) = (boxes(r,0) + i * (boxes(r,2) - boxes(r,0)) / 2) * (H - 1) where i in 0:3
    v(r,j) = (boxes(r,1) + j * (boxes(r,3) - boxes(r,1)) / 2) * (W - 1) where j in 0:3
    fu(r,i) = u(r,i) - floor(u(r,i))
    fv(r,j) = v(r,j) - floor(v(r,j))
    y(r,i,j) = sum[a in 0:2, b in 0:2]((a == 0 ? 1 - fu(r,i) : fu(r,i)) * (b == 0 ? 1 - fv(r,j) : fv(r,j))
        * x(of(r), clamp(int32(floor(u(r,i))) + a), clamp(int32(floor(v(r,j))) + b)))
}"""

RESIZING = (
    one(
        "topi_resize_nearest",
        "def resize(float(C,H,W) x) -> (y) { y(c,i,j) = x(c, i * H / 7, j * W / 5) where i in 0:7, j in 0:5 }",
        lambda x: x[:, np.arange(7) * 4 // 7][:, :, np.arange(5) * 3 // 5],
        {"x": normal(2, 4, 3)},
        "x",
    ),
    one(
        "topi_resize_bilinear",
        BILINEAR,
        lambda x: bilinear(x, 7, 5, False),
        {"x": normal(2, 4, 3)},
        "x",
        weights=Text(BILINEAR_BY_WEIGHTS, {}),
    ),
    one("topi_resize_aligned", aligned_resize, lambda x: bilinear(x, 7, 6, True), {"x": normal(2, 4, 3)}, "x"),
    one("topi_resize_cubic", CUBIC, cubic, {"x": normal(2, 4)}, "x"),
    one(
        "topi_crop_and_resize",
        CROP,
        lambda x, boxes, of: crop_and_resize(x, boxes, of),
        {
            "x": normal(2, 5, 6),
            "boxes": np.array([(0.1, 0.2, 0.7, 0.9), (0.3, 0.05, 0.9, 0.6)]),
            "of": integers(2, high=2),
        },
        "x",
    ),
)

CASES = (*CONVOLUTIONS, *POOLS, *NORMS, *RESIZING)
