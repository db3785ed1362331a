"""Normalisations."""

import numpy as np
from scipy import special

from ..program import Program, real


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
