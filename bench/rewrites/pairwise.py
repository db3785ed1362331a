"""All pairs: squared distances, the product of matrices in (min, +), a kernel sum, the nearest point."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..cases.blocks import by_columns, by_rows, by_turns, in_blocks, lanes
from ..cases.case import Arrays, normals
from .computation import Computation, definitions

# (N, M, D)
DISTANCE_SIZES = {"small": (5, 4, 3), "full": (1024, 1024, 32)}
KERNEL_SIZES = {"small": (5, 4, 3), "full": (2048, 2048, 3)}
NEAREST_SIZES = {"small": (5, 6, 3), "full": (1024, 2048, 8)}
# (M, N, K)
MIN_PLUS_SIZES = {"small": (4, 5, 6), "full": (192, 192, 192)}

# So far from the origin that squared coordinates lose most digits of distances.
FAR_AWAY = 4

POINTS = "float(N,D) x, float(M,D) y"


def computations(size: str) -> Iterator[Computation]:
    """The reductions over pairs at `size`."""
    yield distances(*DISTANCE_SIZES[size])
    yield min_plus(*MIN_PLUS_SIZES[size])
    yield kernel_sum(*KERNEL_SIZES[size])
    yield nearest(*NEAREST_SIZES[size])


def _by_differences(x, y):
    apart = x[:, None] - y[None]
    return (apart * apart).sum(-1)


def _in_lanes(xs, ys):
    return sum((x - y) ** 2 for x, y in zip(xs, ys, strict=True))


def _by_products(x, y):
    return (x * x).sum(1)[:, None] + (y * y).sum(1)[None] - 2 * (x @ y.T)


def distances(n: int, m: int, d: int) -> Computation:
    """The squared distance of every pair of points, which are nearer to each other than to the origin."""

    differences_in_turns = by_turns(lambda a, b: jnp.square(a - b), jnp.add, 0.0, unroll=4)

    @jax.custom_vjp
    def in_turns(x, y):
        """Explicit differences, and matrix products for the gradients of the points."""
        return differences_in_turns(x, y.T)

    def received(points, w):
        x, y = points
        return 2 * (w.sum(1)[:, None] * x - w @ y), 2 * (w.sum(0)[:, None] * y - w.T @ x)

    in_turns.defvjp(lambda x, y: (in_turns(x, y), (x, y)), received)

    return Computation(
        name="distances",
        make_arrays=lambda rng: tuple(points + np.float32(FAR_AWAY) for points in normals(rng, (n, d), (m, d))),
        reference=in_blocks(_by_differences, 0),
        forms={
            "differences": _by_differences,
            "in_turns": in_turns,
            "by_products": _by_products,
            "norms_by_einsum": lambda x, y: (
                jnp.einsum("id,id->i", x, x)[:, None] + jnp.einsum("jd,jd->j", y, y) - 2 * (x @ y.T)
            ),
            "one_product": lambda x, y: (
                jnp.concatenate([-2 * x, (x * x).sum(1, keepdims=True), jnp.ones((n, 1), x.dtype)], axis=1)
                @ jnp.concatenate([y, jnp.ones((m, 1), x.dtype), (y * y).sum(1, keepdims=True)], axis=1).T
            ),
        },
        spellings={
            **definitions(
                f"def distances({POINTS}) -> (o)",
                {
                    "product_of_differences": "o(i,j) +=! (x(i,d) - y(j,d)) * (x(i,d) - y(j,d))",
                    "power": "o(i,j) +=! pow(x(i,d) - y(j,d), 2.0)",
                    "power_turned_round": "o(i,j) +=! pow(y(j,d) - x(i,d), 2)",
                    "absolute_value": "o(i,j) +=! fabs(x(i,d) - y(j,d)) * fabs(x(i,d) - y(j,d))",
                    "inline_sum": "o(i,j) = sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))",
                    "named_difference": """
a(i,j,d) = x(i,d) - y(j,d)
o(i,j) +=! a(i,j,d) * a(i,j,d)""",
                    "named_square": """
a(i,j,d) = pow(x(i,d) - y(j,d), 2.0)
o(i,j) = sum[d](a(i,j,d))""",
                    "expanded_inside": "o(i,j) +=! x(i,d) * x(i,d) - 2 * x(i,d) * y(j,d) + y(j,d) * y(j,d)",
                    "expanded_sums": """
o(i,j) = sum[d](x(i,d) * x(i,d)) + sum[d](y(j,d) * y(j,d)) - 2 * sum[d](x(i,d) * y(j,d))""",
                    "named_norms": """
p(i) +=! x(i,d) * x(i,d)
q(j) +=! y(j,d) * y(j,d)
c(i,j) +=! x(i,d) * y(j,d)
o(i,j) = p(i) + q(j) - 2 * c(i,j)""",
                    "zero_then_add": """
o(i,j) = 0.0 where i in 0:N, j in 0:M
o(i,j) += (x(i,d) - y(j,d)) * (x(i,d) - y(j,d))""",
                    "transposed_result": """
t(j,i) +=! pow(x(i,d) - y(j,d), 2.0)
o(i,j) = t(j,i)""",
                    "larger_minus_smaller": "o(i,j) +=! pow(max(x(i,d), y(j,d)) - min(x(i,d), y(j,d)), 2.0)",
                    "minus_product": "o(i,j) +=! -(x(i,d) - y(j,d)) * (y(j,d) - x(i,d))",
                    "unit_axis": """
a(i,u,d) = x(i,d) where u in 0:1
o(i,j) +=! (a(i,u,d) - y(j,d)) * (a(i,u,d) - y(j,d))""",
                    "scaled_inside": "o(i,j) = 4 * sum[d](pow((x(i,d) - y(j,d)) / 2, 2.0))",
                    "named_scaled": "s(i,j) +=! pow((x(i,d) - y(j,d)) / 2, 2.0)\no(i,j) = 4 * s(i,j)",
                    "scaled_mean": "o(i,j) = D * mean[d](pow(x(i,d) - y(j,d), 2.0))",
                    "expanded_scaled": """
o(i,j) = 2 * (sum[d](x(i,d) * x(i,d)) / 2 - sum[d](x(i,d) * y(j,d)) + sum[d](y(j,d) * y(j,d)) / 2)""",
                    "expanded_not_negative": """
p(i) +=! x(i,d) * x(i,d)
q(j) +=! y(j,d) * y(j,d)
o(i,j) = max(p(i) + q(j) - 2 * sum[d](x(i,d) * y(j,d)), 0.0)""",
                    "two_halves": """
o(i,j) = sum[d in 0:D/2](pow(x(i,d) - y(j,d), 2.0)) + sum[d in D/2:D](pow(x(i,d) - y(j,d), 2.0))""",
                },
            ),
            "python": _distances,
            "sac": "{ [i,j] -> sum((x[i] - y[j]) * (x[i] - y[j])) }",
        },
    )


def _distances(x: "float(N,D)", y: "float(M,D)"):
    o[i, j] += (x[i, d] - y[j, d]) ** 2
    return o


def min_plus(m: int, n: int, k: int) -> Computation:
    """The min-plus product of two matrices."""

    def k_middle(A, B):
        return (A[:, :, None] + B[None]).min(1)

    def k_last(A, B):
        return (A[:, None, :] + B.T[None]).min(2)

    def k_first(A, B):
        return (A[:, :, None] + B[:, None, :]).min(0)

    return Computation(
        name="min_plus",
        make_arrays=lambda rng: normals(rng, (m, k), (k, n)),
        reference=in_blocks(k_middle, 0, rows=16),
        forms={
            "k_middle": k_middle,
            "k_last": k_last,
            "blocks_of_rows": by_rows(k_middle, 0, rows=8),
            "blocks_of_k": lambda A, B: by_columns(k_first, jnp.minimum, 0, 1, columns=8)(A.T, B),
            "unrolled": by_turns(lambda a, b: a + b, lambda a, b: jnp.where(b < a, b, a), float("inf")),
        },
        spellings={
            **definitions(
                "def min_plus(float(M,K) A, float(K,N) B) -> (C)",
                {
                    "statement": "C(m,n) min=! A(m,k) + B(k,n)",
                    "swapped": "C(m,n) min=! B(k,n) + A(m,k)",
                    "inline_minimum": "C(m,n) = min[k](A(m,k) + B(k,n))",
                    "negated_maximum": "C(m,n) = -max[k](-A(m,k) - B(k,n))",
                    "difference": "D(k,n) = -B(k,n)\nC(m,n) min=! A(m,k) - D(k,n)",
                    "named_sum": "S(m,k,n) = A(m,k) + B(k,n)\nC(m,n) min=! S(m,k,n)",
                    "named_sum_k_last": "S(m,n,k) = A(m,k) + B(k,n)\nC(m,n) = min[k](S(m,n,k))",
                    "infinity_then_minimum": """
C(m,n) = inf where m in 0:M, n in 0:N
C(m,n) min= A(m,k) + B(k,n)""",
                    "transposed_operand": "T(n,k) = B(k,n)\nC(m,n) min=! A(m,k) + T(n,k)",
                    "transposed_result": "T(n,m) min=! A(m,k) + B(k,n)\nC(m,n) = T(n,m)",
                    "smallest_first": "C(m,n) = mink[k](A(m,k) + B(k,n), 0)",
                    "two_halves": """
C(m,n) = min(min[k in 0:K/2](A(m,k) + B(k,n)), min[k in K/2:K](A(m,k) + B(k,n)))""",
                    "two_halves_updated": """
C(m,n) min=! A(m,k) + B(k,n) where k in 0:K/2
C(m,n) min= A(m,k) + B(k,n) where k in K/2:K""",
                    "negated_statement": """
T(m,n) max=! -A(m,k) - B(k,n)
C(m,n) = -T(m,n)""",
                    "reversed_index": "C(m,n) min=! A(m,K-1-k) + B(K-1-k,n)",
                },
            ),
            "python": _min_plus,
            "sac": "{ [m,n] -> minval({ [k] -> A[m,k] + B[k,n] }) }",
            "sac_rows": "{ [m,n] -> minval(A[m] + B[.,n]) }",
        },
    )


def _min_plus(A: "float(M,K)", B: "float(K,N)"):
    C[m, n] = min[k](A[m, k] + B[k, n])
    return C


def kernel_sum(n: int, m: int, d: int) -> Computation:
    """The Gaussian kernel matrix of two sets of points, times a vector."""

    def plain(x, y, b):
        return jnp.exp(-_by_differences(x, y) / 2) @ b

    def by_products(x, y, b):
        return jnp.exp(-_by_products(x, y) / 2) @ b

    def factored(x, y, b):
        weights = b * jnp.exp(-(y * y).sum(1) / 2)
        return jnp.exp(-(x * x).sum(1) / 2) * (jnp.exp(x @ y.T) @ weights)

    def step(accumulators, first, xs, ys):
        (total,), (*ys, b) = accumulators, ys
        return (total + jnp.exp(-_in_lanes(xs, ys) / 2) * b,)

    square = "sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))"
    return Computation(
        name="kernel_sum",
        make_arrays=lambda rng: normals(rng, (n, d), (m, d), (m,)),
        reference=in_blocks(lambda x, y, b: np.exp(-_by_differences(x, y) / 2) @ b, 0),
        forms={
            "differences": plain,
            "by_products": by_products,
            "factored": factored,
            "blocks_of_rows": by_rows(plain, 0),
            "products_in_blocks": by_rows(by_products, 0),
            "blocks_of_columns": by_columns(plain, jnp.add, 1, 2),
            "lanes": lanes(step, (0.0,), lambda total: total.sum(0)),
        },
        spellings={
            **definitions(
                f"def kernel_sum({POINTS}, float(M) b) -> (o)",
                {
                    "statement": f"o(i) +=! exp(-{square} / 2) * b(j)",
                    "weight_first": f"o(i) +=! b(j) * exp(-0.5 * {square})",
                    "quotient_by_float": f"o(i) +=! exp(-({square} / 2.0)) * b(j)",
                    "quotient_inside": (
                        "o(i) +=! exp(sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)) / 2) * (-1.0)) * b(j)"
                    ),
                    "power": "o(i) +=! exp(-sum[d](pow(x(i,d) - y(j,d), 2.0)) / 2) * b(j)",
                    "inline_sum": f"o(i) = sum[j](exp(-{square} / 2) * b(j))",
                    "reciprocal_of_exponential": f"o(i) +=! b(j) / exp({square} / 2)",
                    "named_distances": f"s(i,j) = {square}\no(i) +=! exp(-s(i,j) / 2) * b(j)",
                    "named_matrix": f"""
s(i,j) = {square}
k(i,j) = exp(-0.5 * s(i,j))
o(i) +=! k(i,j) * b(j)""",
                    "named_difference": """
a(i,j,d) = x(i,d) - y(j,d)
s(i,j) +=! a(i,j,d) * a(i,j,d)
o(i) +=! exp(-s(i,j) / 2) * b(j)""",
                    "expanded": """
p(i) +=! x(i,d) * x(i,d)
q(j) +=! y(j,d) * y(j,d)
o(i) +=! exp(sum[d](x(i,d) * y(j,d)) - p(i) / 2 - q(j) / 2) * b(j)""",
                    "zero_then_add": f"o(i) = 0.0 where i in 0:N\no(i) += exp(-{square} / 2) * b(j)",
                    "two_halves": """
o(i) = sum[j in 0:M/2](exp(-sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))/2) * b(j))
o(i) += sum[j in M/2:M](exp(-sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))/2) * b(j))""",
                    "unit_axis": """
w(j,u) = b(j) where u in 0:1
t(i,u) +=! exp(-0.5 * sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))) * w(j,u)
o(i) = t(i,0)""",
                    "transposed_matrix": """
k(j,i) = exp(-sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d))) / 2)
o(i) +=! b(j) * k(j,i)""",
                },
            ),
            "python": _kernel_sum,
            "sac": """
float[n] kernel_sum(float[n,d] x, float[m,d] y, float[m] b) {
    return { [i] -> sum({ [j] -> exp(-sum((x[i] - y[j]) * (x[i] - y[j])) / 2.0) * b[j] }) };
}""",
        },
        tolerance=1e-3,
    )


def _kernel_sum(x: "float(N,D)", y: "float(M,D)", b: "float(M)"):
    s[i, j] = sum[d]((x[i, d] - y[j, d]) ** 2)
    o[i] += exp(-s[i, j] / 2) * b[j]
    return o


def nearest(n: int, m: int, d: int) -> Computation:
    """The smallest squared distance of each point to another set, and which point that is."""

    def arrays(rng: np.random.Generator) -> Arrays:
        """Points of a grid, each near to one of the others: distances are exact, however they are computed."""
        y, noise = normals(rng, (m, d), (n, d))
        y = np.round(16 * y) / 16
        return y[rng.integers(0, m, n)] + np.round(noise) / 16, y

    def both(x, y):
        squared = _by_differences(x, y)
        return squared.min(1), squared.argmin(1)

    def both_by_products(x, y):
        squared = _by_products(x, y)
        return squared.min(1), squared.argmin(1)

    def place_first(x, y):
        place = _by_products(x, y).argmin(1)
        return jnp.square(x - y[place]).sum(1), place

    def reference(x, y):
        squared = in_blocks(_by_differences, 0)(x, y)
        return squared.min(1), squared.argmin(1)

    def step(accumulators, first, xs, ys):
        (least, place), squared = accumulators, _in_lanes(xs, ys)
        here = first + lax.broadcasted_iota(jnp.int32, squared.shape, 0)
        nearer = squared < least
        return jnp.where(nearer, squared, least), jnp.where(nearer, here, place)

    def finish(least, place):
        smallest = least.min(0)
        return smallest, jnp.where(least == smallest, place, m).min(0)

    by_lanes = lanes(step, (float("inf"), 0), finish)

    def lanes_then_distance(x, y):
        _, place = by_lanes(lax.stop_gradient(x), lax.stop_gradient(y))
        return jnp.square(x - y[place]).sum(1), place

    square = "sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))"
    return Computation(
        name="nearest",
        make_arrays=arrays,
        reference=reference,
        forms={
            "differences": both,
            "by_products": both_by_products,
            "place_first": place_first,
            "blocks_of_rows": by_rows(both, 0),
            "products_in_blocks": by_rows(both_by_products, 0),
            "lanes": by_lanes,
            "lanes_then_distance": lanes_then_distance,
        },
        spellings={
            **definitions(
                f"def nearest({POINTS}) -> (least, place)",
                {
                    "two_statements": f"least(i) min=! {square}\nplace(i) argmin=! {square}",
                    "inline": f"least(i) = min[j]({square})\nplace(i) = argmin[j]({square})",
                    "power": """
least(i) min=! sum[d](pow(x(i,d) - y(j,d), 2.0))
place(i) argmin=! sum[d](pow(x(i,d) - y(j,d), 2.0))""",
                    "named_distances": f"""
s(i,j) = {square}
least(i) min=! s(i,j)
place(i) argmin=! s(i,j)""",
                    "named_difference": """
a(i,j,d) = x(i,d) - y(j,d)
s(i,j) +=! a(i,j,d) * a(i,j,d)
least(i) min=! s(i,j)
place(i) argmin=! s(i,j)""",
                    "place_then_read": f"""
s(i,j) = {square}
place(i) argmin=! s(i,j)
least(i) = s(i,place(i))""",
                    "place_then_distance": f"""
place(i) = argmin[j]({square})
least(i) = sum[d](pow(x(i,d) - y(place(i),d), 2.0))""",
                    "negated": f"""
least(i) = -max[j](-{square})
place(i) argmax=! -{square}""",
                    "expanded": """
p(i) +=! x(i,d) * x(i,d)
q(j) +=! y(j,d) * y(j,d)
s(i,j) = p(i) - 2 * sum[d](x(i,d) * y(j,d)) + q(j)
least(i) min=! s(i,j)
place(i) argmin=! s(i,j)""",
                    "smallest_of_order": f"least(i) = mink[j]({square}, 0)\nplace(i) = argmink[j]({square}, 0)",
                    "two_halves": """
s(i,j) = sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))
least(i) = min(min[j in 0:M/2](s(i,j)), min[j in M/2:M](s(i,j)))
place(i) = argmin[j](sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d))))""",
                    "largest_negative": """
s(i,j) = -sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))
t(i) max=! s(i,j)
least(i) = -t(i)
place(i) argmax=! s(i,j)""",
                    "unit_axis": """
s(i,u,j) = sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d))) where u in 0:1
least(i) min=! s(i,0,j)
place(i) argmin=! s(i,0,j)""",
                    "transposed_matrix": """
s(j,i) = sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))
least(i) min=! s(j,i)
place(i) argmin=! s(j,i)""",
                },
            ),
            "python": _nearest,
            "sac": """
float[n], int[n] nearest(float[n,d] x, float[m,d] y) {
    s = { [i,j] -> sum((x[i] - y[j]) * (x[i] - y[j])) };
    return ({ [i] -> minval(s[i]) }, { [i] -> argmin(s[i]) });
}""",
        },
    )


def _nearest(x: "float(N,D)", y: "float(M,D)"):
    s[i, j] = sum[d]((x[i, d] - y[j, d]) ** 2)
    least[i] = min[j](s[i, j])
    place[i] = argmin[j](s[i, j])
    return least, place
