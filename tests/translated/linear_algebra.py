"""Products of matrices and vectors: the kernels that PolyBench calls BLAS and linear algebra."""

import numpy as np

import tcjax
from tests.translated.case import Array, Case, Results, normal, number


def atax_reference(A: Array, x: Array) -> Array:
    return A.T @ (A @ x)


@tcjax.kernel
def atax(A: "float(M,N)", x: "float(N)"):
    tmp[i] += A[i, j] * x[j]
    y[j] += A[i, j] * tmp[i]
    return y


ATAX = """
def atax(float(M,N) A, float(N) x) -> (y) {
    tmp(i) +=! A(i,j) * x(j)
    y(j) +=! A(i,j) * tmp(i)
}"""


def bicg_reference(A: Array, p: Array, r: Array) -> Results:
    return r @ A, A @ p


BICG = """
def bicg(float(N,M) A, float(M) p, float(N) r) -> (s, q) {
    s(j) +=! r(i) * A(i,j)
    q(i) +=! A(i,j) * p(j)
}"""


def gemm_reference(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Array:
    return alpha * A @ B + beta * C


GEMM = """
def gemm(float alpha, float beta, float(M,N) C, float(M,K) A, float(K,N) B) -> (D) {
    D(i,j) = beta * C(i,j)
    D(i,j) += alpha * A(i,k) * B(k,j)
}"""


@tcjax.kernel
def gemm_in_one(alpha, beta, C, A, B):
    D[i, j] = alpha * sum[k](A[i, k] * B[k, j]) + beta * C[i, j]
    return D


@tcjax.kernel
def gemm_with_loops(alpha: "float", beta: "float", C: "float(M,N)", A: "float(M,K)", B: "float(K,N)"):
    for i in range(M):
        for j in range(N):
            D[i, j] = C[i, j] * beta
            for k in range(K):
                D[i, j] += alpha * A[i, k] * B[k, j]
    return D


def gemver_reference(
    alpha: Array,
    beta: Array,
    A: Array,
    u1: Array,
    v1: Array,
    u2: Array,
    v2: Array,
    w: Array,
    x: Array,
    y: Array,
    z: Array,
) -> Results:
    A = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = x + beta * y @ A + z
    w = w + alpha * A @ x
    return A, w, x


GEMVER = """
def gemver(float alpha, float beta, float(N,N) A, float(N) u1, float(N) v1, float(N) u2, float(N) v2, float(N) w,
           float(N) x, float(N) y, float(N) z) -> (B, w1, x1) {
    B(i,j) = A(i,j) + u1(i) * v1(j) + u2(i) * v2(j)
    x1(i) = x(i) + z(i)
    x1(i) += beta * y(j) * B(j,i)
    w1(i) = w(i)
    w1(i) += alpha * B(i,j) * x1(j)
}"""


def gesummv_reference(alpha: Array, beta: Array, A: Array, B: Array, x: Array) -> Array:
    return alpha * A @ x + beta * B @ x


GESUMMV = """
def gesummv(float alpha, float beta, float(N,N) A, float(N,N) B, float(N) x) -> (y) {
    y(i) +=! (alpha * A(i,j) + beta * B(i,j)) * x(j)
}"""


def k2mm_reference(alpha: Array, beta: Array, A: Array, B: Array, C: Array, D: Array) -> Array:
    return alpha * A @ B @ C + beta * D


K2MM = """
def k2mm(float alpha, float beta, float(I,K) A, float(K,J) B, float(J,L) C, float(I,L) D) -> (E) {
    tmp(i,j) +=! alpha * A(i,k) * B(k,j)
    E(i,l) = beta * D(i,l)
    E(i,l) += tmp(i,j) * C(j,l)
}"""


@tcjax.kernel
def k2mm_in_one(alpha, beta, A, B, C, D):
    E[i, l] = alpha * sum[k, j](A[i, k] * B[k, j] * C[j, l]) + beta * D[i, l]
    return E


def k3mm_reference(A: Array, B: Array, C: Array, D: Array) -> Array:
    return A @ B @ C @ D


K3MM = """
def k3mm(float(I,K) A, float(K,J) B, float(J,M) C, float(M,L) D) -> (G) {
    E(i,j) +=! A(i,k) * B(k,j)
    F(j,l) +=! C(j,m) * D(m,l)
    G(i,l) +=! E(i,j) * F(j,l)
}"""


def mvt_reference(x1: Array, x2: Array, y_1: Array, y_2: Array, A: Array) -> Results:
    return x1 + A @ y_1, x2 + y_2 @ A


MVT = """
def mvt(float(N) x1, float(N) x2, float(N) y_1, float(N) y_2, float(N,N) A) -> (z1, z2) {
    z1(i) = x1(i) + sum[j](A(i,j) * y_1(j))
    z2(i) = x2(i) + sum[j](A(j,i) * y_2(j))
}"""


def doitgen_reference(A: Array, C4: Array) -> Array:
    return np.einsum("rqs,sp->rqp", A, C4)


DOITGEN = """
def doitgen(float(R,Q,P) A, float(P,P) C4) -> (B) {
    B(r,q,p) +=! A(r,q,s) * C4(s,p)
}"""


@tcjax.kernel
def doitgen_in_steps(A: "float(R,Q,P)", C4: "float(P,P)"):
    for r in range(R):
        for q in range(Q):
            for p in range(P):
                total[p] = sum[s](A[r, q, s] * C4[s, p])
            for p in range(P):
                B[r, q, p] = total[p]
    return B


def symm_reference(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Array:
    result = beta * C
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            second = 0.0
            for k in range(i):
                result[k, j] += alpha * B[i, j] * A[i, k]
                second += B[k, j] * A[i, k]
            result[i, j] += alpha * B[i, j] * A[i, i] + alpha * second
    return result


SYMM = """
def symm(float alpha, float beta, float(M,N) C, float(M,M) A, float(M,N) B) -> (D) {
    D(i,j) = beta * C(i,j)
    D(k,j) += alpha * B(i,j) * A(i,k) where k < i
    D(i,j) += alpha * B(k,j) * A(i,k) where k < i
    D(i,j) = D(i,j) + alpha * B(i,j) * A(i,i)
}"""

SYMM_OF_A_SYMMETRIC_MATRIX = """
def symm(float alpha, float beta, float(M,N) C, float(M,M) A, float(M,N) B) -> (D) {
    D(i,j) = beta * C(i,j) + alpha * sum[k]((k <= i ? A(i,k) : A(k,i)) * B(k,j))
}"""


@tcjax.kernel
def symm_in_steps(alpha: "float", beta: "float", C: "float(M,N)", A: "float(M,M)", B: "float(M,N)"):
    D[i, j] = beta * C[i, j]
    for i in range(M):
        for j in range(N):
            for k in range(i):
                D[k, j] += alpha * B[i, j] * A[i, k]
            temp2[j] = sum[k in range(0, i)](B[k, j] * A[i, k])
            D[i, j] += alpha * B[i, j] * A[i, i] + alpha * temp2[j]
    return D


def syrk_reference(alpha: Array, beta: Array, C: Array, A: Array) -> Array:
    lower = np.tril(np.ones(C.shape))
    return np.where(lower == 1, beta * C + alpha * A @ A.T, C)


SYRK = """
def syrk(float alpha, float beta, float(N,N) C, float(N,M) A) -> (D) {
    D(i,j) = C(i,j)
    D(i,j) = beta * C(i,j) where j <= i
    D(i,j) += alpha * A(i,k) * A(j,k) where j <= i
}"""


@tcjax.kernel
def syrk_with_loops(alpha: "float", beta: "float", C: "float(N,N)", A: "float(N,M)"):
    for i in range(N):
        for j in range(N):
            D[i, j] = C[i, j]
            if j <= i:
                D[i, j] = beta * C[i, j] + alpha * sum[k](A[i, k] * A[j, k])
    return D


SYRK_WITH_A_RANGE = """
def syrk(float alpha, float beta, float(N,N) C, float(N,M) A) -> (D) {
    D(i,j) = C(i,j)
    D(i,j) = beta * C(i,j) + alpha * sum[k](A(i,k) * A(j,k)) where i in 0:N, j in 0:i+1
}"""


def syr2k_reference(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Array:
    lower = np.tril(np.ones(C.shape))
    return np.where(lower == 1, beta * C + alpha * A @ B.T + alpha * B @ A.T, C)


SYR2K = """
def syr2k(float alpha, float beta, float(N,N) C, float(N,M) A, float(N,M) B) -> (D) {
    D(i,j) = j <= i ? beta * C(i,j) + sum[k](A(j,k) * alpha * B(i,k) + B(j,k) * alpha * A(i,k)) : C(i,j)
}"""


@tcjax.kernel
def syr2k_in_steps(alpha: "float", beta: "float", C: "float(N,N)", A: "float(N,M)", B: "float(N,M)"):
    D[i, j] = C[i, j] * (beta if j <= i else 1.0)
    for i in range(N):
        for k in range(M):
            for j in range(i + 1):
                D[i, j] += A[j, k] * alpha * B[i, k] + B[j, k] * alpha * A[i, k]
    return D


def trmm_reference(alpha: Array, A: Array, B: Array) -> Array:
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += A[i + 1 :, i] @ B[i + 1 :, j]
    return alpha * B


TRMM = """
def trmm(float alpha, float(M,M) A, float(M,N) B) -> (C) {
    C(i,j) = alpha * (B(i,j) + sum[k where k > i](A(k,i) * B(k,j)))
}"""


@tcjax.kernel
def trmm_in_steps(alpha: "float", A: "float(M,M)", B: "float(M,N)"):
    C[i, j] = B[i, j]
    for i in range(M):
        for j in range(N):
            for k in range(i + 1, M):
                C[i, j] += A[k, i] * B[k, j]
    D[i, j] = alpha * C[i, j]
    return D


def arguments_of_products(M: int, N: int, K: int) -> dict[str, Array]:
    return {"alpha": number(1.5), "beta": number(1.2), "C": normal(M, N), "A": normal(M, K), "B": normal(K, N)}


VECTORS = {name: normal(6, seed=n) for n, name in enumerate(("u1", "v1", "u2", "v2", "w", "x", "y", "z"))}
SCALES = {"alpha": number(1.5), "beta": number(1.2)}

CASES = (
    Case(
        "atax",
        atax_reference,
        {"text": tcjax.kernel(ATAX), "python": atax},
        {"A": normal(5, 4), "x": normal(4)},
        ("A", "x"),
    ),
    Case(
        "bicg",
        bicg_reference,
        {"text": tcjax.kernel(BICG)},
        {"A": normal(5, 4), "p": normal(4), "r": normal(5)},
        ("A", "p", "r"),
    ),
    Case(
        "gemm",
        gemm_reference,
        {"text": tcjax.kernel(GEMM), "in_one": gemm_in_one, "loops": gemm_with_loops},
        arguments_of_products(4, 5, 3),
        ("alpha", "beta", "C", "A", "B"),
    ),
    Case(
        "gemver",
        gemver_reference,
        {"text": tcjax.kernel(GEMVER)},
        SCALES | {"A": normal(6, 6)} | VECTORS,
        ("alpha", "A", "u1", "v2", "y", "z"),
    ),
    Case(
        "gesummv",
        gesummv_reference,
        {"text": tcjax.kernel(GESUMMV)},
        SCALES | {"A": normal(6, 6), "B": normal(6, 6, seed=1), "x": normal(6)},
        ("alpha", "beta", "A", "B", "x"),
    ),
    Case(
        "k2mm",
        k2mm_reference,
        {"text": tcjax.kernel(K2MM), "in_one": k2mm_in_one},
        SCALES | {"A": normal(4, 3), "B": normal(3, 5), "C": normal(5, 6), "D": normal(4, 6)},
        ("alpha", "beta", "A", "B", "C", "D"),
    ),
    Case(
        "k3mm",
        k3mm_reference,
        {"text": tcjax.kernel(K3MM)},
        {"A": normal(4, 3), "B": normal(3, 5), "C": normal(5, 6), "D": normal(6, 2)},
        ("A", "B", "C", "D"),
    ),
    Case(
        "mvt",
        mvt_reference,
        {"text": tcjax.kernel(MVT)},
        {name: normal(6, seed=n) for n, name in enumerate(("x1", "x2", "y_1", "y_2"))} | {"A": normal(6, 6)},
        ("x1", "y_1", "y_2", "A"),
    ),
    Case(
        "doitgen",
        doitgen_reference,
        {"text": tcjax.kernel(DOITGEN), "steps": doitgen_in_steps},
        {"A": normal(3, 4, 5), "C4": normal(5, 5)},
        ("A", "C4"),
    ),
    Case(
        "symm",
        symm_reference,
        {
            "text": tcjax.kernel(SYMM),
            "symmetric": tcjax.kernel(SYMM_OF_A_SYMMETRIC_MATRIX),
            "steps": symm_in_steps,
        },
        SCALES | {"C": normal(5, 4), "A": normal(5, 5), "B": normal(5, 4, seed=1)},
        ("alpha", "beta", "C", "A", "B"),
    ),
    Case(
        "syrk",
        syrk_reference,
        {"text": tcjax.kernel(SYRK), "loops": syrk_with_loops, "range": tcjax.kernel(SYRK_WITH_A_RANGE)},
        SCALES | {"C": normal(5, 5), "A": normal(5, 4)},
        ("alpha", "beta", "C", "A"),
    ),
    Case(
        "syr2k",
        syr2k_reference,
        {"text": tcjax.kernel(SYR2K), "steps": syr2k_in_steps},
        SCALES | {"C": normal(5, 5), "A": normal(5, 4), "B": normal(5, 4, seed=1)},
        ("alpha", "beta", "C", "A", "B"),
    ),
    Case(
        "trmm",
        trmm_reference,
        {"text": tcjax.kernel(TRMM), "steps": trmm_in_steps},
        {"alpha": number(1.5), "A": normal(5, 5), "B": normal(5, 4)},
        ("alpha", "A", "B"),
    ),
)
