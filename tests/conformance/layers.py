"""Layers, gradients and algorithms that TC's database, benchmarks and examples write down, with small sizes."""

import numpy as np
from scipy import special

from .program import Program, below, real
from .windows import convolution, windows


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def grouped(image: np.ndarray, weights: np.ndarray, down: int = 1, right: int = 1) -> np.ndarray:
    """``(N, G, C, H, W)`` with ``(G, F, C, KH, KW)``."""
    return np.stack([convolution(image[:, g], weights[g], down, right) for g in range(image.shape[1])], 1)


PRODUCTS = [
    Program(
        "matrix and vector",
        "def mv(float(R,C) A, float(C) x) -> (o) { o(i) += A(i,j) * x(j) }",
        [(3, 4), (4,)],
        lambda a, x: a @ x,
    ),
    Program(
        "matrix product",
        "def mm(float(M,N) A, float(N,K) B) -> (out) { out(i,j) +=! A(i,kk) * B(kk,j) }",
        [(3, 4), (4, 5)],
        lambda a, b: a @ b,
    ),
    Program(
        "with a transposed operand",
        "def tmm(float(B,X) I, float(Y,X) W) -> (O) { O(b,y) +=! I(b,r_x) * W(y,r_x) }",
        [(3, 4), (5, 4)],
        lambda i, w: i @ w.T,
    ),
    Program(
        "gradients of a matrix product",
        "def g(float(M,K) A, float(K,N) B, float(M,N) d_C) -> (d_A, d_B) {"
        " d_A(m,k) +=! d_C(m,r_n) * B(k,r_n)  d_B(k,n) +=! d_C(r_m,n) * A(r_m,k) }",
        [(2, 3), (3, 4), (2, 4)],
        lambda a, b, d: (d @ b.T, a.T @ d),
    ),
    Program(
        "batches",
        "def bmm(float(B,N,M) X, float(B,M,K) Y) -> (Z) { Z(b,n,k) +=! X(b,n,mm) * Y(b,mm,k) }",
        [(2, 3, 4), (2, 4, 5)],
        lambda x, y: x @ y,
    ),
    Program(
        "two products in a row",
        "def f(float(M,K) I, float(K,N) W1, float(N,P) W2) -> (O1, O2) {"
        " O1(m,n) +=! I(m,r_k) * W1(r_k,n)  O2(m,p) +=! O1(m,r_n) * W2(r_n,p) }",
        [(2, 3), (3, 4), (4, 2)],
        lambda i, v, w: (i @ v, i @ v @ w),
    ),
    Program(
        "two products of one operand",
        "def f(float(M,K) A, float(K,N) B, float(K,N) C) -> (D, E) {"
        " D(m,n) +=! A(m,r) * B(r,n)  E(m,n) +=! A(m,r) * C(r,n) }",
        [(2, 3), (3, 4), (3, 4)],
        lambda a, b, c: (a @ b, a @ c),
    ),
    Program(
        "with a bias matrix",
        "def f(float(N,K) A, float(K,M) B, float(N,M) C) -> (O) { O(i,j) +=! A(i,k) * B(k,j)  O(i,j) = O(i,j) + C(i,j) }",
        [(2, 3), (3, 4), (2, 4)],
        lambda a, b, c: a @ b + c,
    ),
    Program(
        "tensor dot",
        "def td(float(N,C1,C2,H,W) P, float(N,C2,C3,H,W) Q) -> (O) { O(n,c1,c3,h,w) +=! P(n,c1,c2,h,w) * Q(n,c2,c3,h,w) }",
        [(2, 3, 4, 2, 2), (2, 4, 2, 2, 2)],
        lambda p, q: np.einsum("nabhw,nbchw->nachw", p, q),
    ),
    Program(
        "three operands",
        "def f(float(B,D) U, float(B,D) V, float(B,D) W) -> (Z) { Z(b,d) = U(b,d) * V(b,d) * W(b,d) }",
        [(2, 3), (2, 3), (2, 3)],
        lambda u, v, w: u * v * w,
    ),
    Program(
        "a matricised product of three",
        "def mttkrp(float(I,K,L) B, float(K,J) C, float(L,J) D) -> (A) { A(i,j) +=! B(i,k,l) * C(k,j) * D(l,j) }",
        [(2, 3, 4), (3, 2), (4, 2)],
        lambda b, c, d: np.einsum("ikl,kj,lj->ij", b, c, d),
    ),
    Program(
        "a bilinear form",
        "def f(float(B,N) X, float(K,N,M) W, float(B,M) Y) -> (Z) { Z(b,k) +=! X(b,n) * W(k,n,m) * Y(b,m) }",
        [(2, 3), (2, 3, 4), (2, 4)],
        lambda x, w, y: np.einsum("bn,knm,bm->bk", x, w, y),
    ),
    Program(
        "block diagonal",
        "def f(float(B,K,R) I, float(K,R,R) W) -> (O) { O(b,k,s) +=! I(b,k,r) * W(k,r,s) }",
        [(2, 3, 2), (3, 2, 2)],
        lambda i, w: np.einsum("bkr,krs->bks", i, w),
    ),
    Program(
        "an outer product",
        "def f(float(N) a, float(M) b) -> (O) { O(i,j) = a(i) * b(j) }",
        [(3,), (4,)],
        np.outer,
    ),
    Program(
        "a dot product",
        "def f(float(N) a, float(N) b) -> (o) { o +=! a(i) * b(i) }",
        [(5,), (5,)],
        np.dot,
    ),
    Program(
        "sums, products and operands that do not take part",
        "def f(float(N,M,K,L) A, float(N,M) B, float(N,M) C, float(N,M) D) -> (P, Q, R) {"
        " P(n,m) +=! A(n,m,r_k,r_l) * B(n,m)  Q(n,m) = C(n,m) * D(n,m)  R(n,m) = P(n,m) + Q(n,m) }",
        [(2, 3, 2, 2), (2, 3), (2, 3), (2, 3)],
        lambda a, b, c, d: (a.sum((2, 3)) * b, c * d, a.sum((2, 3)) * b + c * d),
    ),
    Program(
        "the shortest paths of one more step",
        "def f(float(N,N) D) -> (E) { E(i,j) min=! D(i,k) + D(k,j) }",
        [(4, 4)],
        lambda d: (d[:, :, None] + d[None]).min(1),
    ),
    Program(
        "a product of windows",
        "def f(float(N,C,H,W) I, float(M,C,KH,KW) V) -> (O) { O(n,m,h,w) *=! I(n,c,h+kh,w+kw) * V(m,c,kh,kw) }",
        [(1, 1, 4, 4), (2, 1, 2, 2)],
        lambda i, v: (windows(i, 2, 2)[:, 0, None] * v[None, :, 0, None, None]).prod((-1, -2)),
    ),
]

CONVOLUTIONS = [
    Program(
        "with a bias",
        "def conv(float(N,C,H,W) I, float(M,C,KH,KW) V, float(M) B) -> (O) {"
        " O(n,m,h,w) +=! I(n,c,h+kh,w+kw) * V(m,c,kh,kw)  O(n,m,h,w) = O(n,m,h,w) + B(m) }",
        [(2, 3, 5, 5), (4, 3, 3, 2), (4,)],
        lambda i, v, b: convolution(i, v) + b[:, None, None],
    ),
    Program(
        "with a bias by a sum of one term",
        "def conv(float(N,C,H,W) I, float(M,C,KH,KW) V, float(M) B) -> (t, O) {"
        " t(n,m,h,w) +=! I(n,c,h+kh,w+kw) * V(m,c,kh,kw)  O(n,m,h,w) +=! t(n,m,h,w) + B(m) }",
        [(1, 2, 4, 5), (2, 2, 2, 2), (2,)],
        lambda i, v, b: (convolution(i, v), convolution(i, v) + b[:, None, None]),
    ),
    Program(
        "with a stride",
        "def conv(float(N,C,H,W) I, float(M,C,KH,KW) V, float(M) B) -> (O) {"
        " O(n,m,h,w) +=! I(n,c,2*h+kh,3*w+kw) * V(m,c,kh,kw)  O(n,m,h,w) = O(n,m,h,w) + B(m) }",
        [(1, 2, 7, 8), (3, 2, 3, 2), (3,)],
        lambda i, v, b: convolution(i, v, 2, 3) + b[:, None, None],
    ),
    Program(
        "with a stride on the right",
        "def conv(float(N,C,H,W) I, float(M,C,KH,KW) V) -> (O) { O(n,m,h,w) +=! I(n,c,h*2+kh,w*1+kw) * V(m,c,kh,kw) }",
        [(1, 2, 7, 5), (3, 2, 3, 2)],
        lambda i, v: convolution(i, v, 2, 1),
    ),
    Program(
        "with weights in another order",
        "def conv(float(N,C,H,W) I, float(C,F,KH,KW) V) -> (O) { O(n,f,h,w) +=! I(n,r,h+y,w+x) * V(r,f,y,x) }",
        [(1, 2, 4, 4), (2, 3, 2, 2)],
        lambda i, v: convolution(i, v.transpose(1, 0, 2, 3)),
    ),
    Program(
        "with channels last",
        "def conv(float(N,H,W,C) I, float(KH,KW,C,M) V) -> (O) { O(n,h,w,m) +=! I(n,h+kh,w+kw,c) * V(kh,kw,c,m) }",
        [(2, 4, 5, 3), (2, 2, 3, 4)],
        lambda i, v: convolution(i.transpose(0, 3, 1, 2), v.transpose(3, 2, 0, 1)).transpose(0, 2, 3, 1),
    ),
    Program(
        "in groups",
        "def conv(float(N,G,C,H,W) I, float(G,F,C,KH,KW) V, float(G,F) B) -> (O) {"
        " O(n,g,f,h,w) +=! I(n,g,c,h+kh,w+kw) * V(g,f,c,kh,kw)  O(n,g,f,h,w) = O(n,g,f,h,w) + B(g,f) }",
        [(2, 2, 2, 4, 4), (2, 3, 2, 2, 3), (2, 3)],
        lambda i, v, b: grouped(i, v) + b[:, :, None, None],
    ),
    Program(
        "in groups with a stride",
        "def conv(float(N,G,C,H,W) I, float(G,F,C,KH,KW) V, float(G,F) B) -> (O) {"
        " O(n,g,f,h,w) +=! I(n,g,c,2*h+kh,2*w+kw) * V(g,f,c,kh,kw)  O(n,g,f,h,w) = O(n,g,f,h,w) + B(g,f) }",
        [(1, 2, 2, 6, 5), (2, 1, 2, 2, 3), (2, 1)],
        lambda i, v, b: grouped(i, v, 2, 2) + b[:, :, None, None],
    ),
    Program(
        "in groups, weights in another order",
        "def conv(float(N,G,C,H,W) I, float(G,C,F,KH,KW) V) -> (O) { O(n,g,f,h,w) +=! I(n,g,c,h+y,w+x) * V(g,c,f,y,x) }",
        [(1, 2, 2, 4, 4), (2, 2, 3, 2, 2)],
        lambda i, v: grouped(i, v.transpose(0, 2, 1, 3, 4)),
    ),
    Program(
        "of each channel by itself",
        "def conv(float(N,C,H,W) I, float(C,KH,KW) V) -> (O) { O(n,c,h,w) +=! I(n,c,h+kh,w+kw) * V(c,kh,kw) }",
        [(2, 3, 4, 5), (3, 2, 2)],
        lambda i, v: np.einsum("nchwyx,cyx->nchw", windows(i, 2, 2), v),
    ),
    Program(
        "of one dimension",
        "def conv(float(N,C,L) I, float(M,C,K) V) -> (O) { O(n,m,l) +=! I(n,c,l+k) * V(m,c,k) }",
        [(2, 3, 6), (4, 3, 3)],
        lambda i, v: convolution(i[:, :, None], v[:, :, None])[:, :, 0],
    ),
    Program(
        "of three dimensions",
        "def conv(float(C,D,H,W) I, float(M,C,KD,KH,KW) V) -> (O) {"
        " O(m,d,h,w) +=! I(c,d+kd,h+kh,w+kw) * V(m,c,kd,kh,kw) }",
        [(2, 4, 4, 4), (2, 2, 2, 2, 3)],
        lambda i, v: sum(convolution(i.transpose(1, 0, 2, 3)[k : k + 3], v[:, :, k]).transpose(1, 0, 2, 3) for k in (0, 1)),
    ),
    Program(
        "of two images into a matrix",
        "def g(float(N,C,H,W) I, float(N,C,R,T) J, float(KH,KW) V) -> (O, P) {"
        " O(n,c,h,w) +=! J(n,c,h+kh,w+kw) * V(kh,kw)  P(c0,c1) +=! I(n,c0,h,w) * O(n,c1,h,w) }",
        [(1, 2, 3, 3), (1, 2, 5, 5), (3, 3)],
        lambda i, j, v: (
            np.einsum("nchwyx,yx->nchw", windows(j, 3, 3), v),
            np.einsum("nahw,nbhw->ab", i, np.einsum("nchwyx,yx->nchw", windows(j, 3, 3), v)),
        ),
    ),
    Program(
        "gradients for a kernel of one point",
        "def g(float(N,C,H,W) I, float(M,C,KH,KW) V, float(N,M,H,W) d) -> (d_I, d_V, d_B) {"
        " d_I(n,c,h,w) +=! d(n,r_m,h-r_kh,w-r_kw) * V(r_m,c,r_kh,r_kw)"
        " d_V(m,c,kh,kw) +=! d(r_n,m,r_h-kh,r_w-kw) * I(r_n,c,r_h,r_w)  d_B(m) +=! d(n,m,h,w) }",
        [(2, 2, 3, 3), (3, 2, 1, 1), (2, 3, 3, 3)],
        lambda i, v, d: (
            np.einsum("nmhw,mc->nchw", d, v[:, :, 0, 0]),
            np.einsum("nmhw,nchw->mc", d, i)[:, :, None, None],
            d.sum((0, 2, 3)),
        ),
    ),
    Program(
        "under a mask of channels",
        "def f(float(B,C,H,W) X, float(F,C,K,K) V, uint8(F,C) on) -> (O) {"
        " O(b,f,h,w) +=! (on(f,r) == 1) ? fmax(0.0, X(b,r,h+y,w+x)) * V(f,r,y,x) : 0.0 }",
        [(2, 3, 4, 5), (2, 3, 2, 2), below(2, 2, 3, dtype="uint8")],
        lambda x, v, on: convolution(relu(x), v * on[:, :, None, None]),
        ranges=[{"b": (0, 2), "f": (0, 2), "h": (0, 3), "w": (0, 4), "r": (0, 3), "y": (0, 2), "x": (0, 2)}],
    ),
    Program(
        "a depthwise and a pointwise block",
        "def f(float(C1,H,W) I, float(C1,KH,KW) W1, float(C1) B1, float(C2,C1) W2, float(C2) B2) -> (O1, O2) {"
        " O1(c1,h,w) +=! I(c1,h+kh,w+kw) * W1(c1,kh,kw)  O1(c1,h,w) = O1(c1,h,w) + B1(c1)"
        " O1(c1,h,w) = fmax(O1(c1,h,w), 0)  O2(c2,h,w) +=! O1(c1,h,w) * W2(c2,c1)"
        " O2(c2,h,w) = O2(c2,h,w) + B2(c2)  O2(c2,h,w) = fmax(O2(c2,h,w), 0) }",
        [(2, 4, 4), (2, 2, 2), (2,), (3, 2), (3,)],
        lambda i, v, b, w, c: (
            relu(np.einsum("chwyx,cyx->chw", windows(i, 2, 2), v) + b[:, None, None]),
            relu(
                np.einsum("chw,dc->dhw", relu(np.einsum("chwyx,cyx->chw", windows(i, 2, 2), v) + b[:, None, None]), w)
                + c[:, None, None]
            ),
        ),
    ),
    Program(
        "padding by a conditional",
        "def f(float(H,W) I, float(3,3) V) -> (O) { O(h,w) +=! (h+y-1 >= 0 && h+y-1 < H && w+x-1 >= 0 && w+x-1 < W)"
        " ? I(h+y-1, w+x-1) * V(y,x) : 0.0 where h in 0:H, w in 0:W }",
        [(4, 5), (3, 3)],
        lambda i, v: np.einsum("hwyx,yx->hw", windows(np.pad(i, 1), 3, 3), v),
    ),
    Program(
        "a transposed convolution",
        "def f(float(C,N) I, float(C,K) V) -> (float(M) O) { O(2*i + k) +=! I(c,i) * V(c,k) }",
        [(2, 4), (2, 3)],
        lambda i, v: sum(np.convolve(np.kron(i[c], [1, 0])[:7], v[c]) for c in range(2)),
    ),
]

POOLS = [
    Program(
        "average",
        "def p(float(B,C,H,W) x) -> (y) { y(b,c,h,w) +=! x(b,c,h*1+kh,w*1+kw) / (2*2) where kh in 0:2, kw in 0:2 }",
        [(1, 2, 4, 4)],
        lambda x: windows(x, 2, 2).mean((-1, -2)),
    ),
    Program(
        "average with a stride",
        "def p(float(B,C,H,W) x) -> (y) { y(b,c,h,w) +=! x(b,c,h*2+kh,w*3+kw) / (2*3) where kh in 0:2, kw in 0:3 }",
        [(1, 2, 5, 6)],
        lambda x: windows(x, 2, 3, 2, 3).mean((-1, -2)),
    ),
    Program(
        "greatest",
        "def p(float(B,C,H,W) x) -> (y) { y(b,c,i,j) max=! x(b,c,2*i+kw,2*j+kh) where kw in 0:2, kh in 0:2 }",
        [(2, 1, 5, 4)],
        lambda x: windows(x, 2, 2, 2, 2).max((-1, -2)),
    ),
    Program(
        "least of one dimension",
        "def p(float(N) x) -> (y) { y(i) min=! x(i+k) where k in 0:3 }",
        [(7,)],
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 3).min(1),
    ),
    Program(
        "of the whole image",
        "def p(float(B,C,H,W) x) -> (y) { y(b,c) +=! x(b,c,h,w) / (H*W) }",
        [(2, 3, 4, 2)],
        lambda x: x.mean((2, 3)),
    ),
    Program(
        "power",
        "def p(float(N) x) -> (s, y) { s(i) +=! x(2*i+k) * x(2*i+k) where k in 0:2  y(i) = sqrt(s(i)) }",
        [(6,)],
        lambda x: ((x.reshape(3, 2) ** 2).sum(1), np.sqrt((x.reshape(3, 2) ** 2).sum(1))),
    ),
]


def batch_normal(x: np.ndarray, mean_in: np.ndarray, var_in: np.ndarray) -> tuple[np.ndarray, ...]:
    mean = x.mean((0, 2, 3))
    running = 0.9 * mean_in + 0.1 * mean
    centred = x - running[:, None, None]
    squares = centred * centred
    expected = (squares + 1e-5).mean((0, 2, 3))
    scale = 1 / np.sqrt(0.9 * var_in + 0.1 * expected)
    result = centred * scale[:, None, None]
    return result, running, scale, mean, centred, squares, expected, result


def group_normal(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    axes = (2, 3, 4)
    normal = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    return gamma[:, :, None, None] * normal + beta[:, :, None, None]


GROUP_NORMAL = """
    O(n,g,d,h,w) = gamma(g,d) * (I(n,g,d,h,w) - s(n,g) / (D*H*W))
        * rsqrt((q(n,g) - s(n,g) * s(n,g) / (D*H*W)) / (D*H*W) + 1e-5) + beta(g,d)
"""

NORMS = [
    Program(
        "moments",
        "def m(float(N,K) I) -> (mean, var) { mean(n) +=! I(n,r)  var(n) +=! I(n,r) * I(n,r)"
        " mean(n) = mean(n) / (K)  var(n) = var(n) / (K) - mean(n) * mean(n) }",
        [(3, 8)],
        lambda i: (i.mean(1), i.var(1)),
    ),
    Program(
        "a variance from a mean",
        "def v(float(N,K) I, float(N) mean) -> (var) { var(n) +=! I(n,r) * I(n,r)"
        " var(n) = var(n) / (K) - mean(n) * mean(n) }",
        [(3, 8), (3,)],
        lambda i, m: (i * i).mean(1) - m * m,
    ),
    Program(
        "tensors called sum and mean",
        "def m(float(N,K) I) -> (sum, squares, mean) { sum(n) +=! I(n,r)  squares(n) +=! I(n,r) * I(n,r)"
        " mean(n) = sum(n) / K }",
        [(3, 8)],
        lambda i: (i.sum(1), (i * i).sum(1), i.mean(1)),
    ),
    Program(
        "of layers",
        "def n(float(T,B,C) I) -> (O, mean, centered, var) { mean(t,b) +=! I(t,b,c) / C"
        " centered(t,b,c) = I(t,b,c) - mean(t,b)  var(t,b) +=! centered(t,b,c) * centered(t,b,c)"
        " var(t,b) = (var(t,b) + 1e-5) / C  O(t,b,c) = centered(t,b,c) / rsqrt(var(t,b)) }",
        [(2, 3, 4)],
        lambda i: (
            (i - i.mean(2, keepdims=True)) * np.sqrt(i.var(2, keepdims=True) + 1e-5 / 4),
            i.mean(2),
            i - i.mean(2, keepdims=True),
            i.var(2) + 1e-5 / 4,
        ),
    ),
    Program(
        "of batches, with running statistics",
        "def n(float(N,C,H,W) I, float(C) rMeanIn, float(C) rVarIn)"
        " -> (O, rMeanOut, rVarOut, mean, centered, variance, expectedVariance, normalizedOut) {"
        " mean(c) +=! I(nn,c,hh,ww)  mean(c) = mean(c) / (N*H*W)  rMeanOut(c) = (1 - 0.1) * rMeanIn(c) + 0.1 * mean(c)"
        " centered(n,c,h,w) = I(n,c,h,w) - rMeanOut(c)  variance(n,c,h,w) = centered(n,c,h,w) * centered(n,c,h,w)"
        " expectedVariance(c) +=! (variance(n,c,h,w) + 1e-5) / (N*H*W)"
        " rVarOut(c) = rsqrt((1 - 0.1) * rVarIn(c) + 0.1 * expectedVariance(c))"
        " O(n,c,h,w) = centered(n,c,h,w) * rVarOut(c)  normalizedOut(n,c,h,w) = O(n,c,h,w) }",
        [(2, 3, 2, 2), (3,), np.array([1.0, 2.0, 0.5], "f")],
        batch_normal,
    ),
    Program(
        "of batches, statistics in place",
        "def n(float momentum, float(N,C) I) -> (rMean) { rMean(c) *= 1 - momentum where exists I(0, c)"
        " rMean(c) += momentum * I(n,c) / N }",
        [0.25, (4, 3)],
        lambda p, i, rMean: (1 - p) * rMean + p * i.mean(0),
        initial={"rMean": real(3, seed=3)},
    ),
    Program(
        "of groups",
        "def n(float(N,G,D,H,W) I, float(G,D) gamma, float(G,D) beta) -> (s, q, O) {"
        f" s(n,g) +=! I(n,g,r,y,x)  q(n,g) +=! I(n,g,r,y,x) * I(n,g,r,y,x) {GROUP_NORMAL} }}",
        [(2, 2, 2, 3, 3), (2, 2), (2, 2)],
        lambda i, g, b: (i.sum((2, 3, 4)), (i * i).sum((2, 3, 4)), group_normal(i, g, b)),
        tolerance=1e-4,
    ),
    Program(
        "of groups, in two definitions",
        "def f(float(N,K) I) -> (mean, var) { mean(n) +=! I(n,r)  var(n) +=! I(n,r) * I(n,r)  mean(n) = mean(n) / (K)"
        " var(n) = var(n) / (K) - mean(n) * mean(n) }"
        " def norm(float(N,G,D,H,W) I, float(G,D) gamma, float(G,D) beta, float(N,G) mean, float(N,G) var) -> (O) {"
        " O(n,g,d,h,w) = gamma(g,d) * (I(n,g,d,h,w) - mean(n,g)) * rsqrt(var(n,g) + 1e-5) + beta(g,d) }",
        [(2, 2, 2, 2, 2), (2, 2), (2, 2), (2, 2), np.ones((2, 2), "f")],
        lambda i, g, b, m, v: (
            g[:, :, None, None] * (i - m[:, :, None, None, None]) / np.sqrt(v + 1e-5)[:, :, None, None, None]
            + b[:, :, None, None]
        ),
    ),
    Program(
        "of rows to length one",
        "def normalize(float(N,C) I) -> (D, S) { S(n) +=! I(n,r) * I(n,r)  D(n,c) = I(n,c) / sqrt(S(n) + 1e-12) }",
        [(3, 4)],
        lambda i: (i / np.linalg.norm(i, axis=1, keepdims=True), (i * i).sum(1)),
    ),
    Program(
        "softmax in four steps",
        "def softmax(float(N,D) I) -> (O, m, e, s) { m(n) max=! I(n,d)  e(n,d) = exp(I(n,d) - m(n))  s(n) +=! e(n,d)"
        " O(n,d) = e(n,d) / s(n) }",
        [(3, 4)],
        lambda i: (
            special.softmax(i, 1),
            i.max(1),
            np.exp(i - i.max(1, keepdims=True)),
            np.exp(i - i.max(1, keepdims=True)).sum(1),
        ),
    ),
    Program(
        "softmax without the identity",
        "def softmax(float(N,D) I) -> (O, s, m) { m(n) max= I(n,d)  s(n) +=! exp(I(n,d) - m(n))"
        " O(n,d) = exp(I(n,d) - m(n)) / s(n) }",
        [(3, 4)],
        lambda i: (special.softmax(i, 1), np.exp(i - i.max(1, keepdims=True)).sum(1), i.max(1)),
    ),
    Program(
        "softmax with a temporary",
        "def softmax(float(N,D) I) -> (O, m, e) { m(n) max= I(n,d)  e(n,d) = exp(I(n,d) - m(n))  s(n) +=! e(n,d)"
        " O(n,d) = e(n,d) / s(n) }",
        [(2, 3)],
        lambda i: (special.softmax(i, 1), i.max(1), np.exp(i - i.max(1, keepdims=True))),
    ),
    Program(
        "cosine similarity",
        "def c(float(M,N) A, float(M,N) B) -> (O, a, b) { a(m) +=! A(m,n) * A(m,n)  b(m) +=! B(m,n) * B(m,n)"
        " O(m) +=! (A(m,n) * B(m,n)) / fmax(rsqrt(a(m)) * sqrt(b(m)), 1e-5) }",
        [(3, 4), (3, 4)],
        lambda a, b: (
            (a * b).sum(1) * np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1),
            (a * a).sum(1),
            (b * b).sum(1),
        ),
    ),
]

POINTWISE = [
    Program("relu", "def f(float(B,M) I) -> (O){ O(b,m) = fmax(I(b,m), 0) }", [(3, 4)], relu),
    Program(
        "sigmoid",
        "def f(float(N,C,H,W) I) -> (O) { O(n,c,h,w) = 1 / (1 + exp(-I(n,c,h,w))) }",
        [(1, 2, 3, 2)],
        special.expit,
    ),
    Program("tanh", "def Tanh(float(M) I) -> (O) { O(m) = tanh(I(m)) }", [(5,)], np.tanh),
    Program("cosine", "def cosine(float(M) I) -> (O) { O(i) = cos(I(i)) }", [(5,)], np.cos),
    Program("absolute value", "def abs(float(M,N) A) -> (O1) { O1(m,n) = fabs(A(m,n)) }", [(2, 3)], np.abs),
    Program("sum", "def add(float(N) A, float(N) B) -> (out) { out(i) = A(i) + B(i) }", [(4,), (4,)], np.add),
    Program("scaled", "def scale(float(M,N) I) -> (O) { O(m,n) = I(m,n) * 2.5 }", [(2, 3)], lambda i: 2.5 * i),
    Program(
        "rounded down",
        "def cast(float(M,N) A) -> (int32(M,N) O1) { O1(m,n) = int32(A(m,n) + 4) }",
        [(2, 3)],
        lambda a: np.trunc(a + 4),
        "int32",
    ),
    Program(
        "copy of three dimensions",
        "def copy(float(P0,P1,P2) I) -> (O) { O(i0,i1,i2) = I(i0,i1,i2) }",
        [(2, 3, 4)],
        lambda i: i,
    ),
    Program(
        "copy of five dimensions",
        "def fun(float(M,N,P,Q,R) I) -> (O) { O(i,j,k,l,m) = I(i,j,k,l,m) }",
        [(2, 1, 3, 2, 2)],
        lambda i: i,
    ),
    Program(
        "copies of copies",
        "def fun(float(M,N) I) -> (O1, O2, O3) { O1(m,n) = I(m,n)  O2(m) +=! O1(m,r)  O3(m) = O2(m) }",
        [(2, 3)],
        lambda i: (i, i.sum(1), i.sum(1)),
    ),
    Program(
        "transposition",
        "def t(float(N,C,H,W) I) -> (O) { O(c,n,w,h) = I(n,c,h,w) }",
        [(2, 3, 4, 5)],
        lambda i: i.transpose(1, 0, 3, 2),
    ),
    Program(
        "a strided transposition",
        "def strided(float(N,M) I) -> (O) { O(i,j) = I(j, 2*i + 1) }",
        [(3, 8)],
        lambda i: i[:, 1::2].T,
    ),
    Program(
        "matrix and column",
        "def f(float(N,M) A, float(N) b) -> (C) { C(i,j) = (A(i,j) - b(i)) * (A(i,j) - b(i)) }",
        [(3, 4), (3,)],
        lambda a, b: (a - b[:, None]) ** 2,
    ),
    Program(
        "a transposed copy of a result",
        "def fun(float(N,M) A) -> (B, C) { B(n,m) = A(n,m)  C(m,n) = B(n,m) }",
        [(2, 3)],
        lambda a: (a, a.T),
    ),
    Program(
        "a constant triangle",
        "def f(float(N) A) -> (T) { T(i,j) = i <= j ? 1.0 : 0.0 where i in 0:N, j in 0:N }",
        [(4,)],
        lambda a: np.triu(np.ones((4, 4))),
    ),
]


def lstm(x: np.ndarray, h: np.ndarray, c: np.ndarray, w: np.ndarray, u: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    gates = np.einsum("bi,gdi->gbd", x, w) + np.einsum("bj,gdj->gbd", h, u) + b[:, None]
    cell = special.expit(gates[1]) * c + special.expit(gates[0]) * np.tanh(gates[2])
    return special.expit(gates[3]) * np.tanh(cell), cell


def gru(x: np.ndarray, h: np.ndarray, w: np.ndarray, u: np.ndarray) -> np.ndarray:
    z, r = (special.expit(x @ w[g].T + h @ u[g].T) for g in (0, 1))
    return (1 - z) * np.tanh(x @ w[2].T + (r * h) @ u[2].T) + z * h


def wavenet(data: np.ndarray, weights: np.ndarray, bias: np.ndarray, dilation: np.ndarray) -> np.ndarray:
    delay = dilation.shape[0]
    late = np.pad(data, ((0, 0), (0, 0), (delay, 0)))[:, :, : data.shape[2]]
    return (
        bias[:, None]
        + np.einsum("brt,dr->bdt", data, weights[:, :, 1])
        + np.einsum("brt,dr->bdt", late, weights[:, :, 0])
    )


def wavenet_layer(
    data: np.ndarray,
    filters: np.ndarray,
    filter_bias: np.ndarray,
    gates: np.ndarray,
    gate_bias: np.ndarray,
    residual: np.ndarray,
    residual_bias: np.ndarray,
    skip: np.ndarray,
    skip_bias: np.ndarray,
    dilation: np.ndarray,
) -> tuple[np.ndarray, ...]:
    filtered = wavenet(data, filters, filter_bias, dilation)
    gated = wavenet(data, gates, gate_bias, dilation)
    inner = np.tanh(filtered) * special.expit(gated)
    outer = data + residual_bias[:, None] + np.einsum("bdt,rd->brt", inner, residual)
    return filtered, gated, inner, outer, np.einsum("bdt,sd->bst", inner, skip) + skip_bias[:, None]


def delayed(target: str, weights: str, bias: str) -> str:
    return (
        f" {target}(b,d,t) = {bias}(d) where b in 0:B, d in 0:DC, t in 0:T"
        f" {target}(b,d,t) += X(b,r,t) * {weights}(d,r,1)"
        f" + ((t - DF >= 0) ? X(b,r,t-DF) * {weights}(d,r,0) : float(0)) where t in 0:T"
    )


NETWORKS = [
    Program(
        "fully connected",
        "def fc(float(B,M) I, float(N,M) W1, float(N) B1) -> (O1) { O1(b,n) +=! I(b,m) * W1(n,m)"
        " O1(b,n) = O1(b,n) + B1(n) }",
        [(2, 3), (4, 3), (4,)],
        lambda i, w, b: i @ w.T + b,
    ),
    Program(
        "fully connected with relu",
        "def fc(float(B,M) I, float(N,M) W1, float(N) B1) -> (O1){ O1(b,n) +=! I(b,m) * W1(n,m)"
        " O1(b,n) = O1(b,n) + B1(n)  O1(b,n) = fmax(O1(b,n), 0) }",
        [(2, 3), (4, 3), (4,)],
        lambda i, w, b: relu(i @ w.T + b),
    ),
    Program(
        "fully connected from the bias on",
        "def fc(float(B,M) I, float(N,M) W1, float(N) B1) -> (O1) { O1(b,n) = B1(n) where b in 0:B"
        " O1(b,n) += I(b,m) * W1(n,m)  O1(b,n) = fmax(O1(b,n), 0) }",
        [(2, 3), (4, 3), (4,)],
        lambda i, w, b: relu(i @ w.T + b),
    ),
    Program(
        "three layers",
        "def mlp3(float(B,N) I, float(O,N) W2, float(O) B2, float(P,O) W3, float(P) B3, float(Q,P) W4, float(Q) B4)"
        " -> (O2, O3, O4) { O2(b,o) +=! I(b,n) * W2(o,n)  O2(b,o) = O2(b,o) + B2(o)  O2(b,o) = fmax(O2(b,o), 0)"
        " O3(b,p) +=! O2(b,o) * W3(p,o)  O3(b,p) = O3(b,p) + B3(p)  O3(b,p) = fmax(O3(b,p), 0)"
        " O4(b,q) +=! O3(b,p) * W4(q,p)  O4(b,q) = O4(b,q) + B4(q)  O4(b,q) = fmax(O4(b,q), 0) }",
        [(2, 3), (4, 3), (4,), (3, 4), (3,), (2, 3), (2,)],
        lambda i, w2, b2, w3, b3, w4, b4: (
            relu(i @ w2.T + b2),
            relu(relu(i @ w2.T + b2) @ w3.T + b3),
            relu(relu(relu(i @ w2.T + b2) @ w3.T + b3) @ w4.T + b4),
        ),
    ),
    Program(
        "layers by calls",
        "def layer(float(B,M) I, float(N,M) W, float(N) b) -> (O) { O(k,n) +=! I(k,m) * W(n,m)"
        " O(k,n) = fmax(O(k,n) + b(n), 0) }"
        " def net(float(B,M) I, float(N,M) W1, float(N) b1, float(K,N) W2, float(K) b2) -> (O) {"
        " h = layer(I, W1, b1)  O = layer(h, W2, b2) }",
        [(2, 3), (4, 3), (4,), (2, 4), (2,)],
        lambda i, v, b, w, c: relu(relu(i @ v.T + b) @ w.T + c),
    ),
    Program(
        "attention",
        "def att(float(T,D) Q, float(S,D) K, float(S,E) V) -> (O) { s(t,u) +=! Q(t,d) * K(u,d)"
        " s(t,u) = s(t,u) / sqrt(float(D))  m(t) max=! s(t,u)  p(t,u) = exp(s(t,u) - m(t))  z(t) +=! p(t,u)"
        " O(t,e) +=! p(t,u) * V(u,e) / z(t) }",
        [(3, 4), (5, 4), (5, 2)],
        lambda q, k, v: special.softmax(q @ k.T / 2, 1) @ v,
    ),
    Program(
        "attention to the past, of several heads",
        "def att(float(H,T,D) Q, float(H,T,D) K, float(H,T,E) V) -> (O) {"
        " s(h,t,u) = u <= t ? sum[d](Q(h,t,d) * K(h,u,d)) : -1e30 where t in 0:T, u in 0:T"
        " m(h,t) max=! s(h,t,u)  O(h,t,e) = sum[u](exp(s(h,t,u) - m(h,t)) * V(h,u,e)) / sum[u](exp(s(h,t,u) - m(h,t))) }",
        [(2, 3, 4), (2, 3, 4), (2, 3, 2)],
        lambda q, k, v: special.softmax(np.where(np.tri(3) > 0, q @ k.transpose(0, 2, 1), -1e30), -1) @ v,
    ),
    Program(
        "a long short-term memory cell",
        "def lstm(float(B,I) x, float(B,D) h, float(B,D) c, float(4,D,I) W, float(4,D,D) U, float(4,D) b) -> (ho, co) {"
        " g(k,n,d) +=! x(n,i) * W(k,d,i)  g(k,n,d) += h(n,j) * U(k,d,j)  g(k,n,d) = g(k,n,d) + b(k,d)"
        " s(k,n,d) = k == 2 ? tanh(g(k,n,d)) : 1 / (1 + exp(-g(k,n,d)))"
        " co(n,d) = s(1,n,d) * c(n,d) + s(0,n,d) * s(2,n,d)  ho(n,d) = s(3,n,d) * tanh(co(n,d)) }",
        [(2, 3), (2, 4), (2, 4), (4, 4, 3), (4, 4, 4), (4, 4)],
        lstm,
    ),
    Program(
        "a gated recurrent cell",
        "def gru(float(B,I) x, float(B,D) h, float(3,D,I) W, float(3,D,D) U) -> (o) {"
        " z(n,d) = sigmoid(sum[i](x(n,i) * W(0,d,i)) + sum[j](h(n,j) * U(0,d,j)))"
        " r(n,d) = sigmoid(sum[i](x(n,i) * W(1,d,i)) + sum[j](h(n,j) * U(1,d,j)))"
        " c(n,d) = tanh(sum[i](x(n,i) * W(2,d,i)) + sum[j](r(n,j) * h(n,j) * U(2,d,j)))"
        " o(n,d) = (1 - z(n,d)) * c(n,d) + z(n,d) * h(n,d) }",
        [(2, 3), (2, 4), (3, 4, 3), (3, 4, 4)],
        gru,
    ),
    Program(
        "a dilated layer over time",
        f"def w(float(B,RC,T) X, float(DC,RC,2) W, float(DC) a, float(DF) Dilation) -> (O) {{{delayed('O', 'W', 'a')} }}",
        [(1, 2, 7), (3, 2, 2), (3,), (2,)],
        wavenet,
    ),
    Program(
        "a gated dilated layer with skip connections",
        "def w(float(B,RC,T) X, float(DC,RC,2) FW, float(DC) FB, float(DC,RC,2) GW, float(DC) GB, float(RC,DC) RW,"
        " float(RC) RB, float(SC,DC) SW, float(SC) SB, float(DF) Dilation) -> (F, G, N, R, S) {"
        f"{delayed('F', 'FW', 'FB')}{delayed('G', 'GW', 'GB')}"
        " N(b,d,t) = tanh(F(b,d,t)) where t in 0:T  N(b,d,t) *= 1 / (1 + exp(-G(b,d,t))) where t in 0:T"
        " R(b,r,t) = X(b,r,t) + RB(r)  R(b,r,t) += N(b,d,t) * RW(r,d)"
        " S(b,s,t) +=! N(b,d,t) * SW(s,d) where t in 0:T  S(b,s,t) = S(b,s,t) + SB(s) where t in 0:T }",
        [(1, 2, 6), (3, 2, 2), (3,), (3, 2, 2), (3,), (2, 3), (2,), (4, 3), (4,), (2,)],
        wavenet_layer,
    ),
    Program(
        "squared loss",
        "def f(float(N,M) A, float(N,M) B) -> (l) { l +=! (A(i,j) - B(i,j)) * (A(i,j) - B(i,j)) / (N*M) }",
        [(3, 4), (3, 4)],
        lambda a, b: ((a - b) ** 2).mean(),
    ),
    Program(
        "cross entropy",
        "def f(float(N,C) x, int32(N) y) -> (l) { m(i) max=! x(i,c)  z(i) +=! exp(x(i,c) - m(i))"
        " l +=! (log(z(i)) + m(i) - x(i, y(i))) / N }",
        [(4, 3), below(3, 4)],
        lambda x, y: (special.logsumexp(x, 1) - x[np.arange(4), y]).mean(),
    ),
    Program(
        "hinge loss",
        "def f(float(N,C) x, int32(N) y) -> (l) { l(i) +=! c == y(i) ? 0.0 : fmax(0, 1 + x(i,c) - x(i, y(i))) }",
        [(4, 3), below(3, 4)],
        lambda x, y: relu(1 + x - x[np.arange(4), y][:, None]).sum(1) - 1,
    ),
    Program(
        "distances of all pairs",
        "def f(float(N,D) A, float(M,D) B) -> (d) { d(i,j) +=! (A(i,k) - B(j,k)) * (A(i,k) - B(j,k)) }",
        [(3, 2), (4, 2)],
        lambda a, b: ((a[:, None] - b) ** 2).sum(2),
    ),
    Program(
        "city blocks to the nearest",
        "def f(float(N,D) A, float(M,D) B) -> (n) { d(i,j) +=! fabs(A(i,k) - B(j,k))  n(i) min=! d(i,j) }",
        [(3, 2), (4, 2)],
        lambda a, b: np.abs(a[:, None] - b).sum(2).min(1),
    ),
]

LOOKUPS = [
    Program(
        "rows",
        "def indexing(float(H,W) input, int32(L) index) -> (out) { out(l,w) = input(index(l), w) where l in 0:2 }",
        [(3, 4), np.array([1, 1], "int32")],
        lambda x, i: x[i],
    ),
    Program(
        "columns of a permutation",
        "def f(float(B,N) I, int32(N) Idx) -> (O) { O(b,n) = I(b, Idx(n)) where n in 0:N }",
        [(2, 4), np.array([2, 0, 3, 1], "int32")],
        lambda i, p: i[:, p],
    ),
    Program(
        "two subscripts from data",
        "def f(float(B,K,R) I, int32(K,R) P, int32(K,R) Q) -> (O) { O(b,k,r) = I(b, P(k,r), Q(k,r)) }",
        [(2, 2, 3), below(2, 2, 3), below(3, 2, 3)],
        lambda i, p, q: i[:, p, q],
    ),
    Program(
        "one table",
        "def lut(float(B,R) LUT, int32(B,N) I) -> (O) { O(b,n) +=! LUT(I(b,n), r) }",
        [(4, 3), below(4, 4, 5)],
        lambda t, i: t[i].sum(2),
    ),
    Program(
        "two tables",
        "def two(float(E1,D) P, int32(B,L1) I, float(E2,D) Q, int32(B,L2) J) -> (A, B_) {"
        " A(b,d) +=! P(I(b,l), d)  B_(b,d) +=! Q(J(b,l), d) }",
        [(6, 2), below(6, 3, 4), (5, 2), below(5, 3, 2)],
        lambda p, i, q, j: (p[i].sum(1), q[j].sum(1)),
    ),
    Program(
        "a shifted table",
        "def f(float(E,D) T, int32(B,L) I) -> (O) { O(i,j) +=! T(I(i,k) + 1, j) }",
        [(6, 2), below(5, 3, 4)],
        lambda t, i: t[i + 1].sum(1),
    ),
    Program(
        "a subscript of data and indices",
        "def f(float(E,D) T, int32(B,L) I) -> (O) { O(i,j) +=! T(1 + j + I(i,k), j) }",
        [(8, 2), below(5, 3, 4)],
        lambda t, i: np.stack([t[1 + j + i, j].sum(1) for j in (0, 1)], 1),
    ),
    Program(
        "a weighted table",
        "def f(float(E,D) T, int32(B,L) I, float(B,L) w) -> (O) { O(b,d) +=! T(I(b,l), d) * w(b,l) }",
        [(6, 2), below(6, 3, 4), (3, 4)],
        lambda t, i, w: np.einsum("bld,bl->bd", t[i], w),
    ),
    Program(
        "product quantisation",
        "def mindis(float(M,256) L, uint8(N,M) C) -> (S, v, at) { S(n) +=! L(r, int32(C(n,r)))  v min=! S(r)"
        " at min=! (S(r) == v) ? r : N }",
        [(3, 256), below(256, 5, 3, dtype="uint8")],
        lambda t, c: (
            t[np.arange(3), c].sum(1),
            t[np.arange(3), c].sum(1).min(),
            t[np.arange(3), c].sum(1).argmin(),
        ),
        "float32 float32 int32",
    ),
    Program(
        "product quantisation of several",
        "def mindis(float(K,M,256) L, uint8(N,M) C) -> (S, V, At) { S(k,n) +=! L(k, r, int32(C(n,r)))  V(k) min=! S(k,r)"
        " At(k) min=! (S(k,r) == V(k)) ? r : N }",
        [(2, 3, 256), below(256, 5, 3, dtype="uint8")],
        lambda t, c: (
            t[:, np.arange(3), c].sum(2),
            t[:, np.arange(3), c].sum(2).min(1),
            t[:, np.arange(3), c].sum(2).argmin(1),
        ),
        "float32 float32 int32",
    ),
    Program(
        "the position of the least in blocks",
        "def f(float(D,R) S, float v) -> (At) { At(d) min=! (S(d,r) == v) ? d * R + r : R * D }",
        [np.array([[3, 1, 2], [1, 0, 0]], "f"), 1.0],
        lambda s, v: np.array([1, 3]),
        "int32",
    ),
    Program(
        "the block that has one",
        "def f(float(N) S, int32(D) At) -> (at) { at min=! (At(r) < N) ? r : N }",
        [(6,), np.array([6, 6, 4], "int32")],
        lambda s, at: np.int32(2),
        "int32",
    ),
    Program(
        "running sums of lengths",
        "def make_idx(int32(K) L) -> (Idx) { Idx(k) +=! (r < k) ? L(r) : 0 where k in 0:K+1 }",
        [np.array([3, 1, 4], "int32")],
        lambda lengths: np.array([0, 3, 4, 8]),
        "int32",
    ),
    Program(
        "pairs within segments",
        "def alpha(int32(KP1) Idx, int32(ML) meta) -> (A) { A(k,p,q) = (p >= q) ? 0.0 :"
        " ((0 == 0 || fabs(float(p - q)) <= float(0)) ? 1.0 :"
        " (0 == 0 && fabs(float(p - q)) >= float(0)) ? -1.0 : 0.0)"
        " * ((Idx(k) + p < Idx(k + 1) && Idx(k) + q < Idx(k + 1)) ? 1.0 : 0.0)"
        " where k in 0:KP1-1, p in 0:ML, q in 0:ML }",
        [np.array([0, 3, 4], "int32"), np.zeros(3, "int32")],
        lambda idx, meta: np.stack([np.triu(np.ones((3, 3)), 1), np.zeros((3, 3))]),
    ),
    Program(
        "counts of pairs",
        "def counts(float(K,L,L) A, int32(L) meta) -> (P, t) {"
        " t(k,p) +=! (p >= q) ? 0.0 : (A(k,p,q) > 0.0) ? 1.0 : 0.0 where k in 0:K, p in 0:L, q in 0:L"
        " P(k) +=! t(k,p) where k in 0:K, p in 0:L }",
        [(2, 3, 3), np.zeros(3, "int32")],
        lambda a, meta: ((np.triu(a, 1) > 0).sum((1, 2)), (np.triu(a, 1) > 0).sum(2)),
    ),
    Program(
        "weights of pairs",
        "def beta(float(K,L,L) A, float(K) P, float(K) N, int32(L) meta) -> (B) { B(k,p,q) = (p >= q) ? 0.0 :"
        " (A(k,p,q) == 1.0) ? 1.0 / float(P(k)) : (A(k,p,q) == -1.0) ? -1.0 / float(N(k)) : 0.0"
        " where k in 0:K, p in 0:L, q in 0:L }",
        [below(3, 2, 3, 3).astype("f") - 1, np.array([2, 4], "f"), np.array([1, 8], "f"), np.zeros(3, "int32")],
        lambda a, p, n, meta: np.triu((a == 1) / p[:, None, None] - (a == -1) / n[:, None, None], 1),
    ),
    Program(
        "products within segments",
        "def dots(float(N,C) X, int32(KP1) Idx, float(K,L,L) like) -> (D) { D(k,p,q) +=! (p >= q) ? 0.0 :"
        " ((Idx(k) + p >= Idx(k+1) || Idx(k) + q >= Idx(k+1)) ? 0.0 : X(Idx(k) + p, r) * X(Idx(k) + q, r))"
        " where k in 0:K, p in 0:L, q in 0:L }",
        [(5, 2), np.array([0, 3, 5], "int32"), (2, 3, 3)],
        lambda x, idx, like: np.stack(
            [np.triu(x[:3] @ x[:3].T, 1), np.pad(np.triu(x[3:] @ x[3:].T, 1), ((0, 1), (0, 1)))]
        ),
    ),
    Program(
        "a sum above the diagonal in two steps",
        "def result(float(K,L,L) B, float(K,L,L) D) -> (O, t) { t(k,p) +=! (p >= q) ? 0.0 : D(k,p,q) * B(k,p,q)"
        " O(k) +=! t(k,p) }",
        [(2, 3, 3), (2, 3, 3)],
        lambda b, d: (np.triu(b * d, 1).sum((1, 2)), np.triu(b * d, 1).sum(2)),
    ),
]
