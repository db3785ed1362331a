"""Unread elements: following the warning's help removes the warning and gives NumPy's results."""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tcjax

X, W = np.array([1, 2, 3, 4, 5], np.float32), np.array([1, 10, 100], np.float32)
A, B = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(20, dtype=np.float32).reshape(4, 5)


def told(text: str, *arrays: np.ndarray) -> tcjax.CompileWarning:
    with pytest.warns(tcjax.CompileWarning) as caught:
        tcjax.kernel(text).ranges(*arrays)
    (found,) = (warning.message for warning in caught)
    assert isinstance(found, tcjax.CompileWarning) and found.code == "TC1211"
    return found


@dataclass(frozen=True)
class Followed:
    """A program, its arrays, where the help's code number `piece` goes, and the intended result."""

    text: str
    arrays: tuple[np.ndarray, ...]
    follow: Callable[[str, str], str]
    meant: Any
    piece: int = 0

    def __str__(self) -> str:
        return f"{self.text} {self.piece}"


def instead_of(old: str) -> Callable[[str, str], str]:
    return lambda text, new: text.replace(old, new)


def behind(text: str, new: str) -> str:
    return f"{text} {new}"


def as_a_clause(text: str, new: str) -> str:
    return f"{text}, {new.removeprefix('where ')}"


SAME = "y(i) +=! x(i+k-1) * w(k) where i in 0:x.0"
INLINE = "y(i) = sum[k](x(i+k-1) * w(k)) where i in 0:x.0"
MM = "def mm(float(M,K) A, float(K,N) B) -> (C) {{ C(m,n) +=! A(k,m) * B(k,n){} }}"
CASES = [
    Followed(SAME, (X, W), instead_of("x(i+k-1)"), np.correlate(X, W, "same")),
    Followed(SAME, (X, W), as_a_clause, 10 * X, piece=1),
    Followed(INLINE, (X, W), instead_of("x(i+k-1)"), np.correlate(X, W, "same")),
    Followed(INLINE, (X, W), lambda text, new: text.replace("[k]", f"[{new}]"), 10 * X, piece=1),
    Followed(MM.format(""), (A, B), instead_of("A(k,m)"), A @ B),
    Followed(MM.format(""), (A, B), lambda _, new: MM.format(f" {new}"), A.T @ B[:3], piece=1),
    Followed("y(i) = a(i) * b(i)", (X, W), behind, X[:3] * W, piece=2),
    Followed("y(i) = a(i) * b(i+1)", (W, X), behind, [2, 30, 400]),
    Followed("y(i) = a(i) * b(i+1)", (X, W), instead_of("b(i+1)"), [10, 200, 0, 0, 0]),
    Followed("y(i) = a(i) + (i < 2 ? b(i) : 0.0)", (X, W[:2]), behind, [*(X[:2] + W[:2]), *X[2:]], piece=1),
    Followed("{ [i] -> a[i] * b[i] }", (X, W), lambda text, new: text.replace(" }", f" {new} }}"), X[:3] * W, piece=2),
    Followed("{ [i,j] -> sum({ [k] -> A[k,i] * B[k,j] }) }", (A, B), instead_of("A[k,i]"), A @ B),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_who_follows_the_help_is_not_warned_again(case: Followed) -> None:
    pieces = re.findall(r"`([^`]*)`", told(case.text, *case.arrays).help)

    followed = tcjax.kernel(case.follow(case.text, pieces[case.piece]), strict=True)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(followed(*case.arrays), case.meant)
        np.testing.assert_allclose(followed.interpret(*case.arrays), case.meant)


def test_a_declaration_that_is_followed_refuses_the_arrays_by_name() -> None:
    help = told("C(m,n) +=! A(m,k) * B(k,n)", B, A).help
    first, second = re.findall(r"`([^`]*)`", help)[:2]

    declared = tcjax.kernel(f"def mm({first}, {second}) -> (C) {{ C(m,n) +=! A(m,k) * B(k,n) }}")

    with pytest.raises(tcjax.CompileError, match="`K` is 5 in dimension 1 of `A`, but 3 in dimension 0 of `B`"):
        declared(B, A)
    np.testing.assert_allclose(declared(A, B), A @ B)


def test_strict_makes_an_error_of_it() -> None:
    kernel = tcjax.kernel(SAME, strict=True)

    with pytest.raises(tcjax.CompileError) as caught:
        kernel(X, W)

    assert (caught.value.code, caught.value.kind) == ("TC1211", "bound")


def test_it_is_told_once_for_each_combination_of_shapes() -> None:
    kernel = tcjax.kernel(SAME)

    with pytest.warns(tcjax.CompileWarning) as caught:
        for length in (5, 5, 4):
            kernel(X[:length], W)

    assert len(caught) == 1
    with pytest.warns(tcjax.CompileWarning, match="4 of the 5 elements of `w`"):
        kernel(X, np.ones(5, np.float32))


def test_the_python_notation_is_told_in_its_own_words() -> None:
    @tcjax.kernel
    def same(x, w):
        for i in range(0, x.shape[0]):
            y[i] += x[i + k - 1] * w[k]
        return y

    @tcjax.kernel(strict=True)
    def padded(x, w):
        for i in range(0, x.shape[0]):
            y[i] += (x[i + k - 1] if i + k - 1 >= 0 and i + k - 1 < x.shape[0] else 0.0) * w[k]
        return y

    @tcjax.kernel(strict=True)
    def middle(x, w):
        for i in range(0, x.shape[0]):
            for k in range(1, 2):
                y[i] += x[i + k - 1] * w[k]
        return y

    with pytest.warns(tcjax.CompileWarning) as caught:
        same(X, W)

    assert "`x[i + k - 1]` at every `i in range(0, x.shape[0])`" in str(caught[0].message)
    assert "`(x[i + k - 1] if i + k - 1 >= 0 and i + k - 1 < x.shape[0] else 0.0)`" in str(caught[0].message)
    assert "`for k in range(1, 2):`" in str(caught[0].message)
    np.testing.assert_allclose(padded(X, W), np.correlate(X, W, "same"))
    np.testing.assert_allclose(middle(X, W), 10 * X)


def test_the_python_notation_is_told_of_exchanged_indices() -> None:
    @tcjax.kernel
    def mm(A: "float(M,K)", B: "float(K,N)"):
        C[m, n] += A[k, m] * B[k, n]
        return C

    with pytest.warns(tcjax.CompileWarning, match=r"did you mean `A\[m, k\]`\?"):
        mm(A, B)
