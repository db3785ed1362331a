"""64-bit types, with JAX's x64 mode on."""

import jax
import numpy as np
from hypothesis import given, settings

import tcjax
from tests.agreement import comparing
from tests.effort import examples, phases
from tests.strategies.programs import Case, programs
from tests.strategies.random_expressions import Flavour

SOME = examples(20)


@settings(max_examples=SOME, phases=phases())
@given(programs(Flavour(floats=("double",), integers=("int64", "uint64", "int32"))))
def test_a_kernel_of_64_bit_types_gives_the_interpreters_values(case: Case) -> None:
    with jax.enable_x64(True):
        comparing.values(case)


def test_a_double_sum_keeps_what_a_float_sum_loses() -> None:
    with jax.enable_x64(True):
        kernel = tcjax.kernel("def f(double(N) A) -> (S) { S +=! A(i) }")
        A = np.array([1.0, 1e-12, -1.0])

        found = kernel(A)

    assert found.dtype == np.float64
    np.testing.assert_allclose(found, A.sum(), rtol=0, atol=0)


def test_integers_beyond_32_bits_stay_whole() -> None:
    with jax.enable_x64(True):
        kernel = tcjax.kernel("def f(int64(N) A) -> (S) { S +=! A(i) * 3 }")
        A = np.array([2**40, 5])

        found = kernel(A)

    assert found.dtype == np.int64
    assert int(np.asarray(found)) == 3 * (2**40 + 5)
