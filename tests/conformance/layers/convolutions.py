"""Convolutions."""

import numpy as np

from ..program import Program, below
from ..windows import convolution, relu, windows


def grouped(image: np.ndarray, weights: np.ndarray, down: int = 1, right: int = 1) -> np.ndarray:
    """``(N, G, C, H, W)`` with ``(G, F, C, KH, KW)``."""
    return np.stack([convolution(image[:, g], weights[g], down, right) for g in range(image.shape[1])], 1)


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
        "def conv(float(N,G,C,H,W) I, float(G,C,F,KH,KW) V) -> (O) {"
        " O(n,g,f,h,w) +=! I(n,g,c,h+y,w+x) * V(g,c,f,y,x) }",
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
        lambda i, v: sum(
            convolution(i.transpose(1, 0, 2, 3)[k : k + 3], v[:, :, k]).transpose(1, 0, 2, 3) for k in (0, 1)
        ),
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
