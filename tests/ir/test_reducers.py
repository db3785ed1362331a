"""The table of reductions, checked against the interpreter, which has its own."""

import numpy as np
import pytest

from tcjax.interpreter.reductions import continues, identity, reduce_values
from tcjax.interpreter.scalars import dtype_of
from tcjax.ir import BY_OPERATOR, Reducer

NUMBERS = {"float32": [2.5, -1.0, 3.0], "int8": [2, -3, 5], "uint8": [7, 2, 9], "bool": [True, False, True]}
OPERATORS = {"+": np.add, "*": np.multiply, "min": np.minimum, "max": np.maximum}
OF_BOOL = {"+": np.not_equal, "*": np.logical_and, "||": np.logical_or, "&&": np.logical_and}
CASES = [
    (reducer, dtype)
    for reducer in Reducer
    for dtype in NUMBERS
    if not (reducer.is_floating and dtype != "float32") and (dtype == "bool" or not reducer.takes_bool)
]


def reduced(reducer, dtype, values):
    return reduce_values(reducer, np.asarray(values, dtype_of(dtype)), range(len(values)), dtype)


@pytest.mark.parametrize(("reducer", "dtype"), CASES)
def test_the_value_over_no_points_is_the_interpreters(reducer, dtype):
    np.testing.assert_array_equal(np.asarray(reducer.empty(dtype)), identity(reducer, dtype))


@pytest.mark.parametrize(("reducer", "dtype"), CASES)
def test_what_continues_has_an_identity_and_results_as_states(reducer, dtype):
    assert reducer.continues == continues(reducer) or reducer.is_ranked
    if not reducer.continues:
        return
    values = NUMBERS[dtype]
    for front, back in ((values[:1], values[1:]), ([], values), (values, [])):
        parts = [reduced(reducer, dtype, front), reduced(reducer, dtype, back)]
        found, whole = reduced(reducer, dtype, parts), reduced(reducer, dtype, values)
        np.testing.assert_allclose(found, whole, rtol=1e-6)


@pytest.mark.parametrize(("reducer", "dtype"), CASES)
def test_the_operator_combines_two_results(reducer, dtype):
    if reducer.operator is None:
        return
    assert BY_OPERATOR[reducer.operator] is reducer
    operator = (OF_BOOL if dtype == "bool" else OPERATORS).get(reducer.operator, OPERATORS.get(reducer.operator))
    one, other = np.asarray(NUMBERS[dtype][:2], dtype_of(dtype))
    np.testing.assert_array_equal(operator(one, other), reduced(reducer, dtype, [one, other]))


@pytest.mark.parametrize("reducer", [reducer for reducer in Reducer if reducer.distributes_over is not None])
def test_what_it_distributes_over_may_be_taken_out(reducer):
    operator = OPERATORS[reducer.distributes_over]
    values = np.float32(NUMBERS["float32"])
    inside = reduced(reducer, "float32", operator(values, np.float32(2)))
    np.testing.assert_allclose(inside, operator(reduced(reducer, "float32", values), 2), rtol=1e-6)


@pytest.mark.parametrize("reducer", [reducer for reducer in Reducer if reducer.is_upper_bound])
def test_an_upper_bound_is_no_less_than_an_element(reducer):
    assert reduced(reducer, "float32", NUMBERS["float32"]) >= max(NUMBERS["float32"])


@pytest.mark.parametrize("reducer", [reducer for reducer in Reducer if reducer.order is not None])
def test_variants_have_the_traits_that_are_wanted(reducer):
    assert reducer.variant() is reducer
    for order in ("min", "max"):
        for is_ranked in (False, True):
            for gives_position in (False, True):
                name = f"{'arg' if gives_position else ''}{order}{'k' if is_ranked else ''}"
                assert reducer.variant(order=order, is_ranked=is_ranked, gives_position=gives_position).value == name


@pytest.mark.parametrize("reducer", [reducer for reducer in Reducer if reducer.inject is not None])
def test_a_function_of_each_element_and_one_of_their_sum_are_the_reduction(reducer):
    values = np.float64(NUMBERS["float32"])
    told = getattr(np, reducer.finish)(getattr(np, reducer.inject)(values).sum())
    np.testing.assert_allclose(reduced(reducer, "float64", values), told)
