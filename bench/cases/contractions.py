"""Sums of products: TMM, TBMM, C3, the Kronecker chain, tensordot, MTTKRP and the bilinear form."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import lax

from .case import Arrays, Case, Form, label, normals

TMM_SIZES = {
    "tiny": [(3, 5, 4)],
    "small": [(128, 256, 32), (128, 1024, 1024)],
    "full": [(128, 256, 32), (128, 1024, 1024), (128, 16384, 4096)],
}
TBMM_SIZES = {"tiny": [(3, 4, 5, 2)], "small": [(500, 26, 72, 26)], "full": [(500, 26, 72, 26)]}
C3_SIZES = {"tiny": [(3, 4, 5)], "small": [(128, 1000, 1024)], "full": [(128, 1000, 1024)]}
KRONECKER_SIZES = {
    "tiny": [(3, 2, (2, 3, 4))],
    "small": [(64, 16, (32, 32, 32))],
    "full": [(256, 16, (32, 32, 32)), (256, 16, (64, 64, 64))],
}
TENSORDOT_SIZES = {
    "tiny": [(2, 3, 4, 2, 5)],
    "small": [(4, 512, 8, 2, 28)],
    "full": [(32, 512, 8, 2, 28)],
}
MTTKRP_SIZES = {"tiny": [(4, 3, 5, 2)], "small": [(128, 128, 128, 32)], "full": [(256, 256, 256, 32)]}
BILINEAR_SIZES = {"tiny": [(3, 4, 5, 2)], "small": [(128, 64, 64, 64)], "full": [(256, 128, 128, 128)]}


def cases(size: str) -> Iterator[Case]:
    """The contractions at the sizes that `size` names."""
    yield from (tmm(*sizes) for sizes in TMM_SIZES[size])
    yield from (tbmm(*sizes) for sizes in TBMM_SIZES[size])
    yield from (c3(*sizes) for sizes in C3_SIZES[size])
    yield from (kronecker(*sizes) for sizes in KRONECKER_SIZES[size])
    yield from (tensordot(*sizes) for sizes in TENSORDOT_SIZES[size])
    yield from (mttkrp(*sizes) for sizes in MTTKRP_SIZES[size])
    yield from (bilinear(*sizes) for sizes in BILINEAR_SIZES[size])


def tmm(m: int, n: int, k: int) -> Case:
    return Case(
        name=f"tmm/{label(m, n, k)}",
        text="def tmm(float(M,K) A, float(N,K) B) -> (C) { C(m,n) +=! A(m,k) * B(n,k) }",
        make_arrays=lambda rng: normals(rng, (m, k), (n, k)),
        reference=lambda A, B: A @ B.T,
        forms=_matmul_transposed_forms(),
        tolerance=1e-3,
    )


def mm(m: int, n: int, k: int) -> Case:
    return Case(
        name=f"mm/{label(m, n, k)}",
        text="def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
        make_arrays=lambda rng: normals(rng, (m, k), (k, n)),
        reference=lambda A, B: A @ B,
        forms={
            "matmul": lambda A, B: A @ B,
            "einsum": lambda A, B: jnp.einsum("mk,kn->mn", A, B),
            "einsum_swapped": lambda A, B: jnp.einsum("kn,mk->nm", B, A).T,
            "broadcast_sum": lambda A, B: (A[:, None, :] * B.T[None, :, :]).sum(-1),
        },
        tolerance=1e-3,
    )


def matrix_chain(i: int, j: int, k: int, l: int) -> Case:
    """A product of three matrices in one sum."""
    return Case(
        name=f"matrix_chain/{label(i, j, k, l)}",
        text="""
        def matrix_chain(float(I,J) A, float(J,K) B, float(K,L) C) -> (O) {
            O(i,l) +=! A(i,j) * B(j,k) * C(k,l)
        }""",
        make_arrays=lambda rng: normals(rng, (i, j), (j, k), (k, l)),
        reference=lambda A, B, C: A @ B @ C,
        forms={
            "einsum": lambda A, B, C: jnp.einsum("ij,jk,kl->il", A, B, C),
            "left_first": lambda A, B, C: (A @ B) @ C,
            "right_first": lambda A, B, C: A @ (B @ C),
        },
        tolerance=1e-3,
    )


def c3(b: int, n: int, k: int) -> Case:
    return Case(
        name=f"c3/{label(b, n, k)}",
        text="def c3(float(B,WX) I, float(WY,WX) W) -> (C3) { C3(b,wy) +=! I(b,wx) * W(wy,wx) }",
        make_arrays=lambda rng: normals(rng, (b, k), (n, k)),
        reference=lambda I, W: I @ W.T,
        forms=_matmul_transposed_forms(),
        tolerance=1e-3,
    )


def _matmul_transposed_forms():
    return {
        "einsum": lambda A, B: jnp.einsum("mk,nk->mn", A, B),
        "matmul": lambda A, B: A @ B.T,
        "einsum_swapped": lambda A, B: jnp.einsum("nk,mk->nm", B, A).T,
        "broadcast_sum": lambda A, B: (A[:, None, :] * B[None, :, :]).sum(-1),
    }


def tbmm(b: int, n: int, m: int, k: int) -> Case:
    def in_turn(X, Y):
        return jnp.stack([x @ y for x, y in zip(X, Y, strict=True)])

    forms: dict[str, Form] = {"in_turn": in_turn} if b <= 64 else {}  # More take long to compile.
    return Case(
        name=f"tbmm/{label(b, n, m, k)}",
        text="def tbmm(float(B,N,M) X, float(B,M,K) Y) -> (Z) { Z(b,n,k) +=! X(b,n,m) * Y(b,m,k) }",
        make_arrays=lambda rng: normals(rng, (b, n, m), (b, m, k)),
        reference=lambda X, Y: X @ Y,
        forms={
            "einsum": lambda X, Y: jnp.einsum("bnm,bmk->bnk", X, Y),
            "matmul": lambda X, Y: X @ Y,
            "broadcast_sum": lambda X, Y: (X[:, :, :, None] * Y[:, None, :, :]).sum(2),
            "broadcast_sum_minor": lambda X, Y: (X[:, :, None, :] * Y.transpose(0, 2, 1)[:, None, :, :]).sum(-1),
            **forms,
        },
    )


def kronecker(m: int, d: int, n: tuple[int, int, int]) -> Case:
    """Three consecutive products, with all of their results."""
    return Case(
        name=f"kronecker/{label(m, d, *n)}",
        text=_kronecker_text("XW2, XW2W1, Y"),
        make_arrays=lambda rng: _kronecker_arrays(rng, m, d, n),
        reference=_kronecker_reference,
        forms=_kronecker_forms(),
    )


def kronecker_product(m: int, d: int, n: tuple[int, int, int]) -> Case:
    """Three consecutive products; only the last result is returned."""
    return Case(
        name=f"kronecker_product/{label(m, d, *n)}",
        text=_kronecker_text("Y"),
        make_arrays=lambda rng: _kronecker_arrays(rng, m, d, n),
        reference=lambda *arrays: _kronecker_reference(*arrays)[-1],
        forms=_kronecker_products(),
        tolerance=1e-3,
    )


def kronecker_sum(m: int, d: int, n: tuple[int, int, int]) -> Case:
    """The same as one sum of products of four factors."""
    return Case(
        name=f"kronecker_sum/{label(m, d, *n)}",
        text="""
        def kronecker_sum(float(D0,N0) W0, float(D1,N1) W1, float(D2,N2) W2, float(M,N0,N1,N2) X) -> (Y) {
            Y(m,d0,d1,d2) +=! W0(d0,a) * W1(d1,b) * W2(d2,c) * X(m,a,b,c)
        }""",
        make_arrays=lambda rng: _kronecker_arrays(rng, m, d, n),
        reference=lambda *arrays: _kronecker_reference(*arrays)[-1],
        forms=_kronecker_products(),
        tolerance=1e-3,
    )


def _kronecker_text(results: str) -> str:
    header = "float(D0,N0) W0, float(D1,N1) W1, float(D2,N2) W2, float(M,N0,N1,N2) X"
    return f"""
        def kronecker3({header}) -> ({results}) {{
            XW2(m,n0,n1,d2)   +=! X(m,n0,n1,r_n2)   * W2(d2,r_n2)
            XW2W1(m,n0,d1,d2) +=! XW2(m,n0,r_n1,d2) * W1(d1,r_n1)
            Y(m,d0,d1,d2)     +=! XW2W1(m,r_n0,d1,d2) * W0(d0,r_n0)
        }}"""


def _kronecker_arrays(rng: np.random.Generator, m: int, d: int, n: tuple[int, int, int]) -> Arrays:
    return normals(rng, (d, n[0]), (d, n[1]), (d, n[2]), (m, *n))


def _kronecker_reference(W0, W1, W2, X):
    XW2 = X @ W2.T
    XW2W1 = W1 @ XW2
    return XW2, XW2W1, np.einsum("mayz,xa->mxyz", XW2W1, W0, optimize=True)


def _kronecker_products() -> dict[str, Form]:
    """The last result of every form, and forms that compute only that."""

    def einsum(W0, W1, W2, X):
        return jnp.einsum("xa,yb,zc,mabc->mxyz", W0, W1, W2, X, optimize="optimal")

    def two_factors_first(W0, W1, W2, X):
        """The product of two of the small matrices makes one matrix product of two."""
        both = jnp.einsum("yb,zc->bcyz", W1, W2).reshape(W1.shape[1] * W2.shape[1], -1)
        rows = (X.reshape(X.shape[0] * X.shape[1], -1) @ both).reshape(X.shape[0], X.shape[1], -1)
        return (W0 @ rows).reshape(X.shape[0], W0.shape[0], W1.shape[0], W2.shape[0])

    def first_axis_first(W0, W1, W2, X):
        m, n0, n1, n2 = X.shape
        XW0 = (W0 @ X.reshape(m, n0, n1 * n2)).reshape(m, W0.shape[0], n1, n2)
        return (W1 @ XW0) @ W2.T

    last = {f"{name}_steps": lambda *arrays, form=form: form(*arrays)[-1] for name, form in _kronecker_forms().items()}
    return {"einsum": einsum, **last, "two_factors_first": two_factors_first, "first_axis_first": first_axis_first}


def _kronecker_forms() -> dict[str, Form]:
    def stepwise(W0, W1, W2, X):
        XW2 = jnp.einsum("mabc,zc->mabz", X, W2)
        XW2W1 = jnp.einsum("mabz,yb->mayz", XW2, W1)
        return XW2, XW2W1, jnp.einsum("mayz,xa->mxyz", XW2W1, W0)

    def matmuls(W0, W1, W2, X):
        XW2 = X @ W2.T
        XW2W1 = W1 @ XW2
        Y = W0 @ XW2W1.reshape(*XW2W1.shape[:2], -1)
        return XW2, XW2W1, Y.reshape(*Y.shape[:2], *XW2W1.shape[2:])

    def flat(W0, W1, W2, X):
        m, n0, n1, n2 = X.shape
        XW2 = (X.reshape(-1, n2) @ W2.T).reshape(m, n0, n1, -1)
        XW2W1 = (W1 @ XW2.reshape(m * n0, n1, -1)).reshape(m, n0, W1.shape[0], -1)
        Y = (W0 @ XW2W1.reshape(m, n0, -1)).reshape(m, W0.shape[0], *XW2W1.shape[2:])
        return XW2, XW2W1, Y

    def batched(middle, W0, W1, W2, X):
        XW2 = X @ W2.T
        XW2W1 = middle(XW2, W1)
        rows = XW2W1.reshape(*XW2W1.shape[:2], -1)
        Y = jnp.broadcast_to(W0, (X.shape[0], *W0.shape)) @ rows
        return XW2, XW2W1, Y.reshape(*Y.shape[:2], *XW2W1.shape[2:])

    def unrolled_middle(XW2, W1):
        return sum(XW2[:, :, b, None, :] * W1[:, b, None] for b in range(W1.shape[1]))

    def broadcast_middle(XW2, W1):
        return (XW2[:, :, None] * W1[:, :, None]).sum(3)

    return {
        "einsum": stepwise,
        "matmul": matmuls,
        "flat_matmul": flat,
        "unrolled_middle": partial(batched, unrolled_middle),
        "broadcast_middle": partial(batched, broadcast_middle),
    }


def tensordot(n: int, c1: int, c2: int, c3: int, hw: int) -> Case:
    def unrolled(I0, I1):
        terms = [I0[:, :, c, None] * I1[:, c][:, None] for c in range(I0.shape[2])]
        return sum(terms[1:], terms[0])

    return Case(
        name=f"tensordot/{label(n, c1, c2, c3, hw, hw)}",
        text="""
        def tensordot(float(N,C1,C2,H,W) I0, float(N,C2,C3,H,W) I1) -> (O) {
            O(n,c1,c3,h,w) +=! I0(n,c1,r_c2,h,w) * I1(n,r_c2,c3,h,w)
        }""",
        make_arrays=lambda rng: normals(rng, (n, c1, c2, hw, hw), (n, c2, c3, hw, hw)),
        reference=lambda I0, I1: sum(I0[:, :, c, None] * I1[:, c][:, None] for c in range(I0.shape[2])),
        forms={
            "einsum": lambda I0, I1: jnp.einsum("nachw,ncdhw->nadhw", I0, I1),
            "broadcast_sum": lambda I0, I1: (I0[:, :, :, None] * I1[:, None]).sum(2),
            "unrolled": unrolled,
        },
    )


def mttkrp(i: int, j: int, k: int, r: int) -> Case:
    def khatri_rao(T, B, C):
        rows = (B[:, None, :] * C[None, :, :]).reshape(-1, B.shape[1])
        return T.reshape(T.shape[0], -1) @ rows

    def minor_first(T, B, C):
        return (jnp.einsum("ijk,kr->ijr", T, C) * B[None]).sum(1)

    def middle_first(T, B, C):
        return (jnp.einsum("ijk,jr->ikr", T, B) * C[None]).sum(1)

    return Case(
        name=f"mttkrp/{label(i, j, k, r)}",
        text="def mttkrp(float(I,J,K) T, float(J,R) B, float(K,R) C) -> (A) { A(i,r) +=! T(i,j,k) * B(j,r) * C(k,r) }",
        make_arrays=lambda rng: normals(rng, (i, j, k), (j, r), (k, r)),
        reference=lambda T, B, C: np.einsum("ijr,jr->ir", T @ C, B),
        forms={
            "einsum": lambda T, B, C: jnp.einsum("ijk,jr,kr->ir", T, B, C),
            "khatri_rao": khatri_rao,
            "minor_first": minor_first,
            "middle_first": middle_first,
        },
        tolerance=1e-3,
    )


def bilinear(n: int, m: int, i: int, j: int) -> Case:
    return Case(
        name=f"bilinear/{label(n, m, i, j)}",
        text="""
        def bilinear(float(N,I) X, float(M,I,J) W, float(N,J) Y) -> (O) {
            O(n,m) +=! X(n,i) * W(m,i,j) * Y(n,j)
        }""",
        make_arrays=lambda rng: normals(rng, (n, i), (m, i, j), (n, j)),
        reference=lambda X, W, Y: np.einsum("nmi,ni->nm", np.einsum("mij,nj->nmi", W, Y, optimize=True), X),
        forms={
            "einsum": lambda X, W, Y: jnp.einsum("ni,mij,nj->nm", X, W, Y),
            "y_first": lambda X, W, Y: (jnp.einsum("mij,nj->nmi", W, Y) * X[:, None, :]).sum(-1),
            "x_first": lambda X, W, Y: (jnp.einsum("mij,ni->nmj", W, X) * Y[:, None, :]).sum(-1),
            "outer_product": lambda X, W, Y: lax.dot_general(
                (X[:, :, None] * Y[:, None, :]).reshape(X.shape[0], -1),
                W.reshape(W.shape[0], -1),
                (((1,), (1,)), ((), ())),
            ),
        },
        tolerance=1e-3,
    )
