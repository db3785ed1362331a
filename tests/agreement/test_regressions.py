"""Programs on which the compiled kernel and the interpreter once disagreed, each named by what it proves."""

import jax
import numpy as np
import pytest

import tcjax
from tests.agreement import comparing, unread
from tests.strategies.programs import Case

X = np.array([1.0, -2.0, 3.0, 0.5, -0.25, 4.0, 2.0, -1.5], "float32")
TO = np.array([0, 2, 2, 7, -1, 1, 0, 2], "int32")
B = np.array([1, 0, 1, 1, 0, 1, 0, 0], bool)
EDGES = np.array([np.inf, -np.inf, np.nan, 1.0, np.inf, np.nan, 0.0, -np.inf], "float32")
# Every element of four is named.
ALL = np.array([0, 2, 2, 7, -1, 1, 3, 2], "int32")
BYTES = np.array([200, 3, 255, 17, 100, 250, 1, 0], "uint8")
NOW = np.full(4, 7.0, "float32")

REDUCTIONS = ("+=", "*=", "min=", "max=", "mean=", "logsumexp=")
POSITIONS = ("argmin=", "argmax=")

CASES: dict[str, Case] = {
    "a new tensor is zero where an affine target names nothing": Case(
        "def f(float(N) A) -> (O) { O(2*i) max=! A(i) where i > 2 }", {"A": X}
    ),
    "a restart by data resets the whole dimension": Case(
        "def f(float(N) A, int32(N) I) -> (O) { O(i) = A(i) where i in 0:4  O(I(i)) min=! A(i) where i > 1 }",
        {"A": X, "I": TO},
    ),
    "a restart at fixed places resets only these": Case(
        "def f(float(N) A) -> (O) { O(i) = A(i)  O(2*i) max=! A(i) where i in 1:3, A(i) > 100.0 }", {"A": X}
    ),
    "a restart over no points resets nothing": Case(
        "def f(float(N) A, int32(N) I) -> (float(3) O) { O(I(i)) mean=! A(i) where i in 0:0 }", {"A": X, "I": TO}
    ),
    "a floor on the left collects": Case("def f(float(N) A) -> (O) { O(i/2) +=! A(i) }", {"A": X}),
    "a floor on the left counts what the value does not name": Case(
        "def f(float(N) A) -> (O) { O(i/2) +=! 1.0 where i in 0:8, exists A(i) }", {"A": X}
    ),
    "a mean without ! replaces": Case(
        "def f(float(N) A) -> (O) { O(j) mean= A(i) where j in 0:4 }", {"A": X}, {"O": NOW}
    ),
    "a mean of no points keeps": Case(
        "def f(float(N) A) -> (O) { O(j) mean= A(i) where j in 0:4, i < j - 1 }", {"A": X}, {"O": NOW}
    ),
    "a position of no points keeps": Case(
        "def f(float(N) A) -> (O) { O(j) argmax= A(i) where j in 0:4, i < j - 1 }",
        {"A": X},
        {"O": np.full(4, 5, "int32")},
    ),
    "an initial value takes the output's type": Case(
        "def f(float(N) A) -> (O) { O(i) += A(i) where i in 0:2 }", {"A": X}, {"O": np.array([1, 2], "float32")}
    ),
    "a guard keeps a point that is equal to the extremum out": Case(
        "def f(float(N) A) -> (O) { O(j) = argmin[i where i > j && A(i) > 1.0](A(i)) where j in 0:7 }", {"A": EDGES}
    ),
    "a rank counts the points that take part": Case(
        "def f(float(N) A) -> (O, P) { O(r) = maxk[i where i > 4](A(i), r) where r in -1:5"
        "  P(r) = argmink[i where i > 4](A(i), r) where r in -1:5 }",
        {"A": EDGES},
    ),
    "NaN ranks first": Case("def f(float(N) A) -> (O) { O(r) = argmaxk[i](A(i), r) where r in 0:8 }", {"A": EDGES}),
    "a position over no points is 0": Case(
        "def f(float(N) A) -> (O) { O(i) min=! argmink[k in 0:2, l in 1:1](A(k), 2) where i in 0:3 }", {"A": X}
    ),
    "an inline reduction over no points still counts the index around it": Case(
        "def f(bool(N) A) -> (O) { O(i) +=! (all[k in 0:0 where v < k](A(k)) ? i : N) where i in 0:4, v in 1:5 }",
        {"A": B},
    ),
    "bytes are widened before they are multiplied": Case(
        "def f(uint8(N) A) -> (O) { O(j) +=! A(i) * A(i) where j in 0:2 }", {"A": BYTES}
    ),
    "bytes wrap below the products": Case(
        "def f(uint8(N) A) -> (O, P) { O +=! (A(i) + A(i)) * A(i)  P +=! A(i) + A(i) }", {"A": BYTES}
    ),
    "a rounding that was asked for stays inside a sum of halves": Case(
        "def f(float(N) A) -> (O) { O +=! half(A(i) * 0.3333) * half(3.0) }", {"A": X * 100}
    ),
    "bools subtract modulo 2": Case("def f(bool(N) A) -> (O, P) { O(i) = A(i) - A(7-i)  P(i) = -A(i) }", {"A": B}),
    "logsumexp counts an index that its value does not name": Case(
        "def f(float(N) A) -> (O) { O(i) = logsumexp[k in 0:5, l in 0:0+2](A(i) + k * 0.0) }", {"A": X}
    ),
    "an index of one value beside another in a subscript": Case(
        "def f(float(N) A) -> (O) { O(i,j) = (j - i - 1 >= 0 && j - i - 1 < N ? A(j - i - 1) : 0.0)"
        " where i in 0:7, j in 0:1 }",
        {"A": X},
    ),
    "an infinite factor outside of an empty sum": Case(
        "def f(float(N) A, float(N) C) -> (O) { O(i) +=! A(i) * C(k) where k < i }", {"A": EDGES, "C": np.abs(X)}
    ),
    "a guard hides NaN in every factor": Case(
        "def f(float(N) A, float(N) C, bool(N) M) -> (O) { O(i) +=! A(k) * C(k) * i where i in 0:3, M(k) }",
        {"A": EDGES, "C": EDGES, "M": np.isfinite(EDGES)},
    ),
    "a wide window past the end": Case(
        "def f(float(N) A, float(K) W) -> (O) { O(i) +=! A(i + k + l) * W(k)"
        " where i in 0:2, k in 0:K, l in 0:20, i + k + l < N }",
        {"A": X, "W": np.linspace(-1, 1, 12, dtype="float32")},
    ),
}
WEIGHTS = np.concatenate([[np.inf], np.ones(39)]).astype("float32")
CASES |= {
    "a part of what a reduction fills is written again": Case(
        """
        def f(float(N) a, float(P,Q,R,S) b) -> (T0, T1) {
          T0(x0) min=! 0.5*r0 + a(r1) where x0 in N-2:3, r0 in 2:N+1, r1 in 0:4, x0 - r1 >= 0
          T0(x0) min=! a(x0) where x0 in 2:N-1
          T1(x0,x1) +=! max(T0(2) * a(3-x1), -2) * b(x1,x0,r1,r0) where x0 < 9
        }
        """,
        {"a": X[:4], "b": np.ones((2, 3, 2, 2), "float32")},
    ),
    "most of a tensor that does not begin at 0 is written again": Case(
        "def f(float(N) A) -> (T) { T(i) = A(i) where i in 1:8  T(i) = 2*A(i) where i in 2:7 }", {"A": X}
    ),
    "most of a matrix that does not begin at 0 is written again, by a statement that restarts": Case(
        """
        def f(float(N) A) -> (T) {
          T(i,j) = A(i+2) where i in -2:2, j in 1:4
          T(i,j) max=! A(j+1) where i in -1:2, j in 1:4
        }
        """,
        {"A": X},
    ),
    "a guard hides what an infinite weight meets beside the array, in a window": Case(
        "def f(float(N) A, float(3) W) -> (O) { O(i) +=! A(i+k-1) * W(k) where i in 0:N, i+k-1 >= 0, i+k-1 < N }",
        {"A": X, "W": WEIGHTS[:3]},
    ),
    "a ternary hides what an infinite weight meets beside the array": Case(
        "def f(float(N) A, float(3) W) -> (O)"
        " { O(i) +=! (i+k-1 >= 0 && i+k-1 < N ? A(i+k-1) * W(k) : 0.0) where i in 0:N, k in 0:3 }",
        {"A": X, "W": WEIGHTS[:3]},
    ),
    "a guard hides what an infinite weight meets beside the array, in a convolution": Case(
        "def f(float(N) A, float(40) W) -> (O) { O(i) +=! A(i+k-1) * W(k) where i in 0:N, i+k-1 >= 0, i+k-1 < N }",
        {"A": np.tile(X, 8), "W": WEIGHTS},
    ),
    "a guard of one of three factors hides what is infinite in another": Case(
        "def f(float(N,K) A, float(K) B, float(K,M) C, bool(N,K) G) -> (O)"
        " { O(i,j) +=! A(i,k) * B(k) * C(k,j) where G(i,k) }",
        {
            "A": np.outer(X, X),
            "B": np.where(B, X, np.inf),
            "C": np.outer(X, np.tile(X, 2)),
            "G": np.tril(np.ones((8, 8), bool)),
        },
    ),
}
for name in (*REDUCTIONS, *POSITIONS):
    kind = "int32" if name in POSITIONS else "float"
    for restart in ("", "!"):
        CASES[f"{name}{restart} at places that data decide"] = Case(
            f"def f(float(N) A, int32(N) I) -> ({kind}(4) O) {{ O(I(i)) {name}{restart} A(i) where i > 1 }}",
            {"A": X, "I": TO},
        )
for name in ("any=", "all=", "+=", "*=", "min=", "max="):
    CASES[f"{name} of bools at places that data decide"] = Case(
        f"def f(bool(N) A, int32(N) I) -> (bool(4) O) {{ O(I(i)) {name}! A(i) where i > 1 }}", {"A": B, "I": TO}
    )


@pytest.mark.parametrize("sentence", CASES)
def test_compiled_and_interpreted_agree(sentence: str) -> None:
    comparing.values(CASES[sentence])


GRADIENTS: dict[str, Case] = {
    f"{name}{restart} at places that data decide": Case(
        f"def f(float(N) A, int32(N) I) -> (float(4) O) {{ O(I(i)) {name}{restart} A(i) }}", {"A": X, "I": ALL}
    )
    for name in REDUCTIONS
    for restart in ("", "!")
} | {
    "a wide maximum": Case("def f(float(N) A) -> (O) { O(i) max=! A(i + k) where k in 0:5 }", {"A": X}),
    "a wide minimum": Case("def f(float(N) A) -> (O) { O(i) min=! A(i + k) where k in 0:6 }", {"A": X}),
    "a wide sum": Case("def f(float(N) A) -> (O) { O(i) +=! A(i + k) where k in 0:5 }", {"A": X}),
    "an inline sum in a branch that is not taken": Case(
        "def f(float(N) A) -> (O) { O(i) = (i > 8 ? sum[k](log(A(k) - A(k))) : A(i) * A(i)) }", {"A": X}
    ),
    "a mean of no points": Case(
        "def f(float(N) A) -> (O) { P(j) mean=! A(i) where j in 0:4, i < j - 1  O(j) = (j > 1 ? P(j) : A(j)) }",
        {"A": X},
    ),
    "a logsumexp of no points": Case(
        "def f(float(N) A) -> (O) { P(j) logsumexp=! A(i) where j in 0:4, i < j - 1  O(j) = (j > 1 ? P(j) : A(j)) }",
        {"A": X},
    ),
}


@pytest.mark.parametrize("sentence", GRADIENTS)
def test_gradients_agree_with_differences(sentence: str) -> None:
    assert comparing.grads(GRADIENTS[sentence]) is None


MATRIX = np.outer(X, X)
UNREAD: dict[str, Case] = {
    "a part that is written again": Case(
        "def f(float(N) A, float(N) C) -> (T) { T(i) = A(i)  T(i) = A(i) * C(i) where i in 1:N-1 }", {"A": X, "C": X}
    ),
    "a matrix product under a triangle": Case(
        "def f(float(N,K) A, float(K,M) C) -> (O) { O(i,j) +=! A(i,k) * C(k,j) where k < i }",
        {"A": MATRIX, "C": MATRIX},
    ),
    "a matrix product of which some rows count": Case(
        "def f(float(N,K) A, float(K,M) C, bool(N) G) -> (O) { O(i,j) +=! A(i,k) * C(k,j) where G(i) }",
        {"A": MATRIX, "C": MATRIX, "G": B},
    ),
    "a sum of products of which some count": Case(
        "def f(float(N,K) A, float(N,K) C, bool(N) G) -> (O) { O(i) +=! A(i,k) * C(i,k) where G(i) }",
        {"A": MATRIX, "C": MATRIX, "G": B},
    ),
    "a factor in front of a sum": Case(
        "def f(float(N) A, float(N,K) C, bool(N) G) -> (O) { O(i) += A(i) * C(i,k) where G(i) }",
        {"A": X, "C": MATRIX, "G": B},
    ),
    "a function in front of a sum": Case(
        "def f(float(N) A, float(K) C, bool(N) G) -> (O) { O(i) +=! exp(A(i)) * C(k) where G(i) }",
        {"A": X, "C": X, "G": B},
    ),
    "three factors under a mask": Case(
        "def f(float(N,K) A, float(K) B, float(K,M) C, bool(K) G) -> (O)"
        " { O(i,j) +=! A(i,k) * B(k) * C(k,j) where G(k) }",
        {"A": MATRIX, "B": X, "C": MATRIX, "G": B},
    ),
}


@pytest.mark.parametrize("sentence", UNREAD)
def test_what_no_point_reads_changes_no_value_and_no_derivative(sentence: str) -> None:
    assert unread.values(UNREAD[sentence]) is None
    assert unread.gradients(UNREAD[sentence]) is None


def test_a_kernel_with_scatters_is_exported_and_called_again() -> None:
    kernel = tcjax.kernel("def f(float(N) A, int32(N) I) -> (float(4) O) { O(I(i)) max=! A(i) }")

    exported = jax.export.export(jax.jit(kernel))(X, TO)
    again = jax.export.deserialize(exported.serialize()).call(X, TO)

    np.testing.assert_array_equal(again, kernel.interpret(X, TO))
