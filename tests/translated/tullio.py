"""Programs of Tullio's manual and tests, and of TensorOperations.jl: Julia's index notations."""

import numpy as np

import tcjax
from tests.translated.case import Array, Results, integers, normal, number, one, uniform


def cells_around(mat: Array, off: Array) -> Array:
    return sum(np.roll(mat, (-a, -b), (0, 1)) for a, b in off)


@tcjax.kernel
def around(mat: "float(H,W)", off: "int32(K,2)"):
    for x in range(H):
        for y in range(W):
            out[x, y] = sum[k](mat[wrap(x + off[k, 0]), wrap(y + off[k, 1])])
    return out


@tcjax.kernel
def downsampled(A):
    B[i] = (A[2 * i] + A[2 * i + 1]) / 2
    return B


@tcjax.kernel
def padded(A):
    for i in range(-3, A.shape[0] - 6 + 3):
        for j in range(6):
            M[i, j] = pad(A[i + j], 0)
    return M


@tcjax.kernel
def weights_of_columns(M):
    most[j]: "max=!" = M[i, j]  # noqa: F722
    total[j] = sum[i](exp(M[i, j] - most[j]))
    S[i, j] = exp(M[i, j] - most[j]) / total[j]
    L[j] = most[j] + log(total[j])
    return S, L


def softmaxes(M: Array) -> Results:
    shares = np.exp(M - M.max(0))
    return shares / shares.sum(0), M.max(0) + np.log(shares.sum(0))


@tcjax.kernel
def smallest_in_columns(D):
    T[j]: "min=!" = D[i, j]  # noqa: F722
    at[j]: "argmin=!" = D[i, j]  # noqa: F722
    return T, at


@tcjax.kernel
def product_of_three(A):
    for k in range(3):
        P[i] *= A[i + k]
    return P


def chosen_product(X: Array, ind: Array, Y: Array) -> Array:
    return np.prod(X[ind] * np.exp(-Y)[:, None], 0)


@tcjax.kernel
def product_of_chosen(X, ind: "int32(K)", Y):
    Z[j] *= X[ind[k], j] * exp(-Y[k])
    return Z


def filtered(A: Array, K: Array) -> Array:
    return np.array([sum(A[i + j - 2] * K[j] for j in range(5)) for i in range(2, len(A) - 2)])


@tcjax.kernel
def convolved(A, K):
    for j in range(-2, 3):
        C[i] += A[i + j] * K[j + 2]
    return C


def pooled(x: Array) -> Array:
    return x.reshape(x.shape[0] // 2, 2, x.shape[1] // 2, 2, -1).max((1, 3))


def hessian_of_ridge(x: Array) -> Array:
    return np.array([np.outer(r, r) for r in x]).sum(0) + 0.1 * np.eye(x.shape[1])


def interpolated(f: Array, t: Array) -> Array:
    return np.interp(t, np.arange(len(f)), f)


TULLIO = (
    one("tullio_outer", "C(x,y) = A(x) * B(y)", lambda A, B: np.outer(A, B), {"A": normal(3), "B": normal(4)}, "A B"),
    one(
        "tullio_accumulate",
        "def f(float(I,J) A0, float(I,K,L) B, float(L,J) C, float(K,J) D) -> (A) {"
        " A(i,j) = A0(i,j)  A(i,j) += B(i,k,l) * C(l,j) * D(k,j) }",
        lambda A, B, C, D: A + np.einsum("ikl,lj,kj->ij", B, C, D),
        {"A": normal(2, 3), "B": normal(2, 4, 5), "C": normal(5, 3), "D": normal(4, 3)},
        "A B C D",
    ),
    one(
        "tullio_product_of_chosen",
        "Z(j) *=! X(ind(k), j) * exp(-Y(k))",
        chosen_product,
        {"X": normal(4, 3), "ind": integers(5, high=4), "Y": normal(5)},
        "X Y",
        python=product_of_chosen,
    ),
    one(
        "tullio_downsample",
        "B(i) = (A(2*i) + A(2*i+1)) / 2",
        lambda A: (A[0::2][:5] + A[1::2]) / 2,
        {"A": normal(11)},
        "A",
        python=downsampled,
    ),
    one(
        "tullio_hankel",
        "M(i,j) = A(i+j) where j in 0:4",
        lambda A: np.array([A[i : i + 4] for i in range(len(A) - 3)]),
        {"A": normal(9)},
        "A",
    ),
    one(
        "tullio_offset_filter",
        "C(i) +=! A(i+j) * K(j+2) where j in -2:3",
        filtered,
        {"A": normal(9), "K": normal(5)},
        "A K",
        python=convolved,
    ),
    one(
        "tullio_indexed_by_values",
        "D(i,j) = A(2*K(j) + i) / K(j) where i in 2:7",
        lambda A, K: np.array([[A[2 * k + i] / k for k in K] for i in range(2, 7)]),
        {"A": normal(11), "K": np.array([1, 2, -1, 2], np.int32)},
        "A",
    ),
    one(
        "tullio_mod",
        "M(i,j) = A(wrap(i+j)) where j in 0:15, i in 0:15",
        lambda A: np.array([[A[(i + j) % len(A)] for j in range(15)] for i in range(15)]),
        {"A": normal(11)},
        "A",
    ),
    one(
        "tullio_clamp",
        "M(i,j) = A(clamp(i+j)) where j in 0:15, i in 0:15",
        lambda A: np.array([[A[min(i + j, len(A) - 1)] for j in range(15)] for i in range(15)]),
        {"A": normal(11)},
        "A",
    ),
    one(
        "tullio_pad",
        "M(i,j) = pad(A(i+j), 0) where j in 0:6, i in -3:A.0-6+3",
        lambda A: np.array([[A[i + j] if 0 <= i + j < len(A) else 0 for j in range(6)] for i in range(-3, 8)]),
        {"A": normal(11)},
        "A",
        python=padded,
    ),
    one(
        "tullio_norms_of_columns",
        "N2(j) = sqrt(sum[i](pow(M(i,j), 2)))",
        lambda M: np.linalg.norm(M, axis=0),
        {"M": normal(4, 3)},
        "M",
    ),
    one(
        "tullio_third_norm",
        "n3 = pow(sum[i](pow(A(i), 3)), 1.0/3)",
        lambda A: np.sum(A**3) ** (1 / 3),
        {"A": uniform(5, low=1, high=2)},
        "A",
    ),
    one(
        "tullio_sliding_product",
        "P(i) *=! A(i+k) where k in 0:3",
        lambda A: A[:-2] * A[1:-1] * A[2:],
        {"A": normal(8)},
        "A",
        python=product_of_three,
    ),
    one("tullio_kept_dimension", "X(i,0) max=! D(i,j)", lambda D: D.max(1, keepdims=True), {"D": normal(3, 4)}, "D"),
    one(
        "tullio_findmin",
        "def f(D) -> (T, at) { T(j) min=! D(i,j)  at(j) argmin=! D(i,j) }",
        lambda D: (D.min(0), D.argmin(0)),
        {"D": normal(5, 4)},
        "D",
        python=smallest_in_columns,
    ),
    one(
        "tullio_neighbourhood",
        "out(x,y) = sum[k](mat(wrap(x + off(k,0)), wrap(y + off(k,1)))) where x in 0:mat.0, y in 0:mat.1",
        cells_around,
        {"mat": normal(5, 6), "off": np.array([(0, 1), (2, -1), (-1, 3), (0, 0)], np.int32)},
        "mat",
        python=around,
    ),
    one(
        "tullio_softmax_of_columns",
        "def f(M) -> (S, L) { L(j) logsumexp=! M(i,j)  S(i,j) = exp(M(i,j) - L(j)) }",
        softmaxes,
        {"M": normal(4, 3)},
        "M",
        python=weights_of_columns,
    ),
    one(
        "tullio_batched_outer",
        "C(b,i,j) +=! A(b,i,k) * B(b,k,j)",
        lambda A, B: A @ B,
        {"A": normal(2, 3, 4), "B": normal(2, 4, 2)},
        "A B",
    ),
    one("tullio_reverse", "B(i) = A(A.0 - 1 - i)", lambda A: A[::-1], {"A": normal(6)}, "A"),
    one(
        "tullio_indices",
        "I(i,j) = i + 10 * j where i in 0:A.0, j in 0:A.0 ",
        lambda A: np.add.outer(np.arange(4), 10 * np.arange(4)),
        {"A": normal(4)},
    ),
    one(
        "tullio_diagonal",
        "def f(float(N) x) -> (float(N,N) D) { D(i,i) = x(i) }",
        lambda x: np.diag(x),
        {"x": normal(4)},
        "x",
    ),
    one("tullio_trace", "t +=! A(i,i)", lambda A: np.array(np.trace(A)), {"A": normal(4, 4)}, "A"),
    one(
        "tullio_all",
        "p(i) all=! A(i,j) > -1.0",
        lambda A: (A > -1.0).all(1),
        {"A": normal(5, 3)},
    ),
    one(
        "tullio_branches",
        "B(i,j) = A(i,j) > 0 && i != j ? log(A(i,j)) : A(j,i) * 2",
        lambda A: np.where((A > 0) & ~np.eye(4, dtype=bool), np.log(np.where(A > 0, A, 1)), 2 * A.T),
        {"A": normal(4, 4)},
        "A",
    ),
    one(
        "tullio_max_pool",
        "P(x,y,c) max=! X(2*x+i, 2*y+j, c) where i in 0:2, j in 0:2",
        pooled,
        {"x": normal(4, 6, 2)},
        "x",
    ),
    one(
        "tullio_constant",
        "def f(float(N,M) x) -> (H) { H(a,b) = sum[n](x(n,a) * x(n,b)) + (a == b ? lambda : 0.0) }",
        hessian_of_ridge,
        {"x": normal(5, 3)},
        "x",
        consts={"lambda": 0.1},
    ),
    one(
        "tullio_interpolation",
        "y(i) = f(int32(floor(t(i)))) * (1 - (t(i) - floor(t(i)))) + f(int32(floor(t(i))) + 1) * (t(i) - floor(t(i)))",
        interpolated,
        {"f": normal(7), "t": uniform(9, low=0.1, high=5.9)},
        "f t",
    ),
    one(
        "tullio_conjugate",
        "z(i,j) = sum[k](A(i,k) * conj(B(j,k)))",
        lambda A, B: A @ B.conj().T,
        {"A": normal(3, 4) + 1j * normal(3, 4, seed=1), "B": normal(2, 4) + 1j * normal(2, 4, seed=1)},
    ),
    one(
        "tullio_three_matrices",
        "D(i,l) +=! A(i,j) * B(j,k) * C(k,l)",
        lambda A, B, C: A @ B @ C,
        {"A": normal(3, 4), "B": normal(4, 5), "C": normal(5, 2)},
        "A B C",
    ),
    one(
        "tullio_mean_subtracted",
        "B(i,j) = A(i,j) - mean[k](A(k,j))",
        lambda A: A - A.mean(0),
        {"A": normal(5, 3)},
        "A",
    ),
    one(
        "tullio_lower_sum",
        "s(i) = sum[j where j < i](A(i,j) * x(j)) + x(i)",
        lambda A, x: np.tril(A, -1) @ x + x,
        {"A": normal(5, 5), "x": normal(5)},
        "A x",
    ),
    one(
        "tullio_second_differences",
        "L(i,j) = x(wrap(i-1),j) + x(wrap(i+1),j) + x(i,wrap(j-1)) + x(i,wrap(j+1)) - 4*x(i,j)",
        lambda x: sum(np.roll(x, s, a) for s in (1, -1) for a in (0, 1)) - 4 * x,
        {"x": normal(4, 5)},
        "x",
    ),
)


def environment(A: Array, B: Array, C: Array, alpha: Array) -> Array:
    return np.einsum("aefcfg,gbe->abc", A, B) + alpha * np.einsum("cab->abc", C)


@tcjax.kernel
def tensors(A, B, C, alpha):
    D[a, b, c] = sum[e, f, g](A[a, e, f, c, f, g] * B[g, b, e]) + alpha[()] * C[c, a, b]
    return D


@tcjax.kernel
def chain(A, M, B):
    out[i, j, p, q] += A[i, a, p] * M[a, b] * B[b, j, q]
    return out


def network(left: Array, A: Array, W: Array, right: Array) -> Array:
    return np.einsum("abc,asd,bstf,cte,dfe->", left, A, W, A, right)


TENSOR_OPERATIONS = (
    one(
        "tensor_environment",
        "D(a,b,c) = sum[e, f, g](A(a,e,f,c,f,g) * B(g,b,e)) + C(c,a,b) * alpha()",
        environment,
        {"A": normal(2, 3, 2, 3, 2, 4), "B": normal(4, 3, 3), "C": normal(3, 2, 3), "alpha": number(0.5)},
        "A B C alpha",
        python=tensors,
    ),
    one(
        "tensor_partial_trace",
        "rho(a,b) +=! psi(a,c) * psi(b,c)",
        lambda psi: psi @ psi.T,
        {"psi": normal(3, 4)},
        "psi",
    ),
    one(
        "tensor_trace_of_pairs",
        "B(a,b) +=! A(a,c,b,c)",
        lambda A: np.einsum("acbc->ab", A),
        {"A": normal(2, 3, 4, 3)},
        "A",
    ),
    one(
        "tensor_two_sites",
        "out(i,j,p,q) +=! A(i,a,p) * M(a,b) * B(b,j,q)",
        lambda A, M, B: np.einsum("iap,ab,bjq->ijpq", A, M, B),
        {"A": normal(2, 3, 2), "M": normal(3, 4), "B": normal(4, 2, 3)},
        "A M B",
        python=chain,
    ),
    one(
        "tensor_expectation",
        "e +=! left(a,b,c) * A(a,s,d) * W(b,s,t,f) * A(c,t,g) * right(d,f,g)",
        network,
        {"left": normal(2, 3, 2), "A": normal(2, 2, 2), "W": normal(3, 2, 2, 3), "right": normal(2, 3, 2)},
        "left A W right",
    ),
    one(
        "tensor_permuted_sum",
        "S(i,j,k) = (T(i,j,k) + T(j,k,i) + T(k,i,j) - T(j,i,k) - T(i,k,j) - T(k,j,i)) / 6",
        lambda T: (
            sum(
                s * T.transpose(p)
                for p, s in (
                    ((0, 1, 2), 1),
                    ((1, 2, 0), 1),
                    ((2, 0, 1), 1),
                    ((1, 0, 2), -1),
                    ((0, 2, 1), -1),
                    ((2, 1, 0), -1),
                )
            )
            / 6
        ),
        {"T": normal(3, 3, 3)},
        "T",
    ),
    one(
        "tensor_scalar",
        "s = sum[i,j](conj(A(i,j)) * A(i,j))",
        lambda A: np.array(np.vdot(A, A)),
        {"A": normal(3, 2) + 1j * normal(3, 2, seed=1)},
    ),
)

CASES = (*TULLIO, *TENSOR_OPERATIONS)
