"""Windows written term by term, and extrema with signs and repeated operands."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning import Compute, operations_of

RNG = np.random.default_rng(0)
IMAGE = RNG.normal(size=(3, 64, 70)).astype(np.float32)
TAPS = RNG.normal(size=(3, 3)).astype(np.float32)
HEAD = "def f(float(C,H,W) I, float(C,3) K) -> (O)"
NINE = " + ".join(f"I(c,h+{i},w+{j})" for i in range(3) for j in range(3))

# A window: the program by terms, and as a reduction.
WINDOWS = {
    "four maxima": (
        "O(c,y,x) = max(max(I(c,2*y,2*x), I(c,2*y,2*x+1)), max(I(c,2*y+1,2*x), I(c,2*y+1,2*x+1)))",
        "O(c,y,x) max=! I(c,2*y+i,2*x+j) where i in 0:2, j in 0:2",
    ),
    "maxima one after the other": (
        "O(c,y,x) = max(I(c,y,x), max(I(c,y,x+1), max(I(c,y+1,x), I(c,y+1,x+1))))",
        "O(c,y,x) max=! I(c,y+i,x+j) where i in 0:2, j in 0:2",
    ),
    "two minima": ("O(c,y,x) = min(I(c,y,x), I(c,y+1,x))", "O(c,y,x) min=! I(c,y+i,x) where i in 0:2"),
    "four terms": (
        "O(c,y,x) = (I(c,2*y+1,2*x) + I(c,2*y,2*x+1) + I(c,2*y,2*x) + I(c,2*y+1,2*x+1)) / 4",
        "O(c,y,x) = sum[i in 0:2, j in 0:2](I(c,2*y+i,2*x+j)) / 4",
    ),
    "means of pairs": (
        "O(c,y,x) = ((I(c,2*y,2*x) + I(c,2*y+1,2*x)) / 2 + (I(c,2*y,2*x+1) + I(c,2*y+1,2*x+1)) / 2) / 2",
        "O(c,y,x) = sum[i in 0:2, j in 0:2](I(c,2*y+i,2*x+j) / 2) / 2",
    ),
    "nine terms": (f"O(c,h,w) = {NINE}", "O(c,h,w) +=! I(c,h+i,w+j) where i in 0:3, j in 0:3"),
    "four products": (
        "O(c,h,w) = I(c,h,w+1)*K(c,0) + I(c,h,w+2)*K(c,1) + I(c,h+1,w+1)*K(c,0) + I(c,h+1,w+2)*K(c,1)",
        "O(c,h,w) +=! I(c,h+i,w+j+1) * K(c,j) where i in 0:2, j in 0:2",
    ),
    "a star": ("O(c,h,w) = I(c,h,w) + I(c,h-1,w) + I(c,h+1,w) + I(c,h,w-1) + I(c,h,w+1)", None),
    "two terms": ("O(c,h,w) = I(c,h,w) + I(c,h+1,w)", None),
    "steps of two lengths": ("O(c,h,w) = I(c,h,w) + I(c,h+1,w) + I(c,h+2,w) + I(c,h+4,w)", None),
    "windows in a sum": (
        """
O(c) = sum[w](max(max(I(c,w,w), I(c,w,w+1)), max(I(c,w+1,w), I(c,w+1,w+1)))
              * max(max(I(c,w,w+1), I(c,w,w+2)), max(I(c,w+1,w+1), I(c,w+1,w+2))))""",
        "",
    ),
    "a sign": (
        "O(c,y,x) = -min[i in 0:2, j in 0:2](-I(c,2*y+i,2*x+j))",
        "O(c,y,x) max=! I(c,2*y+i,2*x+j) where i in 0:2, j in 0:2",
    ),
    "a value that is there": (
        "O(c,y,x) = max(I(c,2*y,2*x+1), max[i in 0:2, j in 0:2](I(c,2*y+i,2*x+j)))",
        "O(c,y,x) max=! I(c,2*y+i,2*x+j) where i in 0:2, j in 0:2",
    ),
}


def kernel_of(text: str) -> tcjax.Kernel:
    return tcjax.kernel(f"{HEAD} {{ {text} }}")


def operation(text: str) -> str:
    (stage,) = kernel_of(text).plan(IMAGE, TAPS).stages
    assert isinstance(stage, Compute)
    return operations_of(stage)


@pytest.mark.parametrize("name", [name for name, (_, whole) in WINDOWS.items() if whole])
def test_terms_are_planned_as_the_reduction_that_they_are(name: str) -> None:
    terms, whole = WINDOWS[name]
    assert whole

    assert operation(terms) == operation(whole)


@pytest.mark.parametrize("name", [name for name, (_, whole) in WINDOWS.items() if whole is None])
def test_what_is_no_grid_of_terms_stays(name: str) -> None:
    assert operation(WINDOWS[name][0]) == "elementwise"


def double(name: str, image: np.ndarray) -> np.ndarray:
    """The value of the terms in float64."""
    with jax.enable_x64(True):
        kernel = tcjax.kernel(f"{HEAD.replace('float', 'double')} {{ {WINDOWS[name][0]} }}")
        return kernel.interpret(image.astype(np.float64), TAPS[:2].astype(np.float64))


@pytest.mark.parametrize("name", WINDOWS)
def test_numbers_and_gradients_are_those_of_the_terms(name: str) -> None:
    kernel = kernel_of(WINDOWS[name][0])
    image = IMAGE[:2, :9, :11]
    taps = TAPS[:2]

    found = kernel(image, taps)

    expected = double(name, image)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    weights = RNG.normal(size=expected.shape)
    gradient = jax.grad(lambda image: jnp.vdot(kernel(image, taps), weights.astype(np.float32)))(image)
    way = RNG.normal(size=image.shape)
    ends = [double(name, image + sign * 1e-6 * way) for sign in (1, -1)]
    slope = np.vdot(weights, ends[0] - ends[1]) / 2e-6
    np.testing.assert_allclose(np.vdot(np.asarray(gradient, np.float64), way), slope, rtol=1e-3, atol=1e-3)


def test_nan_and_infinities_are_those_of_the_terms() -> None:
    terms, _ = WINDOWS["four maxima"]
    image = IMAGE[:, :8, :8].copy()
    image[0, 0, 0], image[1, 2, 2], image[2, 4, 4] = np.nan, np.inf, -np.inf

    np.testing.assert_array_equal(kernel_of(terms)(image, TAPS), kernel_of(terms).interpret(image, TAPS))
    sign, _ = WINDOWS["a sign"]
    np.testing.assert_array_equal(kernel_of(sign)(image, TAPS), kernel_of(sign).interpret(image, TAPS))


def test_integers_keep_their_least_value() -> None:
    kernel = tcjax.kernel("def f(int(N) x) -> (o) { o(i) = -min[j in 0:2](-x(i+j)) }")
    x = np.array([3, -(2**31), 5, 7], np.int32)

    np.testing.assert_array_equal(kernel(x), kernel.interpret(x))


def test_named_pairs_become_one_window() -> None:
    kernel = kernel_of("R(c,h,x) = max(I(c,h,2*x), I(c,h,2*x+1))  O(c,y,x) = max(R(c,2*y,x), R(c,2*y+1,x))")
    image = RNG.normal(size=(16, 64, 70)).astype(np.float32)
    taps = RNG.normal(size=(16, 3)).astype(np.float32)

    found = kernel(image, taps)

    np.testing.assert_array_equal(found, image.reshape(16, 32, 2, 35, 2).max((2, 4)))
