"""Products of tensors."""

import numpy as np

from ..program import Program
from ..windows import windows

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
        "def f(float(N,K) A, float(K,M) B, float(N,M) C) -> (O) {"
        " O(i,j) +=! A(i,k) * B(k,j)  O(i,j) = O(i,j) + C(i,j) }",
        [(2, 3), (3, 4), (2, 4)],
        lambda a, b, c: a @ b + c,
    ),
    Program(
        "tensor dot",
        "def td(float(N,C1,C2,H,W) P, float(N,C2,C3,H,W) Q) -> (O) {"
        " O(n,c1,c3,h,w) +=! P(n,c1,c2,h,w) * Q(n,c2,c3,h,w) }",
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
