"""Lookups in tables and the algorithms around them."""

import numpy as np

from ..program import Program, below

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
        "def mindis(float(K,M,256) L, uint8(N,M) C) -> (S, V, At) { S(k,n) +=! L(k, r, int32(C(n,r)))"
        " V(k) min=! S(k,r)  At(k) min=! (S(k,r) == V(k)) ? r : N }",
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
