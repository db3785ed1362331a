"""Larger applications of Halide: grids of bilateral filters, pyramids, raw photographs, layers."""

import numpy as np

import tcjax
from tests.translated.case import Array, Results, Text, normal, one, uniform

# ---------------------------------------------------------------- The bilateral grid


def bilateral(x: Array, s: int = 2, levels: int = 5) -> Array:
    """Sums of values and counts in cells of position and brightness, blurred, and interpolated between cells."""
    H, W = x.shape
    gh, gw = H // s + 2, W // s + 2
    grid = np.zeros((gh, gw, levels + 2, 2))
    for i in range(H):
        for j in range(W):
            z = int(x[i, j] * (levels - 1) + 0.5)
            grid[i // s, j // s, z + 1] += (x[i, j], 1)
    for axis in range(3):
        padded = np.pad(grid, [(1, 1) if a == axis else (0, 0) for a in range(4)])
        n = grid.shape[axis]
        grid = sum(w * np.take(padded, np.arange(n) + o, axis) for o, w in ((0, 1), (1, 4), (2, 1)))
    out = np.zeros_like(x)
    for i in range(H):
        for j in range(W):
            zv = x[i, j] * (levels - 1) + 1
            zi, xi, yi = int(zv), i // s, j // s
            zf, xf, yf = zv - zi, (i % s) / s, (j % s) / s
            both = sum(
                grid[xi + a, yi + b, zi + c] * (xf if a else 1 - xf) * (yf if b else 1 - yf) * (zf if c else 1 - zf)
                for a in (0, 1)
                for b in (0, 1)
                for c in (0, 1)
            )
            out[i, j] = both[0] / both[1]
    return out


BILATERAL_GRID = """
def bilateral(float(H,W) input) -> (out) {
    float(GH,GW,7,2) histogram
    level(x,y) = int32(input(x,y) * 4 + 0.5)
    histogram(x/2, y/2, level(x,y) + 1, c) +=! c == 0 ? input(x,y) : 1.0 where c in 0:2
    blurx(x,y,z,c) = pad(histogram(x-1,y,z,c), 0) + histogram(x,y,z,c)*4 + pad(histogram(x+1,y,z,c), 0)
    blury(x,y,z,c) = pad(blurx(x,y-1,z,c), 0) + blurx(x,y,z,c)*4 + pad(blurx(x,y+1,z,c), 0)
    blurz(x,y,z,c) = pad(blury(x,y,z-1,c), 0) + blury(x,y,z,c)*4 + pad(blury(x,y,z+1,c), 0)
    zv(x,y) = input(x,y) * 4 + 1
    zi(x,y) = int32(zv(x,y))
    zf(x,y) = zv(x,y) - zi(x,y)
    xf(x) = x % 2 / 2.0 where x in 0:H
    yf(y) = y % 2 / 2.0 where y in 0:W
    both(x,y,c) = sum[a in 0:2, b in 0:2, d in 0:2](
        blurz(x/2 + a, y/2 + b, zi(x,y) + d, c) * (a == 1 ? xf(x) : 1 - xf(x)) * (b == 1 ? yf(y) : 1 - yf(y))
        * (d == 1 ? zf(x,y) : 1 - zf(x,y)))
    out(x,y) = both(x,y,0) / both(x,y,1)
}"""

# ---------------------------------------------------------------- Pyramids


def down(x: Array) -> Array:
    """Halved with weights 1 3 3 1, ends repeated."""

    def one_way(x: Array) -> Array:
        p = np.pad(x, [(2, 2)] + [(0, 0)] * (x.ndim - 1), mode="edge")
        n = len(x) // 2
        return sum(w * p[1 + o : 1 + o + 2 * n : 2] for o, w in enumerate((1, 3, 3, 1))) / 8

    return one_way(one_way(x).T).T


def up(x: Array) -> Array:
    """Doubled with weights 1/4 and 3/4, ends repeated."""

    def one_way(x: Array) -> Array:
        n = len(x)
        out = np.zeros((2 * n, *x.shape[1:]))
        for i in range(2 * n):
            other = i // 2 - 1 + 2 * (i % 2)
            out[i] = 0.25 * x[min(max(other, 0), n - 1)] + 0.75 * x[i // 2]
        return out

    return one_way(one_way(x).T).T


def laplacian_level(x: Array) -> Array:
    return x - up(down(x))


PYRAMID = """
def down(float(H,W) f) -> (d) {
    dx(i,j) = (f(clamp(2*i-1),j) + 3 * (f(2*i,j) + f(2*i+1,j)) + f(clamp(2*i+2),j)) / 8
    d(i,j) = (dx(i,clamp(2*j-1)) + 3 * (dx(i,2*j) + dx(i,2*j+1)) + dx(i,clamp(2*j+2))) / 8
}
def up(float(H,W) f) -> (u) {
    ux(i,j) = 0.25 * f(clamp(i/2 - 1 + 2*(i%2)), j) + 0.75 * f(i/2, j)
    u(i,j) = 0.25 * ux(i, clamp(j/2 - 1 + 2*(j%2))) + 0.75 * ux(i, j/2)
}
def level(float(H,W) f) -> (l) {
    d = down(f)
    u = up(d)
    l(i,j) = f(i,j) - u(i,j)
}"""


@tcjax.kernel
def laplacian(f: "float(H,W)"):
    for i in range(H // 2):
        dx[i, j] = (f[clamp(2 * i - 1), j] + 3 * (f[2 * i, j] + f[2 * i + 1, j]) + f[clamp(2 * i + 2), j]) / 8
    for j in range(W // 2):
        d[i, j] = (dx[i, clamp(2 * j - 1)] + 3 * (dx[i, 2 * j] + dx[i, 2 * j + 1]) + dx[i, clamp(2 * j + 2)]) / 8
    for i in range(H):
        ux[i, j] = 0.25 * d[clamp(i // 2 - 1 + 2 * (i % 2)), j] + 0.75 * d[i // 2, j]
    for j in range(W):
        l[i, j] = f[i, j] - 0.25 * ux[i, clamp(j // 2 - 1 + 2 * (j % 2))] - 0.75 * ux[i, j // 2]
    return l


def remapped(gray: Array, levels: int = 4) -> Array:
    """The remapping of local Laplacian filters, and the choice between two levels by the brightness."""
    alpha, beta = 0.5, 0.8
    out = np.zeros_like(gray)
    for i in range(gray.shape[0]):
        for j in range(gray.shape[1]):
            g = gray[i, j]
            layers = []
            for k in range(levels):
                level = k / (levels - 1)
                fx = (g - level) * (levels - 1)
                layers.append(beta * (g - level) + level + alpha * fx * np.exp(-fx * fx / 2))
            position = g * (levels - 1)
            li = min(max(int(position), 0), levels - 2)
            lf = position - li
            out[i, j] = (1 - lf) * layers[li] + lf * layers[li + 1]
    return out


LOCAL_LAPLACIAN = """
def remapped(float(H,W) gray) -> (out) {
    fx(x,y,k) = (gray(x,y) - k / (levels - 1.0)) * (levels - 1) where k in 0:levels
    layer(x,y,k) = beta * (gray(x,y) - k / (levels - 1.0)) + k / (levels - 1.0)
                   + alpha * fx(x,y,k) * exp(-fx(x,y,k) * fx(x,y,k) / 2)
    li(x,y) = min(max(int32(gray(x,y) * (levels - 1)), 0), levels - 2)
    lf(x,y) = gray(x,y) * (levels - 1) - li(x,y)
    out(x,y) = (1 - lf(x,y)) * layer(x,y,li(x,y)) + lf(x,y) * layer(x,y,li(x,y) + 1)
}"""


def filled(x: Array) -> Array:
    """Halide's `interpolate`, with one level: colours with alpha fill those without."""
    colour = x[:3] * x[3]
    alpha = x[3]
    H, W = alpha.shape

    def half(f: Array) -> Array:
        p = np.pad(f, 1, mode="edge")
        rows = (p[:-2] + 2 * p[1:-1] + p[2:])[: H // 2 * 2 : 2] / 4
        return ((rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:])[:, : W // 2 * 2 : 2]) / 4

    small = np.stack([half(f) for f in (*colour, alpha)])
    large = small.repeat(2, 1).repeat(2, 2)
    mixed = np.stack([*colour, alpha]) + (1 - alpha) * large
    return mixed[:3] / mixed[3]


INTERPOLATE = """
def interpolate(float(4,H,W) input) -> (normalized) {
    downsampled(c,y,x) = (c < 3 ? input(c,y,x) : 1.0) * input(3,y,x)
    downx(c,y,x) = (downsampled(c,y,clamp(2*x-1)) + 2 * downsampled(c,y,2*x) + downsampled(c,y,clamp(2*x+1))) / 4
                   where x in 0:W/2
    smaller(c,y,x) = (downx(c,clamp(2*y-1),x) + 2 * downx(c,2*y,x) + downx(c,clamp(2*y+1),x)) / 4 where y in 0:H/2
    interpolated(c,y,x) = downsampled(c,y,x) + (1 - downsampled(3,y,x)) * smaller(c,y/2,x/2)
    normalized(c,y,x) = interpolated(c,y,x) / interpolated(3,y,x) where c in 0:3
}"""

# ---------------------------------------------------------------- The camera's pipe


def hot_pixels(x: Array) -> Array:
    p = np.pad(x, 2, mode="edge")
    a = np.maximum(np.maximum(p[:-4, 2:-2], p[4:, 2:-2]), np.maximum(p[2:-2, :-4], p[2:-2, 4:]))
    return np.clip(x, 0, a)


def greens(x: Array) -> Array:
    """The greens of a Bayer mosaic G R / B G; at red and blue pixels interpolated along the flatter direction."""
    H, W = x.shape
    out = np.zeros((H, W))
    for i in range(H):
        for j in range(W):
            if (i + j) % 2 == 0:
                out[i, j] = x[i, j]
                continue
            up, down = at(x, i - 1, j), at(x, i + 1, j)
            left, right = at(x, i, j - 1), at(x, i, j + 1)
            out[i, j] = (up + down) / 2 if abs(up - down) < abs(left - right) else (left + right) / 2
    return out


def at(x: Array, i: int, j: int) -> float:
    return x[min(max(i, 0), x.shape[0] - 1), min(max(j, 0), x.shape[1] - 1)]


DEMOSAIC = """
def greens(float(H,W) raw) -> (out) {
    gv(y,x) = (raw(clamp(y-1),x) + raw(clamp(y+1),x)) / 2 where y in 0:H
    gvd(y,x) = abs(raw(clamp(y-1),x) - raw(clamp(y+1),x)) where y in 0:H
    gh(y,x) = (raw(y,clamp(x-1)) + raw(y,clamp(x+1))) / 2 where x in 0:W
    ghd(y,x) = abs(raw(y,clamp(x-1)) - raw(y,clamp(x+1))) where x in 0:W
    out(y,x) = (x + y) % 2 == 0 ? raw(y,x) : (gvd(y,x) < ghd(y,x) ? gv(y,x) : gh(y,x))
}"""

# The original pipe splits the mosaic into four images, and interleaves them again.
DEMOSAIC_BY_PARTS = """
def greens(float(H,W) raw) -> (float(H,W) out) {
    split(a,b,y,x) = raw(2*y + a, 2*x + b) where a in 0:2, b in 0:2
    out(2*y, 2*x) = split(0,0,y,x)
    out(2*y+1, 2*x+1) = split(1,1,y,x)
    out(y,x) = abs(raw(clamp(y-1),x) - raw(clamp(y+1),x)) < abs(raw(y,clamp(x-1)) - raw(y,clamp(x+1)))
             ? (raw(clamp(y-1),x) + raw(clamp(y+1),x)) / 2 : (raw(y,clamp(x-1)) + raw(y,clamp(x+1))) / 2
             where (x + y) % 2 == 1
}"""


@tcjax.kernel
def demosaic(raw: "float(H,W)"):
    for y in range(H):
        for x in range(W):
            gvd[y, x] = abs(raw[clamp(y - 1), x] - raw[clamp(y + 1), x])
            ghd[y, x] = abs(raw[y, clamp(x - 1)] - raw[y, clamp(x + 1)])
            if (x + y) % 2 == 0:
                out[y, x] = raw[y, x]
            elif gvd[y, x] < ghd[y, x]:
                out[y, x] = (raw[clamp(y - 1), x] + raw[clamp(y + 1), x]) / 2
            else:
                out[y, x] = (raw[y, clamp(x - 1)] + raw[y, clamp(x + 1)]) / 2
    return out


def curved(x: Array, m: Array) -> Array:
    """Corrected colours, looked up in a curve of 16 values."""
    corrected = np.einsum("cd,dij->cij", m[:, :3], x) + m[:, 3, None, None]
    index = np.clip(corrected, 0, 15).astype(int)
    curve = (15 * (np.arange(16) / 15) ** (1 / 1.8)).round().astype(np.int32)
    return curve[index].astype(np.uint8)


CURVE = """
def curve(float(3,H,W) x, float(3,4) m) -> (uint8(3,H,W) y) {
    corrected(c,i,j) = m(c,3) + sum[d in 0:3](m(c,d) * x(d,i,j))
    lut(k) = round(15 * pow(k / 15.0, 1 / 1.8)) where k in 0:16
    y(c,i,j) = uint8(lut(min(max(int32(corrected(c,i,j)), 0), 15)))
}"""

# ---------------------------------------------------------------- Others


def wavelet(x: Array) -> Results:
    """Daubechies' transform of four coefficients, and back."""
    d = np.array([0.4829629131, 0.8365163037, 0.2241438680, -0.1294095225])
    n = x.shape[1] // 2
    out = np.zeros((2, len(x), n))
    for i in range(len(x)):
        for k in range(n):
            window = [x[i, min(max(2 * k - 1 + o, 0), 2 * n - 1)] for o in range(4)]
            out[0, i, k] = d @ window
            out[1, i, k] = d[3] * window[0] - d[2] * window[1] + d[1] * window[2] - d[0] * window[3]
    return out


WAVELET = """
def wavelet(float(H,W) in_, float(4) D) -> (out) {
    out(0,y,x) = D(0)*in_(y,clamp(2*x-1)) + D(1)*in_(y,2*x) + D(2)*in_(y,2*x+1) + D(3)*in_(y,clamp(2*x+2))
                 where x in 0:W/2
    out(1,y,x) = D(3)*in_(y,clamp(2*x-1)) - D(2)*in_(y,2*x) + D(1)*in_(y,2*x+1) - D(0)*in_(y,clamp(2*x+2))
                 where x in 0:W/2
}"""


def stencil_chain(x: Array) -> Array:
    for _ in range(3):
        p = np.pad(x, 2, mode="edge")
        y = np.zeros_like(x)
        for a in range(5):
            for b in range(5):
                y += p[a : a + x.shape[0], b : b + x.shape[1]] * (a + 1) * (b + 1)
        x = y / 225
    return x


STENCIL_CHAIN = """
def chain(float(H,W) x) -> (s) {
    s(i,j) = x(i,j)
    for t in 0:3 {
        next(i,j) = sum[a in -2:3, b in -2:3](s(clamp(i+a), clamp(j+b)) * ((a + 3) * (b + 3))) / 225
                    where i in 0:H, j in 0:W
        s(i,j) = next(i,j)
    }
}"""


def conv_layer(x: Array, w: Array, b: Array) -> Array:
    out = np.zeros((x.shape[0], w.shape[3], x.shape[2] - 2, x.shape[3] - 2))
    for i in range(out.shape[2]):
        for j in range(out.shape[3]):
            out[:, :, i, j] = np.einsum("ncab,cabo->no", x[:, :, i : i + 3, j : j + 3], w) + b
    return np.maximum(out, 0)


CONV_LAYER = """
def layer(float(N,CI,H,W) input, float(CI,3,3,CO) filter, float(CO) bias) -> (relu_) {
    conv(n,c,y,x) = bias(c) where n in 0:N, y in 0:H-2, x in 0:W-2
    conv(n,c,y,x) += filter(rz,ry,rx,c) * input(n,rz,y+ry,x+rx)
    relu_(n,c,y,x) = max(0, conv(n,c,y,x))
}"""


def lensed(x: Array) -> Array:
    """Barrel distortion, interpolated between four pixels."""
    H, W = x.shape
    out = np.zeros_like(x)
    for i in range(H):
        for j in range(W):
            r2 = ((i - (H - 1) / 2) / H) ** 2 + ((j - (W - 1) / 2) / W) ** 2
            u = (i - (H - 1) / 2) * (0.8 + 0.2 * r2) + (H - 1) / 2
            v = (j - (W - 1) / 2) * (0.8 + 0.2 * r2) + (W - 1) / 2
            a, b = int(u), int(v)
            fu, fv = u - a, v - b
            out[i, j] = (1 - fu) * ((1 - fv) * x[a, b] + fv * x[a, b + 1]) + fu * (
                (1 - fv) * x[a + 1, b] + fv * x[a + 1, b + 1]
            )
    return out


@tcjax.kernel
def lens(x: "float(H,W)"):
    for i in range(H):
        for j in range(W):
            r2[i, j] = ((i - (H - 1) / 2) / H) ** 2 + ((j - (W - 1) / 2) / W) ** 2
            u[i, j] = (i - (H - 1) / 2) * (0.8 + 0.2 * r2[i, j]) + (H - 1) / 2
            v[i, j] = (j - (W - 1) / 2) * (0.8 + 0.2 * r2[i, j]) + (W - 1) / 2
            out[i, j] = sum[a in range(2), b in range(2)](
                max(0, 1 - abs(u[i, j] - (floor(u[i, j]) + a)))
                * max(0, 1 - abs(v[i, j] - (floor(v[i, j]) + b)))
                * x[int32(u[i, j]) + a, int32(v[i, j]) + b]
            )
    return out


CASES = (
    one(
        "halide_bilateral_grid",
        BILATERAL_GRID,
        lambda input: bilateral(input),
        {"input": uniform(6, 8)},
        sizes={"GH": 5, "GW": 6},
    ),
    one(
        "halide_pyramid",
        tcjax.load(PYRAMID).level,
        lambda f: laplacian_level(f),
        {"f": normal(4, 6)},
        "f",
        python=laplacian,
    ),
    one(
        "halide_local_laplacian",
        LOCAL_LAPLACIAN,
        remapped,
        {"gray": uniform(4, 5)},
        "gray",
        consts={"levels": 4, "alpha": 0.5, "beta": 0.8},
    ),
    one("halide_interpolate", INTERPOLATE, lambda input: filled(input), {"input": uniform(4, 4, 6, low=0.2)}, "input"),
    one(
        "halide_hot_pixels",
        "y(i,j) = min(max(x(i,j), 0), max(max(x(clamp(i-2),j), x(clamp(i+2),j)), max(x(i,clamp(j-2)),"
        " x(i,clamp(j+2)))))",
        hot_pixels,
        {"x": uniform(5, 6)},
        "x",
    ),
    one(
        "halide_demosaic",
        DEMOSAIC,
        lambda raw: greens(raw),
        {"raw": uniform(6, 8)},
        "raw",
        python=demosaic,
        parts=Text(DEMOSAIC_BY_PARTS, {}),
    ),
    one("halide_curve", CURVE, curved, {"x": uniform(3, 4, 5, high=15), "m": uniform(3, 4, high=0.5)}),
    one(
        "halide_wavelet",
        WAVELET,
        lambda in_, D: wavelet(in_),
        {"in_": normal(3, 8), "D": np.array([0.4829629131, 0.8365163037, 0.2241438680, -0.1294095225])},
        "in_",
    ),
    one("halide_stencil_chain", STENCIL_CHAIN, stencil_chain, {"x": normal(6, 5)}, "x"),
    one(
        "halide_conv_layer",
        CONV_LAYER,
        lambda input, filter, bias: conv_layer(input, filter, bias),
        {"input": normal(2, 3, 5, 6), "filter": normal(3, 3, 3, 4), "bias": normal(4)},
        "input filter bias",
    ),
    one("halide_lens", lens, lensed, {"x": normal(6, 7)}, "x"),
)
