"""Programs that compute the same in the same way have one canonical form."""

import numpy as np
import pytest

from tcjax import ir, ranges
from tcjax.interpreter import interpret
from tcjax.syntax import tc
from tcjax.transforms.canonical import canonical
from tests.translation.programs import PROGRAMS, Called, elaborated


def form(text: str, *arrays: np.ndarray) -> ir.Function:
    """The canonical form of a text's last definition."""
    function = elaborated(tc.read(text), arrays)
    names = [parameter.name for parameter in function.parameters]
    return canonical(function, ranges.bind(function, {n: a.shape for n, a in zip(names, arrays, strict=True)}))


def floats(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.is_small and not p.has_initial], ids=str)
def test_the_canonical_form_computes_the_same(program: Called) -> None:
    bound = ranges.bind(program.function, {name: array.shape for name, array in program.arrays.items()})

    found = canonical(program.function, bound)

    ir.verify(found)
    arrays = {tensor.name: array for tensor, array in zip(found.parameters, program.arguments, strict=True)}
    again = ranges.bind(found, {name: array.shape for name, array in arrays.items()})
    for result, wanted in zip(interpret(again, arrays), interpret(bound, program.arrays), strict=True):
        assert np.asarray(result).dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(np.asarray(result), np.asarray(wanted), 1e-5, 1e-5)


def test_names_and_redundant_ranges_do_not_matter() -> None:
    one = form("def f(float(M,K) A) -> (C) { C(m) +=! A(m,k) }", floats(2, 3))
    other = form("def g(float(P,Q) B) -> (D) { D(i) +=! B(i,j) where i in 0:P, j in 0:3 }", floats(2, 3))

    assert one == other


def test_a_reduction_is_the_same_in_brackets() -> None:
    one = form("def f(float(M,K) A) -> (C) { C(m) max=! A(m,k) }", floats(2, 3))
    other = form("def f(float(M,K) A) -> (C) { C(m) = max[k](A(m,k)) }", floats(2, 3))

    assert one == other


def test_accumulation_is_the_same_as_a_sum_with_what_was_there() -> None:
    one = form("def f(float(N,K) A) -> (B) { B(i) = 1.0 where i in 0:N  B(i) += A(i,k) }", floats(2, 3))
    other = form("def f(float(N,K) A) -> (C) { B(i) = 1.0 where i in 0:N  C(i) = B(i) + sum[k](A(i,k)) }", floats(2, 3))

    assert one == other


def test_a_guard_is_the_same_as_a_choice_of_the_neutral_element() -> None:
    one = form("def f(float(N) x) -> (y) { y(t) = sum[s where s <= t](x(s)) where t in 0:N }", floats(4))
    other = form("def f(float(N) x) -> (y) { y(t) = sum[s](s <= t ? x(s) : 0.0) where t in 0:N }", floats(4))

    assert one == other


def test_a_tensor_that_starts_elsewhere_is_the_same_from_zero() -> None:
    one = form("def f(float(N) A) -> (B) { B(i) = A(i) where i in 1:3 }", floats(5))
    other = form("def f(float(N) A) -> (B) { B(i) = A(i+1) where i in 0:2 }", floats(5))

    assert one == other


def test_other_computations_have_other_forms() -> None:
    one = form("def f(float(N) A) -> (B) { B(i) = A(i) + 1 }", floats(3))
    other = form("def f(float(N) A) -> (B) { B(i) = 1 + A(i) }", floats(3))

    assert one != other
