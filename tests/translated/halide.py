"""Pipelines of Halide's tutorials and applications."""

import numpy as np

import tcjax
from tests.translated.case import Array, Text, integers, normal, one, uniform


def at(x: Array, i: int, j: int) -> float:
    """An element, or the nearest one at the end."""
    return x[min(max(i, 0), x.shape[0] - 1), min(max(j, 0), x.shape[1] - 1)]


# ---------------------------------------------------------------- Tutorials

LESSON_2 = "bright(x,y,c) = uint8(min(1.5 * input(x,y,c), 255.0))"
LESSON_13 = """
def tuples(float(N) x) -> (at, most) {
    most() = x(0)
    at() = 0
    for r in 1:N {
        better() = x(r) > most()
        at() = better() ? r : at()
        most() = max(most(), x(r))
    }
}"""


@tcjax.kernel
def lesson_9(x: "float(H,W)") -> "float(H,W)":
    for i in range(H):
        for j in range(W):
            f[i, j] = x[i, j]
    for i in range(1, H):
        f[i, 0] = 0.5 * f[i - 1, 0]
    f[2, j] = 7.0
    return f


def updates(x: Array) -> Array:
    for i in range(1, len(x)):
        x[i, 0] = 0.5 * x[i - 1, 0]
    x[2] = 7
    return x


# Domains of reductions with predicates: a circle, and the rest of a box of rows.
LESSON_18 = "s = sum[x in 0:7, y in 0:7 where x*x + y*y < 49](f(x,y))"


def circle(f: Array) -> Array:
    return np.array(sum(f[x, y] for x in range(7) for y in range(7) if x * x + y * y < 49))


# ---------------------------------------------------------------- Blurs and sharpening


def gaussian_kernel(sigma: float) -> Array:
    k = np.exp(-(np.arange(4) ** 2) / (2 * sigma * sigma)) / (np.sqrt(2 * np.pi) * sigma)
    return k


def unsharpened(x: Array) -> Array:
    k = gaussian_kernel(1.5)
    gray = 0.299 * x[0] + 0.587 * x[1] + 0.114 * x[2]
    H, W = gray.shape

    def blurred(image: Array, axis: int) -> Array:
        padded = np.pad(image, [(3, 3) if a == axis else (0, 0) for a in (0, 1)], mode="reflect")
        return sum(k[abs(o)] * np.take(padded, np.arange((H, W)[axis]) + o + 3, axis) for o in range(-3, 4))

    sharpen = 2 * gray - blurred(blurred(gray, 0), 1)
    return x * sharpen / gray


UNSHARP = """
def unsharp(float(3,H,W) input) -> (output) {
    kernel(x) = exp(-x*x / (2.0 * sigma * sigma)) / (sqrt(2 * 3.14159265) * sigma) where x in 0:4
    gray(i,j) = 0.299 * input(0,i,j) + 0.587 * input(1,i,j) + 0.114 * input(2,i,j)
    blur_y(i,j) = kernel(0) * gray(i,j) + kernel(1) * (gray(reflect(i-1),j) + gray(reflect(i+1),j))
                + kernel(2) * (gray(reflect(i-2),j) + gray(reflect(i+2),j))
                + kernel(3) * (gray(reflect(i-3),j) + gray(reflect(i+3),j))
    blur_x(i,j) = sum[o in -3:4](kernel(abs(o)) * blur_y(i,reflect(j+o))) where j in 0:W
    sharpen(i,j) = 2 * gray(i,j) - blur_x(i,j)
    ratio(i,j) = sharpen(i,j) / gray(i,j)
    output(c,i,j) = ratio(i,j) * input(c,i,j)
}"""


def box_blurred(x: Array, r: int = 2) -> Array:
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = sum(at(x, i + a, j + b) for a in range(-r, r + 1) for b in range(-r, r + 1))
    return out / (2 * r + 1) ** 2


BOX_BLUR_BY_SUMS = """
def box(float(H,W) x) -> (y) {
    integral(i,j) = sum[a in -3:H+3, b in -3:W+3 where a <= i, b <= j](x(clamp(a),clamp(b)))
                    where i in -3:H+2, j in -3:W+2
    y(i,j) = (integral(i+2,j+2) - integral(i-3,j+2) - integral(i+2,j-3) + integral(i-3,j-3)) / 25
}"""


@tcjax.kernel
def box_blur(x: "float(H,W)"):
    for i in range(H):
        for j in range(W):
            y[i, j] = mean[a in range(-2, 3), b in range(-2, 3)](x[clamp(i + a), clamp(j + b)])
    return y


def iir(x: Array, alpha: float = 0.4) -> Array:
    def down(x: Array) -> Array:
        y = x.copy()
        for i in range(1, len(x)):
            y[i] = (1 - alpha) * y[i - 1] + alpha * x[i]
        for i in range(len(x) - 2, -1, -1):
            y[i] = (1 - alpha) * y[i + 1] + alpha * y[i]
        return y.T

    return down(down(x))


IIR_BLUR = """
def columns(float(H,W) x) -> (float(W,H) z) {
    y(0,j) = x(0,j)
    for i in 1:H { y(i,j) = (1 - alpha) * y(i-1,j) + alpha * x(i,j) }
    for i in H-2:-1:-1 { y(i,j) = (1 - alpha) * y(i+1,j) + alpha * y(i,j) }
    z(j,i) = y(i,j)
}
def iir(float(H,W) x) -> (z) {
    t = columns(x)
    z = columns(t)
}"""


@tcjax.kernel(consts={"alpha": 0.4})
def iir_rows(x: "float(H,W)"):
    for i in range(H):
        for j in range(W):
            y[i, j] = x[i, j]
    for i in range(1, H):
        y[i, j] = (1 - alpha) * y[i - 1, j] + alpha * y[i, j]
    for i in range(H - 2, -1, -1):
        y[i, j] = (1 - alpha) * y[i + 1, j] + alpha * y[i, j]
    for j in range(1, W):
        y[i, j] = (1 - alpha) * y[i, j - 1] + alpha * y[i, j]
    for j in range(W - 2, -1, -1):
        y[i, j] = (1 - alpha) * y[i, j + 1] + alpha * y[i, j]
    return y


# ---------------------------------------------------------------- Filters of a neighbourhood


def disc_maximum(x: Array) -> Array:
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = max(
                at(x, i + a, j + b) for a in range(-3, 4) for b in range(-3, 4) if a * a + b * b <= 3.25 * 3.25
            )
    return out


MAX_FILTER = """
def disc(float(H,W) x) -> (y) {
    y(i,j) = max[a in -3:4, b in -3:4 where a*a + b*b <= 3.25*3.25](x(clamp(i+a), clamp(j+b))) where i in 0:H, j in 0:W
}"""

# The filter's own algorithm: the maximum of each vertical run, with the lengths of the disc's slices.
MAX_FILTER_BY_SLICES = """
def disc(float(H,W) x) -> (y) {
    runs(i,j,t) = max[a in -3:4 where abs(a) <= t](x(clamp(i+a), clamp(j))) where i in 0:H, j in -3:W+3, t in 0:4
    height(b) = int32(sqrt(3.25*3.25 - b*b)) where b in -3:4
    y(i,j) = max[b in -3:4](runs(i, j+b, height(b)))
}"""


def median_3x3(x: Array) -> Array:
    out = np.zeros((x.shape[0] - 2, x.shape[1] - 2))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.median(x[i : i + 3, j : j + 3])
    return out


def non_local(x: Array) -> Array:
    H, W = x.shape[1:]
    out = np.zeros_like(x)
    total = np.zeros((H, W))
    for i in range(H):
        for j in range(W):
            for s in range(-2, 3):
                for t in range(-2, 3):
                    d = sum(
                        (at(x[c], i + a, j + b) - at(x[c], i + a + s, j + b + t)) ** 2
                        for c in range(len(x))
                        for a in range(-1, 2)
                        for b in range(-1, 2)
                    )
                    w = np.exp(-0.8 * d)
                    total[i, j] += w
                    for c in range(len(x)):
                        out[c, i, j] += w * at(x[c], i + s, j + t)
    return out / total


NL_MEANS = """
def non_local(float(C,H,W) x) -> (y) {
    d(i,j,s,t) = sum[c](pow(x(c,clamp(i),clamp(j)) - x(c,clamp(i+s),clamp(j+t)), 2))
                 where i in -1:H+1, j in -1:W+1, s in -2:3, t in -2:3
    w(i,j,s,t) = exp(-0.8 * sum[a in -1:2, b in -1:2](d(i+a,j+b,s,t)))
    y(c,i,j) = sum[s in -2:3, t in -2:3](w(i,j,s,t) * x(c,clamp(i+s),clamp(j+t))) / sum[s,t](w(i,j,s,t))
}"""


@tcjax.kernel
def nl_means(x: "float(C,H,W)"):
    for s in range(-2, 3):
        for t in range(-2, 3):
            for i in range(H):
                for j in range(W):
                    w[i, j, s, t] = exp(
                        -0.8
                        * sum[c, a in range(-1, 2), b in range(-1, 2)](
                            (x[c, clamp(i + a), clamp(j + b)] - x[c, clamp(i + a + s), clamp(j + b + t)]) ** 2
                        )
                    )
                    total[i, j] += w[i, j, s, t]
                    out[c, i, j] += w[i, j, s, t] * x[c, clamp(i + s), clamp(j + t)]
    y[c, i, j] = out[c, i, j] / total[i, j]
    return y


def harris(x: Array) -> Array:
    gray = 0.299 * x[0] + 0.587 * x[1] + 0.114 * x[2]
    gy = np.zeros_like(gray)
    gx = np.zeros_like(gray)
    H, W = gray.shape
    for i in range(1, H - 1):
        for j in range(1, W - 1):
            for o, w in ((-1, 1), (0, 2), (1, 1)):
                gy[i, j] += w * (gray[i + 1, j + o] - gray[i - 1, j + o]) / 12
                gx[i, j] += w * (gray[i + o, j + 1] - gray[i + o, j - 1]) / 12
    out = np.zeros((H - 4, W - 4))
    for i in range(2, H - 2):
        for j in range(2, W - 2):
            part = np.s_[i - 1 : i + 2, j - 1 : j + 2]
            xx, yy, xy = (gx[part] ** 2).sum(), (gy[part] ** 2).sum(), (gx[part] * gy[part]).sum()
            out[i - 2, j - 2] = xx * yy - xy * xy - 0.04 * (xx + yy) ** 2
    return out


HARRIS = """
def harris(float(3,H,W) input) -> (shifted) {
    gray(x,y) = 0.299 * input(0,x,y) + 0.587 * input(1,x,y) + 0.114 * input(2,x,y)
    Iy(x,y) = gray(x-1,y-1) * (-1.0/12) + gray(x-1,y+1) * (1.0/12) + gray(x,y-1) * (-2.0/12)
              + gray(x,y+1) * (2.0/12) + gray(x+1,y-1) * (-1.0/12) + gray(x+1,y+1) * (1.0/12)
    Ix(x,y) = gray(x-1,y-1) * (-1.0/12) + gray(x+1,y-1) * (1.0/12) + gray(x-1,y) * (-2.0/12)
              + gray(x+1,y) * (2.0/12) + gray(x-1,y+1) * (-1.0/12) + gray(x+1,y+1) * (1.0/12)
    Ixx(x,y) = Ix(x,y) * Ix(x,y)
    Iyy(x,y) = Iy(x,y) * Iy(x,y)
    Ixy(x,y) = Ix(x,y) * Iy(x,y)
    Sxx(x,y) +=! Ixx(x+a,y+b) where a in -1:2, b in -1:2
    Syy(x,y) +=! Iyy(x+a,y+b) where a in -1:2, b in -1:2
    Sxy(x,y) +=! Ixy(x+a,y+b) where a in -1:2, b in -1:2
    det(x,y) = Sxx(x,y) * Syy(x,y) - Sxy(x,y) * Sxy(x,y)
    trace(x,y) = Sxx(x,y) + Syy(x,y)
    shifted(x,y) = det(x,y) - 0.04 * trace(x,y) * trace(x,y)
}"""

CASES = (
    one(
        "halide_bright",
        LESSON_2,
        lambda input: np.minimum(1.5 * input, 255).astype(np.uint8),
        {"input": integers(3, 4, 3, high=256).astype(np.uint8)},
    ),
    one("halide_updates", lesson_9, updates, {"x": normal(5, 6)}, "x"),
    one("halide_tuples", LESSON_13, lambda x: (np.array(x.argmax(), np.int32), x.max()), {"x": normal(8)}),
    one("halide_circle", LESSON_18, circle, {"f": normal(7, 7)}, "f"),
    one(
        "halide_unsharp",
        UNSHARP,
        lambda input: unsharpened(input),
        {"input": uniform(3, 6, 7, low=0.5, high=1)},
        "input",
        consts={"sigma": 1.5},
    ),
    one("halide_box_blur", BOX_BLUR_BY_SUMS, box_blurred, {"x": normal(6, 7)}, "x", python=box_blur),
    one(
        "halide_iir_blur",
        tcjax.load(IIR_BLUR, consts={"alpha": 0.4}).iir,
        iir,
        {"x": normal(5, 6)},
        "x",
        python=iir_rows,
    ),
    one(
        "halide_max_filter",
        MAX_FILTER,
        disc_maximum,
        {"x": normal(6, 7)},
        "x",
        slices=Text(MAX_FILTER_BY_SLICES, {}),
    ),
    one(
        "halide_median",
        "m(i,j) = mink[a in 0:3, b in 0:3](x(i+a, j+b), 4)",
        median_3x3,
        {"x": normal(5, 6)},
        "x",
    ),
    one("halide_nl_means", NL_MEANS, non_local, {"x": uniform(2, 3, 4)}, "x", python=nl_means),
    one("halide_harris", HARRIS, lambda input: harris(input), {"input": uniform(3, 7, 8)}, "input"),
)
