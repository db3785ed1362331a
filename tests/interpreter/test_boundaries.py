"""Reads out of bounds of a tensor, against NumPy's `pad`."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tcjax

# Each boundary, and what NumPy calls it.
MODES = {"clamp": "edge", "wrap": "wrap", "mirror": "symmetric", "reflect": "reflect"}
SIZES = (1, 2, 3, 5)
# Several periods of the longest of them.
WIDTH = 13
NUMBERS = {"0.0": 0, "255": 255, "1": 1, "0.1": 0.1, "-inf": -np.inf, "65504": 65504, "2i": 2j}


def interpreted(text: str, *arrays: np.ndarray) -> np.ndarray:
    return np.asarray(tcjax.kernel(text).interpret(*arrays))


@pytest.mark.parametrize("boundary", sorted(MODES))
@pytest.mark.parametrize("size", SIZES)
def test_a_boundary_reads_what_numpy_pads_with(boundary: str, size: int) -> None:
    x = np.arange(1, size + 1, dtype="float32")

    found = interpreted(f"y(i) = x({boundary}(i - {WIDTH})) where i in 0:x.0 + {2 * WIDTH}", x)

    assert_array_equal(found, np.pad(x, WIDTH, MODES[boundary]))


def test_pad_reads_a_number_beyond_the_ends() -> None:
    u = np.arange(6, dtype="float32").reshape(2, 3)

    found = interpreted("v(i,j) = pad(u(i - 1, j - 2), 7) where i in 0:4, j in 0:6", u)

    assert_array_equal(found, np.pad(u, ((1, 1), (2, 1)), constant_values=7))


def test_boundaries_mix_in_one_read() -> None:
    u = np.arange(12, dtype="float32").reshape(3, 4)

    found = interpreted("v(i,j) = pad(u(i - 1, wrap(j - 1)), -inf) where i in 0:5, j in 0:6", u)

    assert_array_equal(found, np.pad(np.pad(u, ((0, 0), (1, 1)), "wrap"), ((1, 1), (0, 0)), constant_values=-np.inf))


def test_data_decide_within_a_boundary() -> None:
    x, places = np.arange(4, dtype="float32"), np.array([-9, -1, 0, 3, 4, 7, 100], "int32")

    assert_array_equal(interpreted("y(i) = x(wrap(I(i) + 1))", x, places), x[(places + 1) % 4])
    assert_array_equal(interpreted("y(i) = x(clamp(I(i)))", x, places), x[np.clip(places, 0, 3)])
    inside = (places >= 0) & (places < 4)
    assert_array_equal(interpreted("y(i) = pad(x(I(i)), 9)", x, places), np.where(inside, x[np.clip(places, 0, 3)], 9))


def test_the_ends_are_those_of_the_tensor_wherever_it_begins() -> None:
    x = np.array([1, 4, 9, 16, 25], "float32")
    text = """def f(float(N) x) -> (clamped, wrapped, padded) {
        t(i) = x(i + 1) - x(i - 1)
        clamped(i) = t(clamp(i)) where i in 0:N
        wrapped(i) = t(wrap(i)) where i in 0:N
        padded(i) = pad(t(i), 0) where i in 0:N
    }"""

    clamped, wrapped, padded = tcjax.kernel(text).interpret(x)

    inner = x[2:] - x[:-2]
    assert_array_equal(clamped, np.pad(inner, 1, "edge"))
    assert_array_equal(wrapped, np.pad(inner, 1, "wrap"))
    assert_array_equal(padded, np.pad(inner, 1))


def test_what_meets_at_an_edge_is_added() -> None:
    x = np.arange(1, 6, dtype="float32")

    found = interpreted("def f(float(N) x) -> (float(N) y) { y(clamp(2*i - 3)) +=! x(i) }", x)

    assert_array_equal(found, [1 + 2, 3, 0, 4, 5])


def test_a_boundary_of_an_empty_dimension_names_no_element() -> None:
    empty = np.zeros(0, "float32")

    assert interpreted("y(i) = x(wrap(i)) where i in 0:0", empty).shape == (0,)
    assert_array_equal(interpreted("y(i) = pad(x(i), 2) where i in 0:3", empty), [2, 2, 2])
    with pytest.raises(tcjax.CompileError, match="x has 0 rows") as caught:
        interpreted("y(i) = x(wrap(i)) where i in 0:3", empty)
    assert caught.value.code == "TC0701"


@pytest.mark.parametrize(
    ("dtype", "value", "held"),
    [
        ("int32", "0.0", True),
        ("int32", "0.5", False),
        ("uint8", "255", True),
        ("uint8", "256", False),
        ("uint8", "0-1", False),
        ("bool", "1", True),
        ("bool", "2", False),
        ("float32", "0.1", True),
        ("float32", "-inf", True),
        ("float32", "1e39", False),
        ("float16", "65504", True),
        ("float16", "65520", False),
        ("int32", "inf", False),
        ("float32", "2i", False),
        ("complex64", "2i", True),
    ],
)
def test_a_value_around_a_tensor_is_one_of_its_type(dtype: str, value: str, held: bool) -> None:
    text, x = f"y(i) = pad(x(i + 1), {value}) where i in 0:x.0", np.ones(2, dtype)

    if held:
        found = interpreted(text, x)
        assert found.dtype == dtype
        assert_array_equal(found, np.array([1, NUMBERS[value]], dtype))
        return
    with pytest.raises(tcjax.CompileError) as caught:
        interpreted(text, x)
    assert caught.value.code == "TC0304"


def test_a_boundary_narrows_no_range() -> None:
    with pytest.raises(tcjax.CompileError, match=r"where i in 0:u\.1") as caught:
        interpreted("y(i) = u(0, clamp(i))", np.ones((2, 3), "float32"))

    assert caught.value.code == "TC0401"


def test_a_tensor_keeps_the_name_of_a_boundary() -> None:
    x, wrap = np.arange(3, dtype="float32"), np.array([2, 0, 1], "int32")

    found = interpreted("def f(float(N) x, int(N) wrap) -> (y) { y(i) = x(wrap(i)) }", x, wrap)

    assert_array_equal(found, x[wrap])
    assert_array_equal(interpreted("y(i) = pad(i) + wrap(i)", x, x), 2 * x)
