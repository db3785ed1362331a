"""Graphs and sparse matrices: messages along edges, neighbours, means of groups, counts of pairs."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from ..cases.case import normals
from .computation import Computation, definitions

# (V, E, D)
MESSAGES_SIZES = {"small": (5, 9, 3), "full": (4096, 65536, 32)}
# (V, K, D)
NEIGHBOURS_SIZES = {"small": (5, 3, 4), "full": (4096, 16, 32)}
# (N, D, B)
MEANS_SIZES = {"small": (11, 3, 4), "full": (65536, 32, 4096)}
# (N, A, B)
PAIRS_SIZES = {"small": (13, 3, 4), "full": (1 << 18, 32, 48)}


def computations(size: str) -> Iterator[Computation]:
    """Messages, neighbours of all and of some nodes, means and pairs at `size`."""
    yield messages(*MESSAGES_SIZES[size])
    yield neighbours(*NEIGHBOURS_SIZES[size])
    yield some_neighbours(*NEIGHBOURS_SIZES[size])
    yield segment_mean(*MEANS_SIZES[size])
    yield pairs(*PAIRS_SIZES[size])


def messages(v: int, e: int, d: int) -> Computation:
    """The weighted rows of the source of each edge, summed at its end: a sparse matrix times a dense one."""
    header = f"(float(V,D) x, float(E) w, int32(E) src, int32(E) dst) -> (float({v},D) m)"

    def reference(x, w, src, dst):
        out = np.zeros((v, d))
        np.add.at(out, dst, x[src] * w[:, None])
        return out

    def in_bounds(x, w, src, dst):
        sent = x.at[src].get(mode="promise_in_bounds") * w[:, None]
        return jnp.zeros((v, d), x.dtype).at[dst].add(sent, mode="promise_in_bounds")

    return Computation(
        name="messages",
        make_arrays=lambda rng: (
            *normals(rng, (v, d), (e,)),
            rng.integers(0, v, e, dtype=np.int32),
            rng.integers(0, v, e, dtype=np.int32),
        ),
        reference=reference,
        forms={
            "segment_sum": lambda x, w, src, dst: jax.ops.segment_sum(x[src] * w[:, None], dst, num_segments=v),
            "at_add": lambda x, w, src, dst: jnp.zeros((v, d), x.dtype).at[dst].add(x[src] * w[:, None]),
            "in_bounds": in_bounds,
        },
        spellings={
            **definitions(
                f"def messages{header}",
                {
                    "scatter": "m(dst(e),d) +=! x(src(e),d) * w(e)",
                    "weight_first": "m(dst(e),d) +=! w(e) * x(src(e),d)",
                    "named_rows": "r(e,d) = x(src(e),d)\nm(dst(e),d) +=! w(e) * r(e,d)",
                    "named_messages": "r(e,d) = w(e) * x(src(e),d)\nm(dst(e),d) +=! r(e,d)",
                    "zero_then_add": f"""
m(v,d) = 0.0 where v in 0:{v}, d in 0:D
m(dst(e),d) += x(src(e),d) * w(e)""",
                    "guard": "m(v,d) +=! x(src(e),d) * w(e) where dst(e) == v",
                    "two_guards": "m(v,d) +=! x(u,d) * w(e) where dst(e) == v, src(e) == u",
                    "inline_guard": "m(v,d) = sum[e where dst(e) == v](x(src(e),d) * w(e))",
                    "ternary": "m(v,d) +=! dst(e) == v ? x(src(e),d) * w(e) : 0.0",
                    "times_condition": "m(v,d) +=! x(src(e),d) * w(e) * float(dst(e) == v)",
                },
            ),
            "python": _messages(v),
            "sac": f"""
float[r,d] messages(float[v,d] x, float[e] w, int[e] src, int[e] dst) {{
    return {{ [i,j] -> sum({{ [k] -> dst[k] == i ? x[src[k],j] * w[k] : 0.0 }}) | [i,j] < [{v}, d] }};
}}""",
        },
        tolerance=1e-3,
    )


def _messages(nodes: int):
    def messages(x: "float(V,D)", w: "float(E)", src: "int32(E)", dst: "int32(E)"):
        for v in range(0, nodes):
            for d in range(0, x.shape[1]):
                m[v, d] = 0.0
        m[dst[e], d] += w[e] * x[src[e], d]
        return m

    return messages


def neighbours(v: int, k: int, d: int) -> Computation:
    """The weighted sum of the rows of each node's neighbours, with the same number for each node."""

    def unrolled(x, w, nbr):
        return sum(x.at[nbr[:, place]].get(mode="clip") * w[:, place, None] for place in range(k))

    return Computation(
        name="neighbours",
        make_arrays=lambda rng: (*normals(rng, (v, d), (v, k)), rng.integers(0, v, (v, k), dtype=np.int32)),
        reference=lambda x, w, nbr: (x[nbr] * w[:, :, None]).sum(1),
        forms={
            "einsum": lambda x, w, nbr: jnp.einsum("vkd,vk->vd", x[nbr], w),
            "sum": lambda x, w, nbr: (x[nbr] * w[:, :, None]).sum(1),
            "unrolled": unrolled,
        },
        spellings={
            **definitions(
                "def neighbours(float(V,D) x, float(V,K) w, int32(V,K) nbr) -> (o)",
                {
                    "one_product": "o(v,d) +=! w(v,k) * x(nbr(v,k),d)",
                    "rows_first": "o(v,d) +=! x(nbr(v,k),d) * w(v,k)",
                    "inline_sum": "o(v,d) = sum[k](w(v,k) * x(nbr(v,k),d))",
                    "named_rows": "r(v,k,d) = x(nbr(v,k),d)\no(v,d) +=! w(v,k) * r(v,k,d)",
                    "named_products": "r(v,k,d) = w(v,k) * x(nbr(v,k),d)\no(v,d) +=! r(v,k,d)",
                    "named_index": "p(k,v) = nbr(v,k)\no(v,d) +=! w(v,k) * x(p(k,v),d)",
                    "transposed": "t(d,v) +=! w(v,k) * x(nbr(v,k),d)\no(v,d) = t(d,v)",
                },
            ),
            "python": _neighbours,
            "sac": """
float[v,d] neighbours(float[v,d] x, float[v,k] w, int[v,k] nbr) {
    return { [i,j] -> sum({ [l] -> w[i,l] * x[nbr[i,l],j] }) };
}""",
        },
        tolerance=1e-3,
    )


def _neighbours(x: "float(V,D)", w: "float(V,K)", nbr: "int32(V,K)"):
    o[v, d] += w[v, k] * x[nbr[v, k], d]
    return o


def some_neighbours(v: int, k: int, d: int) -> Computation:
    """The weighted sum of the rows of those neighbours that are nodes: a place outside of the table stands for none.

    That is what a condition `nbr(v,k) == u` says. It is no spelling of `neighbours`, whose hand-written forms take for
    granted that all places are nodes: here every form has to look.
    """

    def is_node(nbr):
        return (nbr >= 0) & (nbr < v)

    def unrolled(x, w, nbr):
        terms = (x.at[nbr[:, place]].get(mode="clip") * w[:, place, None] for place in range(k))
        return sum(jnp.where(is_node(nbr[:, place, None]), term, 0) for place, term in enumerate(terms))

    def filled(x, w, nbr):
        places = jnp.where(nbr < 0, v, nbr)
        rows = (x.at[places[:, place]].get(mode="fill", fill_value=0) for place in range(k))
        return sum(row * w[:, place, None] for place, row in enumerate(rows))

    def row_of_zeros(x, w, nbr):
        padded = jnp.concatenate([x, jnp.zeros((1, d), x.dtype)])
        places, weights = jnp.where(is_node(nbr), nbr, v), jnp.where(is_node(nbr), w, 0)
        return sum(padded.at[places[:, place]].get(mode="clip") * weights[:, place, None] for place in range(k))

    def masked_sum(x, w, nbr):
        rows = jnp.where(is_node(nbr)[:, :, None], x[jnp.clip(nbr, 0, v - 1)], 0)
        return jnp.einsum("vkd,vk->vd", rows, w)

    def reference(x, w, nbr):
        rows = np.where(((nbr >= 0) & (nbr < v))[:, :, None], x[np.clip(nbr, 0, v - 1)], 0)
        return (rows * w[:, :, None]).sum(1)

    return Computation(
        name="some_neighbours",
        make_arrays=lambda rng: (
            *normals(rng, (v, d), (v, k)),
            rng.integers(-v // 8, v + v // 8, (v, k), dtype=np.int32),
        ),
        reference=reference,
        forms={"unrolled": unrolled, "filled": filled, "row_of_zeros": row_of_zeros, "masked_sum": masked_sum},
        spellings={
            **definitions(
                "def neighbours(float(V,D) x, float(V,K) w, int32(V,K) nbr) -> (o)",
                {
                    "guard": "o(v,d) +=! w(v,k) * x(u,d) where nbr(v,k) == u",
                    "swapped": "o(v,d) +=! x(u,d) * w(v,k) where u == nbr(v,k)",
                    "inline_guard": "o(v,d) = sum[u, k where nbr(v,k) == u](w(v,k) * x(u,d))",
                    "ternary": "o(v,d) +=! nbr(v,k) == u ? w(v,k) * x(u,d) : 0.0",
                    "bounds": "o(v,d) +=! w(v,k) * x(nbr(v,k),d) where 0 <= nbr(v,k), nbr(v,k) < V",
                    "inline_bounds": "o(v,d) = sum[k where 0 <= nbr(v,k) && nbr(v,k) < V](w(v,k) * x(nbr(v,k),d))",
                    "named_rows": "r(v,k,d) +=! x(u,d) where nbr(v,k) == u\no(v,d) +=! w(v,k) * r(v,k,d)",
                    "transposed": "t(d,v) +=! w(v,k) * x(u,d) where nbr(v,k) == u\no(v,d) = t(d,v)",
                    "zero_then_add": """
o(v,d) = 0.0 where v in 0:V, d in 0:D
o(v,d) += w(v,k) * x(u,d) where nbr(v,k) == u""",
                },
            ),
            "python": _some_neighbours,
            "sac": """
float[v,d] neighbours(float[v,d] x, float[v,k] w, int[v,k] nbr) {
    return { [i,j] -> sum({ [l] -> 0 <= nbr[i,l] && nbr[i,l] < v ? w[i,l] * x[nbr[i,l],j] : 0.0 }) };
}""",
        },
        tolerance=1e-3,
    )


def _some_neighbours(x: "float(V,D)", w: "float(V,K)", nbr: "int32(V,K)"):
    o[v, d] += w[v, k] * x[u, d] if nbr[v, k] == u else 0.0
    return o


def segment_mean(n: int, d: int, b: int) -> Computation:
    """The mean of the rows of each group; 0 for an empty group."""
    header = f"(float(N,D) x, int32(N) g) -> (float({b},D) o)"

    def reference(x, g):
        out, count = np.zeros((b, d)), np.zeros(b)
        np.add.at(out, g, x)
        np.add.at(count, g, 1)
        return out / np.maximum(count, 1)[:, None]

    def sums(x, g):
        count = jax.ops.segment_sum(jnp.ones(n, x.dtype), g, num_segments=b)
        return jax.ops.segment_sum(x, g, num_segments=b) / jnp.maximum(count, 1)[:, None]

    def bincount(x, g):
        return jax.ops.segment_sum(x, g, num_segments=b) / jnp.maximum(jnp.bincount(g, length=b), 1)[:, None]

    counted, within = "c(b) +=! 1.0 where g(n) == b", f"b in 0:{b}"
    return Computation(
        name="segment_mean",
        make_arrays=lambda rng: (*normals(rng, (n, d)), rng.integers(0, b, n, dtype=np.int32)),
        reference=reference,
        forms={"sums": sums, "bincount": bincount},
        spellings={
            **definitions(
                f"def segment_mean{header}",
                {
                    "scatter_and_guard": f"{counted}, {within}\no(g(n),d) +=! x(n,d)\no(b,d) = o(b,d) / max(c(b), 1.0)",
                    "guards": f"""
{counted}, {within}
o(b,d) +=! x(n,d) where g(n) == b
o(b,d) = o(b,d) / max(c(b), 1.0)""",
                    "inline_guards": "o(b,d) = sum[n where g(n) == b](x(n,d)) / max(sum[n where g(n) == b](1.0), 1.0)",
                    "named_sums": f"""
{counted}, {within}
t(b,d) +=! x(n,d) where g(n) == b, {within}
o(b,d) = t(b,d) / max(c(b), 1.0)""",
                    "integer_counts": f"""
c(b) +=! 1 where g(n) == b, {within}
o(b,d) +=! x(n,d) where g(n) == b
o(b,d) = o(b,d) / float(max(c(b), 1))""",
                    "ternary": f"""
c(b) +=! g(n) == b ? 1.0 : 0.0 where {within}
o(b,d) +=! g(n) == b ? x(n,d) : 0.0
o(b,d) = o(b,d) / max(c(b), 1.0)""",
                    "times_condition": f"""
c(b) +=! float(g(n) == b) where {within}
o(b,d) +=! x(n,d) * float(g(n) == b)
o(b,d) = o(b,d) / max(c(b), 1.0)""",
                    "ternary_after": f"""
{counted}, {within}
o(b,d) +=! x(n,d) where g(n) == b
o(b,d) = c(b) > 0.0 ? o(b,d) / c(b) : 0.0""",
                },
            ),
            "python": _segment_mean(b),
            "sac": f"""
float[r,d] segment_mean(float[n,d] x, int[n] g) {{
    c = {{ [i] -> max(sum({{ [k] -> g[k] == i ? 1.0 : 0.0 }}), 1.0) | [i] < [{b}] }};
    return {{ [i,j] -> sum({{ [k] -> g[k] == i ? x[k,j] : 0.0 }}) / c[i] | [i,j] < [{b}, d] }};
}}""",
        },
        tolerance=1e-3,
    )


def _segment_mean(groups: int):
    def segment_mean(x: "float(N,D)", g: "int32(N)"):
        for b in range(0, groups):
            c[b] = sum[n, g[n] == b](1.0)
        for b in range(0, groups):
            o[b, d] = sum[n, g[n] == b](x[n, d])
        o[b, d] = o[b, d] / max(c[b], 1.0)
        return o

    return segment_mean


def pairs(n: int, a: int, b: int) -> Computation:
    """The total weight in each pair of bins: a two-dimensional histogram, a confusion matrix."""
    header = f"(float(N) w, int32(N) p, int32(N) q) -> (float({a},{b}) o)"

    def reference(w, p, q):
        out = np.zeros((a, b))
        np.add.at(out, (p, q), w)
        return out

    def flat(w, p, q):
        return jax.ops.segment_sum(w, p * b + q, num_segments=a * b).reshape(a, b)

    def one_hot(w, p, q):
        return (jax.nn.one_hot(p, a, dtype=w.dtype) * w[:, None]).T @ jax.nn.one_hot(q, b, dtype=w.dtype)

    return Computation(
        name="pairs",
        make_arrays=lambda rng: (
            *normals(rng, (n,)),
            rng.integers(0, a, n, dtype=np.int32),
            rng.integers(0, b, n, dtype=np.int32),
        ),
        reference=reference,
        forms={
            "flat": flat,
            "at_add": lambda w, p, q: jnp.zeros((a, b), w.dtype).at[p, q].add(w),
            "one_hot": one_hot,
        },
        spellings={
            **definitions(
                f"def pairs{header}",
                {
                    "scatter": "o(p(n),q(n)) +=! w(n)",
                    "zero_then_add": f"o(i,j) = 0.0 where i in 0:{a}, j in 0:{b}\no(p(n),q(n)) += w(n)",
                    "guards": "o(i,j) +=! w(n) where p(n) == i, q(n) == j",
                    "guard_and_place": "o(p(n),j) +=! w(n) where q(n) == j",
                    "inline_guards": "o(i,j) = sum[n where p(n) == i && q(n) == j](w(n))",
                    "ternary": "o(i,j) +=! p(n) == i && q(n) == j ? w(n) : 0.0",
                    "two_ternaries": "o(i,j) +=! p(n) == i ? (q(n) == j ? w(n) : 0.0) : 0.0",
                    "named_weights": "v(n) = 2.0 * w(n)\no(p(n),q(n)) +=! 0.5 * v(n)",
                },
            ),
            "python": _pairs(a, b),
            "sac": f"""
float[a,b] pairs(float[n] w, int[n] p, int[n] q) {{
    return {{ [i,j] -> sum({{ [k] -> p[k] == i && q[k] == j ? w[k] : 0.0 }}) | [i,j] < [{a}, {b}] }};
}}""",
        },
        tolerance=1e-3,
    )


def _pairs(rows: int, columns: int):
    def pairs(w: "float(N)", p: "int32(N)", q: "int32(N)"):
        for i in range(0, rows):
            for j in range(0, columns):
                o[i, j] = 0.0
        o[p[n], q[n]] += w[n]
        return o

    return pairs
