"""Mean and variance over columns and over rows, softmax and the logarithm of a sum of exponentials, by hand."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..cases.case import normals
from .computation import Computation, definitions

# (N, D)
COLUMNS_SIZES = {"small": (7, 5), "full": (4096, 512)}
ROWS_SIZES = {"small": (5, 7), "full": (2048, 1024)}
EPSILON = 1e-5


def computations(size: str) -> Iterator[Computation]:
    """The statistics at `size`."""
    yield column_moments(*COLUMNS_SIZES[size])
    yield layer_norm(*ROWS_SIZES[size])
    yield softmax(*ROWS_SIZES[size])
    yield log_sum_exp(*ROWS_SIZES[size])


def column_moments(n: int, d: int) -> Computation:
    """Mean and variance of each column."""

    def of_squares(x):
        mean = x.mean(0)
        return mean, (x * x).mean(0) - mean * mean

    def by_products(x):
        ones = jnp.full((n,), 1 / n, x.dtype)
        mean = ones @ x
        return mean, ones @ (x * x) - mean * mean

    def split_rows(x):
        parts = x.reshape(-1, 64, d) if n % 64 == 0 else x[:, None]
        mean = parts.sum(1).sum(0) / n
        return mean, jnp.square(parts - mean).sum(1).sum(0) / n

    return Computation(
        name="column_moments",
        make_arrays=lambda rng: normals(rng, (n, d)),
        reference=lambda x: (x.mean(0), x.var(0)),
        forms={
            "mean_var": lambda x: (x.mean(0), x.var(0)),
            "mean_of_squares": of_squares,
            "by_products": by_products,
            "split_rows": split_rows,
            "transposed": lambda x: (x.T.mean(1), x.T.var(1)),
        },
        spellings={
            **definitions(
                "def column_moments(float(N,D) x) -> (m, v)",
                {
                    "sums_then_quotients": """
m(d) +=! x(n,d)
m(d) = m(d) / N
v(d) +=! pow(x(n,d) - m(d), 2.0)
v(d) = v(d) / N""",
                    "square_as_product": """
m(d) +=! x(n,d)
m(d) = m(d) / N
v(d) +=! (x(n,d) - m(d)) * (x(n,d) - m(d))
v(d) = v(d) / N""",
                    "quotients_inside": """
m(d) +=! x(n,d) / N
v(d) +=! (x(n,d) - m(d)) * (x(n,d) - m(d)) / N""",
                    "reciprocals_inside": f"""
m(d) +=! x(n,d) * {1 / n}
v(d) +=! pow(x(n,d) - m(d), 2) * {1 / n}""",
                    "zero_then_add": """
m(d) = 0.0 where d in 0:D
m(d) += x(n,d) / N
v(d) = 0.0 where d in 0:D
v(d) += pow(x(n,d) - m(d), 2.0) / N""",
                    "means": """
m(d) = mean[n](x(n,d))
v(d) = mean[n](pow(x(n,d) - m(d), 2.0))""",
                    "inline_sums": """
m(d) = sum[n](x(n,d)) / N
v(d) = sum[n]((x(n,d) - m(d)) * (x(n,d) - m(d))) / N""",
                    "mean_written_twice": """
m(d) = sum[n](x(n,d)) / N
v(d) = sum[n](pow(x(n,d) - sum[k](x(k,d)) / N, 2.0)) / N""",
                    "named_difference": """
m(d) +=! x(n,d) / N
c(n,d) = x(n,d) - m(d)
v(d) +=! c(n,d) * c(n,d)
v(d) = v(d) / N""",
                    "mean_of_squares": """
m(d) +=! x(n,d) / N
v(d) +=! x(n,d) * x(n,d) / N
v(d) = v(d) - m(d) * m(d)""",
                    "mean_of_squares_inline": """
m(d) = mean[n](x(n,d))
v(d) = mean[n](pow(x(n,d), 2.0)) - pow(m(d), 2.0)""",
                    "sums_of_powers": """
s(d) +=! x(n,d)
q(d) +=! x(n,d) * x(n,d)
m(d) = s(d) / N
v(d) = (q(d) - s(d) * s(d) / N) / N""",
                    "transposed_first": """
t(d,n) = x(n,d)
m(d) = mean[n](t(d,n))
v(d) = mean[n](pow(t(d,n) - m(d), 2.0))""",
                    "two_halves": """
m(d) = (sum[n in 0:N/2](x(n,d)) + sum[n in N/2:N](x(n,d))) / N
v(d) = (sum[n in 0:N/2](pow(x(n,d) - m(d), 2.0)) + sum[n in N/2:N](pow(x(n,d) - m(d), 2.0))) / N""",
                    "times_the_value": """
m(d) = mean[n](x(n,d))
v(d) = mean[n](x(n,d) * (x(n,d) - m(d)))""",
                    "absolute_differences": """
m(d) = mean[n](x(n,d))
v(d) = mean[n](fabs(x(n,d) - m(d)) * fabs(m(d) - x(n,d)))""",
                    "weights_named": """
w(n) = 1.0 / N where n in 0:N
m(d) +=! w(n) * x(n,d)
v(d) +=! w(n) * (x(n,d) - m(d)) * (x(n,d) - m(d))""",
                    "reciprocal_named": """
r = 1.0 / N
m(d) = r * sum[n](x(n,d))
v(d) = r * sum[n]((x(n,d) - m(d)) * (x(n,d) - m(d)))""",
                    "reversed_rows": """
m(d) +=! x(N-1-n,d) / N where n in 0:N
v(d) +=! pow(x(N-1-n,d) - m(d), 2.0) / N where n in 0:N""",
                    "unit_axis": """
X(u,n,d) = x(n,d) where u in 0:1
M(u,d) +=! X(u,n,d) / N
V(u,d) +=! pow(X(u,n,d) - M(u,d), 2.0) / N
m(d) = M(0,d)
v(d) = V(0,d)""",
                },
            ),
            "python": _column_moments,
            "sac": """
float[d], float[d] column_moments(float[n,d] x) {
    m = { [j] -> mean(x[.,j]) };
    v = { [j] -> mean({ [i] -> (x[i,j] - m[j]) * (x[i,j] - m[j]) }) };
    return (m, v);
}""",
            "sac_rows": """
float[d], float[d] column_moments(float[n,d] x) {
    m = rsum(1, x) / tof(n);
    v = rsum(1, { [i] -> (x[i] - m) * (x[i] - m) }) / tof(n);
    return (m, v);
}""",
        },
    )


def _column_moments(x: "float(N,D)"):
    m[d] = sum[n](x[n, d]) / N
    v[d] = sum[n]((x[n, d] - m[d]) ** 2) / N
    return m, v


def layer_norm(n: int, d: int) -> Computation:
    """Rows with mean 0 and variance 1, scaled and shifted."""

    def one_pass(x, g, b):
        mean = x.mean(1, keepdims=True)
        variance = (x * x).mean(1, keepdims=True) - mean * mean
        return (x - mean) * lax.rsqrt(variance + EPSILON) * g + b

    def two_passes(x, g, b):
        centred = x - x.mean(1, keepdims=True)
        return centred * lax.rsqrt((centred * centred).mean(1, keepdims=True) + EPSILON) * g + b

    def reference(x, g, b):
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + EPSILON) * g + b

    def standardize(x, g, b):
        return jax.nn.standardize(x, axis=1, epsilon=EPSILON) * g + b

    return Computation(
        name="layer_norm",
        make_arrays=lambda rng: normals(rng, (n, d), (d,), (d,)),
        reference=reference,
        forms={"two_passes": two_passes, "one_pass": one_pass, "standardize": standardize},
        spellings={
            **definitions(
                "def layer_norm(float(N,D) x, float(D) g, float(D) b) -> (y)",
                {
                    "named_sums": """
m(n) +=! x(n,d)
m(n) = m(n) / D
v(n) +=! pow(x(n,d) - m(n), 2.0)
v(n) = v(n) / D
y(n,d) = (x(n,d) - m(n)) * rsqrt(v(n) + 1e-5) * g(d) + b(d)""",
                    "quotients_inside": """
m(n) +=! x(n,d) / D
v(n) +=! (x(n,d) - m(n)) * (x(n,d) - m(n)) / D
y(n,d) = g(d) * (x(n,d) - m(n)) * rsqrt(v(n) + 1e-5) + b(d)""",
                    "root_as_quotient": """
m(n) = mean[d](x(n,d))
v(n) = mean[d](pow(x(n,d) - m(n), 2.0))
y(n,d) = (x(n,d) - m(n)) / sqrt(v(n) + 1e-5) * g(d) + b(d)""",
                    "root_as_power": """
m(n) = mean[d](x(n,d))
v(n) = mean[d](pow(x(n,d) - m(n), 2.0))
y(n,d) = b(d) + g(d) * (x(n,d) - m(n)) * pow(v(n) + 1e-5, -0.5)""",
                    "named_difference": """
m(n) +=! x(n,d) / D
c(n,d) = x(n,d) - m(n)
v(n) +=! c(n,d) * c(n,d) / D
y(n,d) = c(n,d) * rsqrt(v(n) + 1e-5) * g(d) + b(d)""",
                    "named_deviation": """
m(n) = sum[d](x(n,d)) / D
s(n) = sqrt(sum[d](pow(x(n,d) - m(n), 2)) / D + 1e-5)
z(n,d) = (x(n,d) - m(n)) / s(n)
y(n,d) = z(n,d) * g(d)
y(n,d) += b(d)""",
                    "mean_of_squares": """
m(n) +=! x(n,d) / D
q(n) +=! x(n,d) * x(n,d) / D
y(n,d) = (x(n,d) - m(n)) * rsqrt(q(n) - m(n) * m(n) + 1e-5) * g(d) + b(d)""",
                    "distributed": """
m(n) = mean[d](x(n,d))
r(n) = rsqrt(mean[d](pow(x(n,d) - m(n), 2.0)) + 1e-5)
y(n,d) = x(n,d) * r(n) * g(d) - m(n) * r(n) * g(d) + b(d)""",
                    "one_expression": """
y(n,d) = (x(n,d) - mean[k](x(n,k))) / sqrt(mean[k](pow(x(n,k) - mean[l](x(n,l)), 2.0)) + 1e-5) * g(d) + b(d)""",
                    "zero_then_add": """
m(n) = 0.0 where n in 0:N
m(n) += x(n,d)
v(n) = 0.0 where n in 0:N
v(n) += pow(x(n,d) - m(n) / D, 2.0)
y(n,d) = (x(n,d) - m(n) / D) * rsqrt(v(n) / D + 1e-5) * g(d) + b(d)""",
                    "two_halves": """
m(n) = (sum[d in 0:D/2](x(n,d)) + sum[d in D/2:D](x(n,d))) / D
v(n) = sum[d](pow(x(n,d) - m(n), 2.0)) / D
y(n,d) = (x(n,d) - m(n)) * rsqrt(v(n) + 1e-5) * g(d) + b(d)""",
                    "unit_axis": """
m(n,u) +=! x(n,d) / D where u in 0:1
v(n,u) +=! pow(x(n,d) - m(n,u), 2.0) / D where u in 0:1
y(n,d) = (x(n,d) - m(n,0)) / sqrt(v(n,0) + 1e-5) * g(d) + b(d)""",
                    "turned_round": """
m(n) = mean[d](x(n,d))
v(n) = mean[d](pow(m(n) - x(n,d), 2.0))
y(n,d) = b(d) - (m(n) - x(n,d)) * rsqrt(v(n) + 1e-5) * g(d)""",
                },
            ),
            "python": _layer_norm,
            "sac": """
float[d] normalised(float[d] x) {
    c = x - mean(x);
    return c / sqrt(mean(c * c) + 1e-5);
}
float[n,d] layer_norm(float[n,d] x, float[d] g, float[d] b) {
    return { [i] -> normalised(x[i]) * g + b };
}""",
        },
    )


def _layer_norm(x: "float(N,D)", g: "float(D)", b: "float(D)"):
    m[n] += x[n, d] / D
    v[n] += (x[n, d] - m[n]) ** 2 / D
    y[n, d] = (x[n, d] - m[n]) / sqrt(v[n] + 1e-5) * g[d] + b[d]
    return y


def softmax(n: int, d: int) -> Computation:
    """Exponentials of each row, divided by their sum."""

    def by_hand(x):
        e = jnp.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def reciprocal(x):
        e = jnp.exp(x - x.max(1, keepdims=True))
        return e * (1 / e.sum(1, keepdims=True))

    def reference(x):
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    return Computation(
        name="softmax",
        make_arrays=lambda rng: normals(rng, (n, d)),
        reference=reference,
        forms={
            "jax.nn": lambda x: jax.nn.softmax(x, axis=1),
            "by_hand": by_hand,
            "reciprocal": reciprocal,
            "log_softmax": lambda x: jnp.exp(jax.nn.log_softmax(x, axis=1)),
        },
        spellings={
            **definitions(
                "def softmax(float(N,D) x) -> (y)",
                {
                    "named_steps": """
m(n) max=! x(n,d)
e(n,d) = exp(x(n,d) - m(n))
s(n) +=! e(n,d)
y(n,d) = e(n,d) / s(n)""",
                    "reciprocal": """
m(n) max=! x(n,d)
e(n,d) = exp(x(n,d) - m(n))
r(n) = 1.0 / sum[d](e(n,d))
y(n,d) = e(n,d) * r(n)""",
                    "exponentials_twice": """
m(n) max=! x(n,d)
s(n) +=! exp(x(n,d) - m(n))
y(n,d) = exp(x(n,d) - m(n)) / s(n)""",
                    "difference_named": """
z(n,d) = x(n,d) - max[k](x(n,k))
y(n,d) = exp(z(n,d)) / sum[k](exp(z(n,k)))""",
                    "one_expression": "y(n,d) = exp(x(n,d) - max[j](x(n,j))) / sum[j](exp(x(n,j) - max[k](x(n,k))))",
                    "sum_inline": """
e(n,d) = exp(x(n,d) - max[k](x(n,k)))
y(n,d) = e(n,d) / sum[k](e(n,k))""",
                    "without_maximum": """
e(n,d) = exp(x(n,d))
y(n,d) = e(n,d) / sum[k](e(n,k))""",
                    "logsumexp": "l(n) logsumexp=! x(n,d)\ny(n,d) = exp(x(n,d) - l(n))",
                    "logsumexp_inline": "y(n,d) = exp(x(n,d) - logsumexp[k](x(n,k)))",
                    "log_of_sum": """
m(n) max=! x(n,d)
l(n) = m(n) + log(sum[d](exp(x(n,d) - m(n))))
y(n,d) = exp(x(n,d) - l(n))""",
                    "log_softmax_named": """
l(n) logsumexp=! x(n,d)
z(n,d) = x(n,d) - l(n)
y(n,d) = exp(z(n,d))""",
                    "logarithm_subtracted": """
z(n,d) = x(n,d) - max[k](x(n,k))
s(n) = sum[d](exp(z(n,d)))
y(n,d) = exp(z(n,d) - log(s(n)))""",
                    "base_two": """
m(n) max=! x(n,d)
e(n,d) = exp2((x(n,d) - m(n)) * 1.4426950408889634)
y(n,d) = e(n,d) / sum[k](e(n,k))""",
                    "updated_in_place": """
m(n) max=! x(n,d)
y(n,d) = exp(x(n,d) - m(n))
s(n) +=! y(n,d)
y(n,d) = y(n,d) / s(n)""",
                },
            ),
            "python": _softmax,
            "sac": "{ [n] -> exp(x[n] - maxval(x[n])) / sum(exp(x[n] - maxval(x[n]))) }",
            "sac_function": """
float[d] soft(float[d] x) { e = exp(x - maxval(x)); return e / sum(e); }
float[n,d] softmax(float[n,d] x) { return { [i] -> soft(x[i]) }; }""",
        },
    )


def _softmax(x: "float(N,D)"):
    e[n, d] = exp(x[n, d] - max[k](x[n, k]))
    y[n, d] = e[n, d] / sum[k](e[n, k])
    return y


def log_sum_exp(n: int, d: int) -> Computation:
    """The logarithm of the sum of the exponentials of each row."""

    def by_hand(x):
        m = x.max(1)
        return m + jnp.log(jnp.exp(x - m[:, None]).sum(1))

    def constant_maximum(x):
        m = lax.stop_gradient(x.max(1))
        return m + jnp.log(jnp.exp(x - m[:, None]).sum(1))

    def reference(x):
        m = x.max(1)
        return m + np.log(np.exp(x - m[:, None]).sum(1))

    return Computation(
        name="log_sum_exp",
        make_arrays=lambda rng: normals(rng, (n, d)),
        reference=reference,
        forms={
            "jax.nn": lambda x: jax.nn.logsumexp(x, axis=1),
            "by_hand": by_hand,
            "constant_maximum": constant_maximum,
        },
        spellings={
            **definitions(
                "def log_sum_exp(float(N,D) x) -> (y)",
                {
                    "reducer": "y(n) logsumexp=! x(n,d)",
                    "reducer_inline": "y(n) = logsumexp[d](x(n,d))",
                    "named_steps": """
m(n) max=! x(n,d)
e(n,d) = exp(x(n,d) - m(n))
s(n) +=! e(n,d)
y(n) = m(n) + log(s(n))""",
                    "two_steps": """
m(n) max=! x(n,d)
s(n) +=! exp(x(n,d) - m(n))
y(n) = log(s(n)) + m(n)""",
                    "sum_inline": "m(n) = max[d](x(n,d))\ny(n) = log(sum[d](exp(x(n,d) - m(n)))) + m(n)",
                    "one_expression": "y(n) = max[d](x(n,d)) + log(sum[d](exp(x(n,d) - max[k](x(n,k)))))",
                    "updated_in_place": """
m(n) max=! x(n,d)
y(n) +=! exp(x(n,d) - m(n))
y(n) = log(y(n))
y(n) += m(n)""",
                    "without_maximum": "y(n) = log(sum[d](exp(x(n,d))))",
                    "base_ten": """
m(n) max=! x(n,d)
s(n) +=! exp10(0.4342944819032518 * (x(n,d) - m(n)))
y(n) = m(n) + log10(s(n)) / 0.4342944819032518""",
                    "base_two": """
m(n) max=! x(n,d)
s(n) +=! exp2((x(n,d) - m(n)) * 1.4426950408889634)
y(n) = m(n) + 0.6931471805599453 * log2(s(n))""",
                },
            ),
            "python": _log_sum_exp,
            "sac": "{ [n] -> logsumexp(x[n]) }",
            "sac_by_hand": "{ [n] -> maxval(x[n]) + log(sum(exp(x[n] - maxval(x[n])))) }",
        },
    )


def _log_sum_exp(x: "float(N,D)"):
    m[n] = max[d](x[n, d])
    y[n] = m[n] + log(sum[d](exp(x[n, d] - m[n])))
    return y
