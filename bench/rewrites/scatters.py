"""Sums scattered by data: rows of a matrix, segments given by a condition, a weighted histogram."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from ..cases.case import Arrays, normals
from .computation import Computation, definitions

# (N, D, B)
ROWS_SIZES = {"small": (9, 3, 4), "full": (65536, 32, 1024)}
SEGMENTS_SIZES = {"small": (9, 3, 4), "full": (131072, 32, 128)}
# (N, B)
HISTOGRAM_SIZES = {"small": (11, 4), "full": (1 << 20, 256)}


def computations(size: str) -> Iterator[Computation]:
    """The scatters at `size`."""
    yield row_scatter(*ROWS_SIZES[size])
    yield segment_sum(*SEGMENTS_SIZES[size])
    yield histogram(*HISTOGRAM_SIZES[size])


def _rows(rng: np.random.Generator, n: int, d: int, b: int) -> Arrays:
    return *normals(rng, (n, d)), rng.integers(0, b, n, dtype=np.int32)


def _added(shape: tuple[int, ...], places: np.ndarray, values: np.ndarray) -> np.ndarray:
    out = np.zeros(shape)
    np.add.at(out, places, values)
    return out


def row_scatter(n: int, d: int, b: int) -> Computation:
    """Each row of a matrix added to the row of the result that an index array names."""
    header = f"(float(N,D) X, int32(N) I) -> (float({b},D) O)"
    return Computation(
        name="row_scatter",
        make_arrays=lambda rng: _rows(rng, n, d, b),
        reference=lambda X, I: _added((b, d), I, X),
        forms={
            "at_add": lambda X, I: jnp.zeros((b, d), X.dtype).at[I].add(X),
            "segment_sum": lambda X, I: jax.ops.segment_sum(X, I, num_segments=b),
            "in_bounds": lambda X, I: jnp.zeros((b, d), X.dtype).at[I].add(X, mode="promise_in_bounds"),
            "sorted": lambda X, I: _sorted_sum(X, I, b),
        },
        spellings={
            **definitions(
                f"def row_scatter{header}",
                {
                    "scatter": "O(I(n),d) +=! X(n,d)",
                    "zero_then_add": f"O(b,d) = 0.0 where b in 0:{b}, d in 0:D\nO(I(n),d) += X(n,d)",
                    "named_index": "p(n) = I(n)\nO(p(n),d) +=! X(n,d)",
                    "named_rows": "v(n,d) = X(n,d)\nO(I(n),d) +=! v(n,d)",
                    "halves": "O(I(n),d) +=! 0.5 * X(n,d)\nO(b,d) = 2.0 * O(b,d)",
                    "subtracted": "O(I(n),d) +=! -X(n,d)\nO(b,d) = -O(b,d)",
                    "guarded_index": "O(I(n),d) +=! X(n,d) where I(n) >= 0",
                    "guarded_value": "O(I(n),d) +=! I(n) >= 0 ? X(n,d) : 0.0",
                    "times_condition": "O(I(n),d) +=! X(n,d) * float(I(n) >= 0)",
                    "guarded_sum": "O(b,d) +=! X(n,d) where I(n) == b",
                    "neither_less_nor_greater": "O(b,d) +=! X(n,d) where I(n) >= b, I(n) <= b",
                },
            ),
            "transposed": f"""
def row_scatter{header} {{
  float(D,{b}) T
  T(d,I(n)) +=! X(n,d)
  O(b,d) = T(d,b)
}}""",
            "python": _row_scatter(b),
            "sac": f"""
float[r,d] row_scatter(float[n,d] X, int[n] I) {{
    return {{ [b,j] -> sum({{ [i] -> I[i] == b ? X[i,j] : 0.0 }}) | [b,j] < [{b}, d] }};
}}""",
        },
        tolerance=1e-3,
    )


def _row_scatter(rows: int):
    def row_scatter(X: "float(N,D)", I: "int32(N)"):
        for b in range(0, rows):
            for d in range(0, X.shape[1]):
                O[b, d] = 0.0
        O[I[n], d] += X[n, d]
        return O

    return row_scatter


def _sorted_sum(X, I, b: int):
    order = jnp.argsort(I)
    return jax.ops.segment_sum(X[order], I[order], num_segments=b, indices_are_sorted=True)


def segment_sum(n: int, d: int, b: int) -> Computation:
    """The sum of the rows that belong to each segment, as a condition says."""
    header = f"(float(N,D) X, int32(N) I) -> (float({b},D) O)"
    return Computation(
        name="segment_sum",
        make_arrays=lambda rng: _rows(rng, n, d, b),
        reference=lambda X, I: _added((b, d), I, X),
        forms={
            "segment_sum": lambda X, I: jax.ops.segment_sum(X, I, num_segments=b),
            "at_add": lambda X, I: jnp.zeros((b, d), X.dtype).at[I].add(X),
            "one_hot": lambda X, I: jax.nn.one_hot(I, b, dtype=X.dtype).T @ X,
            "one_hot_einsum": lambda X, I: jnp.einsum("nb,nd->bd", jax.nn.one_hot(I, b, dtype=X.dtype), X),
            "compared": lambda X, I: (jnp.arange(b)[:, None] == I).astype(X.dtype) @ X,
            "sorted": lambda X, I: _sorted_sum(X, I, b),
        },
        spellings={
            **definitions(
                f"def segment_sum{header}",
                {
                    "guard": "O(b,d) +=! X(n,d) where b == I(n)",
                    "guard_swapped": "O(b,d) +=! X(n,d) where I(n) == b",
                    "inline_guard": "O(b,d) = sum[n where I(n) == b](X(n,d))",
                    "ternary": "O(b,d) +=! I(n) == b ? X(n,d) : 0.0",
                    "ternary_negated": "O(b,d) +=! I(n) != b ? 0.0 : X(n,d)",
                    "inline_ternary": "O(b,d) = sum[n](b == I(n) ? X(n,d) : 0.0)",
                    "times_condition": "O(b,d) +=! X(n,d) * float(I(n) == b)",
                    "times_ternary": "O(b,d) +=! (I(n) == b ? 1.0 : 0.0) * X(n,d)",
                    "one_hot": f"H(n,b) = I(n) == b ? 1.0 : 0.0 where b in 0:{b}\nO(b,d) +=! H(n,b) * X(n,d)",
                    "one_hot_cast": f"H(b,n) = float(b == I(n)) where b in 0:{b}\nO(b,d) +=! H(b,n) * X(n,d)",
                    "zero_then_add": f"O(b,d) = 0.0 where b in 0:{b}, d in 0:D\nO(b,d) += X(n,d) where I(n) == b",
                    "scatter": "O(I(n),d) +=! X(n,d)",
                    "transposed": f"""
T(d,b) +=! X(n,d) where b == I(n), b in 0:{b}
O(b,d) = T(d,b)""",
                    "both_bounds": "O(b,d) +=! X(n,d) where I(n) >= b, I(n) < b + 1",
                    "not_not_equal": "O(b,d) +=! X(n,d) where !(I(n) != b)",
                    "mean_times_size": "O(b,d) = N * mean[n](I(n) == b ? X(n,d) : 0.0)",
                    "kronecker_delta_twice": "O(b,d) +=! float(I(n) <= b) * float(I(n) >= b) * X(n,d)",
                    "two_halves": """
O(b,d) = sum[n in 0:N/2 where I(n) == b](X(n,d)) + sum[n in N/2:N where I(n) == b](X(n,d))""",
                },
            ),
            "python": _segment_sum(b),
            "sac": f"""
float[r,d] segment_sum(float[n,d] X, int[n] I) {{
    return {{ [b,j] -> sum({{ [i] -> I[i] == b ? X[i,j] : 0.0 }}) | [b,j] < [{b}, d] }};
}}""",
            "sac_one_hot": f"""
float[r,d] segment_sum(float[n,d] X, int[n] I) {{
    H = {{ [b,i] -> I[i] == b ? 1.0 : 0.0 | [b,i] < [{b}, n] }};
    return {{ [b,j] -> sum({{ [i] -> H[b,i] * X[i,j] }}) }};
}}""",
        },
        tolerance=1e-3,
    )


def _segment_sum(segments: int):
    def segment_sum(X: "float(N,D)", I: "int32(N)"):
        for b in range(0, segments):
            O[b, d] = sum[n, I[n] == b](X[n, d])
        return O

    return segment_sum


def histogram(n: int, b: int) -> Computation:
    """The mean weight in each bin."""
    header = f"(int32(N) bin, float(N) w) -> (float({b}) H)"
    return Computation(
        name="histogram",
        make_arrays=lambda rng: (rng.integers(0, b, n, dtype=np.int32), *normals(rng, (n,))),
        reference=lambda bin, w: _added((b,), bin, w) / n,
        forms={
            "at_add": lambda bin, w: jnp.zeros(b, w.dtype).at[bin].add(w) / n,
            "segment_sum": lambda bin, w: jax.ops.segment_sum(w, bin, num_segments=b) / n,
            "bincount": lambda bin, w: jnp.bincount(bin, weights=w, length=b) / n,
            "scaled_before": lambda bin, w: jnp.zeros(b, w.dtype).at[bin].add(w / n),
        },
        spellings={
            **definitions(
                f"def histogram{header}",
                {
                    "quotient_after": "H(bin(n)) +=! w(n)\nH(b) = H(b) / N",
                    "quotient_inside": "H(bin(n)) +=! w(n) / N",
                    "reciprocal_inside": f"H(bin(n)) +=! {1 / n} * w(n)",
                    "zero_then_add": f"H(b) = 0.0 where b in 0:{b}\nH(bin(n)) += w(n) / N",
                    "named_weights": "v(n) = w(n) / N\nH(bin(n)) +=! v(n)",
                    "guard": "H(b) +=! w(n) / N where bin(n) == b",
                    "inline_guard": "H(b) = sum[n where bin(n) == b](w(n)) / N",
                    "ternary": "H(b) +=! bin(n) == b ? w(n) / N : 0.0",
                    "times_condition": "H(b) +=! w(n) * float(bin(n) == b)\nH(b) = H(b) / N",
                    "inline_product": "H(b) = sum[n](w(n) * (bin(n) == b ? 1.0 : 0.0)) / N",
                    "mean": "H(b) = mean[n](bin(n) == b ? w(n) : 0.0)",
                    "guard_twice": "H(b) +=! w(n) / N where bin(n) <= b, bin(n) >= b",
                },
            ),
            "named_sum": f"""
def histogram{header} {{
  float({b}) T
  T(bin(n)) +=! w(n)
  H(b) = T(b) / N
}}""",
            "python": _histogram(b),
            "sac": f"""
float[r] histogram(int[n] bin, float[n] w) {{
    return {{ [b] -> sum({{ [i] -> bin[i] == b ? w[i] : 0.0 }}) / tof(n) | [b] < [{b}] }};
}}""",
        },
    )


def _histogram(bins: int):
    def histogram(bin: "int32(N)", w: "float(N)"):
        for b in range(0, bins):
            H[b] = 0.0
        H[bin[n]] += w[n]
        H[b] = H[b] / bin.shape[0]
        return H

    return histogram
