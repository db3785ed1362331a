"""Rows and matrices chosen by data: the mean of embeddings, and a mixture of experts."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..cases.case import normals
from .computation import Computation, definitions

# (B, L, E, D)
BAG_SIZES = {"small": (3, 4, 7, 5), "full": (2048, 32, 4096, 64)}
# (T, R, N, D, E)
EXPERTS_SIZES = {"small": (5, 2, 3, 4, 3), "full": (512, 2, 64, 64, 8)}


def computations(size: str) -> Iterator[Computation]:
    """The look-ups at `size`."""
    yield bag(*BAG_SIZES[size])
    yield experts(*EXPERTS_SIZES[size])


def bag(b: int, l: int, e: int, d: int) -> Computation:
    """The mean of the rows of a table that each bag names."""

    def unrolled(T, I):
        return sum(T.at[I[:, place]].get(mode="clip") for place in range(l)) / l

    def counted(T, I):
        counts = jnp.zeros((b, e), T.dtype).at[jnp.arange(b)[:, None], I].add(1.0)
        return counts @ T / l

    return Computation(
        name="bag",
        make_arrays=lambda rng: (*normals(rng, (e, d)), rng.integers(0, e, (b, l), dtype=np.int32)),
        reference=lambda T, I: T[I].mean(1),
        forms={
            "mean": lambda T, I: T[I].mean(1),
            "clipped": lambda T, I: jnp.take(T, I, axis=0, mode="clip").mean(1),
            "transposed": lambda T, I: T.at[I.T].get(mode="promise_in_bounds").sum(0) / l,
            "unrolled": unrolled,
            "counted": counted,
        },
        spellings={
            **definitions(
                "def bag(float(E,D) T, int32(B,L) I) -> (O)",
                {
                    "quotient_after": "O(b,d) +=! T(I(b,l),d)\nO(b,d) = O(b,d) / L",
                    "quotient_inside": "O(b,d) +=! T(I(b,l),d) / L",
                    "reciprocal_inside": f"O(b,d) +=! {1 / l} * T(I(b,l),d)",
                    "inline_sum": "O(b,d) = sum[l](T(I(b,l),d)) / L",
                    "inline_mean": "O(b,d) = mean[l](T(I(b,l),d))",
                    "named_rows": "R(b,l,d) = T(I(b,l),d)\nO(b,d) +=! R(b,l,d) / L",
                    "named_rows_transposed": "R(l,b,d) = T(I(b,l),d)\nO(b,d) = mean[l](R(l,b,d))",
                    "named_index": "P(l,b) = I(b,l)\nO(b,d) +=! T(P(l,b),d) / L",
                    "scaled_table": "S(e,d) = T(e,d) / L\nO(b,d) +=! S(I(b,l),d)",
                    "zero_then_add": """
O(b,d) = 0.0 where b in 0:B, d in 0:D
O(b,d) += T(I(b,l),d) / L""",
                    "transposed_result": "t(d,b) +=! T(I(b,l),d)\nO(b,d) = t(d,b) / L",
                    "counts": """
C(b,e) +=! 1.0 where I(b,l) == e, e in 0:E
O(b,d) +=! C(b,e) * T(e,d) / L""",
                },
            ),
            "python": _bag,
            "sac": "{ [b,d] -> mean({ [l] -> T[I[b,l],d] }) }",
            "sac_rows": "{ [b] -> rsum(1, { [l] -> T[I[b,l]] }) / tof(shape(I)[1]) }",
        },
    )


def _bag(T: "float(E,D)", I: "int32(B,L)"):
    O[b, d] += T[I[b, l], d]
    O[b, d] = O[b, d] / L
    return O


def experts(t: int, r: int, n: int, d: int, e: int) -> Computation:
    """Each row times the matrix of the expert chosen for it."""

    def all_then_pick(h, w, chosen):
        every = jnp.einsum("trn,end->tred", h, w)
        return jnp.take_along_axis(every, chosen[:, :, None, None], axis=2)[:, :, 0]

    def one_hot(h, w, chosen):
        return jnp.einsum("trn,end,tre->trd", h, w, jax.nn.one_hot(chosen, e, dtype=h.dtype))

    def routed(h, w, chosen):
        by_expert = h[:, :, None, :] * jax.nn.one_hot(chosen, e, dtype=h.dtype)[..., None]
        return by_expert.reshape(t, r, e * n) @ w.reshape(e * n, d)

    def masked_sum(h, w, chosen):
        return sum(jnp.where((chosen == i)[..., None], h, 0) @ w[i] for i in range(e))

    def ragged(h, w, chosen):
        order = jnp.argsort(chosen.reshape(-1))
        counts = jnp.bincount(chosen.reshape(-1), length=e).astype(jnp.int32)
        out = lax.ragged_dot(h.reshape(-1, n)[order], w, counts)
        return jnp.zeros((t * r, d), h.dtype).at[order].set(out).reshape(t, r, d)

    return Computation(
        name="experts",
        make_arrays=lambda rng: (*normals(rng, (t, r, n), (e, n, d)), rng.integers(0, e, (t, r), dtype=np.int32)),
        reference=lambda h, w, chosen: (h[:, :, None] @ w[chosen])[:, :, 0],
        forms={
            "gathered": lambda h, w, chosen: jnp.einsum("trn,trnd->trd", h, w[chosen]),
            "all_then_pick": all_then_pick,
            "one_hot": one_hot,
            "routed": routed,
            "masked_sum": masked_sum,
            "ragged": ragged,
        },
        spellings={
            **definitions(
                "def experts(float(T,R,N) h, float(E,N,D) w, int32(T,R) idx) -> (o)",
                {
                    "one_product": "o(t,r,d) +=! h(t,r,n) * w(idx(t,r),n,d)",
                    "swapped": "o(t,r,d) +=! w(idx(t,r),n,d) * h(t,r,n)",
                    "inline_sum": "o(t,r,d) = sum[n](h(t,r,n) * w(idx(t,r),n,d))",
                    "zero_then_add": """
o(t,r,d) = 0.0 where t in 0:T, r in 0:R, d in 0:D
o(t,r,d) += h(t,r,n) * w(idx(t,r),n,d)""",
                    "named_matrices": """
g(t,r,n,d) = w(idx(t,r),n,d)
o(t,r,d) +=! h(t,r,n) * g(t,r,n,d)""",
                    "guard": "o(t,r,d) +=! h(t,r,n) * w(e,n,d) where idx(t,r) == e",
                    "inline_guard": "o(t,r,d) = sum[e,n where e == idx(t,r)](h(t,r,n) * w(e,n,d))",
                    "ternary": "o(t,r,d) +=! idx(t,r) == e ? h(t,r,n) * w(e,n,d) : 0.0",
                    "times_condition": "o(t,r,d) +=! float(idx(t,r) == e) * h(t,r,n) * w(e,n,d)",
                    "one_hot": """
c(t,r,e) = idx(t,r) == e ? 1.0 : 0.0 where e in 0:E
o(t,r,d) +=! c(t,r,e) * h(t,r,n) * w(e,n,d)""",
                    "one_hot_on_rows": """
c(t,r,e,n) = idx(t,r) == e ? h(t,r,n) : 0.0 where e in 0:E
o(t,r,d) +=! c(t,r,e,n) * w(e,n,d)""",
                    "all_then_pick": """
a(t,r,e,d) +=! h(t,r,n) * w(e,n,d)
o(t,r,d) = a(t,r,idx(t,r),d)""",
                    "all_then_select": """
a(t,r,e,d) +=! h(t,r,n) * w(e,n,d)
o(t,r,d) +=! a(t,r,e,d) where e == idx(t,r)""",
                },
            ),
            "python": _experts,
            "sac": """
float[t,r,d] experts(float[t,r,n] h, float[e,n,d] w, int[t,r] idx) {
    return { [i,k,j] -> sum(h[i,k] * w[idx[i,k],.,j]) | [i,k,j] < [t,r,d] };
}""",
        },
        tolerance=1e-3,
    )


def _experts(h: "float(T,R,N)", w: "float(E,N,D)", idx: "int32(T,R)"):
    o[t, r, d] += h[t, r, n] * w[idx[t, r], n, d]
    return o
