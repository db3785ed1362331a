"""Canonical indices and arithmetic: results are the interpreter's, and plans those of the plain spelling."""

import jax
import numpy as np
import pytest

import tcjax
from tcjax.planning import plan_price

RNG = np.random.default_rng(0)
MATRIX = RNG.standard_normal((6, 6)).astype(np.float32)
VECTOR = RNG.standard_normal(6).astype(np.float32)
PLACES = np.array([0, 2, 2, 5, -1, 7], np.int32)

MATRICES = [
    "o(i) = sum[k](x(i,5-k))",
    "o(5-i) +=! x(5-i,j)",
    "o(5-i,j) = x(i,5-j) where i in 0:6",
    "o(i) = argmin[k](x(i,5-k))",
    "o(i) argmax=! -x(i,5-k) where k in 0:6",
    # Positions in a guard, and written by an adjoint of the k-th smallest: their index was reversed.
    "o(i) +=! x(i,j) where i in 0:6, j in 0:6, j == argmin[k in 0:6](x(i,5-k))",
    "o(i) = x(i,0) where i in 0:6 o(i) = 1.0 where i in 0:6, i == argmax[k in 0:6](x(1,5-k))",
    "o(i) = sum[j where 5-j == argmaxk[k in 0:6](x(i,5-k), 1)](x(i,j))",
    "o(i) = sum[k where k < 3](x(i,k))",
    "o(i) = sum[k where k < 9](x(i,k))",
    "o(i) = sum[k where k > 9](x(i,k))",
    "o(i) = max[k where k > 9](x(i,k))",
    "o(i) = max[k where k > 3, k <= 4](x(i,k))",
    "o(i) = mean[k where k >= 2](x(i,k))",
    "o(i) = argmin[k where k >= 2](x(i,k))",
    "o(i) = sum[k where k == i](x(i,k))",
    "o(i,j) = sum[b in 0:j+1](x(i,j-b)) where j in 0:6",
    "o(i,j) = sum[b in 0:9 where b <= j](x(i,j-b)) where j in 0:6",
    # Bounds that are all removed, with an index that becomes data: the first one's range was narrowed but its guard
    # kept.
    "o(i) = sum[b in 0-9:9 where 0 <= i+b && i+b < 3](x(0,i+b)) + sum[c in 0:i+1](x(1,i-c)) where i in 0:6",
    "o(i) = sum[c in 0:i+1](x(1,i-c)) * max[b in 0-9:9 where 2 <= i+b && i+b < 5](x(0,i+b)) where i in 0:6",
    "o(i) +=! x(0,i+b) * sum[c in 0:i+1](x(1,i-c)) where i in 0:6, b in 0-9:9, 0 <= i+b, i+b < 3",
    "o(i,j) = sum[b in 1:6 where b <= j](x(i,j-b)) where j in 0:6",
    "o(i,j) = max[b in 0:4 where b <= j](x(i,j-b)) where j in 0:6",
    "o(i,j) = mean[b in 0:6-j](x(i,j+b)) where j in 0:6",
    "o(i,j) = prod[b in 0:6 where b >= 6-j](x(i,j+b-6)) where j in 0:7",
    "o(i,j) = argmax[b in 0:j+1](x(i,j-b)) where j in 0:6",
    "o(i,j) = sum[b in 0:j+1](x(i,j-b)*(1.0*b)) where j in 0:6",
    "o(i,j) = sum[b in 0:j+1, k](x(k,j-b)*x(i,k)) where j in 0:6",
    "o(i,j) +=! x(i,j-b) where j in 0:6, b in 0:6, b <= j",
    "o(i,j) = sum[k](x(i,k)*(j == k+2 ? x(i,k) : 0.0)) where j in 0:6",
    "o(i,j) = sum[k](x(i,k)*(j == k ? 1.0 : 0.0)) where j in 0:8",
    "o(i,j) = sum[k](x(i,k)*(j == k ? 1.0 : 0.0)*(j > 2 ? x(i,k) : 0.0)) where j in 0:6",
    "o(i,j) = max[k where k+1 == j](x(i,k)) where j in 0:6",
    "o(i) = sum[k, j where k+j == i](x(j,k)) where i in 0:11",
    "o(i) = sum[k, j where k-j == i](x(j,k)) where i in 0:6",
    "o(i) = mean[k, j where k+j == i](x(j,k)) where i in 0:11",
    "e(j,k) = j == k ? x(0,j) : 0.0 where j in 0:6, k in 0:6\n o(i,k) +=! x(i,j)*e(j,k)",
    "o(i) = sum[k where 2*k <= 5](x(i,k))",
    "o(i) = sum[k where 5 - 2*k >= 0](x(i,k))",
    "o(i) = sum[k where 2*k == 4](x(i,k))",
    "o(i) = sum[k where 2*k == 5](x(i,k))",
    "o(y) = sum[h, i where h >= 2*y, h < 2*y+2](x(h,i)) where y in 0:3",
    "o(y) = sum[h, i where h >= 2*y, h < 2*y+2](x(h,i)) where y in 0:5",
    "o(y) = max[h, i where h/2 == y](x(h,i)) where y in 0:3",
    "o(y) = max[h, i where (h+1)/2 == y](x(h,i)) where y in 0:4",
    "o(y) = sum[h, i where h >= y-1, h <= y+1](x(h,i)) where y in 0:6",
    "o(i) = sum[k in 0:3](x(i,k)) + sum[k in 3:6](x(i,k))",
    "o(i) = sum[k in 0:3](x(i,k)) - sum[k in 3:6](x(i,k))",
    "o(i) = -sum[k in 0:3](x(i,k)) - sum[k in 3:6](x(i,k))",
    "o(i) = 2.0 - sum[k in 3:6](x(i,k)) - sum[k in 0:3](x(i,k))",
    "o(i) = sum[k in 0:3](x(i,k)) + sum[k in 2:6](x(i,k))",
    "o(i) = sum[k in 0:3](x(i,k)) + sum[k in 0:3](x(i,k+3))",
    "o(i) = sum[k in 0:2](x(i,k)) + x(i,0) + sum[k in 4:6](x(i,k)) + sum[k in 2:4](x(i,k))",
    "o(i) = max(max[k in 0:2](x(i,k)), max[k in 2:6](x(i,k)))",
    "o(i) = min(max[k in 0:2](x(i,k)), max[k in 2:6](x(i,k)))",
    "o(i) = sum[k in 0:2](x(i,k)) + max(sum[k in 0:2](x(i,k)), sum[k in 2:6](x(i,k)))",
    "o(i) = prod[k in 0:2](x(i,k)) * prod[k in 2:6](x(i,k))",
    "o(i) = mean[k in 0:3](x(i,k)) + mean[k in 3:6](x(i,k))",
    "o(i) = 2*sum[k in 0:3](x(i,k)) + 2*sum[k in 3:6](x(i,k)) + 3*sum[k in 0:6](x(i,k))",
    "o(i) = sum[k in 0:3](x(i,k))/x(i,0) - sum[k in 3:6](-x(i,k))/x(i,0)",
    "o(i) = sum[k](k < 3 ? x(i,k) : x(i,0))",
    "o(i) = sum[k](k < 3 && i > 2 ? x(i,k) : 1.0)",
    "o(i) = max[k](k == 3 ? 5.0 : x(i,k))",
    "o(i) = sum[k](k < 2 ? 1.0 : k < 4 ? x(i,k) : 2.0)",
    "o(i) = sum[k in 0:7](k < 6 ? x(i,k) : 1.0)",
    "o(i) +=! x(i,k)*(k < 3 ? 1.0 : 2.0)",
    "o(u,i) = x(u,i)*2.0 where u in 0:1",
    "o(i) = sum[u in 2:3, k](x(u,k)*x(i,u))",
    "o(i) = max[u in 2:3](x(i,u))",
    "o(i) = logsumexp[u in 2:3](x(i,u))",
    "o(i) = argmax[u in 2:3](x(i,u))",
    "o(i) = argmax[u in 2:3, k](x(i,k)*x(0,u))",
    "o(i) = mean[u in 2:3](x(i,u))",
    "o(i) +=! x(i,u) where u in 4:5",
    "o(i) = maxk[u in 2:3](x(i,u), 0)",
    "o(i) = sum[t in 0:36](x(t/6,t%6)) + x(i,i)",
    "o(i) min=! -x(i,k)",
    "o(i) max=! -x(i,k) where k > i",
]
VECTORS = [
    "o = sum[u in 0:1 where x(u) > 0.0](x(u))",
    "o(i) = fma(x(i), 2.0, 1.0) + fdim(x(i), 0.5) + fdivide(x(i), 3.0)",
    "o(i) = fabs(x(i))*fabs(x(i)) + max(x(i), -x(i)) + max(x(i)-1.0, 1.0-x(i))",
    "o(i) = (x(i)-1.0)*(1.0-x(i)) + (-x(i))*x(i) + (-(x(i)-2.0))*(2.0-x(i))",
    "o(k) = sum[i, j where i+j == k](x(i)*x(j)) where k in 0:11",
    "o(i) = sum[k](x(k)*(i == k ? 1.0 : 0.0)) where i in 0:6",
    "e(i,k) = i == k ? x(i) : 0.0 where i in 0:6, k in 0:6\n o(i) +=! x(k)*e(i,k)",
    "o(t) = sum[b in 0:t+1](x(t-b)) where t in 0:6",
    "o(t) = max[b in 0:6-t](x(t+b)) where t in 0:6",
    "o(i) = max(x(i), 1.0) - min(1.0, x(i))",
    "o(i) = sum[n where !(x(n) < 0.0 || x(n) > 1.0)](x(n)) where i in 0:2",
]
SEGMENTS = [
    "o(i) = sum[n where !(I(n) != i)](x(n)) where i in 0:6",
    "o(i) = sum[n where I(n) <= i, I(n) >= i](x(n)) where i in 0:6",
    "o(i) = sum[n where I(n) >= i, I(n) < i+1](x(n)) where i in 0:6",
    "o(i) = mean[n](I(n) == i ? x(n) : 0.0) where i in 0:6",
    "o(i) = mean[n where I(n) == i](x(n)) where i in 0:6",
    "o(i) mean=! x(n) where I(n) == i, i in 0:6",
    "o(i) = mean[n where I(n) == i, x(n) > 0.0](x(n)*x(n)) + x(i) where i in 0:6",
    "o(i) = sum[n where !(I(n) < i || I(n) > i)](x(n)) where i in 0:6",
]


def check(text: str, **arrays: np.ndarray) -> None:
    """Checks that the kernel gives the interpreter's results, with the same types."""
    kernel = tcjax.kernel(text)

    got, expected = np.asarray(kernel(**arrays)), np.asarray(kernel.interpret(**arrays))

    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("text", MATRICES)
def test_a_matrix_gives_what_the_interpreter_gives(text: str) -> None:
    check(text, x=MATRIX)


@pytest.mark.parametrize("value", [0.5, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("text", VECTORS)
def test_infinities_and_nan_stay_where_they_are(text: str, value: float) -> None:
    x = VECTOR.copy()
    x[2] = value

    check(text, x=x)


@pytest.mark.parametrize("value", [0.5, np.inf, np.nan])
@pytest.mark.parametrize("text", SEGMENTS)
def test_segments_that_bounds_say_are_those_that_an_equality_says(text: str, value: float) -> None:
    x = VECTOR.copy()
    x[2] = value

    check(text, x=x, I=PLACES)


def test_the_gradient_reaches_the_elements_of_both_halves() -> None:
    kernel = tcjax.kernel("o(i) = sum[k in 0:3](x(i,5-k)*x(i,k)) + sum[k in 3:6](x(i,5-k)*x(i,k))")

    found = jax.grad(lambda x: kernel(x).sum())(MATRIX)

    np.testing.assert_allclose(found, 2 * MATRIX[:, ::-1], rtol=1e-6)


@pytest.mark.parametrize("body", ["(x(n) - mean[k](x(k))) * (mean[k](x(k)) - x(n))", "x(n) * (mean[k](x(k)) - x(n))"])
def test_a_square_of_deviations_with_one_turned_round_is_negative(body: str) -> None:
    x = RNG.standard_normal(4096).astype(np.float32) + 3

    found = tcjax.kernel(f"v = mean[n]({body})")(x)

    np.testing.assert_allclose(found, -x.astype(np.float64).var(), rtol=1e-4)


def test_a_number_that_has_a_name_is_not_stored() -> None:
    kernel = tcjax.kernel("def f(float(N,D) x) -> (o) { w(n) = 1.0/N where n in 0:N\n o(d) +=! w(n)*x(n,d) }")
    plain = tcjax.kernel("def f(float(N,D) x) -> (o) { o(d) = sum[n](x(n,d))/N }")
    x = jax.ShapeDtypeStruct((4096, 512), np.float32)

    assert "w: float32[4096] is not stored" in str(kernel.plan(x))
    assert plan_price(kernel.plan(x)).seconds <= 1.05 * plan_price(plain.plan(x)).seconds
