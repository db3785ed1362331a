"""Successive constant scales become one constant where that is exact."""

import numpy as np
import pytest

import tcjax
from tcjax.planning import Compute
from tcjax.planning.data.nodes import Apply, Fill, LoopNest, Node, Read

POINTS = np.zeros((1024, 32), np.float32)


def value_of(body: str, *arrays: np.ndarray, head: str = "float(N,D) x, float(M,D) y") -> Node:
    plan = tcjax.kernel(f"def f({head}) -> (O) {{ {body} }}").plan(*arrays)
    (stage,) = (stage for stage in plan.stages if isinstance(stage, Compute))
    return stage.value


@pytest.mark.parametrize(
    "body",
    (
        "O(i,j) = 4*sum[d](pow((x(i,d) - y(j,d))/2, 2))",
        "O(i,j) = D*mean[d](pow(x(i,d) - y(j,d), 2))",
        "O(i,j) = sum[d](pow(x(i,d) - y(j,d), 2)*3)/3",
    ),
)
def test_scales_that_cancel_leave_the_nest_alone(body: str) -> None:
    assert isinstance(value_of(body, POINTS, POINTS), LoopNest)


def test_scales_whose_product_has_the_same_digits_are_one() -> None:
    value = value_of("O(i) = 3*(x(i)/4)", POINTS[:, 0], head="float(N) x")

    assert isinstance(value, Apply) and value.operator == "*"
    assert [part.value for part in value.arguments if isinstance(part, Fill)] == [0.75]
    assert any(isinstance(part, Read) for part in value.arguments)


@pytest.mark.parametrize("body", ("O(i) = x(i)/3/5", "O(i) = 0.1*(x(i)*0.1)", "O(i) = 2*(x(i)/10)", "O(i) = x(i)/0*0"))
def test_scales_that_would_be_rounded_stay(body: str) -> None:
    value = value_of(body, POINTS[:, 0], head="float(N) x")

    assert isinstance(value, Apply) and any(isinstance(part, Apply) for part in value.arguments)


def test_integers_are_divided_as_written() -> None:
    value = value_of("O(i) = x(i)/4*4", np.arange(8, dtype=np.int32), head="int32(N) x")

    assert isinstance(value, Apply) and value.operator == "*"


@pytest.mark.parametrize("special", (np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-30, 1e30))
def test_what_is_scaled_may_be_anything(special: float) -> None:
    x = np.full(4, special, np.float32)
    for body, scale in (("3*(x(i)/4)", 0.75), ("-8*(x(i)/2)/4", -1.0), ("x(i)/0.5/2", 1.0)):
        found = np.asarray(tcjax.kernel(f"def f(float(N) x) -> (O) {{ O(i) = {body} }}")(x))
        np.testing.assert_array_equal(found, x * np.float32(scale))
