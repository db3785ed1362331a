"""The worked examples of TC's documentation and tests."""

import numpy as np

from ..program import Program, below
from ..windows import convolution, windows


def flipped_windows(grad: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The part of an input gradient in which every tap of the kernel is in bounds."""
    return np.einsum("nmhwyx,mcyx->nchw", windows(grad, *weights.shape[-2:]), weights[:, :, ::-1, ::-1])


def weight_gradient(grad: np.ndarray, image: np.ndarray) -> np.ndarray:
    """``sum of grad(h - kh) * image(h)``, kh from ``H - OH`` to 0."""
    (rows, columns), (high, wide) = image.shape[-2:], grad.shape[-2:]
    result = np.zeros((grad.shape[1], image.shape[1], high - rows + 1, wide - columns + 1))
    for y in range(result.shape[2]):
        for x in range(result.shape[3]):
            # The first element is the tap (H - OH, W - OW): the last rows of the gradient.
            top, left = high - rows - y, wide - columns - x
            result[:, :, y, x] = np.einsum("nmhw,nchw->mc", grad[..., top : top + rows, left : left + columns], image)
    return result


def weird(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    (_, _, rows, columns), (_, _, high, wide) = image.shape, weights.shape
    width = (columns - wide) // 2 + 1
    height = (rows - high - 3 * (width - 1)) // 2 + 1
    result = np.zeros((image.shape[0], weights.shape[0], height, width))
    for h in range(height):
        for w in range(width):
            patch = image[:, :, 2 * h + 3 * w : 2 * h + 3 * w + high, 2 * w : 2 * w + wide]
            result[:, :, h, w] = np.einsum("bchw,ochw->bo", patch, weights)
    return result


def perforated(image: np.ndarray, weights: np.ndarray, index: np.ndarray) -> np.ndarray:
    high, wide = weights.shape[-2:]
    result = np.zeros((image.shape[0], weights.shape[0], index.shape[1]))
    for n, places in enumerate(index):
        for number, place in enumerate(places):
            patch = image[n, :, place : place + high, place : place + wide]
            result[n, :, number] = np.einsum("chw,mchw->m", patch, weights)
    return result


def sparse(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    channels = image.shape[1]
    return sum(convolution(image[:, [kc % c for kc in range(weights.shape[1])]], weights) for c in range(1, channels))  # type: ignore[return-value]


PADDED = "pad(a,b,y,x) = I(a, b, y-2-3, x-3-4)  out(a,o,y,x) +=! pad(a, b, 2*y+p, 3*x+q) * W1(o,b,p,q)"

WORKED = [
    Program(
        "1 matrix product",
        "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
        [(3, 4), (4, 5)],
        lambda a, b: a @ b,
        ranges=[{"m": (0, 3), "n": (0, 5), "k": (0, 4)}],
    ),
    Program(
        "2 convolution",
        "def f(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) { O(n,m,h,w) +=! I(n,c,h+kh,w+kw) * W1(m,c,kh,kw) }",
        [(2, 3, 6, 7), (4, 3, 2, 3)],
        convolution,
        ranges=[{"n": (0, 2), "m": (0, 4), "h": (0, 5), "w": (0, 5), "c": (0, 3), "kh": (0, 2), "kw": (0, 3)}],
    ),
    Program(
        "3 strided convolution",
        "def f(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) { O(n,m,h,w) +=! I(n,c,2*h+kh,3*w+kw) * W1(m,c,kh,kw) }",
        [(1, 2, 8, 9), (3, 2, 3, 2)],
        lambda image, weights: convolution(image, weights, 2, 3),
        ranges=[{"n": (0, 1), "m": (0, 3), "h": (0, 3), "w": (0, 3), "c": (0, 2), "kh": (0, 3), "kw": (0, 2)}],
    ),
    Program(
        "4 dilated convolution",
        "def f(float(N) I, float(K) W) -> (O) { O(x) +=! I(x+2*k) * W(k) }",
        [(11,), (3,)],
        lambda i, w: np.array([sum(i[x + 2 * k] * w[k] for k in range(3)) for x in range(7)]),
        ranges=[{"x": (0, 7), "k": (0, 3)}],
    ),
    Program(
        "5 max pool",
        "def f(float(B,C,H,W) I) -> (O) { O(b,c,h,w) max=! I(b,c,2*h+kh,2*w+kw) where kh in 0:3, kw in 0:3 }",
        [(1, 2, 8, 7)],
        lambda i: windows(i, 3, 3, 2, 2).max((-1, -2)),
        ranges=[{"b": (0, 1), "c": (0, 2), "h": (0, 3), "w": (0, 3), "kh": (0, 3), "kw": (0, 3)}],
    ),
    Program(
        "6 average pool as a sum",
        "def f(float(I) B) -> A { A(i) = B(2*i) + B(2*i + 1) }",
        [(7,)],
        lambda b: b[:6].reshape(3, 2).sum(1),
        ranges=[{"i": (0, 3)}],
    ),
    Program(
        "6 average pool as a reduction",
        "def f(float(N) A) -> (B) { B(i) +=! A(2*i + k) where k in 0:2 }",
        [(8,)],
        lambda a: a.reshape(4, 2).sum(1),
        ranges=[{"i": (0, 4), "k": (0, 2)}],
    ),
    Program(
        "7 subsample",
        "def subsample_2(float(I) B) -> A { A(i) = B(2*i) }",
        [(7,)],
        lambda b: b[::2],
        ranges=[{"i": (0, 4)}],
    ),
    Program(
        "7 subsample by a large stride",
        "def f(float(P) I) -> (O) { O(i) = I(123 * i) }",
        [(125,)],
        lambda i: i[::123],
        ranges=[{"i": (0, 2)}],
    ),
    Program(
        "8 flip about the end",
        "def f(float(N) A) -> (B) { B(i) = A(N-1-i) }",
        [(5,)],
        lambda a: a[::-1],
        ranges=[{"i": (0, 5)}],
    ),
    Program(
        "8 flip about ten",
        "def reverted(float(I) B) -> A { A(i) = B(10 - i) }",
        [(4,)],
        lambda b: b[::-1],
        ranges=[{"i": (7, 11)}],
    ),
    Program(
        "8 flip about zero",
        "def f(float(N) A) -> (B) { B(i) = A(-i) }",
        [(4,)],
        lambda a: a[::-1],
        ranges=[{"i": (-3, 1)}],
    ),
    Program(
        "9 shift down",
        "def f(float(P) I) -> (O) { O(i) = I(i - 1) }",
        [(4,)],
        lambda i: i,
        ranges=[{"i": (1, 5)}],
    ),
    Program(
        "9 shift up",
        "def f(float(P) I) -> (O) { O(i) = I(i + 5) }",
        [(4,)],
        lambda i: i,
        ranges=[{"i": (-5, -1)}],
    ),
    Program(
        "10 stencil",
        "def f(float(N) A) -> (B) { B(i) = A(i-1) + A(i) + A(i+1) }",
        [(6,)],
        lambda a: a[:-2] + a[1:-1] + a[2:],
        ranges=[{"i": (1, 5)}],
    ),
    Program(
        "10 stencil of two tensors",
        "def f(float(N) B, float(N) C) -> (A) { A(i) = B(i) + C(i-2) }",
        [(6,), (6,)],
        lambda b, c: b[2:] + c[:-2],
        ranges=[{"i": (2, 6)}],
    ),
    Program(
        "11 input gradient",
        "def f(float(N,M,OH,OW) g, float(M,C,KH,KW) W1) -> (d) { d(n,c,h,w) +=! g(n,m,h-kh,w-kw) * W1(m,c,kh,kw) }",
        [(2, 2, 5, 6), (2, 3, 2, 3)],
        flipped_windows,
        ranges=[{"n": (0, 2), "c": (0, 3), "h": (1, 5), "w": (2, 6), "m": (0, 2), "kh": (0, 2), "kw": (0, 3)}],
    ),
    Program(
        "12 weight gradient",
        "def f(float(N,M,OH,OW) g, float(N,C,H,W) I) -> (d) { d(m,c,kh,kw) +=! g(n,m,h-kh,w-kw) * I(n,c,h,w) }",
        [(2, 2, 5, 6), (2, 3, 4, 4)],
        weight_gradient,
        ranges=[{"m": (0, 2), "c": (0, 3), "kh": (-1, 1), "kw": (-2, 1), "n": (0, 2), "h": (0, 4), "w": (0, 4)}],
    ),
    Program(
        "13 padding by a shift",
        f"def f(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (pad, out) {{ {PADDED} }}",
        [(1, 2, 8, 10), (2, 2, 2, 2)],
        # `pad` starts at 5 and 7, `out` at 3 and 3: its first window at 6 - 5 and 9 - 7.
        lambda i, w: (i, convolution(i[:, :, 1:, 2:], w, 2, 3)),
        ranges=[
            {"a": (0, 1), "b": (0, 2), "y": (5, 13), "x": (7, 17)},
            {"a": (0, 1), "o": (0, 2), "y": (3, 6), "x": (3, 6), "b": (0, 2), "p": (0, 2), "q": (0, 2)},
        ],
    ),
    Program(
        "14 different sizes",
        "def f(float(N) A, float(M) B) -> (C) { C(i) = A(i) * B(i) }",
        [(5,), (3,)],
        lambda a, b: a[:3] * b,
        ranges=[{"i": (0, 3)}],
    ),
    Program(
        "15 diagonal",
        "def f(float(N,M) A) -> (B) { B(i) = A(i, i) }",
        [(3, 5)],
        np.diagonal,
        ranges=[{"i": (0, 3)}],
    ),
    Program(
        "15 trace",
        "def f(float(N,N) A) -> (B) { B +=! A(i, i) }",
        [(4, 4)],
        np.trace,
        ranges=[{"i": (0, 4)}],
    ),
    Program(
        "16 chain of two",
        "def f(float(A0,A1,A2) A, float(B0,B1,B2) B, float(C0,C1,C2) C) -> (P, Q) {"
        " P(j,k,l) +=! B(j,k,l) + A(i,j,k)  Q(k,l,m) +=! C(k,l,m) + P(j,k,l) }",
        [(2, 3, 4), (4, 3, 2), (5, 4, 3)],
        lambda a, b, c: (
            (b[None, :3] + a[:, :3, :3, None]).sum(0),
            3 * c[:3, :2] + (b[None, :3] + a[:, :3, :3, None]).sum((0, 1))[:, :, None],
        ),
        ranges=[
            {"j": (0, 3), "k": (0, 3), "l": (0, 2), "i": (0, 2)},
            {"k": (0, 3), "l": (0, 2), "m": (0, 3), "j": (0, 3)},
        ],
    ),
    Program(
        "16 chain of three",
        "def f(float(A0,A1,A2) A, float(B0,B1,B2) B) -> (O, P) { O(i,j) +=! A(i,j,k)  P(j,k,l) +=! B(j,k,l) + O(i,j) }",
        [(2, 3, 4), (2, 3, 2)],
        lambda a, b: (a.sum(2), 2 * b + a.sum((0, 2))[:2, None, None]),
        ranges=[{"i": (0, 2), "j": (0, 3), "k": (0, 4)}, {"j": (0, 2), "k": (0, 3), "l": (0, 2), "i": (0, 2)}],
    ),
    Program(
        "17 stacking along a new index",
        "def f(float(M,N) A, float(M,N) B) -> (O) { O(n,i,m) = i == 0 ? A(m,n) : B(m,n) where i in 0:2 }",
        [(3, 4), (3, 4)],
        lambda a, b: np.stack([a.T, b.T], 1),
        ranges=[{"n": (0, 4), "i": (0, 2), "m": (0, 3)}],
    ),
    Program(
        "18 concatenation",
        "def f(float(N) A, float(M) B) -> (O) { O(i) = i<N ? A(i) : B(i-N) where i in 0:N+M }",
        [(3,), (4,)],
        lambda a, b: np.concatenate([a, b]),
        ranges=[{"i": (0, 7)}],
    ),
    Program(
        "19 embedding",
        "def f(float(E,D) T, int32(B,L) I) -> (O) { O(b,d) +=! T(I(b,l), d) }",
        [(6, 3), below(6, 4, 5)],
        lambda t, i: t[i].sum(1),
        ranges=[{"b": (0, 4), "d": (0, 3), "l": (0, 5)}],
    ),
    Program(
        "20 perforated convolution",
        "def f(float(N,C,H,W) X, float(M,C,KH,KW) V, int32(N,L) at) -> (O) {"
        " O(n,m,l) +=! X(n, c, at(n,l)+kh, at(n,l)+kw) * V(m,c,kh,kw) where l in 0:L }",
        [(2, 2, 6, 6), (3, 2, 2, 3), below(4, 2, 4)],
        perforated,
        ranges=[{"n": (0, 2), "m": (0, 3), "l": (0, 4), "c": (0, 2), "kh": (0, 2), "kw": (0, 3)}],
    ),
    Program(
        "21 Kronecker product in three steps",
        "def f(float(D0,N0) W0, float(D1,N1) W1, float(D2,N2) W2, float(M,N0,N1,N2) X) -> (Y, S, T) {"
        " S(m,n0,n1,d2) +=! X(m,n0,n1,r) * W2(d2,r)  T(m,n0,d1,d2) +=! S(m,n0,r,d2) * W1(d1,r)"
        " Y(m,d0,d1,d2) +=! T(m,r,d1,d2) * W0(d0,r) }",
        [(2, 3), (3, 2), (2, 4), (3, 3, 2, 4)],
        lambda w0, w1, w2, x: (
            np.einsum("mabc,xa,yb,zc->mxyz", x, w0, w1, w2),
            np.einsum("mabc,zc->mabz", x, w2),
            np.einsum("mabc,yb,zc->mayz", x, w1, w2),
        ),
    ),
    Program(
        "22 rotation with one range",
        "def f(float(N,M) I) -> (O) { O(i,j) = I(10+i-j, i+j) where i in 0:10 }",
        [(18, 20)],
        lambda a: np.array([[a[10 + i - j, i + j] for j in range(2, 11)] for i in range(10)]),
        ranges=[{"i": (0, 10), "j": (2, 11)}],
    ),
    Program(
        "23 sum of two indices",
        "def f(float(P,Q,R) I) -> (O) { O(i) +=! I(j, i+j, k) }",
        [(3, 5, 2)],
        lambda a: np.array([sum(a[j, i + j].sum() for j in range(3)) for i in range(3)]),
        ranges=[{"i": (0, 3), "j": (0, 3), "k": (0, 2)}],
    ),
    Program(
        "24 an index in two dimensions",
        "def f(float(B,IP,H,W) X, float(OP,IP,KH,KW) V) -> (O) {"
        " O(b,op,h,w) +=! X(b, ip, 2*h + 3*w + kh, 2*w + kw) * V(op,ip,kh,kw) }",
        [(1, 2, 13, 7), (2, 2, 2, 3)],
        weird,
        ranges=[{"b": (0, 1), "op": (0, 2), "h": (0, 3), "w": (0, 3), "ip": (0, 2), "kh": (0, 2), "kw": (0, 3)}],
    ),
    Program(
        "25 filling where another exists",
        "def constant_fill(float(N) A, float c) -> B { B(i) = c where exists A(i) }",
        [(4,), 2.5],
        lambda a, c: np.full(4, c),
        ranges=[{"i": (0, 4)}],
    ),
    Program(
        "25 filling a box of sizes",
        "def f(float(N) A) -> (B) { B(i,j) = 1.0 where i in 0:N, j in 0:N }",
        [(3,)],
        lambda a: np.ones((3, 3)),
    ),
    Program(
        "25 filling a box of numbers",
        "def f() -> (O) { O(i, j) = 3 where i in 4:8, j in 3:20 }",
        [],
        lambda: np.full((4, 17), 3),
        "int32",
        ranges=[{"i": (4, 8), "j": (3, 20)}],
    ),
    Program(
        "26 a size named like an index",
        "def f(float(X) A, float(Xp) K) -> (B) { B(x) +=! A(xp) * K(X - 1 + x - xp) where xp in 0:X }",
        [(4,), (7,)],
        lambda a, k: np.array([sum(a[p] * k[3 + x - p] for p in range(4)) for x in range(4)]),
        ranges=[{"x": (0, 4), "xp": (0, 4)}],
    ),
    Program(
        "27 blocks",
        "def f(float(NM) A) -> (B) { B(i,j) = A(i*4 + j) where j in 0:4 }",
        [(14,)],
        lambda a: a[:12].reshape(3, 4),
        ranges=[{"i": (0, 3), "j": (0, 4)}],
    ),
    Program(
        "27 upsampling",
        "def f(float(N) A) -> (B) { B(i) = A(i / 2) }",
        [(4,)],
        lambda a: np.repeat(a, 2),
        ranges=[{"i": (0, 8)}],
    ),
    Program(
        "28 a let",
        "def f(float(N) A) -> (B) { B(i) = A(j) where j = i + 3 }",
        [(5,)],
        lambda a: a,
        ranges=[{"i": (-3, 2)}],
    ),
    Program(
        "29 a shifted operand",
        "def f(float(N) B) -> (A) { A(i,j) = B(i) + B(j+3) }",
        [(5,)],
        lambda b: b[:, None] + b,
        ranges=[{"i": (0, 5), "j": (-3, 2)}],
    ),
    Program(
        "30 an index that only a remainder mentions",
        "def f(float(N,C,H,W) I, float(O,KC,KH,KW) W1) -> (Z) {"
        " Z(n,o,h,w) +=! I(n, kc % c, h+kh, w+kw) * W1(o,kc,kh,kw) where c in 1:C }",
        [(1, 4, 4, 4), (2, 5, 2, 2)],
        sparse,
        ranges=[
            {"n": (0, 1), "o": (0, 2), "h": (0, 3), "w": (0, 3), "kc": (0, 5), "c": (1, 4), "kh": (0, 2), "kw": (0, 2)}
        ],
    ),
    Program(
        "31 partial copy",
        "def f(float(N,M) I) -> (O) { O(i,j) = I(i,j) where i in 3:N-1 }",
        [(7, 2)],
        lambda i: i[3:6],
        ranges=[{"i": (3, 6), "j": (0, 2)}],
    ),
    Program(
        "32 logical indices line up",
        "def f(float(N) A) -> (B, C) { B(i) = A(i-1)  C(i) = B(i) + A(i) }",
        [(5,)],
        lambda a: (a, a[:-1] + a[1:]),
        ranges=[{"i": (1, 6)}, {"i": (1, 5)}],
    ),
]
