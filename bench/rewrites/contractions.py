"""Sums of products: a chain of matrices, products with scales and offsets, a bilinear form, MTTKRP, Kronecker."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..cases.case import normals
from .computation import Computation, definitions

# (I, J, K, L, M)
CHAIN_SIZES = {"small": (3, 4, 5, 6, 7), "full": (512, 256, 384, 128, 512)}
# (B, N, K)
DENSE_SIZES = {"small": (4, 5, 6), "full": (512, 512, 512)}
# (B, H, Q, K, E)
BATCHED_SIZES = {"small": (2, 3, 4, 5, 6), "full": (8, 8, 128, 128, 64)}
# (B, O, I, J)
BILINEAR_SIZES = {"small": (3, 4, 5, 6), "full": (128, 64, 64, 64)}
# (I, J, K, R)
MTTKRP_SIZES = {"small": (4, 3, 5, 2), "full": (128, 128, 128, 32)}
# (N, M)
GESUMMV_SIZES = {"small": (5, 4), "full": (1536, 1536)}
# (I, J, P, Q)
KRONECKER_SIZES = {"small": (3, 4, 2, 5), "full": (128, 64, 16, 16)}


def computations(size: str) -> Iterator[Computation]:
    """The sums of products at `size`."""
    yield chain(*CHAIN_SIZES[size])
    yield dense(*DENSE_SIZES[size])
    yield batched(*BATCHED_SIZES[size])
    yield bilinear(*BILINEAR_SIZES[size])
    yield mttkrp(*MTTKRP_SIZES[size])
    yield gesummv(*GESUMMV_SIZES[size])
    yield kronecker(*KRONECKER_SIZES[size])


def chain(i: int, j: int, k: int, l: int, m: int) -> Computation:
    """Four matrices in a row, divided by a number."""
    return Computation(
        name="chain",
        make_arrays=lambda rng: normals(rng, (i, j), (j, k), (k, l), (l, m)),
        reference=lambda A, B, C, E: A @ B @ C @ E / 64,
        forms={
            "einsum": lambda A, B, C, E: jnp.einsum("ij,jk,kl,lm->im", A, B, C, E) / 64,
            "left_to_right": lambda A, B, C, E: ((A @ B) @ C) @ E / 64,
            "right_to_left": lambda A, B, C, E: A @ (B @ (C @ E)) / 64,
            "two_pairs": lambda A, B, C, E: (A @ B) @ (C @ E) / 64,
            "middle_first": lambda A, B, C, E: (A @ (B @ C)) @ (E / 64),
        },
        spellings={
            **definitions(
                "def chain(float(I,J) A, float(J,K) B, float(K,L) C, float(L,M) E) -> (o)",
                {
                    "quotient_after": "o(i,m) +=! A(i,j) * B(j,k) * C(k,l) * E(l,m)\no(i,m) = o(i,m) / 64",
                    "quotient_inside": "o(i,m) +=! A(i,j) * B(j,k) * C(k,l) * E(l,m) / 64",
                    "reciprocal_inside": "o(i,m) +=! A(i,j) * B(j,k) * C(k,l) * E(l,m) * 0.015625",
                    "scale_in_front": "o(i,m) +=! 0.015625 * A(i,j) * B(j,k) * C(k,l) * E(l,m)",
                    "scale_on_one_factor": "o(i,m) +=! A(i,j) * (B(j,k) / 64) * C(k,l) * E(l,m)",
                    "grouped_in_pairs": "o(i,m) +=! (A(i,j) * B(j,k)) * (C(k,l) * E(l,m)) / 64",
                    "grouped_from_the_right": "o(i,m) +=! A(i,j) * (B(j,k) * (C(k,l) * E(l,m))) / 64",
                    "factors_reversed": "o(i,m) +=! E(l,m) * C(k,l) * B(j,k) * A(i,j) / 64",
                    "factors_shuffled": "o(i,m) +=! A(i,j) * C(k,l) * E(l,m) * B(j,k) / 64",
                    "zero_then_add": """
o(i,m) = 0.0 where i in 0:I, m in 0:M
o(i,m) += A(i,j) * B(j,k) * C(k,l) * E(l,m) / 64""",
                    "inline_sum": "o(i,m) = sum[j,k,l](A(i,j) * B(j,k) * C(k,l) * E(l,m)) / 64",
                    "nested_sums": "o(i,m) = sum[l](sum[k](sum[j](A(i,j) * B(j,k)) * C(k,l)) * E(l,m)) / 64",
                    "nested_sums_scaled_inside": (
                        "o(i,m) = sum[l](sum[k](sum[j](A(i,j) * B(j,k) / 64) * C(k,l)) * E(l,m))"
                    ),
                    "named_left_to_right": """
AB(i,k) +=! A(i,j) * B(j,k)
ABC(i,l) +=! AB(i,k) * C(k,l)
o(i,m) +=! ABC(i,l) * E(l,m) / 64""",
                    "named_pairs": """
AB(i,k) +=! A(i,j) * B(j,k)
CE(k,m) +=! C(k,l) * E(l,m)
o(i,m) +=! AB(i,k) * CE(k,m) / 64""",
                    "two_halves": """
o(i,m) = (sum[j in 0:J/2, k, l](A(i,j) * B(j,k) * C(k,l) * E(l,m))
  + sum[j in J/2:J, k, l](A(i,j) * B(j,k) * C(k,l) * E(l,m))) / 64""",
                    "two_halves_guarded": """
o(i,m) +=! A(i,j) * B(j,k) * C(k,l) * E(l,m) / 64 where j < J/2
o(i,m) += A(i,j) * B(j,k) * C(k,l) * E(l,m) / 64 where j >= J/2""",
                    "reversed_indices": "o(i,m) +=! A(i,J-1-j) * B(J-1-j,k) * C(k,L-1-l) * E(L-1-l,m) / 64",
                    "transposed_names": """
T(k,i) +=! A(i,j) * B(j,k)
U(m,k) +=! C(k,l) * E(l,m)
o(i,m) +=! T(k,i) * U(m,k) / 64""",
                    "scalar_named": """
s = 1.0 / 64.0
o(i,m) +=! s * A(i,j) * B(j,k) * C(k,l) * E(l,m)""",
                    "unit_axis": """
X(u,i,j) = A(i,j) where u in 0:1
Y(u,i,m) +=! X(u,i,j) * B(j,k) * C(k,l) * E(l,m) / 64
o(i,m) = Y(0,i,m)""",
                },
            ),
            "python": _chain,
            "sac": """
float[p,t] chain(float[p,q] A, float[q,r] B, float[r,s] C, float[s,t] E) {
    return { [i,m] -> sum({ [j,k,l] -> A[i,j] * B[j,k] * C[k,l] * E[l,m] / 64.0 }) };
}""",
            "sac_functions": """
float[p,r] times(float[p,q] A, float[q,r] B) { return { [i,j] -> sum({ [k] -> A[i,k] * B[k,j] }) }; }
float[p,t] chain(float[p,q] A, float[q,r] B, float[r,s] C, float[s,t] E) {
    return times(times(times(A, B), C), E) / 64.0;
}""",
        },
        tolerance=1e-3,
    )


def _chain(A: "float(I,J)", B: "float(J,K)", C: "float(K,L)", E: "float(L,M)"):
    o[i, m] += A[i, j] * B[j, k] * C[k, l] * E[l, m] / 64
    return o


def dense(b: int, n: int, k: int) -> Computation:
    """A product with a transposed matrix, times a parameter, and an offset."""
    return Computation(
        name="dense",
        make_arrays=lambda rng: (*normals(rng, (b, k), (n, k), (n,)), np.float32(0.125)),
        reference=lambda x, W, c, s: s * (x @ W.T) + c,
        forms={
            "matmul": lambda x, W, c, s: s * (x @ W.T) + c,
            "einsum": lambda x, W, c, s: s * jnp.einsum("bk,nk->bn", x, W) + c,
            "scaled_input": lambda x, W, c, s: (s * x) @ W.T + c,
            "scaled_weights": lambda x, W, c, s: x @ (s * W).T + c,
        },
        spellings={
            **definitions(
                "def dense(float(B,K) x, float(N,K) W, float(N) c, float s) -> (y)",
                {
                    "product_then_scale": "y(b,n) +=! x(b,k) * W(n,k)\ny(b,n) = s * y(b,n) + c(n)",
                    "named_product": "h(b,n) +=! x(b,k) * W(n,k)\ny(b,n) = s * h(b,n) + c(n)",
                    "inline_sum": "y(b,n) = s * sum[k](x(b,k) * W(n,k)) + c(n)",
                    "inline_sum_swapped": "y(b,n) = c(n) + sum[k](W(n,k) * x(b,k)) * s",
                    "scale_inside": "y(b,n) = sum[k](s * x(b,k) * W(n,k)) + c(n)",
                    "scale_last_inside": "y(b,n) = sum[k](x(b,k) * W(n,k) * s) + c(n)",
                    "scale_on_weights": "y(b,n) = sum[k](x(b,k) * (s * W(n,k))) + c(n)",
                    "offset_then_add": "y(b,n) = c(n) where b in 0:B\ny(b,n) += s * x(b,k) * W(n,k)",
                    "transposed_weights": """
V(k,n) = W(n,k)
y(b,n) = s * sum[k](x(b,k) * V(k,n)) + c(n)""",
                    "scaled_weights_named": """
V(n,k) = s * W(n,k)
h(b,n) +=! x(b,k) * V(n,k)
y(b,n) = h(b,n) + c(n)""",
                    "transposed_result": """
h(n,b) +=! x(b,k) * W(n,k)
y(b,n) = s * h(n,b) + c(n)""",
                    "two_halves": """
y(b,n) = c(n) + s * sum[k in 0:K/2](x(b,k)*W(n,k)) + s * sum[k in K/2:K](x(b,k)*W(n,k))""",
                    "offset_in_sum": "y(b,n) = s * sum[k in 0:K+1](k < K ? x(b,k)*W(n,k) : c(n)/s)",
                    "augmented": """
X(b,k) = k < K ? s*x(b,k) : 1.0 where k in 0:K+1, b in 0:B
V(n,k) = k < K ? W(n,k) : c(n) where k in 0:K+1, n in 0:N
y(b,n) +=! X(b,k) * V(n,k)""",
                    "fma": "y(b,n) = fma(s, sum[k](x(b,k)*W(n,k)), c(n))",
                    "unit_axis": """
X(b,u,k) = x(b,k) where u in 0:1
h(b,u,n) +=! X(b,u,k) * W(n,k)
y(b,n) = h(b,0,n) * s + c(n)""",
                },
            ),
            "python": _dense,
            "sac": """
float[p,r] dense(float[p,q] x, float[r,q] W, float[r] c, float s) {
    return { [b,n] -> s * sum({ [k] -> x[b,k] * W[n,k] }) + c[n] };
}""",
            "sac_rows": """
float[p,r] dense(float[p,q] x, float[r,q] W, float[r] c, float s) {
    return { [b,n] -> sum(s * x[b] * W[n]) + c[n] };
}""",
        },
        tolerance=1e-3,
    )


def _dense(x: "float(B,K)", W: "float(N,K)", c: "float(N)", s: "float"):
    h[b, n] += x[b, k] * W[n, k]
    y[b, n] = s * h[b, n] + c[n]
    return y


def batched(b: int, h: int, q: int, k: int, e: int) -> Computation:
    """A product for each batch element and head, whose axes are in different positions."""
    return Computation(
        name="batched",
        make_arrays=lambda rng: normals(rng, (b, h, q, k), (b, k, h, e)),
        reference=lambda P, V: 0.125 * (P @ V.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3),
        forms={
            "einsum": lambda P, V: 0.125 * jnp.einsum("bhqk,bkhe->bqhe", P, V),
            "matmul": lambda P, V: 0.125 * (P @ V.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3),
            "scaled_operand": lambda P, V: jnp.einsum("bhqk,bkhe->bqhe", P, 0.125 * V),
        },
        spellings={
            **definitions(
                "def batched(float(B,H,Q,K) P, float(B,K,H,E) V) -> (Z)",
                {
                    "product_then_scale": "Z(b,q,h,e) +=! P(b,h,q,k) * V(b,k,h,e)\nZ(b,q,h,e) = 0.125 * Z(b,q,h,e)",
                    "scale_inside": "Z(b,q,h,e) +=! 0.125 * P(b,h,q,k) * V(b,k,h,e)",
                    "quotient_inside": "Z(b,q,h,e) +=! P(b,h,q,k) * V(b,k,h,e) / 8",
                    "quotient_swapped": "Z(b,q,h,e) +=! V(b,k,h,e) * (P(b,h,q,k) / 8.0)",
                    "inline_sum": "Z(b,q,h,e) = sum[k](P(b,h,q,k) * V(b,k,h,e)) / 8",
                    "inline_sum_root": "Z(b,q,h,e) = sum[k](P(b,h,q,k) * V(b,k,h,e)) / sqrt(64.0)",
                    "zero_then_add": """
Z(b,q,h,e) = 0.0 where b in 0:B, q in 0:Q, h in 0:H, e in 0:E
Z(b,q,h,e) += P(b,h,q,k) * V(b,k,h,e) / 8""",
                    "transposed_operand": """
T(b,h,k,e) = V(b,k,h,e)
Z(b,q,h,e) +=! 0.125 * P(b,h,q,k) * T(b,h,k,e)""",
                    "transposed_result": """
T(b,h,q,e) +=! P(b,h,q,k) * V(b,k,h,e)
Z(b,q,h,e) = 0.125 * T(b,h,q,e)""",
                    "scaled_operand": """
S(b,h,q,k) = P(b,h,q,k) / 8
Z(b,q,h,e) +=! S(b,h,q,k) * V(b,k,h,e)""",
                    "two_halves": """
Z(b,q,h,e) = 0.125 * sum[k in 0:K/2](P(b,h,q,k) * V(b,k,h,e))
Z(b,q,h,e) += 0.125 * sum[k in K/2:K](P(b,h,q,k) * V(b,k,h,e))""",
                    "reversed_index": "Z(b,q,h,e) +=! P(b,h,q,K-1-k) * V(b,K-1-k,h,e) / 8",
                    "flat_batch": """
U(g,q,k) = P(g/H,g%H,q,k) where g in 0:B*H
X(g,k,e) = V(g/H,k,g%H,e) where g in 0:B*H
Y(g,q,e) +=! U(g,q,k) * X(g,k,e)
Z(b,q,h,e) = Y(b*H+h,q,e) / 8 where b in 0:B, h in 0:H""",
                    "unit_axis": """
U(b,h,g,q,k) = P(b,h,q,k) where g in 0:1
Z(b,q,h,e) +=! U(b,h,g,q,k) * V(b,k,h,e) / 8""",
                },
            ),
            "python": _batched,
            "sac": "{ [b,q,h,e] -> sum({ [k] -> P[b,h,q,k] * V[b,k,h,e] }) / 8.0 }",
            "sac_columns": "{ [b,q,h,e] -> sum(0.125 * P[b,h,q] * V[b,.,h,e]) }",
        },
        tolerance=1e-3,
    )


def _batched(P: "float(B,H,Q,K)", V: "float(B,K,H,E)"):
    Z[b, q, h, e] = sum[k](P[b, h, q, k] * V[b, k, h, e]) / 8
    return Z


def bilinear(b: int, o: int, i: int, j: int) -> Computation:
    """``x W y`` for each matrix of a stack and each pair of vectors of a batch."""
    return Computation(
        name="bilinear",
        make_arrays=lambda rng: normals(rng, (b, i), (o, i, j), (b, j)),
        reference=lambda x, W, y: np.einsum("boi,bi->bo", np.einsum("oij,bj->boi", W, y, optimize=True), x),
        forms={
            "einsum": lambda x, W, y: jnp.einsum("bi,oij,bj->bo", x, W, y),
            "y_first": lambda x, W, y: (jnp.einsum("oij,bj->boi", W, y) * x[:, None, :]).sum(-1),
            "x_first": lambda x, W, y: (jnp.einsum("oij,bi->boj", W, x) * y[:, None, :]).sum(-1),
            "outer_product": lambda x, W, y: (
                (x[:, :, None] * y[:, None, :]).reshape(x.shape[0], -1) @ W.reshape(W.shape[0], -1).T
            ),
        },
        spellings={
            **definitions(
                "def bilinear(float(B,I) x, float(O,I,J) W, float(B,J) y) -> (o)",
                {
                    "one_product": "o(b,n) +=! x(b,i) * W(n,i,j) * y(b,j)",
                    "weights_first": "o(b,n) +=! W(n,i,j) * x(b,i) * y(b,j)",
                    "vectors_first": "o(b,n) +=! x(b,i) * y(b,j) * W(n,i,j)",
                    "grouped_right": "o(b,n) +=! x(b,i) * (W(n,i,j) * y(b,j))",
                    "inline_sum": "o(b,n) = sum[i,j](x(b,i) * W(n,i,j) * y(b,j))",
                    "inline_sum_swapped": "o(b,n) = sum[j,i](y(b,j) * x(b,i) * W(n,i,j))",
                    "nested_sums": "o(b,n) = sum[i](x(b,i) * sum[j](W(n,i,j) * y(b,j)))",
                    "nested_sums_other_way": "o(b,n) = sum[j](y(b,j) * sum[i](x(b,i) * W(n,i,j)))",
                    "reduced_inside": "o(b,n) +=! x(b,i) * sum[j](W(n,i,j) * y(b,j))",
                    "zero_then_add": """
o(b,n) = 0.0 where b in 0:B, n in 0:O
o(b,n) += x(b,i) * W(n,i,j) * y(b,j)""",
                    "named_y_first": """
Wy(b,n,i) +=! W(n,i,j) * y(b,j)
o(b,n) +=! x(b,i) * Wy(b,n,i)""",
                    "named_x_first": """
xW(n,b,j) +=! x(b,i) * W(n,i,j)
o(b,n) +=! xW(n,b,j) * y(b,j)""",
                    "named_outer_product": """
xy(b,i,j) = x(b,i) * y(b,j)
o(b,n) +=! xy(b,i,j) * W(n,i,j)""",
                    "flat_pairs_inline": "o(b,n) +=! x(b,t/J) * y(b,t%J) * W(n,t/J,t%J) where t in 0:I*J",
                    "two_halves": """
o(b,n) = sum[i in 0:I/2, j](x(b,i)*W(n,i,j)*y(b,j)) + sum[i in I/2:I, j](x(b,i)*W(n,i,j)*y(b,j))""",
                    "reversed_indices": "o(b,n) +=! x(b,I-1-i) * W(n,I-1-i,J-1-j) * y(b,J-1-j)",
                },
            ),
            "python": _bilinear,
            "sac": """
float[p,r] bilinear(float[p,s] x, float[r,s,t] W, float[p,t] y) {
    return { [b,n] -> sum({ [i,j] -> x[b,i] * W[n,i,j] * y[b,j] }) };
}""",
        },
        tolerance=1e-3,
    )


def _bilinear(x: "float(B,I)", W: "float(O,I,J)", y: "float(B,J)"):
    o[b, n] += x[b, i] * W[n, i, j] * y[b, j]
    return o


def mttkrp(i: int, j: int, k: int, r: int) -> Computation:
    """A tensor times the Khatri-Rao product of two matrices."""

    def khatri_rao(T, B, C):
        return T.reshape(T.shape[0], -1) @ (B[:, None, :] * C[None, :, :]).reshape(-1, B.shape[1])

    return Computation(
        name="mttkrp",
        make_arrays=lambda rng: normals(rng, (i, j, k), (j, r), (k, r)),
        reference=lambda T, B, C: np.einsum("ijr,jr->ir", T @ C, B),
        forms={
            "einsum": lambda T, B, C: jnp.einsum("ijk,jr,kr->ir", T, B, C),
            "khatri_rao": khatri_rao,
            "minor_first": lambda T, B, C: (jnp.einsum("ijk,kr->ijr", T, C) * B[None]).sum(1),
            "middle_first": lambda T, B, C: (jnp.einsum("ijk,jr->ikr", T, B) * C[None]).sum(1),
        },
        spellings={
            **definitions(
                "def mttkrp(float(I,J,K) T, float(J,R) B, float(K,R) C) -> (A)",
                {
                    "one_product": "A(i,r) +=! T(i,j,k) * B(j,r) * C(k,r)",
                    "matrices_first": "A(i,r) +=! B(j,r) * C(k,r) * T(i,j,k)",
                    "tensor_in_the_middle": "A(i,r) +=! C(k,r) * T(i,j,k) * B(j,r)",
                    "grouped_right": "A(i,r) +=! T(i,j,k) * (B(j,r) * C(k,r))",
                    "inline_sum": "A(i,r) = sum[j,k](T(i,j,k) * B(j,r) * C(k,r))",
                    "nested_sums": "A(i,r) = sum[j](B(j,r) * sum[k](T(i,j,k) * C(k,r)))",
                    "nested_sums_other_way": "A(i,r) = sum[k](sum[j](T(i,j,k) * B(j,r)) * C(k,r))",
                    "reduced_inside": "A(i,r) +=! B(j,r) * sum[k](T(i,j,k) * C(k,r))",
                    "zero_then_add": """
A(i,r) = 0.0 where i in 0:I, r in 0:R
A(i,r) += T(i,j,k) * B(j,r) * C(k,r)""",
                    "named_minor_first": """
TC(i,j,r) +=! T(i,j,k) * C(k,r)
A(i,r) +=! TC(i,j,r) * B(j,r)""",
                    "named_khatri_rao": """
BC(j,k,r) = B(j,r) * C(k,r)
A(i,r) +=! T(i,j,k) * BC(j,k,r)""",
                    "transposed_result": """
At(r,i) +=! T(i,j,k) * B(j,r) * C(k,r)
A(i,r) = At(r,i)""",
                },
            ),
            "python": _mttkrp,
            "sac": "{ [i,r] -> sum({ [j,k] -> T[i,j,k] * B[j,r] * C[k,r] }) }",
        },
        tolerance=1e-3,
    )


def _mttkrp(T: "float(I,J,K)", B: "float(J,R)", C: "float(K,R)"):
    A[i, r] = sum[j, k](T[i, j, k] * B[j, r] * C[k, r])
    return A


def gesummv(n: int, m: int) -> Computation:
    """Two matrices times one vector, weighted and added."""
    return Computation(
        name="gesummv",
        make_arrays=lambda rng: (*normals(rng, (n, m), (n, m), (m,)), np.float32(1.5), np.float32(-0.75)),
        reference=lambda A, B, x, alpha, beta: alpha * (A @ x) + beta * (B @ x),
        forms={
            "two_products": lambda A, B, x, alpha, beta: alpha * (A @ x) + beta * (B @ x),
            "scaled_vectors": lambda A, B, x, alpha, beta: A @ (alpha * x) + B @ (beta * x),
            "one_matrix": lambda A, B, x, alpha, beta: (alpha * A + beta * B) @ x,
            "sums": lambda A, B, x, alpha, beta: ((alpha * A + beta * B) * x).sum(1),
        },
        spellings={
            **definitions(
                "def gesummv(float(N,M) A, float(N,M) B, float(M) x, float alpha, float beta) -> (y)",
                {
                    "one_sum": "y(i) +=! alpha * A(i,j) * x(j) + beta * B(i,j) * x(j)",
                    "factored_vector": "y(i) +=! (alpha * A(i,j) + beta * B(i,j)) * x(j)",
                    "vector_first": "y(i) +=! x(j) * (beta * B(i,j) + alpha * A(i,j))",
                    "scaled_late": "y(i) +=! A(i,j) * x(j) * alpha + B(i,j) * x(j) * beta",
                    "two_inline_sums": "y(i) = alpha * sum[j](A(i,j) * x(j)) + beta * sum[j](B(i,j) * x(j))",
                    "one_inline_sum": "y(i) = sum[j](alpha * A(i,j) * x(j) + beta * B(i,j) * x(j))",
                    "inline_sums_scaled_inside": (
                        "y(i) = sum[j](alpha * A(i,j) * x(j)) + sum[j](beta * B(i,j) * x(j))"
                    ),
                    "added_in_two_steps": """
y(i) +=! alpha * A(i,j) * x(j)
y(i) += beta * B(i,j) * x(j)""",
                    "zero_then_add_twice": """
y(i) = 0.0 where i in 0:N
y(i) += alpha * A(i,j) * x(j)
y(i) += beta * B(i,j) * x(j)""",
                    "named_products": """
Ax(i) +=! A(i,j) * x(j)
Bx(i) +=! B(i,j) * x(j)
y(i) = alpha * Ax(i) + beta * Bx(i)""",
                    "named_matrix": """
C(i,j) = alpha * A(i,j) + beta * B(i,j)
y(i) +=! C(i,j) * x(j)""",
                    "named_vectors": """
ax(j) = alpha * x(j)
bx(j) = beta * x(j)
y(i) +=! A(i,j) * ax(j) + B(i,j) * bx(j)""",
                    "stacked": """
S(c,i,j) = c == 0 ? A(i,j) : B(i,j) where c in 0:2
w(c) = c == 0 ? alpha : beta where c in 0:2
y(i) +=! w(c) * S(c,i,j) * x(j)""",
                    "two_halves": """
y(i) = sum[j in 0:M/2]((alpha*A(i,j) + beta*B(i,j))*x(j)) + sum[j in M/2:M]((alpha*A(i,j) + beta*B(i,j))*x(j))""",
                    "fma": "y(i) +=! fma(alpha, A(i,j), beta*B(i,j)) * x(j)",
                    "unit_axis": """
X(j,u) = x(j) where u in 0:1
Y(i,u) +=! alpha*A(i,j)*X(j,u) + beta*B(i,j)*X(j,u)
y(i) = Y(i,0)""",
                },
            ),
            "python": _gesummv,
            "sac": """
float[n] gesummv(float[n,m] A, float[n,m] B, float[m] x, float alpha, float beta) {
    return { [i] -> alpha * sum(A[i] * x) + beta * sum(B[i] * x) };
}""",
        },
        tolerance=1e-3,
    )


def _gesummv(A: "float(N,M)", B: "float(N,M)", x: "float(M)", alpha: "float", beta: "float"):
    y[i] += alpha * A[i, j] * x[j]
    y[i] += beta * B[i, j] * x[j]
    return y


def kronecker(i: int, j: int, p: int, q: int) -> Computation:
    """The Kronecker product of two matrices, as a matrix."""
    rows, columns = i * p, j * q

    def broadcast(A, B):
        return (A[:, None, :, None] * B[None, :, None, :]).reshape(rows, columns)

    def tiled(A, B):
        """The second matrix repeated along rows, to the length of the result's rows."""
        wide = lax.optimization_barrier(jnp.tile(B, (1, j))).reshape(1, p, j, q)
        return (A[:, None, :, None] * wide).reshape(rows, columns)

    def joined_later(A, B):
        """Computed along four axes, which then are two."""
        return lax.optimization_barrier(A[:, None, :, None] * B[None, :, None, :]).reshape(rows, columns)

    def in_vectors(A, B):
        """Computed along five axes, the innermost of which fit vectors; derivatives repeat the arrays again."""

        @jax.checkpoint
        def product(A, B):
            return A[:, None, :, None] * B[None, :, None, :]

        parts = 8 if q % 8 == 0 else 1
        return lax.optimization_barrier(product(A, B).reshape(i, p, j, parts, q // parts)).reshape(rows, columns)

    def both_wide(A, B):
        """Both as wide as the result."""
        spread, wide = lax.optimization_barrier((jnp.repeat(A, q, 1), jnp.tile(B, (1, j))))
        return (spread[:, None] * wide[None]).reshape(rows, columns)

    return Computation(
        name="kronecker",
        make_arrays=lambda rng: normals(rng, (i, j), (p, q)),
        reference=np.kron,
        forms={
            "broadcast": broadcast,
            "tiled": tiled,
            "joined_later": joined_later,
            "in_vectors": in_vectors,
            "both_wide": both_wide,
            "row_by_row": lambda A, B: lax.map(lambda row: row * jnp.tile(B, (1, j)), jnp.repeat(A, q, 1)).reshape(
                rows, columns
            ),
            "kron": jnp.kron,
            "einsum": lambda A, B: jnp.einsum("ij,pq->ipjq", A, B).reshape(rows, columns),
            "repeated": lambda A, B: jnp.repeat(jnp.repeat(A, p, 0), q, 1) * jnp.tile(B, (i, j)),
        },
        spellings={
            **definitions(
                "def kronecker(float(I,J) A, float(P,Q) B) -> (K)",
                {
                    "divided_subscripts": (
                        f"K(r,c) = A(r / {p}, c / {q}) * B(r % {p}, c % {q}) where r in 0:{rows}, c in 0:{columns}"
                    ),
                    "divided_by_sizes": "K(r,c) = A(r / P, c / Q) * B(r % P, c % Q) where r in 0:I*P, c in 0:J*Q",
                    "swapped": "K(r,c) = B(r % P, c % Q) * A(r / P, c / Q) where r in 0:I*P, c in 0:J*Q",
                    "remainder_by_subtraction": f"""
K(r,c) = A(r / {p}, c / {q}) * B(r - {p} * (r / {p}), c - {q} * (c / {q})) where r in 0:{rows}, c in 0:{columns}""",
                    "lets": """
K(r,c) = A(i,j) * B(p,q) where r in 0:I*P, c in 0:J*Q, i = r / P, j = c / Q, p = r % P, q = c % Q""",
                    "strided_target": f"K({p}*i + p, {q}*j + q) = A(i,j) * B(p,q)",
                    "strided_target_swapped": f"K(p + {p}*i, q + {q}*j) = B(p,q) * A(i,j)",
                    "summed_into_place": f"K({p}*i + p, {q}*j + q) +=! A(i,j) * B(p,q)",
                    "named_blocks": """
T(i,p,j,q) = A(i,j) * B(p,q)
K(r,c) = T(r / P, r % P, c / Q, c % Q) where r in 0:I*P, c in 0:J*Q""",
                    "named_repeats": """
R(r,c) = A(r / P, c / Q) where r in 0:I*P, c in 0:J*Q
T(r,c) = B(r % P, c % Q) where r in 0:I*P, c in 0:J*Q
K(r,c) = R(r,c) * T(r,c)""",
                    "reversed_target": "K(P*i+P-1-p, Q*j+Q-1-q) = A(i,j) * B(P-1-p, Q-1-q)",
                    "floor_by_remainder": """
K(r,c) = A((r - r%P)/P, (c - c%Q)/Q) * B(r%P, c%Q) where r in 0:I*P, c in 0:J*Q""",
                    "transposed_result": """
L(c,r) = A(r/P, c/Q) * B(r%P, c%Q) where r in 0:I*P, c in 0:J*Q
K(r,c) = L(c,r)""",
                },
            ),
            "python": _kronecker,
            "sac": """
float[r,c] kronecker(float[m,n] A, float[p,q] B) {
    return { [r,c] -> A[r / p, c / q] * B[r % p, c % q] | [r,c] < [m * p, n * q] };
}""",
            "sac_reshape": """
float[r,c] kronecker(float[m,n] A, float[p,q] B) {
    return reshape([m * p, n * q], { [i,k,j,l] -> A[i,j] * B[k,l] });
}""",
        },
    )


def _kronecker(A: "float(I,J)", B: "float(P,Q)"):
    for r in range(0, I * P):
        for c in range(0, J * Q):
            K[r, c] = A[r // P, c // Q] * B[r % P, c % Q]
    return K
