import math

import numpy as np
import pytest

from tcjax import ir
from tcjax.symbolic import Affine

from .build import accumulate, apply, given, i, j, k, number, over, read, reduce, run, value_of

VALUES = [3.0, -1.5, 0.25, 3.0, -1.5]
INT_MIN, INT_MAX = -(2**31), 2**31 - 1


def of_vector(reducer: str, values: np.ndarray, **options: object) -> object:
    """``reducer[k](A(k))`` over the whole vector."""
    dtype = str(values.dtype)
    result = "int32" if reducer.startswith("arg") else dtype
    body = read("A", k, dtype=dtype)
    expr = reduce(reducer, [k], body, dtype=result, **options)  # type: ignore[arg-type]
    target = read("O", dtype=result)
    return run([ir.Define(target.tensor, (), expr)], [{k: (0, len(values))}], {"A": values}, {"O": ()})[()]


@pytest.mark.parametrize(
    ("reducer", "expected"),
    [
        ("sum", 3.25),
        ("prod", 3.0 * -1.5 * 0.25 * 3.0 * -1.5),
        ("min", -1.5),
        ("max", 3.0),
        ("mean", 0.65),
        ("logsumexp", math.log(sum(math.exp(v) for v in VALUES))),
        ("argmin", 1),
        ("argmax", 0),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_reducer_combines_all_values(reducer: str, expected: float, dtype: str) -> None:
    value = of_vector(reducer, np.array(VALUES, dtype))

    np.testing.assert_allclose(value, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("reducer", "dtype", "expected"),
    [
        ("sum", "float32", 0.0),
        ("sum", "bool", False),
        ("prod", "int32", 1),
        ("min", "float32", math.inf),
        ("min", "int32", INT_MAX),
        ("min", "uint8", 255),
        ("min", "bool", True),
        ("max", "float16", -math.inf),
        ("max", "bfloat16", -math.inf),
        ("max", "int32", INT_MIN),
        ("max", "uint8", 0),
        ("any", "bool", False),
        ("all", "bool", True),
        ("mean", "float32", math.nan),
        ("logsumexp", "float32", -math.inf),
        ("argmin", "float32", 0),
        ("argmax", "int32", 0),
        ("mink", "float32", math.inf),
        ("maxk", "int32", INT_MIN),
        ("argmink", "float32", 0),
        ("argmaxk", "float32", 0),
    ],
)
def test_a_reducer_of_nothing_is_its_identity(reducer: str, dtype: str, expected: object) -> None:
    body = read("A", k, dtype=dtype)
    result = "int32" if reducer.startswith("arg") else dtype

    value = run(
        [ir.Define(read("O", dtype=result).tensor, (), reduce(reducer, [k], body, dtype=result))],
        [{k: (0, 0)}],
        {"A": np.zeros(3, "float32").astype(dtype) if dtype != "bfloat16" else _bfloat16([0, 0, 0])},
        {"O": ()},
    )[()]

    np.testing.assert_equal(value.item() if hasattr(value, "item") else value, expected)


def _bfloat16(values: list[float]) -> np.ndarray:
    return over({i: (0, len(values))}, ir.Cast(read("A", i), "bfloat16"), A=np.array(values, np.float32))


@pytest.mark.parametrize(
    ("reducer", "values", "expected"),
    [
        ("sum", [True, True, True], True),
        ("sum", [True, False, True], False),
        ("prod", [True, False], False),
        ("any", [False, True], True),
        ("any", [False, False], False),
        ("all", [True, True], True),
        ("all", [True, False], False),
        ("min", [True, False], False),
        ("max", [True, False], True),
    ],
)
def test_bools_reduce_modulo_two(reducer: str, values: list[bool], expected: bool) -> None:
    assert of_vector(reducer, np.array(values)) == expected


@pytest.mark.parametrize(("dtype", "expected"), [("int32", -(2**31)), ("uint8", 44), ("int64", 2**31)])
def test_a_sum_of_integers_wraps_at_its_width(dtype: str, expected: int) -> None:
    values = {"uint8": [200, 100], "int32": [2**31 - 1, 1], "int64": [2**31 - 1, 1]}[dtype]

    assert of_vector("sum", np.array(values, dtype)) == expected


@pytest.mark.parametrize(("reducer", "expected"), [("argmin", 1), ("argmax", 0), ("argmink", 1), ("argmaxk", 0)])
def test_the_first_of_equal_values_is_the_extremum(reducer: str, expected: int) -> None:
    assert of_vector(reducer, np.array(VALUES, np.float32)) == expected


@pytest.mark.parametrize("reducer", ["min", "max", "mink", "maxk", "logsumexp", "sum", "mean"])
def test_a_nan_reaches_the_result(reducer: str) -> None:
    value = of_vector(reducer, np.array([1.0, math.nan, 0.0], np.float32))

    assert np.isnan(value)


@pytest.mark.parametrize("reducer", ["argmin", "argmax", "argmink", "argmaxk"])
def test_the_first_nan_is_the_extremum(reducer: str) -> None:
    assert of_vector(reducer, np.array([1.0, math.nan, 0.0, math.nan], np.float32)) == 1


@pytest.mark.parametrize(
    ("reducer", "expected"),
    [
        ("mink", [-1.5, -1.5, 0.25, 3.0, 3.0, math.inf]),
        ("maxk", [3.0, 3.0, 0.25, -1.5, -1.5, -math.inf]),
        ("argmink", [1, 4, 2, 0, 3, 0]),
        ("argmaxk", [0, 3, 2, 1, 4, 0]),
    ],
)
def test_the_rth_extremum_counts_from_zero_and_ends_with_the_identity(reducer: str, expected: list[float]) -> None:
    result = "int32" if reducer.startswith("arg") else "float32"
    expr = reduce(reducer, [k], read("A", k), rank=value_of(i), dtype=result)

    ranked = run(
        [ir.Define(read("O", i, dtype=result).tensor, read("O", i).indices, expr)],
        [{i: (0, 6), k: (0, 5)}],
        {"A": np.array(VALUES, np.float32)},
        {"O": (6,)},
    )

    assert ranked.tolist() == expected


def test_large_integers_are_ranked_exactly() -> None:
    values = np.array([2**53, 2**53 + 1, 2**53], np.int64)

    assert of_vector("argmax", values) == 1


def test_a_position_is_row_major_over_the_box_and_counts_skipped_points() -> None:
    # The point (j, k) of the 2 x 4 box from (0, 1) has the number 4*j + (k - 1).
    values = np.array([[0, 9, 1, 2, 3], [0, 4, 8, 5, 6]], np.float32)
    expr = reduce("argmax", [j, k], read("A", j, k), guard=apply("!=", read("A", j, k), number(9.0)), dtype="int32")

    position = run(
        [ir.Define(read("O", dtype="int32").tensor, (), expr)], [{j: (0, 2), k: (1, 5)}], {"A": values}, {"O": ()}
    )

    assert position == 4 * 1 + (2 - 1)


def test_logsumexp_does_not_overflow() -> None:
    value = of_vector("logsumexp", np.array([1000.0, 1000.0], np.float32))

    np.testing.assert_allclose(value, 1000 + math.log(2))


@pytest.mark.parametrize(("values", "expected"), [([-math.inf] * 2, -math.inf), ([math.inf, 1.0], math.inf)])
def test_logsumexp_of_infinities_is_one(values: list[float], expected: float) -> None:
    assert of_vector("logsumexp", np.array(values, np.float32)) == expected


def test_a_complex_sum_and_product_are_complex() -> None:
    values = np.array([1 + 1j, 2 - 1j], np.complex64)

    assert of_vector("sum", values) == 3
    assert of_vector("prod", values) == (1 + 1j) * (2 - 1j)


def test_a_guard_of_an_inline_reduction_skips_points() -> None:
    A = np.arange(16, dtype=np.float32).reshape(4, 4)
    causal = apply("<=", value_of(k), value_of(i))

    sums = run(
        [ir.Define(read("O", i).tensor, read("O", i).indices, reduce("sum", [k], read("A", i, k), guard=causal))],
        [{i: (0, 4), k: (0, 4)}],
        {"A": A},
        {"O": (4,)},
    )

    np.testing.assert_array_equal(sums, np.tril(A).sum(1))


def test_an_end_that_uses_another_index_cuts_the_hull() -> None:
    A = np.arange(16, dtype=np.float32).reshape(4, 4)
    body = reduce("sum", [k], read("A", i, k), ranges=[given(k, i, 4)])

    sums = run(
        [ir.Define(read("O", i).tensor, read("O", i).indices, body)], [{i: (0, 4), k: (0, 4)}], {"A": A}, {"O": (4,)}
    )

    np.testing.assert_array_equal(sums, np.triu(A).sum(1))


def test_a_range_keeps_the_guard_inside_the_tensor() -> None:
    A = np.arange(5, dtype=np.float32)
    guard = apply(">", read("A", Affine.of(k) + i), number(2.0))
    body = reduce("sum", [k], number(1.0), ranges=[given(k, 0, 5 - Affine.of(i))], guard=guard)

    counts = run(
        [ir.Define(read("O", i).tensor, read("O", i).indices, body)], [{i: (0, 3), k: (0, 5)}], {"A": A}, {"O": (3,)}
    )

    assert counts.tolist() == [2, 2, 2]


def test_one_index_in_two_nested_brackets_is_two_indices() -> None:
    A = np.array([1, 2, 3], np.float32)
    total = reduce("sum", [k], read("A", k))
    nested = reduce("sum", [k], apply("*", total, read("A", k)))

    value = run([ir.Define(read("O").tensor, (), nested)], [{k: (0, 3)}], {"A": A}, {"O": ()})

    assert value == 36


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_sum_of_products_of_halves_is_rounded_once(dtype: str) -> None:
    A = over({i: (0, 2)}, ir.Cast(number(1 + 2**-6), dtype))
    factor = read("A", k, dtype=dtype)
    body = apply("-", apply("*", factor, factor), number(1.0, dtype))
    expr = reduce("sum", [k], body, in_type="float32", dtype=dtype)

    value = run([ir.Define(read("O", dtype=dtype).tensor, (), expr)], [{k: (0, 2)}], {"A": A}, {"O": ()})[()]

    # The last bit of (1 + 2^-6)^2 = 1 + 2^-5 + 2^-12 does not fit either type.
    assert float(value) == 2 * (2**-5 + 2**-12)


def test_a_rounding_that_was_written_is_kept_inside_a_wide_sum() -> None:
    A = np.array([1 + 2**-12, 1 + 2**-12], np.float32)
    expr = reduce("sum", [k], ir.Cast(read("A", k), "float16"), in_type="float32", dtype="float32")

    value = run([ir.Define(read("O").tensor, (), expr)], [{k: (0, 2)}], {"A": A}, {"O": ()})

    assert value == 2


def test_a_sum_of_products_of_bytes_does_not_wrap_before_its_end() -> None:
    A = np.array([100, 100], np.int8)
    product = apply("*", read("A", k, dtype="int8"), read("A", k, dtype="int8"))
    statement = accumulate(read("O", dtype="int32"), "sum", [k], product, in_type="int32")

    value = run([statement], [{k: (0, 2)}], {"A": A}, {"O": ()})

    assert value == 20000


def test_a_difference_of_bytes_wraps_inside_a_wide_sum() -> None:
    A = np.array([1, 2], np.uint8)
    difference = apply("-", read("A", k, dtype="uint8"), number(3, "uint8"))
    statement = accumulate(read("O", dtype="int32"), "sum", [k], difference, in_type="uint32")

    value = run([statement], [{k: (0, 2)}], {"A": A}, {"O": ()})

    assert value == 254 + 255


def test_a_narrow_accumulator_rounds_the_result_to_itself() -> None:
    values = np.full(4, 2**15, np.float16)

    assert of_vector("sum", values, in_type="float16") == math.inf
    assert of_vector("mean", values, in_type="float32") == 2**15
