"""Which sums of squares are about a mean, however that is written."""

import numpy as np
import pytest

import tcjax

MEANS = {
    "sum, then quotient": "m(d) +=! x(n,d)\nm(d) = m(d) / N\nv(d) +=! pow(x(n,d) - m(d), 2.0)",
    "quotient in the sum": "m(d) +=! x(n,d) / N\nv(d) +=! (x(n,d) - m(d)) * (x(n,d) - m(d)) / N",
    "reciprocal": "m(d) +=! x(n,d) * 0.0009765625\nv(d) +=! pow(m(d) - x(n,d), 2)",
    "sum, and quotient where it is read": "m(d) +=! x(n,d)\nv(d) +=! pow(x(n,d) - m(d) / N, 2)",
    "from zero": "m(d) = 0.0 where d in 0:D\nm(d) += x(n,d) / N\nv(d) +=! pow(x(n,d) - m(d), 2)",
    "inline": "v(d) = mean[n](pow(x(n,d) - mean[k](x(k,d)), 2))",
    "named difference": "m(d) = mean[n](x(n,d))\nc(n,d) = x(n,d) - m(d)\nv(d) +=! c(n,d) * c(n,d)",
    "transposed": "t(d,n) = x(n,d)\nm(d) = mean[n](t(d,n))\nv(d) = mean[n](pow(t(d,n) - m(d), 2.0))",
    "times the value": "m(d) = mean[n](x(n,d))\nv(d) = mean[n](x(n,d) * (x(n,d) - m(d)))",
    "weights": "w(n) = 1.0 / N where n in 0:N\nm(d) +=! w(n) * x(n,d)\nv(d) +=! w(n) * pow(x(n,d) - m(d), 2)",
    "absolute differences": "m(d) = mean[n](x(n,d))\nv(d) +=! fabs(x(n,d) - m(d)) * fabs(m(d) - x(n,d))",
    "halves": """m(d) = (sum[n in 0:N/2](x(n,d)) + sum[n in N/2:N](x(n,d))) / N
v(d) = sum[n in 0:N/2](pow(x(n,d) - m(d), 2)) + sum[n in N/2:N](pow(x(n,d) - m(d), 2))""",
    "other way round": "m(d) +=! x(N-1-n,d) / N where n in 0:N\nv(d) +=! pow(x(N-1-n,d) - m(d), 2) where n in 0:N",
    "sign of the sum": "m(d) +=! -x(n,d)\nv(d) +=! pow(x(n,d) + m(d) / N, 2)",
}
OTHERS = {
    "another divisor": "m(d) +=! x(n,d) / (N - 1)\nv(d) +=! pow(x(n,d) - m(d), 2)",
    "a part of the rows": "m(d) = mean[k where k < 512](x(k,d))\nv(d) +=! pow(x(n,d) - m(d), 2)",
    "rows that count": "m(d) = mean[k where x(k,d) > 0](x(k,d))\nv(d) +=! pow(x(n,d) - m(d), 2)",
    "squares that count": "m(d) = mean[n](x(n,d))\nv(d) +=! pow(x(n,d) - m(d), 2) where x(n,d) > 0",
    "the mean of something else": "m(d) = mean[n](x(n,d) * x(n,d))\nv(d) +=! pow(x(n,d) - m(d), 2)",
    "the mean of another column": "m(d) = mean[n](x(n,D-1-d))\nv(d) +=! pow(x(n,d) - m(d), 2) where d in 0:D",
    "the mean before it changed": """y(n,d) = x(n,d)
m(d) = mean[n](y(n,d))
y(n,d) = y(n,d) * y(n,d)
v(d) +=! pow(y(n,d) - m(d), 2) + y(n,d)""",
    "times the value, twice the mean": "m(d) = mean[n](x(n,d))\nv(d) = mean[n](x(n,d) * (x(n,d) - 2*m(d)))",
    "times the value, turned round": "m(d) = mean[n](x(n,d))\nv(d) = mean[n](x(n,d) * (m(d) - x(n,d)))",
    "cubes": "m(d) = mean[n](x(n,d))\nv(d) +=! pow(x(n,d) - m(d), 3)",
    "a product with another difference": "m(d) = mean[n](x(n,d))\nv(d) +=! (x(n,d) - m(d)) * (x(n,d) - 1)",
}


def arrays(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)


def kernel(text: str) -> tcjax.Kernel:
    return tcjax.kernel(f"def f(float(N,D) x) -> (v) {{\n{text}\n}}")


@pytest.mark.parametrize("name", MEANS)
def test_squares_about_a_mean_are_one_operation(name: str) -> None:
    assert "squares about the mean" in str(kernel(MEANS[name]).plan(arrays(1024, 512)))


@pytest.mark.parametrize("name", OTHERS)
def test_squares_about_anything_else_stay_what_they_are(name: str) -> None:
    text, x = OTHERS[name], arrays(1024, 512)
    assert "squares about the mean" not in str(kernel(text).plan(x))

    small = arrays(512, 2)
    np.testing.assert_allclose(kernel(text)(small), kernel(text).interpret(small), rtol=1e-4)


def test_few_values_have_their_mean_taken_off() -> None:
    assert "squares about the mean" not in str(kernel(MEANS["inline"]).plan(arrays(16, 8)))


def test_a_mean_that_is_returned_is_stored_all_the_same() -> None:
    both = tcjax.kernel("def f(float(N,D) x) -> (m, v) { m(d) = mean[n](x(n,d))\nv(d) = mean[n](pow(x(n,d)-m(d),2)) }")
    x = arrays(1024, 512)
    assert "squares about the mean" in str(both.plan(x))

    mean, variance = both(x)

    np.testing.assert_allclose(mean, x.astype(np.float64).mean(0), atol=1e-6)
    np.testing.assert_allclose(variance, x.astype(np.float64).var(0), rtol=1e-5)


# A mean that a statement also reads outside the squares: that read is still of the stored mean.
NORMS = {
    "one expression": "v(n,d) = (x(n,d) - mean[k](x(n,k))) / sqrt(mean[k](pow(x(n,k) - mean[l](x(n,l)), 2.0)) + 1e-5)",
    "a named mean": "m(n) = mean[k](x(n,k))\nv(n,d) = (x(n,d) - m(n)) / sqrt(mean[k](pow(x(n,k) - m(n), 2.0)) + 1e-5)",
}


@pytest.mark.parametrize("name", NORMS)
def test_the_squares_about_a_mean_that_is_read_beside_them_are_one_operation(name: str) -> None:
    x = arrays(2048, 1024)

    assert "squares about the mean" in str(kernel(NORMS[name]).plan(x))
    wide = x[:64].astype(np.float64)
    expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(kernel(NORMS[name])(x)[:64], expected, atol=1e-5)


def test_a_norm_of_rows_far_from_zero_keeps_its_digits() -> None:
    x = arrays(2048, 1024) + np.float32(1000)
    wide = x.astype(np.float64)

    found = kernel(NORMS["one expression"])(x)

    expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, expected, atol=1e-3)
