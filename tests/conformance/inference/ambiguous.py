"""What TC calls ambiguous, decided where sizes are numbers."""

import numpy as np

from ..program import Program, below
from .worked import flipped_windows


def full_correlation(grad: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The whole input gradient of a convolution."""
    high, wide = weights.shape[-2:]
    padded = np.pad(grad, ((0, 0), (0, 0), (high - 1, high - 1), (wide - 1, wide - 1)))
    return flipped_windows(padded, weights)


AMBIGUOUS = [
    Program(
        "a precondition that the sizes satisfy",
        "def f(float(10,19,10) I) -> (O) { O(i,j) = I(i, i+j, j) }",
        [(10, 19, 10)],
        lambda a: np.array([[a[i, i + j, j] for j in range(10)] for i in range(10)]),
        ranges=[{"i": (0, 10), "j": (0, 10)}],
    ),
    Program(
        "a precondition on sizes without numbers",
        "def f(float(N) B, float(K) C, float(M) D) -> (A) { A(i,j) = B(i) * C(i+j) * D(j) }",
        [(3,), (6,), (4,)],
        lambda b, c, d: np.array([[b[i] * c[i + j] * d[j] for j in range(4)] for i in range(3)]),
    ),
    Program(
        "several subscripts that fit",
        "def f(float(P,Q,R,S,T) I) -> (O) { O(i) +=! I(i, j, i, k, 2*i+j) }",
        [(2, 3, 2, 2, 5)],
        lambda a: np.array([sum(a[i, j, i, k, 2 * i + j] for j in range(3) for k in range(2)) for i in range(2)]),
    ),
    Program(
        "a stride from data, with a range",
        "def f(float(N) B, int32(1) S) -> (A) { A(i) = B(S(0)*i) where i in 0:3 }",
        [(6,), np.array([2], "int32")],
        lambda b, s: b[[0, 2, 4]],
    ),
    Program(
        "a constant subscript",
        "def f(float(N) A) -> (B) { B(i) = A(i) - A(0) }",
        [(4,)],
        lambda a: a - a[0],
    ),
    Program(
        "no elements",
        "def f(float(0) A) -> (B) { B(i) = A(i) }",
        [(0,)],
        lambda a: a,
        ranges=[{"i": (0, 0)}],
    ),
    Program(
        "a triangle by a range that moves",
        "def f(float(N,N) A) -> (O) { O(i) +=! A(i,j) where j in 0:i }",
        [(4, 4)],
        lambda a: np.tril(a, -1).sum(1),
    ),
    Program(
        "the last of two ranges, which moves",
        "def f(float(M,K) L, float(K,M) U) -> (P) { P(x,y) +=! L(x,k) * U(k,y) where k in x:M, k in 0:y+1 }",
        [(3, 4), (4, 3)],
        lambda l, u: np.einsum("xk,ky,ky->xy", l, u, np.triu(np.ones((4, 3)))),
    ),
    Program(
        "a triangle by a mask",
        "def f(float(M,K) L, float(K,M) U) -> (P) { P(x,y) +=! (k >= x and k <= y) ? L(x,k) * U(k,y) : 0 }",
        [(3, 4), (4, 3)],
        lambda l, u: np.triu(l) @ np.triu(u),
    ),
    Program(
        "the whole input gradient by guards",
        "def f(float(N,M,OH,OW) g, float(M,C,KH,KW) V, float(H,W) like) -> (d) {"
        " d(n,c,h,w) +=! (h-kh >= 0 && h-kh < OH && w-kw >= 0 && w-kw < OW) ? g(n,m,h-kh,w-kw) * V(m,c,kh,kw) : 0.0"
        " where h in 0:H, w in 0:W }",
        [(1, 2, 3, 4), (2, 2, 3, 2), (5, 5)],
        lambda g, v, like: full_correlation(g, v),
    ),
    Program(
        "a gather",
        "def f(float(J) B, int32(I) C) -> (A) { A(i) = B(C(i)) }",
        [(5,), below(5, 7)],
        lambda b, c: b[c],
        ranges=[{"i": (0, 7)}],
    ),
    Program(
        "a clamped gather",
        "def f(float(J) B, int32(I) C) -> (A) { A(i) = B(max(min(C(i), J-1), 0)) }",
        [(3,), np.array([-4, 0, 2, 9], "int32")],
        lambda b, c: b[np.clip(c, 0, 2)],
    ),
    Program(
        "a gather out of range reads the nearest element",
        "def f(float(J) B, int32(I) C) -> (A) { A(i) = B(C(i)) }",
        [(3,), np.array([-4, 1, 9], "int32")],
        lambda b, c: b[[0, 1, 2]],
    ),
    Program(
        "a clamp at the start",
        "def f(float(N) A) -> (B) { B(i) = A(max(i-1, 0)) where i in 0:N }",
        [(4,)],
        lambda a: a[[0, 0, 1, 2]],
    ),
    Program(
        "a clamp without a range is like its argument",
        "def f(float(N) A) -> (B) { B(i) = A(max(i-1, 0)) }",
        [(4,)],
        lambda a: a,
        ranges=[{"i": (1, 5)}],
    ),
    Program(
        "a clamp at the end without a range",
        "def f(float(N) A) -> (B) { B(i) = A(min(i, N-1)) }",
        [(4,)],
        lambda a: a,
        ranges=[{"i": (0, 4)}],
    ),
    Program(
        "a guard that compares its index keeps the read inside",
        "def f(float(N) A) -> (B) { B(i) = i > 0 ? A(i) - A(i-1) : A(i) }",
        [(4,)],
        lambda a: np.diff(a, prepend=0.0),
        ranges=[{"i": (0, 4)}],
    ),
    Program(
        "a guard on other indices leaves the inference of a convolution alone",
        "def f(float(N) A, float(K) V, bool(K) on) -> (B) { B(i) +=! on(k) ? A(i+k) * V(k) : 0.0 }",
        [(6,), (3,), np.array([True, False, True])],
        lambda a, v, on: np.array([sum(a[i + k] * v[k] for k in (0, 2)) for i in range(4)]),
        ranges=[{"i": (0, 4), "k": (0, 3)}],
    ),
    Program(
        "a remainder of a bounded index",
        "def f(float(N) A) -> (B) { B(i) = A(i % 3) where i in 0:N }",
        [(7,)],
        lambda a: a[np.arange(7) % 3],
    ),
    Program(
        "a stride that is a size",
        "def f(float(N) A, float(K) like) -> (B) { B(i) = A(K*i) }",
        [(7,), (3,)],
        lambda a, like: a[::3],
        ranges=[{"i": (0, 3)}],
    ),
    Program(
        "a convolution of a size's width",
        "def f(float(N) A, float(K) like) -> (B) { B(i) +=! A(i+k) where k in 0:K }",
        [(6,), (3,)],
        lambda a, like: np.convolve(a, np.ones(3), "valid"),
        ranges=[{"i": (0, 4), "k": (0, 3)}],
    ),
    Program(
        "a size in a range does not spoil the next statement",
        "def f(float(N) A) -> (B) { B(i) = A(i) where i in 0:N  B(i) += 1 }",
        [(4,)],
        lambda a: a + 1,
    ),
    Program(
        "ranges of sizes on sums and shifts",
        "def f(float(N) A) -> (B) { B(x) +=! A(x+y) where x in 1:N/2, y in 0:N/2 }",
        [(6,)],
        lambda a: np.array([a[1:4].sum(), a[2:5].sum()]),
    ),
    Program(
        "floor division of two indices",
        "def f(float(N) A) -> (B) { B(i,j) = A((i + j) / 2) where i in 0:4, j in 0:3 }",
        [(4,)],
        lambda a: a[(np.arange(4)[:, None] + np.arange(3)) // 2],
    ),
    Program(
        "a negative stride with an offset",
        "def f(float(N) A) -> (B) { B(i) = A(N - 1 - 2*i) }",
        [(6,)],
        lambda a: a[::-1][::2],
        ranges=[{"i": (0, 3)}],
    ),
    Program(
        "the smallest of three lengths",
        "def f(float(N) A, float(M) B, float(K) C) -> (D) { D +=! A(i) * B(i) * C(i) }",
        [(5,), (3,), (4,)],
        lambda a, b, c: (a[:3] * b * c[:3]).sum(),
    ),
]
