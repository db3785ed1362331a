import numpy as np
import pytest

from tcjax import ir
from tcjax.diagnostics import CompileError
from tcjax.interpreter import interpret

from .build import accumulate, apply, bound, define, i, j, k, read, run, tensor


def test_an_invoked_definition_computes_whole_tensors() -> None:
    A, B = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(3, dtype=np.float32)
    product = accumulate(read("y", j), "sum", [k], apply("*", read("M", j, k), read("v", k)))
    callee = bound([product], [{j: (0, 2), k: (0, 3)}], {"M": A, "v": B}, {"y": (2,)})
    call = ir.Invoke((tensor("z", 1),), callee.function, (tensor("A", 2), tensor("B", 1)))
    caller = bound(
        [call, define(read("O", i), apply("+", read("z", i), read("z", i)))],
        [{}, {i: (0, 2)}],
        {"A": A, "B": B},
        {"z": (2,), "O": (2,)},
        calls={0: callee},
    )

    (O,) = interpret(caller, {"A": A, "B": B})

    np.testing.assert_array_equal(O, 2 * (A @ B))


def test_a_foreign_function_of_scalars_gets_numpy_scalars() -> None:
    seen = []

    def clip(x: np.float32, limit: np.float32) -> float:
        seen.append(type(x))
        return float(min(x, limit))

    value = ir.Foreign("clip", (read("A", i), ir.Const(2.0, "float32")), "float32")
    A = np.array([1, 5], np.float32)

    O = run([define(read("O", i), value)], [{i: (0, 2)}], {"A": A}, {"O": (2,)}, foreign={"clip": clip})

    assert (O.tolist(), O.dtype) == ([1, 2], np.float32)
    assert set(seen) == {np.float32}


def test_a_foreign_function_of_tensors_may_return_several() -> None:
    A = np.arange(6, dtype=np.float32).reshape(2, 3)
    call = ir.ApplyForeign((tensor("P", 2), tensor("Q", 1)), "split", (tensor("A", 2),))
    function = bound([call], [{}], {"A": A}, {"P": (3, 2), "Q": (2,)})

    P, Q = interpret(function, {"A": A}, foreign={"split": lambda a: (a.T, a.sum(1).tolist())})

    np.testing.assert_array_equal(P, A.T)
    assert (Q.tolist(), Q.dtype) == ([3, 12], np.float32)


def test_a_foreign_function_that_returns_another_shape_is_reported() -> None:
    A = np.zeros(3, np.float32)
    call = ir.ApplyForeign((tensor("P", 1),), "tail", (tensor("A", 1),))
    function = bound([call], [{}], {"A": A}, {"P": (3,)})

    with pytest.raises(CompileError, match="returned the shape") as raised:
        interpret(function, {"A": A}, foreign={"tail": lambda a: a[1:]})

    assert raised.value.code == "TC0603"


def test_a_foreign_function_that_returns_too_few_arrays_is_reported() -> None:
    A = np.zeros(3, np.float32)
    call = ir.ApplyForeign((tensor("P", 1), tensor("Q", 1)), "same", (tensor("A", 1),))
    function = bound([call], [{}], {"A": A}, {"P": (3,), "Q": (3,)})

    with pytest.raises(CompileError, match="should return 2 arrays") as raised:
        interpret(function, {"A": A}, foreign={"same": lambda a: a})

    assert "tuple of 2" in raised.value.help


def test_a_foreign_function_cannot_change_its_arguments() -> None:
    A = np.ones(2, np.float32)

    def negate(a: np.ndarray) -> np.ndarray:
        a *= -1
        return a

    call = ir.ApplyForeign((tensor("P", 1),), "negate", (tensor("A", 1),))
    function = bound([call], [{}], {"A": A}, {"P": (2,)}, returns=[tensor("P", 1), tensor("A", 1)])

    P, kept = interpret(function, {"A": A}, foreign={"negate": negate})

    assert (P.tolist(), kept.tolist()) == ([-1, -1], [1, 1])
