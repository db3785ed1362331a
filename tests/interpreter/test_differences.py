import numpy as np

from tcjax import ir
from tcjax.interpreter import differences, in_float64, interpret

from .build import accumulate, apply, bound, define, i, j, k, number, read, reduce, tensor

rng = np.random.default_rng(3)


def test_a_function_in_float64_does_not_round_to_its_old_types() -> None:
    A = np.array([1.0, 2**-30], np.float32)
    nearly = reduce("sum", [k], read("A", k), dtype="float32")
    statement = define(read("O"), ir.Cast(ir.Cast(nearly, "float16"), "float32"))
    function = in_float64(bound([statement], [{k: (0, 2)}], {"A": A}, {"O": ()}))

    (O,) = interpret(function, {"A": A})

    assert (O, O.dtype) == (1 + 2**-30, np.float64)


def test_a_function_in_float64_keeps_integers() -> None:
    A = np.array([7], np.int32)
    function = in_float64(
        bound([define(read("O", i, dtype="int32"), read("A", i, dtype="int32"))], [{i: (0, 1)}], {"A": A}, {"O": (1,)})
    )

    (O,) = interpret(function, {"A": A})

    assert O.dtype == np.int32


def test_differences_are_the_gradient_of_a_matrix_product() -> None:
    A, B = rng.normal(size=(2, 3)).astype(np.float32), rng.normal(size=(3, 4)).astype(np.float32)
    d_C = rng.normal(size=(2, 4))
    product = accumulate(read("C", i, j), "sum", [k], apply("*", read("A", i, k), read("B", k, j)))
    function = bound([product], [{i: (0, 2), j: (0, 4), k: (0, 3)}], {"A": A, "B": B}, {"C": (2, 4)})

    d_A = differences(function, {"A": A, "B": B}, "A", [d_C])
    d_B = differences(function, {"A": A, "B": B}, "B", [d_C])

    np.testing.assert_allclose(d_A, d_C @ B.T, rtol=1e-7)
    np.testing.assert_allclose(d_B, A.T @ d_C, rtol=1e-7)


def test_differences_go_through_calls_and_skip_outputs_without_cotangent() -> None:
    A = rng.normal(size=3).astype(np.float32)
    square = bound([define(read("y", j), apply("*", read("x", j), read("x", j)))], [{j: (0, 3)}], {"x": A}, {"y": (3,)})
    call = ir.Invoke((tensor("z", 1),), square.function, (tensor("A", 1),))
    function = bound(
        [call, define(read("O", i), apply("*", read("z", i), read("A", i)))],
        [{}, {i: (0, 3)}],
        {"A": A},
        {"z": (3,), "O": (3,)},
        returns=[tensor("z", 1), tensor("O", 1)],
        calls={0: square},
    )

    d_A = differences(function, {"A": A}, "A", [None, np.ones(3)])

    np.testing.assert_allclose(d_A, 3 * A.astype(np.float64) ** 2, rtol=1e-6)


def test_differences_with_respect_to_an_initial_value() -> None:
    A, O = np.array([2, 3], np.float32), np.array([5, 7], np.float32)
    statement = accumulate(read("O", i), "prod", [], apply("*", read("A", i), number(1.0)), restart=False)
    function = bound([statement], [{i: (0, 2)}], {"A": A}, {"O": (2,)}, initial=[tensor("O", 1)])

    d_O = differences(function, {"A": A}, "O", [np.ones(2)], initial={"O": O})

    np.testing.assert_allclose(d_O, A, rtol=1e-7)


def test_infinities_of_both_signs_have_no_derivative() -> None:
    A, B = np.array([-0.5, 0.5], np.float32), np.zeros(2, np.float32)
    quotient = define(read("O", i), apply("/", read("A", i), read("B", i)))
    function = bound([quotient], [{i: (0, 2)}], {"A": A, "B": B}, {"O": (2,)})

    # A warning of NumPy would be an error here.
    d_A = differences(function, {"A": A, "B": B}, "A", [np.ones(2)])

    assert np.isnan(d_A).all()
