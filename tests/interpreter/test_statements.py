import numpy as np
import pytest

from tcjax import ir
from tcjax.interpreter import interpret
from tcjax.symbolic import Affine, Size, SizeVar, clamp

from .build import accumulate, apply, bound, define, given, i, j, k, number, over, q, read, run, tensor, value_of

rng = np.random.default_rng(7)


def data(name: str, *indices: object, dtype: str = "int32") -> Affine:
    return Affine.of(ir.Data(read(name, *indices, dtype=dtype)))  # type: ignore[arg-type]


def test_a_matrix_product_sums_over_the_reduction_index() -> None:
    A, B = rng.normal(size=(3, 4)).astype(np.float32), rng.normal(size=(4, 5)).astype(np.float32)
    statement = accumulate(read("C", i, j), "sum", [k], apply("*", read("A", i, k), read("B", k, j)))

    C = run([statement], [{i: (0, 3), j: (0, 5), k: (0, 4)}], {"A": A, "B": B}, {"C": (3, 5)})

    np.testing.assert_allclose(C, A @ B, rtol=1e-5)
    assert C.dtype == np.float32


def test_a_strided_convolution_reads_affine_subscripts() -> None:
    signal, kernel = rng.normal(size=11).astype(np.float32), rng.normal(size=3).astype(np.float32)
    window = read("I", Affine.of(i).scale(2) + k)
    statement = accumulate(read("O", i), "sum", [k], apply("*", window, read("W", k)))

    O = run([statement], [{i: (0, 5), k: (0, 3)}], {"I": signal, "W": kernel}, {"O": (5,)})

    np.testing.assert_allclose(O, np.correlate(signal, kernel, "valid")[::2], rtol=1e-5)


def test_a_pool_takes_the_maximum_of_each_window() -> None:
    image = rng.normal(size=(6, 4)).astype(np.float32)
    window = read("I", Affine.of(i).scale(2) + k, Affine.of(j).scale(2) + q)

    O = run(
        [accumulate(read("O", i, j), "max", [k, q], window)],
        [{i: (0, 3), j: (0, 2), k: (0, 2), q: (0, 2)}],
        {"I": image},
        {"O": (3, 2)},
    )

    np.testing.assert_array_equal(O, image.reshape(3, 2, 2, 2).max((1, 3)))


def test_an_output_is_stored_from_its_origin_and_read_by_its_logical_index() -> None:
    A = rng.normal(size=8).astype(np.float32)
    stencil = apply("+", read("A", Affine.of(i) - 1), read("A", Affine.of(i) + 1))
    first = define(read("B", i), stencil)
    second = define(read("C", i), apply("*", read("B", i), read("A", i)))
    inner = {i: (1, 7)}

    function = bound(
        [first, second],
        [inner, inner],
        {"A": A},
        {"B": (6,), "C": (6,)},
        origins={"B": (1,), "C": (1,)},
        returns=[tensor("B", 1), tensor("C", 1)],
    )
    B, C = interpret(function, {"A": A})

    np.testing.assert_array_equal(B, A[:-2] + A[2:])
    np.testing.assert_array_equal(C, (A[:-2] + A[2:]) * A[1:-1])


def test_the_returns_come_in_their_order_and_an_input_may_be_one() -> None:
    A = np.array([1, 2], np.float32)
    function = bound(
        [define(read("B", i), read("A", i))],
        [{i: (0, 2)}],
        {"A": A},
        {"B": (2,)},
        returns=[tensor("B", 1), tensor("A", 1), tensor("B", 1)],
    )

    results = interpret(function, {"A": A})

    assert [result.tolist() for result in results] == [[1, 2]] * 3


def test_a_gather_clamps_what_data_puts_outside() -> None:
    A, J = np.array([10, 20, 30], np.float32), np.array([2, -5, 0, 99], np.int32)

    O = over({i: (0, 4)}, read("A", data("J", i)), A=A, J=J)

    assert O.tolist() == [30, 10, 10, 30]


def test_the_whole_value_of_a_data_dependent_subscript_is_clamped() -> None:
    A, J = np.array([10, 20, 30], np.float32), np.array([2, -1, 0], np.int32)

    O = over({i: (0, 3)}, read("A", data("J", i).scale(2) - 3 + i), A=A, J=J)

    assert O.tolist() == [A[min(max(2 * J[n] - 3 + n, 0), 2)] for n in range(3)]


def test_a_gather_into_an_output_clamps_to_its_logical_range() -> None:
    A, J = np.array([10, 20, 30], np.float32), np.array([0, 1, 4, 9], np.int32)
    first = define(read("B", i), read("A", Affine.of(i) - 1))
    second = define(read("C", j), read("B", data("J", j)))

    C = run(
        [first, second],
        [{i: (1, 4)}, {j: (0, 4)}],
        {"A": A, "J": J},
        {"B": (3,), "C": (4,)},
        origins={"B": (1,)},
    )

    assert C.tolist() == [10, 10, 30, 30]


def test_a_subscript_wider_than_its_data_type_is_exact() -> None:
    A, J = np.arange(900, dtype=np.float32), np.array([100, 7], np.uint8)

    O = over({i: (0, 2)}, read("A", data("J", i, dtype="uint8").scale(8)), A=A, J=J)

    assert O.tolist() == [800, 56]


def test_floors_remainders_and_clamps_in_subscripts_are_mathematical() -> None:
    A = np.arange(5, dtype=np.float32)
    shifted = Affine.of(i) - 3

    floors = over({i: (3, 8)}, read("A", shifted.quotient(2)), A=A)
    wrapped = over({i: (0, 8)}, read("A", shifted.remainder(5)), A=A)
    clamped = over({i: (0, 8)}, read("A", clamp("max", [clamp("min", [shifted, 4]), 0])), A=A)

    assert floors.tolist() == [0, 0, 1, 1, 2]
    assert wrapped.tolist() == [(n - 3) % 5 for n in range(8)]
    assert clamped.tolist() == [min(max(n - 3, 0), 4) for n in range(8)]


def test_sizes_in_subscripts_and_values_are_the_extents() -> None:
    A = np.arange(4, dtype=np.float32)
    size = ir.Extent(Size.of(SizeVar("A.0")))

    flipped = over({i: (0, 4)}, read("A", Affine.of(SizeVar("A.0")) - 1 - i), A=A)
    sizes = over({i: (0, 4)}, apply("+", size, value_of(i)), A=A)

    assert flipped.tolist() == [3, 2, 1, 0]
    assert sizes.tolist() == [4, 5, 6, 7]


def test_a_definition_under_a_guard_leaves_zero_in_a_new_tensor() -> None:
    A = np.arange(1, 5, dtype=np.float32)
    guard = apply("==", apply("%", value_of(i), number(2, "int32")), number(0, "int32"))

    O = run([define(read("O", i), read("A", i), ir.Domain(guard=guard))], [{i: (0, 4)}], {"A": A}, {"O": (4,)})

    assert O.tolist() == [1, 0, 3, 0]


def test_a_definition_under_a_guard_leaves_an_old_tensor_alone() -> None:
    A = np.arange(1, 5, dtype=np.float32)
    guard = apply("<", value_of(i), number(2, "int32"))
    statements = [define(read("O", i), read("A", i)), define(read("O", i), number(9.0), ir.Domain(guard=guard))]

    O = run(statements, [{i: (0, 4)}] * 2, {"A": A}, {"O": (4,)})

    assert O.tolist() == [9, 9, 3, 4]


def test_a_triangular_range_writes_the_triangle() -> None:
    A = rng.normal(size=(4, 4)).astype(np.float32)
    domain = ir.Domain(ranges=(given(j, 0, Affine.of(i) + 1),))

    L = run([define(read("L", i, j), read("A", i, j), domain)], [{i: (0, 4), j: (0, 4)}], {"A": A}, {"L": (4, 4)})

    np.testing.assert_array_equal(L, np.tril(A))


def test_a_repeated_left_index_writes_the_diagonal() -> None:
    A = np.array([1, 2, 3], np.float32)

    D = run([define(read("D", i, i), read("A", i))], [{i: (0, 3)}], {"A": A}, {"D": (3, 3)})

    np.testing.assert_array_equal(D, np.diag(A))


def test_a_value_is_cast_to_the_type_of_its_tensor() -> None:
    A = np.array([1.9, -1.9], np.float32)
    statement = ir.Define(tensor("O", 1, "int32"), (Affine.of(i),), read("A", i))

    O = run([statement], [{i: (0, 2)}], {"A": A}, {"O": (2,)})

    assert (O.tolist(), O.dtype) == ([1, -1], np.int32)


def test_an_update_reads_the_tensor_as_it_was() -> None:
    A = np.array([1, 2, 3, 4], np.float32)
    statements = [
        define(read("B", i), read("A", i)),
        define(read("B", j), apply("+", read("B", Affine.of(j) - 1), read("B", j))),
    ]

    B = run(statements, [{i: (0, 4)}, {j: (1, 4)}], {"A": A}, {"B": (4,)})

    assert B.tolist() == [1, 3, 5, 7]


def test_a_reduction_without_restart_starts_from_the_content() -> None:
    A = rng.normal(size=(3, 4)).astype(np.float32)
    statements = [
        define(read("O", i), number(10.0)),
        accumulate(read("O", i), "sum", [k], read("A", i, k), restart=False),
    ]

    O = run(statements, [{i: (0, 3)}, {i: (0, 3), k: (0, 4)}], {"A": A}, {"O": (3,)})

    np.testing.assert_allclose(O, 10 + A.sum(1), rtol=1e-6)


def test_a_reduction_with_restart_forgets_the_content() -> None:
    A = rng.normal(size=(3, 4)).astype(np.float32)
    statements = [
        define(read("O", i), number(10.0)),
        accumulate(read("O", i), "max", [k], read("A", i, k)),
    ]

    O = run(statements, [{i: (0, 3)}, {i: (0, 2), k: (0, 4)}], {"A": A}, {"O": (3,)})

    np.testing.assert_array_equal(O, [A[0].max(), A[1].max(), 10])


@pytest.mark.parametrize(
    ("reducer", "content", "expected"),
    [
        ("max", 5.0, 5.0),
        ("min", 5.0, 1.0),
        ("prod", 2.0, 12.0),
        ("logsumexp", 0.0, np.log(1 + np.e + np.e**2 + np.e**3)),
    ],
)
def test_each_reducer_goes_on_from_the_content(reducer: str, content: float, expected: float) -> None:
    A = np.array([1, 2, 3], np.float32)
    statements = [define(read("O"), number(content)), accumulate(read("O"), reducer, [k], read("A", k), restart=False)]

    O = run(statements, [{}, {k: (0, 3)}], {"A": A}, {"O": ()})

    np.testing.assert_allclose(O, expected, rtol=1e-6)


def test_a_position_replaces_the_content_where_a_point_takes_part() -> None:
    A = np.array([[3, 1, 2], [0, 0, 0]], np.float32)
    domain = ir.Domain(guard=apply(">", read("A", i, k), number(0.0)))
    target = read("O", i, dtype="int32")
    statements = [
        define(target, number(7, "int32")),
        accumulate(target, "argmin", [k], read("A", i, k), restart=False, domain=domain),
    ]

    O = run(statements, [{i: (0, 2)}, {i: (0, 2), k: (0, 3)}], {"A": A}, {"O": (2,)})

    assert O.tolist() == [1, 7]


def test_an_element_whose_points_are_all_skipped_has_the_identity_with_restart() -> None:
    A = np.array([[1, 2], [3, 4]], np.float32)
    domain = ir.Domain(guard=apply("==", value_of(i), number(0, "int32")))
    statements = [
        define(read("O", i), number(10.0)),
        accumulate(read("O", i), "min", [k], read("A", i, k), domain=domain),
    ]

    O = run(statements, [{i: (0, 2)}, {i: (0, 2), k: (0, 2)}], {"A": A}, {"O": (2,)})

    assert O.tolist() == [1, np.inf]


def test_an_element_whose_points_are_all_skipped_keeps_its_value_without_restart() -> None:
    A = np.array([[1, 2], [3, 4]], np.float32)
    domain = ir.Domain(guard=apply("==", value_of(i), number(0, "int32")))
    statements = [
        define(read("O", i), number(10.0)),
        accumulate(read("O", i), "min", [k], read("A", i, k), domain=domain, restart=False),
    ]

    O = run(statements, [{i: (0, 2)}, {i: (0, 2), k: (0, 2)}], {"A": A}, {"O": (2,)})

    assert O.tolist() == [1, 10]


@pytest.mark.parametrize(("initial", "expected"), [(None, [3.0, 7.0]), ([100.0, 200.0], [103.0, 207.0])])
def test_an_initial_value_is_what_a_first_reduction_starts_from(initial: list[float] | None, expected: object) -> None:
    A = np.array([[1, 2], [3, 4]], np.float32)
    statement = accumulate(read("O", i), "sum", [k], read("A", i, k), restart=False)
    passed = {} if initial is None else {"O": np.array(initial, np.float32)}

    O = run([statement], [{i: (0, 2), k: (0, 2)}], {"A": A}, {"O": (2,)}, initial=passed)

    assert O.tolist() == expected
    assert initial is None or passed["O"].tolist() == initial


def test_a_half_accumulates_in_single_precision() -> None:
    A = np.full(4096, 1.0, np.float16)
    statement = accumulate(read("O", dtype="float16"), "sum", [k], read("A", k, dtype="float16"), in_type="float32")

    O = run([statement], [{k: (0, 4096)}], {"A": A}, {"O": ()})

    # One by one, halves stop growing at 2048.
    assert (O, O.dtype) == (4096, np.float16)


def test_a_histogram_counts_every_point_and_drops_those_outside() -> None:
    I = np.array([[0, 2, 2], [5, -1, 0]], np.int32)
    statement = accumulate(read("H", data("I", i, j)), "sum", [], number(1.0))

    H = run([statement], [{i: (0, 2), j: (0, 3)}], {"I": I}, {"H": (4,)})

    assert H.tolist() == [2, 0, 2, 0]


def test_a_scattered_maximum_of_no_points_is_the_identity() -> None:
    I, A = np.array([1, 1, 3], np.int32), np.array([2, 5, 4], np.float32)
    statements = [
        define(read("H", j), number(9.0)),
        accumulate(read("H", data("I", i)), "max", [], read("A", i)),
    ]

    H = run(statements, [{j: (0, 4)}, {i: (0, 3)}], {"I": I, "A": A}, {"H": (4,)})

    assert H.tolist() == [-np.inf, 5, -np.inf, 4]


def test_a_scattered_sum_without_restart_adds_to_the_content() -> None:
    I, A = np.array([1, 1, 3], np.int32), np.array([2, 5, 4], np.float32)
    statements = [
        define(read("H", j), number(9.0)),
        accumulate(read("H", data("I", i)), "sum", [], read("A", i), restart=False),
    ]

    H = run(statements, [{j: (0, 4)}, {i: (0, 3)}], {"I": I, "A": A}, {"H": (4,)})

    assert H.tolist() == [9, 16, 9, 13]


def test_a_scattered_row_sums_the_rows_with_its_number() -> None:
    I, A = np.array([1, 0, 1], np.int32), rng.normal(size=(3, 2)).astype(np.float32)
    statement = accumulate(read("H", data("I", i), j), "sum", [], read("A", i, j))

    H = run([statement], [{i: (0, 3), j: (0, 2)}], {"I": I, "A": A}, {"H": (2, 2)})

    np.testing.assert_allclose(H, [A[1], A[0] + A[2]], rtol=1e-6)


def test_the_target_of_a_skipped_point_is_not_computed() -> None:
    I, A = np.array([1, 0], np.int32), np.array([2, 5, 4], np.float32)
    domain = ir.Domain(guard=apply(">", value_of(i), number(0, "int32")))
    statement = accumulate(read("H", data("I", Affine.of(i) - 1)), "sum", [], read("A", i), domain=domain)

    H = run([statement], [{i: (0, 3)}], {"I": I, "A": A}, {"H": (2,)})

    assert H.tolist() == [4, 5]


def test_several_points_of_an_affine_target_all_fold() -> None:
    A = rng.normal(size=(3, 4)).astype(np.float32)
    statement = accumulate(read("O", Affine.of(i) + j), "sum", [], read("A", i, j))

    O = run([statement], [{i: (0, 3), j: (0, 4)}], {"A": A}, {"O": (6,)})

    expected = [sum(A[n, m] for n in range(3) for m in range(4) if n + m == d) for d in range(6)]
    np.testing.assert_allclose(O, expected, rtol=1e-6)


def test_a_restarted_affine_target_leaves_the_other_elements_alone() -> None:
    A = np.array([1, 2], np.float32)
    statements = [
        define(read("O", j), number(9.0)),
        accumulate(read("O", Affine.of(i).scale(2)), "sum", [], read("A", i)),
    ]

    O = run(statements, [{j: (0, 4)}, {i: (0, 2)}], {"A": A}, {"O": (4,)})

    assert O.tolist() == [1, 9, 2, 9]


def test_a_constant_left_subscript_writes_a_slice() -> None:
    A = rng.normal(size=(2, 3)).astype(np.float32)
    B = rng.normal(size=(2, 3)).astype(np.float32)
    statements = [
        define(read("O", i, 0, j), read("A", i, j)),
        define(read("O", i, 1, j), read("B", i, j)),
    ]

    O = run(statements, [{i: (0, 2), j: (0, 3)}] * 2, {"A": A, "B": B}, {"O": (2, 2, 3)})

    np.testing.assert_array_equal(O, np.stack([A, B], 1))


def test_a_statement_position_is_row_major_over_its_reduction_indices() -> None:
    A = rng.normal(size=(3, 4, 5)).astype(np.float32)
    statement = accumulate(read("O", i, dtype="int32"), "argmax", [k, j], read("A", i, j, k))

    O = run([statement], [{i: (0, 3), j: (0, 4), k: (0, 5)}], {"A": A}, {"O": (3,)})

    np.testing.assert_array_equal(O, A.transpose(0, 2, 1).reshape(3, -1).argmax(1))


def test_an_empty_box_computes_nothing() -> None:
    A = np.zeros((0, 3), np.float32)

    rows = run([accumulate(read("O", i), "sum", [k], read("A", i, k))], [{i: (0, 0), k: (0, 3)}], {"A": A}, {"O": (0,)})
    columns = run(
        [accumulate(read("O", k), "max", [i], read("A", i, k))], [{i: (0, 0), k: (0, 3)}], {"A": A}, {"O": (3,)}
    )

    assert rows.shape == (0,)
    assert columns.tolist() == [-np.inf] * 3


def test_the_arguments_are_left_alone() -> None:
    A = np.array([1, 2], np.float32)

    over({i: (0, 2)}, apply("+", read("A", i), number(1.0)), A=A)

    assert A.tolist() == [1, 2]


def test_two_hundred_nested_operators_or_reads_are_evaluated() -> None:
    A, J = np.array([1.0], np.float32), np.array([1, 2, 3, 0], np.int32)
    value: ir.Expr = read("A", 0)
    gathered: ir.Expr = read("J", 0, dtype="int32")
    for _ in range(200):
        value = apply("+", value, number(1.0))
    for _ in range(200):
        gathered = ir.Access(tensor("J", 1, "int32"), (Affine.of(ir.Data(gathered)),))

    assert over({i: (0, 1)}, value, A=A).tolist() == [201]
    assert over({i: (0, 1)}, gathered, J=J).tolist() == [201 % 4]
