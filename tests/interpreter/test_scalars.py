import math

import jax
import numpy as np
import pytest

import tcjax
from tcjax import ir

from .build import apply, number, read, scalar


@pytest.mark.parametrize(
    ("operator", "dtype", "left", "right", "expected"),
    [
        ("+", "int32", 2**31 - 1, 1, -(2**31)),
        ("-", "uint8", 3, 5, 254),
        ("*", "int8", 100, 3, 44),
        ("*", "int64", 2**62, 4, 0),
        ("//", "int32", -7, 2, -4),
        ("%", "int32", -7, 2, 1),
        ("%", "int32", 7, -2, -1),
        ("//", "float32", -7.5, 2.0, -4.0),
        ("%", "float32", -7.5, 2.0, 0.5),
        ("/", "float32", 1.0, 0.0, math.inf),
        ("/", "float32", 1.0, 4.0, 0.25),
        ("/", "complex64", 1j, 1 + 1j, 0.5 + 0.5j),
        ("**", "int32", 3, 4, 81),
        ("**", "int32", 2, -1, 0),
        ("**", "int32", -1, -3, -1),
        ("**", "float32", 2.0, 0.5, np.float32(math.sqrt(2))),
        ("&", "int32", 12, 10, 8),
        ("|", "uint8", 12, 10, 14),
        ("^", "int32", 12, 10, 6),
        ("<<", "int32", 3, 4, 48),
        (">>", "int32", -16, 2, -4),
        (">>", "uint8", 240, 4, 15),
        ("min", "int32", -3, 2, -3),
        ("max", "float32", -3.0, 2.0, 2.0),
        ("+", "bool", True, True, False),
        ("-", "bool", False, True, True),
        ("*", "bool", True, False, False),
        ("min", "bool", True, False, False),
        ("^", "bool", True, False, True),
    ],
)
def test_an_operator_stays_in_its_type(
    operator: str, dtype: str, left: object, right: object, expected: object
) -> None:
    value = scalar(apply(operator, number(left, dtype), number(right, dtype)))

    assert (value, str(value.dtype)) == (expected, dtype)


@pytest.mark.parametrize("operator", ["min", "max"])
@pytest.mark.parametrize(("left", "right"), [(math.nan, 1.0), (1.0, math.nan), (math.nan, math.nan)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_extremum_of_a_nan_is_nan(operator: str, left: float, right: float, dtype: str) -> None:
    value = scalar(apply(operator, number(left, dtype), number(right, dtype)))

    assert math.isnan(float(value))


@pytest.mark.parametrize(
    ("operator", "outcomes"),
    [
        ("<", [True, False, False]),
        ("<=", [True, True, False]),
        (">", [False, False, True]),
        (">=", [False, True, True]),
        ("==", [False, True, False]),
        ("!=", [True, False, True]),
    ],
)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "bfloat16"])
def test_a_comparison_is_a_bool(operator: str, outcomes: list[bool], dtype: str) -> None:
    pairs = [(1, 2), (2, 2), (3, 2)]

    values = [scalar(apply(operator, number(left, dtype), number(right, dtype))) for left, right in pairs]

    assert values == outcomes
    assert all(isinstance(value, np.bool_) for value in values)


@pytest.mark.parametrize(
    ("operator", "dtype", "value", "expected"),
    [
        ("-", "int8", -128, -128),
        ("-", "uint8", 3, 253),
        ("-", "float32", 0.5, -0.5),
        ("-", "bool", True, True),
        ("!", "bool", True, False),
        ("~", "int32", 5, -6),
        ("~", "uint8", 5, 250),
        ("~", "bool", False, True),
    ],
)
def test_a_unary_operator_stays_in_its_type(operator: str, dtype: str, value: object, expected: object) -> None:
    result = scalar(ir.Unary(operator, number(value, dtype), dtype))

    assert (result, str(result.dtype)) == (expected, dtype)


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (2.9, "float32", "int32", 2),
        (-2.9, "float64", "int8", -2),
        (300, "int32", "uint8", 44),
        (-1, "int32", "uint16", 65535),
        (200, "uint8", "int8", -56),
        (0.25, "float32", "bool", True),
        (0.0, "float32", "bool", False),
        (True, "bool", "float32", 1.0),
        (3 + 4j, "complex64", "float32", 3.0),
        (4j, "complex64", "bool", True),
        (2**24 + 1, "int32", "float32", 2.0**24),
        (1.00390625, "float32", "bfloat16", 1.0),
        (1e6, "float32", "float16", math.inf),
        (2.75, "bfloat16", "int32", 2),
    ],
)
def test_a_cast_converts_as_c_does(value: object, source: str, target: str, expected: object) -> None:
    result = scalar(ir.Cast(number(value, source), target))

    assert (result, str(result.dtype)) == (expected, target)


@pytest.mark.parametrize(("value", "dtype", "expected"), [(-1, "uint8", 255), (200, "int8", -56), (2**32, "int32", 0)])
def test_an_integer_literal_wraps(value: int, dtype: str, expected: int) -> None:
    assert scalar(number(value, dtype)) == expected


def test_the_right_side_of_and_is_evaluated_only_where_the_left_is_true() -> None:
    outside = apply(">", read("A", 7), number(0.0))

    value = scalar(ir.Binary("&&", number(False, "bool"), outside, "bool"), A=np.ones(2, np.float32))

    assert not value


def test_the_right_side_of_or_is_evaluated_only_where_the_left_is_false() -> None:
    outside = apply(">", read("A", 7), number(0.0))

    value = scalar(ir.Binary("||", number(True, "bool"), outside, "bool"), A=np.ones(2, np.float32))

    assert value


def test_a_select_evaluates_the_branch_that_it_takes() -> None:
    here, outside = read("A", 1), read("A", 7)
    array = np.array([1, 2], np.float32)

    values = [
        scalar(ir.Select(number(True, "bool"), here, outside, "float32"), A=array),
        scalar(ir.Select(number(False, "bool"), outside, here, "float32"), A=array),
    ]

    assert values == [2, 2]


@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        (-2.75, "int32", -2),
        (math.inf, "int16", 2**15 - 1),
        (-math.inf, "int32", -(2**31)),
        (math.nan, "int64", 0),
        (60000.0, "int8", 127),
        (-1.5, "uint8", 0),
        (300.0, "uint8", 255),
        (math.inf, "uint64", 2**64 - 1),
    ],
)
def test_a_float_becomes_the_nearest_integer_that_the_type_has(
    source: str, value: float, target: str, expected: int
) -> None:
    with jax.enable_x64(True):
        kernel = tcjax.kernel(f"def f({source} x, {target}(1) y) -> ({target} z) {{ z = {target}(x()) + 0 * y(0) }}")
        given = np.array(value, source), np.zeros(1, target)
        assert int(kernel.interpret(*given)) == int(kernel(*given)) == expected
