"""`tcjax.testing`: strategies that generate only valid calls."""

import sys
from random import Random

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

import tcjax
from tcjax.testing import arguments, calls, shapes

MM = tcjax.kernel("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }")
LOOK = tcjax.kernel("def look(half(M,D) A, int32(N) I) -> (O) { O(i,d) = A(I(i), d) }")
HISTOGRAM = tcjax.kernel("def h(int32(N) b, float(N) w) -> (float(B) H) { H(b(i)) +=! w(i) }")
ROWS = tcjax.kernel("{ [i] -> sum(a[i]) }")


@settings(max_examples=20)
@given(arguments(MM))
def test_arrays_of_a_call_fit(arrays: tuple[np.ndarray, ...]) -> None:
    A, B = arrays

    np.testing.assert_array_equal(MM.interpret(A, B), A @ B)


@settings(max_examples=20)
@given(arguments(LOOK))
def test_subscripts_point_inside_and_types_are_the_declared_ones(arrays: tuple[np.ndarray, ...]) -> None:
    A, I = arrays

    assert (A.dtype, I.dtype) == (np.float16, np.int32)
    assert LOOK.ranges(A, I)[0]["i"] == (0, len(I))
    assert all(0 <= i < len(A) for i in I) or len(A) == 0


@settings(max_examples=20)
@given(calls(HISTOGRAM))
def test_calls_have_the_sizes_that_go_by_keyword(call: tuple[tuple, dict]) -> None:
    (bins, weights), keywords = call

    assert set(keywords) == {"B"}
    assert HISTOGRAM.interpret(bins, weights, **keywords).shape == (keywords["B"],)


@settings(max_examples=20)
@given(shapes(MM))
def test_shapes_agree_on_the_sizes_that_arrays_share(found: tuple[tuple[int, ...], ...]) -> None:
    (_, k), (again, _) = found

    assert k == again


@settings(max_examples=20)
@given(arguments(ROWS))
def test_sac_programs_have_arguments(arrays: tuple[np.ndarray, ...]) -> None:
    (a,) = arrays

    assert ROWS.interpret(a).shape[:1] == a.shape[:1]


def test_a_failing_example_shrinks_to_few_and_simple_elements() -> None:
    A, B = find(
        arguments(MM),
        lambda arrays: bool((arrays[0] > 0.5).any() and arrays[1].shape[1] > 1),
        random=Random(0),  # how far hypothesis shrinks depends on where it starts
    )

    assert A.size <= 9
    assert sorted(set(A.ravel().tolist()))[-1] == 0.75
    assert not B.any()


def test_a_size_by_keyword_needs_calls() -> None:
    with pytest.raises(tcjax.CompileError, match="takes B by keyword"):
        arguments(HISTOGRAM)


def test_without_hypothesis_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)

    with pytest.raises(ImportError, match=r"pip install 'tcjax\[testing\]'"):
        arguments(MM)


def test_strategies_combine() -> None:
    doubled = st.tuples(arguments(MM), st.just(2))

    assert find(doubled, lambda pair: True)[1] == 2
