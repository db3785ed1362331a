"""Windows along several axes with separable weights: sums along one axis at a time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning import Compute

H, W, P = 160, 150, 9
RNG = np.random.default_rng(0)
IMAGE = RNG.normal(size=(H, W)).astype(np.float32)
K, L = (RNG.normal(size=P).astype(np.float32) for _ in range(2))
HEAD = "def f(float(H,W) I, float(P) k, float(P) l) -> (O)"
PADDED = "0 <= h + r - 4, h + r - 4 < H, 0 <= w + s - 4, w + s - 4 < W, h in 0:H, w in 0:W"

SEPARABLE = {
    "a product": "O(h,w) +=! I(h+r,w+s) * k(r) * l(s)",
    "a difference from nothing": "O(h,w) +=! -I(h+r,w+s) * k(r) * l(s)",
    "an inline sum with a scale": "O(h,w) = 2.0 * sum[r,s](I(h+r,w+s) * k(r) * l(s)) + 1.0",
    "a sum in a sum": "O(h,w) = sum[r](k(r) * sum[s](I(h+r,w+s) * l(s)))",
    "windows that go back": "O(h,w) +=! I(h-r+8,w-s+8) * k(r) * l(s) where h in 0:H-8, w in 0:W-8",
    "steps": "O(h,w) +=! I(2*h+r,w+2*s) * k(r) * l(s) where h in 0:(H-P)/2+1, w in 0:W-2*P+2",
    "weights along one axis": "O(h,w) +=! I(h+r,w+s) * k(r) where s in 0:P",
    "zeros around": f"O(h,w) +=! I(h+r-4,w+s-4) * k(r) * l(s) where {PADDED}",
}
WHOLE = {
    "weights of both axes": "O(h,w) +=! I(h+r,w+s) * k((r+s)/2) * l(s)",
    "a guard of both axes": "O(h,w) +=! I(h+r,w+s) * k(r) * l(s) where r + s < P, h in 0:H-P+1, w in 0:W-P+1",
    "guards that may leave nothing": """
O(h,w) +=! I(h+r,w+s) * k(r) * l(s) where w + s < P, h + r < P, h in 0:H-P+1, w in 0:W-P+1""",
    "an extremum": "O(h,w) max=! I(h+r,w+s) * k(r) * l(s)",
    "one window": "O(h,w) +=! I(h+r,w) * k(r) * l(r)",
}


def stage_of(text: str) -> Compute:
    (stage,) = tcjax.kernel(f"{HEAD} {{ {text} }}").plan(IMAGE, K, L).stages
    assert isinstance(stage, Compute)
    return stage


@pytest.mark.parametrize("text", SEPARABLE.values(), ids=SEPARABLE)
def test_a_window_with_weights_for_each_axis_is_one_sum_after_the_other(text: str) -> None:
    assert len(stage_of(text).before) == 1


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_other_windows_stay_whole(text: str) -> None:
    assert not stage_of(text).before


@pytest.mark.parametrize("text", [*SEPARABLE.values(), *WHOLE.values()], ids=[*SEPARABLE, *WHOLE])
def test_numbers_and_gradients_are_those_of_the_sum_as_written(text: str) -> None:
    kernel = tcjax.kernel(f"{HEAD} {{ {text} }}")
    arrays = [IMAGE[:24, :22], K, L]
    double = [array.astype(np.float64) for array in arrays]

    found = kernel(*arrays)

    expected = kernel.interpret(*double)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    if "max" in text:
        return
    # It is linear in each of the arrays.
    weights = RNG.normal(size=expected.shape)
    gradients = jax.grad(lambda *a: jnp.vdot(kernel(*a), weights.astype(np.float32)), (0, 1, 2))(*arrays)
    for number, gradient in enumerate(gradients):
        way = RNG.normal(size=double[number].shape)
        ends = [kernel.interpret(*double[:number], array, *double[number + 1 :]) for array in (way, np.zeros_like(way))]
        slope = np.vdot(weights, ends[0] - ends[1])
        np.testing.assert_allclose(np.vdot(np.asarray(gradient, np.float64), way), slope, rtol=1e-3, atol=1e-2)


def test_large_windows_are_those_of_numpy_in_double() -> None:
    kernel = tcjax.kernel(f"{HEAD} {{ {SEPARABLE['a product']} }}")

    found = kernel(IMAGE, K, L)

    windows = np.lib.stride_tricks.sliding_window_view(IMAGE.astype(np.float64), (P, P))
    expected = np.einsum("hwrs,r,s->hw", windows, K.astype(np.float64), L.astype(np.float64), optimize=True)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_three_axes_are_three_sums() -> None:
    kernel = tcjax.kernel(
        "def f(float(D,H,W) I, float(P) a, float(P) b, float(P) c) -> (O) "
        "{ O(z,y,x) +=! I(z+p,y+q,x+r) * a(p) * b(q) * c(r) }"
    )
    volume = RNG.normal(size=(40, 40, 40)).astype(np.float32)
    weights = [RNG.normal(size=5).astype(np.float32) for _ in range(3)]
    (stage,) = kernel.plan(volume, *weights).stages
    assert isinstance(stage, Compute) and len(stage.before) == 2

    found = kernel(volume, *weights)

    windows = np.lib.stride_tricks.sliding_window_view(volume.astype(np.float64), (5, 5, 5))
    expected = np.einsum("zyxpqr,p,q,r->zyx", windows, *(w.astype(np.float64) for w in weights), optimize=True)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_an_infinite_weight_meets_no_sum_over_nothing() -> None:
    kernel = tcjax.kernel(f"{HEAD} {{ {WHOLE['guards that may leave nothing']} }}")
    infinite = np.where(np.arange(P) == 0, np.inf, K).astype(np.float32)

    found = kernel(IMAGE, infinite, L)

    assert np.all(np.asarray(found)[:, P:] == 0) and np.all(np.asarray(found)[P:] == 0)
