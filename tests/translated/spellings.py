"""Programs as the pages of other index notations spell them: Tullio, KeOps, einx, Halide, Dex, TVM and Taichi."""

import numpy as np

import tcjax
from tests.translated.case import Array, Results, integers, normal, number, one, uniform

# ---------------------------------------------------------------- Tullio


def information(P: Array, Q: Array, R: Array) -> Array:
    return (P * np.log(Q / R)).sum(1)


def correlated(N: Array, K: Array) -> Array:
    H, W = N.shape[0] - K.shape[0] + 1, N.shape[1] - K.shape[1] + 1
    return np.stack([[(N[i : i + K.shape[0], j : j + K.shape[1]] * K).sum() for j in range(W)] for i in range(H)])


def kronecker(A: Array, B: Array) -> Array:
    return np.kron(A, B)


def circular(x: Array, w: Array) -> Array:
    return sum(w[k] * np.roll(x, -k) for k in range(len(w)))


def fourier(x: Array) -> Array:
    return np.fft.fft(x)


def largest(A: Array) -> Array:
    return np.abs(A).max(1)


def added_up(J: Array, x: Array) -> Array:
    out = np.zeros(4)
    np.add.at(out, J, x**2)
    return out


def norms(A: Array) -> Array:
    return np.sqrt((A**2).sum(1))


TULLIO = (
    one(
        "tullio_information",
        "S(x) +=! P(x,y) * log(Q(x,y) / R(y))",
        information,
        {"P": normal(3, 4), "Q": uniform(3, 4, low=1, high=2), "R": uniform(4, low=1, high=2)},
        "P Q R",
    ),
    one(
        "tullio_convolution",
        "M(x,y) +=! N(x+i, y+j) * K(i,j)",
        correlated,
        {"N": normal(6, 7), "K": normal(3, 2)},
        "N K",
    ),
    one(
        "tullio_kronecker",
        "def kron(A, B) -> (K) { K(i * B.0 + p, j * B.1 + q) = A(i,j) * B(p,q) }",
        kronecker,
        {"A": normal(2, 3), "B": normal(4, 2)},
        "A B",
    ),
    one(
        "tullio_circular",
        "y(i) +=! x(wrap(i+k)) * w(k) where i in 0:x.0",
        circular,
        {"x": normal(7), "w": normal(3)},
        "x w",
    ),
    one(
        "tullio_fourier",
        "F(k) = sum[n](x(n) * exp(-2i * 3.141592653589793 * k * n / x.0)) where k in 0:x.0",
        fourier,
        {"x": normal(8) + 0j},
    ),
    one("tullio_maximum", "m(i) max=! abs(A(i,j))", largest, {"A": normal(4, 5)}, "A"),
    one(
        "tullio_scatter",
        "def f(int32(N) J, float(N) x) -> (float(B) A) { A(J(k)) +=! pow(x(k), 2) }",
        added_up,
        {"J": integers(9, high=4), "x": normal(9)},
        "x",
        sizes={"B": 4},
    ),
    one("tullio_finalised", "v(i) = sqrt(sum[j](pow(A(i,j), 2)))", norms, {"A": normal(4, 5)}, "A"),
)

# ---------------------------------------------------------------- KeOps


def distances(x: Array, y: Array) -> Array:
    return ((x[:, None] - y[None]) ** 2).sum(-1)


def gaussian(x: Array, y: Array, sigma: Array, b: Array) -> Array:
    return np.exp(-distances(x, y) / (2 * sigma**2)) @ b


def nearest(x: Array, y: Array) -> Array:
    return np.argsort(distances(x, y), 1)[:, :3]


def soft(x: Array, y: Array) -> Array:
    return np.log(np.exp(-distances(x, y)).sum(1))


def energy(x: Array, y: Array) -> Array:
    return np.array(np.sqrt(distances(x, y)).mean())


CLOUDS = {"x": normal(6, 3), "y": normal(5, 3, seed=1)}

KEOPS = (
    one(
        "keops_gaussian",
        "a(i) +=! exp(-sum[d](pow(x(i,d) - y(j,d), 2)) / (2 * sigma() * sigma())) * b(j)",
        gaussian,
        CLOUDS | {"sigma": number(0.7), "b": normal(5)},
        "x y sigma b",
    ),
    one("keops_nearest", "n(i,r) = argmink[j](sum[d](pow(x(i,d) - y(j,d), 2)), r) where r in 0:3", nearest, CLOUDS),
    one("keops_logsumexp", "s(i) logsumexp=! -sum[d](pow(x(i,d) - y(j,d), 2))", soft, CLOUDS, "x y"),
    one("keops_energy", "e = mean[i, j](sqrt(sum[d](pow(x(i,d) - y(j,d), 2))))", energy, CLOUDS, "x y"),
)

# ---------------------------------------------------------------- einx


def space_to_depth(x: Array) -> Array:
    b, h, w, c = x.shape
    return x.reshape(b, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 2, 4, 5).reshape(b, h // 2, w // 2, 4 * c)


def taken(x: Array, at: Array) -> Array:
    return np.stack([x[b, at[b, :, 0], at[b, :, 1]] for b in range(len(x))])


def rolled(x: Array) -> Array:
    return np.roll(x, 5, 1)


def halves(x: Array) -> Array:
    return x.reshape(len(x), -1, 2).mean(2)


EINX = (
    one(
        "einx_space_to_depth",
        "y(b, h, w, (s*2 + t)*C + c) = x(b, 2*h + s, 2*w + t, c) where s in 0:2, t in 0:2, c in 0:C",
        space_to_depth,
        {"x": normal(2, 4, 6, 3)},
        "x",
        consts={"C": 3},
    ),
    one(
        "einx_get_at",
        "y(b,i,c) = x(b, at(b,i,0), at(b,i,1), c)",
        taken,
        {"x": normal(2, 4, 5, 3), "at": integers(2, 6, 2, high=4)},
        "x",
    ),
    one("einx_roll", "y(a,b) = x(a, wrap(b - 5)) where b in 0:x.1", rolled, {"x": normal(3, 7)}, "x"),
    one("einx_mean_of_parts", "y(a,b) = mean[d in 0:2](x(a, 2*b + d))", halves, {"x": normal(3, 8)}, "x"),
)

# ---------------------------------------------------------------- Halide


def blurred(x: Array) -> Array:
    x = np.pad(x, 1, mode="edge")
    rows = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) / 3
    return (rows[:-2] + rows[1:-1] + rows[2:]) / 3


HALIDE_BLUR = """
def blur(float(H,W) x) -> (b) {
    rows(i,j) = (x(i,clamp(j-1)) + x(i,j) + x(i,clamp(j+1))) / 3
    b(i,j) = (rows(clamp(i-1),j) + rows(i,j) + rows(clamp(i+1),j)) / 3
}"""


def equalised(x: Array) -> Array:
    counts = np.bincount(x.ravel(), minlength=16)
    return (counts.cumsum()[x] * 255 // x.size).astype(np.int32)


HALIDE_EQUALISE = """
def equalise(int32(H,W) x) -> (y) {
    int32(16) counts
    counts(x(i,j)) +=! 1
    cdf(0) = counts(0)
    for b in 1:16 { cdf(b) = cdf(b-1) + counts(b) }
    y(i,j) = cdf(x(i,j)) * 255 / (H * W)
}"""

HALIDE_EQUALISE_BY_A_GUARD = """
def equalise(int32(H,W) x) -> (y) {
    int32(16) counts
    counts(x(i,j)) +=! 1
    cdf(b) +=! counts(c) where c <= b, b in 0:16
    y(i,j) = cdf(x(i,j)) * 255 / (H * W)
}"""


def edges(x: Array) -> Array:
    x = np.pad(x, 1, mode="reflect")
    gx = (x[:-2, 2:] + 2 * x[1:-1, 2:] + x[2:, 2:]) - (x[:-2, :-2] + 2 * x[1:-1, :-2] + x[2:, :-2])
    gy = (x[2:, :-2] + 2 * x[2:, 1:-1] + x[2:, 2:]) - (x[:-2, :-2] + 2 * x[:-2, 1:-1] + x[:-2, 2:])
    return np.sqrt(gx**2 + gy**2 + 0.01)


HALIDE_SOBEL = """
def sobel(float(H,W) x) -> (e) {
    gx(i,j) +=! x(reflect(i+a), reflect(j+b)) * ((a == 0 ? 2 : 1) * b) where a in -1:2, b in -1:2, i in 0:H, j in 0:W
    gy(i,j) +=! x(reflect(i+a), reflect(j+b)) * ((b == 0 ? 2 : 1) * a) where a in -1:2, b in -1:2, i in 0:H, j in 0:W
    e(i,j) = sqrt(gx(i,j) * gx(i,j) + gy(i,j) * gy(i,j) + 0.01)
}"""

HALIDE = (
    one("halide_blur", HALIDE_BLUR, blurred, {"x": normal(5, 6)}, "x"),
    one("halide_equalise", HALIDE_EQUALISE, equalised, {"x": integers(5, 6, high=16)}),
    one("halide_equalise_by_a_guard", HALIDE_EQUALISE_BY_A_GUARD, equalised, {"x": integers(5, 6, high=16)}),
    one("halide_sobel", HALIDE_SOBEL, edges, {"x": normal(5, 6)}, "x"),
)

# ---------------------------------------------------------------- Dex


def rule_30(cells: Array) -> Array:
    rows = [cells]
    for _ in range(5):
        rows.append(np.roll(rows[-1], 1) ^ (rows[-1] | np.roll(rows[-1], -1)))
    return np.stack(rows)


DEX_RULE_30 = """
def rule(int32(N) cells) -> (s) {
    s(0,i) = cells(i)
    for t in 0:5 { s(t+1,i) = s(t,wrap(i-1)) ^ (s(t,i) | s(t,wrap(i+1))) where i in 0:N }
}"""


def newton(x: Array) -> Array:
    return np.sqrt(x)


@tcjax.kernel
def dex_newton(x: "float(N)"):
    y[i] = x[i]
    for _ in range(8):
        y[i] = 0.5 * (y[i] + x[i] / y[i])
    return y


def chosen(k: Array) -> Array:
    return np.eye(5)[k]


DEX = (
    one("dex_rule_30", DEX_RULE_30, rule_30, {"cells": integers(9, high=2)}),
    one("dex_newton", dex_newton, newton, {"x": uniform(5, low=1, high=4)}, "x"),
    one("dex_one_hot", "y(n,i) = i == k(n) ? 1.0 : 0.0 where i in 0:5", chosen, {"k": integers(6, high=5)}),
)

# ---------------------------------------------------------------- TVM


def flattened(A: Array) -> Array:
    return A.reshape(-1)


def depthwise(x: Array, w: Array) -> Array:
    return np.stack([correlated(x[c // 2], w[c]) for c in range(len(w))])


TVM_DEPTHWISE = "y(c,h,v) +=! x(c/2, h+a, v+b) * w(c,a,b)"


def padded_pool(x: Array) -> Array:
    x = np.pad(x, 1, constant_values=-np.inf)
    return np.stack([[x[2 * i : 2 * i + 3, 2 * j : 2 * j + 3].max() for j in range(3)] for i in range(3)])


TVM_POOL = """
def pool(float(H,W) x) -> (y) {
    p(i,j) = i >= 1 && i < H+1 && j >= 1 && j < W+1 ? x(i-1,j-1) : -inf where i in 0:H+2, j in 0:W+2
    y(i,j) max=! p(2*i + a, 2*j + b) where a in 0:3, b in 0:3
}"""


def enlarged(x: Array) -> Array:
    return x.repeat(2, 0).repeat(2, 1)


def running(X: Array) -> Array:
    return X.cumsum(0)


TVM_SCAN = """
def scan(float(M,N) X) -> (s) {
    s(0,i) = X(0,i)
    for t in 1:M { s(t,i) = s(t-1,i) + X(t,i) }
}"""

TVM = (
    one("tvm_flatten", "B(i) = A(i / 4, i % 4) where i in 0:12", flattened, {"A": normal(3, 4)}, "A"),
    one("tvm_depthwise", TVM_DEPTHWISE, depthwise, {"x": normal(2, 5, 6), "w": normal(4, 3, 2)}, "x w"),
    one("tvm_padded_pool", TVM_POOL, padded_pool, {"x": normal(6, 6)}, "x"),
    one("tvm_upsampling", "y(h,w) = x(h/2, w/2)", enlarged, {"x": normal(3, 4)}, "x"),
    one("tvm_scan", TVM_SCAN, running, {"X": normal(5, 3)}, "X"),
)

# ---------------------------------------------------------------- Taichi


def chequered(x: Array) -> Array:
    y = np.zeros_like(x)
    for i in range(1, len(x) - 1):
        for j in range(1, len(x) - 1):
            if (i + j) % 3 == 0:
                y[i, j] = 4 * x[i, j] - x[i - 1, j] - x[i + 1, j] - x[i, j - 1] - x[i, j + 1]
            else:
                y[i, j] = 0.0
    return y


@tcjax.kernel
def taichi_laplace(x: "float(N,N)") -> "float(N,N)":
    for i in range(1, N - 1):
        for j in range(1, N - 1):
            if (i + j) % 3 == 0:
                y[i, j] = 4.0 * x[i, j] - x[i - 1, j] - x[i + 1, j] - x[i, j - 1] - x[i, j + 1]
            else:
                y[i, j] = 0.0
    return y


def life(cells: Array) -> Array:
    for _ in range(3):
        around = sum(np.roll(cells, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) - cells
        cells = ((around == 3) | ((around == 2) & (cells == 1))).astype(np.int32)
    return cells


@tcjax.kernel
def taichi_life(cells: "int32(N,M)"):
    alive[i, j] = cells[i, j]
    for _ in range(3):
        for i in range(N):
            for j in range(M):
                count[i, j] = sum[a in range(-1, 2), b in range(-1, 2)](alive[wrap(i + a), wrap(j + b)]) - alive[i, j]
        for i in range(N):
            for j in range(M):
                alive[i, j] = 1 if count[i, j] == 3 or (count[i, j] == 2 and alive[i, j] == 1) else 0
    return alive


def particles(x: Array, m: Array) -> Array:
    grid = np.zeros(8)
    for p in range(len(x)):
        base = int(x[p] - 0.5)
        fx = x[p] - base
        w = (0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2)
        for o in range(3):
            grid[base + o] += w[o] * m[p]
    return grid


@tcjax.kernel
def taichi_particles(x: "float(P)", m: "float(P)") -> "float(8)":
    base[p] = int32(x[p] - 0.5)
    fx[p] = x[p] - base[p]
    w: "float(P,3)"  # noqa: UP037
    for p in range(P):
        w[p, 0] = 0.5 * (1.5 - fx[p]) ** 2
        w[p, 1] = 0.75 - (fx[p] - 1) ** 2
        w[p, 2] = 0.5 * (fx[p] - 0.5) ** 2
    for p in range(P):
        for o in range(3):
            grid[base[p] + o] += w[p, o] * m[p]
    return grid


def forces(x: Array) -> Array:
    f = np.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j:
                r = x[j] - x[i]
                f[i] += r / np.sqrt(r @ r) ** 3
    return f


@tcjax.kernel
def taichi_forces(x: "float(N,D)"):
    for i in range(N):
        for j in range(N):
            if i != j:
                f[i, d] += (x[j, d] - x[i, d]) / sqrt(sum[e]((x[j, e] - x[i, e]) ** 2)) ** 3
    return f


def wave(u: Array, v: Array) -> Results:
    for _ in range(4):
        v[1:-1] += 0.1 * (u[:-2] - 2 * u[1:-1] + u[2:])
        u += 0.1 * v
    return u, v


@tcjax.kernel
def taichi_wave(u: "float(N)", v: "float(N)"):
    for _ in range(4):
        for i in range(1, N - 1):
            v[i] += 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1])
        for i in range(N):
            u[i] += 0.1 * v[i]
    return u, v


TAICHI = (
    one("taichi_laplace", taichi_laplace, chequered, {"x": normal(6, 6)}, "x"),
    one("taichi_life", taichi_life, life, {"cells": integers(5, 6, high=2)}),
    one("taichi_particles", taichi_particles, particles, {"x": uniform(10, low=1, high=5), "m": uniform(10)}, "x m"),
    one("taichi_forces", taichi_forces, forces, {"x": normal(5, 3)}, "x"),
    one("taichi_wave", taichi_wave, wave, {"u": normal(7), "v": normal(7, seed=1)}, "u v"),
)

CASES = (*TULLIO, *KEOPS, *EINX, *HALIDE, *DEX, *TVM, *TAICHI)
