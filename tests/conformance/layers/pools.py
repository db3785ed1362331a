"""Pools and pointwise layers."""

import numpy as np
from scipy import special

from ..program import Program
from ..windows import relu, windows

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
