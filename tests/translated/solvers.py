"""Factorisations and linear systems, whose steps depend on earlier ones."""

import numpy as np

import tcjax
from tests.translated.case import Array, Case, Results, normal, positive, uniform


def cholesky_reference(A: Array) -> Array:
    L = np.zeros_like(A)
    for i in range(len(A)):
        for j in range(i):
            L[i, j] = (A[i, j] - L[i, :j] @ L[j, :j]) / L[j, j]
        L[i, i] = np.sqrt(A[i, i] - L[i, :i] @ L[i, :i])
    return L


CHOLESKY = """
def cholesky(float(N,N) A) -> (L) {
    for i in 0:N {
        for j in 0:i {
            L(i,j) = (A(i,j) - sum[k in 0:j](L(i,k) * L(j,k))) / L(j,j)
        }
        L(i,i) = sqrt(A(i,i) - sum[k in 0:i](L(i,k) * L(i,k)))
    }
}"""

CHOLESKY_BY_COLUMNS = """
def cholesky(float(N,N) A) -> (L) {
    for j in 0:N {
        s(i) = A(i,j) - sum[k in 0:j](L(i,k) * L(j,k))
        L(i,j) = i >= j ? s(i) / sqrt(s(j)) : 0.0
    }
}"""


@tcjax.kernel
def cholesky(A: "float(N,N)"):
    L[i, j] = A[i, j] if j <= i else 0.0
    L[0, 0] = sqrt(A[0, 0])
    for i in range(1, N):
        for j in range(i):
            for k in range(j):
                L[i, j] += -L[i, k] * L[j, k]
            L[i, j] = L[i, j] / L[j, j]
        for k in range(i):
            L[i, i] += -L[i, k] * L[i, k]
        L[i, i] = sqrt(L[i, i])
    return L


def cholesky2_reference(A: Array) -> Array:
    return np.linalg.cholesky(A) + np.triu(A, k=1)


CHOLESKY2 = """
def cholesky2(float(N,N) A) -> (B) {
    for j in 0:N {
        d() = sqrt(A(j,j) - sum[k in 0:j](L(j,k) * L(j,k)))
        L(i,j) = i == j ? d() : (A(i,j) - sum[k in 0:j](L(i,k) * L(j,k))) / d() where i in j:N
    }
    B(i,j) = j > i ? A(i,j) : L(i,j)
}"""


def durbin_reference(r: Array) -> Array:
    y = np.zeros_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, len(r)):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.flip(r[:k]) @ y[:k]) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


DURBIN = """
def durbin(float(N) r) -> (y) {
    y(i) = i == 0 ? -r(0) : 0.0 where i in 0:N
    alpha() = -r(0)
    beta() = 1.0
    for k in 1:N {
        beta() = beta() * (1.0 - alpha() * alpha())
        alpha() = -(r(k) + sum[i in 0:k](r(k-1-i) * y(i))) / beta()
        z(i) = y(i) + alpha() * y(k-1-i) where i in 0:k
        y(i) = z(i) where i in 0:k
        y(k) = alpha()
    }
}"""


@tcjax.kernel
def durbin(r: "float(N)"):
    y[0] = -r[0]
    alpha[()] = -r[0]
    beta[()] = 1.0
    for k in range(1, N):
        beta[()] *= 1.0 - alpha[()] * alpha[()]
        alpha[()] = -(r[k] + sum[i in range(0, k)](r[k - 1 - i] * y[i])) / beta[()]
        for i in range(k):
            z[i] = y[i] + alpha[()] * y[k - 1 - i]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha[()]
    return y


def gramschmidt_reference(A: Array) -> Results:
    Q, R = np.zeros_like(A), np.zeros((A.shape[1], A.shape[1]))
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(A[:, k] @ A[:, k])
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = Q[:, k] @ A[:, j]
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


GRAMSCHMIDT = """
def gramschmidt(float(M,N) A) -> (Q, R) {
    B(i,j) = A(i,j)
    for k in 0:N {
        R(k,k) = sqrt(sum[i](B(i,k) * B(i,k)))
        Q(i,k) = B(i,k) / R(k,k)
        R(k,j) = sum[i](Q(i,k) * B(i,j)) where j in k+1:N
        B(i,j) += -Q(i,k) * R(k,j) where j in k+1:N
    }
}"""


@tcjax.kernel
def gramschmidt(A: "float(M,N)"):
    B[i, j] = A[i, j]
    for k in range(N):
        nrm[()] = sum[i](B[i, k] * B[i, k])
        R[k, k] = sqrt(nrm[()])
        for i in range(M):
            Q[i, k] = B[i, k] / R[k, k]
        for j in range(k + 1, N):
            R[k, j] = sum[i](Q[i, k] * B[i, j])
            for i in range(M):
                B[i, j] += -Q[i, k] * R[k, j]
    return Q, R


def lu_reference(A: Array) -> Array:
    for i in range(len(A)):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[:j, j]) / A[j, j]
        for j in range(i, len(A)):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return A


LU = """
def lu(float(N,N) A) -> (B) {
    for i in 0:N {
        for j in 0:i { B(i,j) = (A(i,j) - sum[k in 0:j](B(i,k) * B(k,j))) / B(j,j) }
        for j in i:N { B(i,j) = A(i,j) - sum[k in 0:i](B(i,k) * B(k,j)) }
    }
}"""

LU_BY_RANKS = """
def lu(float(N,N) A) -> (B) {
    B(i,j) = A(i,j)
    for k in 0:N {
        B(i,k) = B(i,k) / B(k,k) where i > k
        B(i,j) += -B(i,k) * B(k,j) where i > k, j > k
    }
}"""


@tcjax.kernel
def lu(A: "float(N,N)"):
    B[i, j] = A[i, j]
    for i in range(N):
        for j in range(i):
            B[i, j] += -sum[k in range(j)](B[i, k] * B[k, j])
            B[i, j] = B[i, j] / B[j, j]
        for j in range(i, N):
            B[i, j] += -sum[k in range(i)](B[i, k] * B[k, j])
    return B


def ludcmp_reference(A: Array, b: Array) -> Results:
    A = lu_reference(A)
    N = len(A)
    x, y = np.zeros_like(b), np.zeros_like(b)
    for i in range(N):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(N - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x, y


LUDCMP = """
def ludcmp(float(N,N) A, float(N) b) -> (x, y) {
    for i in 0:N {
        for j in 0:i { B(i,j) = (A(i,j) - sum[k in 0:j](B(i,k) * B(k,j))) / B(j,j) }
        for j in i:N { B(i,j) = A(i,j) - sum[k in 0:i](B(i,k) * B(k,j)) }
    }
    for i in 0:N { y(i) = b(i) - sum[j in 0:i](B(i,j) * y(j)) }
    for i in N-1:-1:-1 { x(i) = (y(i) - sum[j in i+1:N](B(i,j) * x(j))) / B(i,i) }
}"""


@tcjax.kernel
def ludcmp(A: "float(N,N)", b: "float(N)"):
    B1 = lu(A)
    for i in range(N):
        y[i] = b[i] - sum[j in range(i)](B1[i, j] * y[j])
    for i in range(N - 1, -1, -1):
        x[i] = (y[i] - sum[j in range(i + 1, N)](B1[i, j] * x[j])) / B1[i, i]
    return x, y


def trisolv_reference(L: Array, b: Array) -> Array:
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


TRISOLV = """
def trisolv(float(N,N) L, float(N) b) -> (x) {
    for i in 0:N { x(i) = (b(i) - sum[j where j < i](L(i,j) * x(j))) / L(i,i) }
}"""


@tcjax.kernel
def trisolv(L: "float(N,N)", b: "float(N)"):
    for i in range(N):
        x[i] = (b[i] - sum[j in range(i)](L[i, j] * x[j])) / L[i, i]
    return x


@tcjax.kernel
def trisolv_in_place(L: "float(N,N)", b: "float(N)"):
    x[i] = b[i]
    for i in range(N):
        for j in range(i):
            x[i] += -L[i, j] * x[j]
        x[i] = x[i] / L[i, i]
    return x


def contour_integral_reference(Ham: Array, int_pts: Array, Y: Array, slab_per_bc: int = 2) -> Results:
    P0, P1 = np.zeros(Y.shape, complex), np.zeros(Y.shape, complex)
    for z in int_pts:
        Tz = np.zeros(Ham.shape[1:], complex)
        for n in range(slab_per_bc + 1):
            Tz += z ** (slab_per_bc / 2 - n) * Ham[n]
        X = np.linalg.solve(Tz, Y)
        if abs(z) < 1.0:
            X = -X
        P0 += X
        P1 += z * X
    return P0, P1


CONTOUR_INTEGRAL = """
def contour_integral(complex64(B,N,N) Ham, complex64(Z) int_pts, complex64(N,M) Y) -> (P0, P1) {
    for z in 0:Z {
        T(i,j) = sum[n](pow(int_pts(z), 1 - n) * Ham(n,i,j))
        X(i,m) = Y(i,m)
        for k in 0:N {
            f(i) = i == k ? 0.0 : T(i,k) / T(k,k) where i in 0:N
            R(j) = T(k,j)
            U(m) = X(k,m)
            T(i,j) = T(i,j) - f(i) * R(j)
            X(i,m) = X(i,m) - f(i) * U(m)
        }
        W(z,i,m) = (abs(int_pts(z)) < 1.0 ? -1.0 : 1.0) * X(i,m) / T(i,i)
    }
    P0(i,m) +=! W(z,i,m)
    P1(i,m) +=! int_pts(z) * W(z,i,m)
}"""


def vadv_reference(utens_stage: Array, u_stage: Array, wcon: Array, u_pos: Array, utens: Array, dtr: Array) -> Array:
    beta_v, bet_m, bet_p = 0.0, 0.5, 0.5
    I, J, K = u_stage.shape
    ccol, dcol, data = np.zeros((I, J, K)), np.zeros((I, J, K)), np.zeros((I, J))
    for k in range(1):
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        cs = gcv * bet_m
        ccol[:, :, k] = gcv * bet_p
        bcol = dtr - ccol[:, :, k]
        correction = -cs * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
        ccol[:, :, k] /= bcol
        dcol[:, :, k] /= bcol
    for k in range(1, K - 1):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        bs, cs = gav * bet_m, gcv * bet_m
        acol = gav * bet_p
        ccol[:, :, k] = gcv * bet_p
        bcol = dtr - acol - ccol[:, :, k]
        correction = -bs * (u_stage[:, :, k - 1] - u_stage[:, :, k]) - cs * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        ccol[:, :, k] *= divided
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided
    for k in range(K - 1, K):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        bs, acol = gav * bet_m, gav * bet_p
        bcol = dtr - acol
        correction = -bs * (u_stage[:, :, k - 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided
    for k in range(K - 1, K - 2, -1):
        data[...] = dcol[:, :, k]
        utens_stage[:, :, k] = dtr * (data - u_pos[:, :, k])
    for k in range(K - 2, -1, -1):
        data[...] = dcol[:, :, k] - ccol[:, :, k] * data
        utens_stage[:, :, k] = dtr * (data - u_pos[:, :, k])
    del beta_v
    return utens_stage


VADV = """
def vadv(float(I,J,K) utens_stage, float(I,J,K) u_stage, float(I1,J,K) wcon, float(I,J,K) u_pos, float(I,J,K) utens,
         float dtr) -> (float(I,J,K) out) {
    gav(i,j,k) = k > 0 ? -0.25 * (wcon(i+1,j,k) + wcon(i,j,k)) : 0.0 where i in 0:I, k in 0:K
    gcv(i,j,k) = k < K-1 ? 0.25 * (wcon(i+1,j,k+1) + wcon(i,j,k+1)) : 0.0 where i in 0:I, k in 0:K
    correction(i,j,k) = -0.5 * gav(i,j,k) * (u_stage(i,j,clamp(k-1)) - u_stage(i,j,k))
                        - 0.5 * gcv(i,j,k) * (u_stage(i,j,clamp(k+1)) - u_stage(i,j,k))
    d(i,j,k) = dtr * u_pos(i,j,k) + utens(i,j,k) + utens_stage(i,j,k) + correction(i,j,k)
    a(i,j,k) = 0.5 * gav(i,j,k)
    b(i,j,k) = dtr - a(i,j,k) - 0.5 * gcv(i,j,k)
    ccol(i,j,0) = 0.5 * gcv(i,j,0) / b(i,j,0)
    dcol(i,j,0) = d(i,j,0) / b(i,j,0)
    for k in 1:K {
        divided(i,j) = 1.0 / (b(i,j,k) - ccol(i,j,k-1) * a(i,j,k))
        ccol(i,j,k) = 0.5 * gcv(i,j,k) * divided(i,j)
        dcol(i,j,k) = (d(i,j,k) - dcol(i,j,k-1) * a(i,j,k)) * divided(i,j)
    }
    x(i,j,K-1) = dcol(i,j,K-1)
    for k in K-2:-1:-1 { x(i,j,k) = dcol(i,j,k) - ccol(i,j,k) * x(i,j,k+1) }
    out(i,j,k) = dtr * (x(i,j,k) - u_pos(i,j,k))
}"""


@tcjax.kernel
def vadv(
    utens_stage: "float(I,J,K)",
    u_stage: "float(I,J,K)",
    wcon: "float(I1,J,K)",
    u_pos: "float(I,J,K)",
    utens: "float(I,J,K)",
    dtr: "float",
):
    for k in range(K):
        for i in range(I):
            for j in range(J):
                gav[i, j] = -0.25 * (wcon[i + 1, j, k] + wcon[i, j, k]) if k > 0 else 0.0
                gcv[i, j] = 0.25 * (wcon[i + 1, j, k + 1] + wcon[i, j, k + 1]) if k < K - 1 else 0.0
                below[i, j] = u_stage[i, j, k - 1] - u_stage[i, j, k] if k > 0 else 0.0
                above[i, j] = u_stage[i, j, k + 1] - u_stage[i, j, k] if k < K - 1 else 0.0
                d[i, j] = dtr * u_pos[i, j, k] + utens[i, j, k] + utens_stage[i, j, k]
                d[i, j] += -0.5 * gav[i, j] * below[i, j] - 0.5 * gcv[i, j] * above[i, j]
                b[i, j] = dtr - 0.5 * gav[i, j] - 0.5 * gcv[i, j]
                if k == 0:
                    ccol[i, j, k] = 0.5 * gcv[i, j] / b[i, j]
                    dcol[i, j, k] = d[i, j] / b[i, j]
                if k > 0:
                    ccol[i, j, k] = 0.5 * gcv[i, j] / (b[i, j] - 0.5 * ccol[i, j, k - 1] * gav[i, j])
                    dcol[i, j, k] = (d[i, j] - 0.5 * dcol[i, j, k - 1] * gav[i, j]) / (
                        b[i, j] - 0.5 * ccol[i, j, k - 1] * gav[i, j]
                    )
    for k in range(K - 1, -1, -1):
        x[i, j, k] = dcol[i, j, k] - ccol[i, j, k] * x[i, j, k + 1] if k < K - 1 else dcol[i, j, k]
        out[i, j, k] = dtr * (x[i, j, k] - u_pos[i, j, k])
    return out


DOMINANT = positive(6)
POINTS = np.exp(2j * np.pi * (np.arange(6) + 0.5) / 6) * np.array([1.6, 0.5, 1.6, 0.5, 1.6, 0.5])
COMPLEX = normal(3, 3, 3) + 1j * normal(3, 3, 3, seed=1) + 5 * np.eye(3)

CASES = (
    Case(
        "cholesky",
        cholesky_reference,
        {"text": tcjax.kernel(CHOLESKY), "columns": tcjax.kernel(CHOLESKY_BY_COLUMNS), "python": cholesky},
        {"A": DOMINANT},
        ("A",),
    ),
    Case("cholesky2", cholesky2_reference, {"text": tcjax.kernel(CHOLESKY2)}, {"A": DOMINANT}),
    Case(
        "durbin",
        durbin_reference,
        {"text": tcjax.kernel(DURBIN), "python": durbin},
        {"r": uniform(6, low=-0.3, high=0.3)},
        ("r",),
    ),
    Case(
        "gramschmidt",
        gramschmidt_reference,
        {"text": tcjax.kernel(GRAMSCHMIDT), "python": gramschmidt},
        {"A": normal(6, 4)},
        ("A",),
    ),
    Case(
        "lu",
        lu_reference,
        {"text": tcjax.kernel(LU), "ranks": tcjax.kernel(LU_BY_RANKS), "python": lu},
        {"A": DOMINANT},
        ("A",),
    ),
    Case(
        "ludcmp",
        ludcmp_reference,
        {"text": tcjax.kernel(LUDCMP), "python": ludcmp},
        {"A": DOMINANT, "b": normal(6)},
        ("A", "b"),
    ),
    Case(
        "trisolv",
        trisolv_reference,
        {"text": tcjax.kernel(TRISOLV), "python": trisolv, "in_place": trisolv_in_place},
        {"L": DOMINANT, "b": normal(6)},
        ("L", "b"),
    ),
    Case(
        "contour_integral",
        contour_integral_reference,
        {"text": tcjax.kernel(CONTOUR_INTEGRAL)},
        {"Ham": COMPLEX, "int_pts": POINTS, "Y": normal(3, 2) + 0j},
    ),
    Case(
        "vadv",
        vadv_reference,
        {"text": tcjax.kernel(VADV), "python": vadv},
        {
            "utens_stage": normal(3, 4, 5),
            "u_stage": normal(3, 4, 5, seed=1),
            "wcon": normal(4, 4, 5),
            "u_pos": normal(3, 4, 5, seed=2),
            "utens": normal(3, 4, 5, seed=3),
            "dtr": np.array(3.0),
        },
        ("utens_stage", "u_stage", "wcon", "u_pos", "dtr"),
    ),
)
