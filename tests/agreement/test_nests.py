"""Reductions over spaces that are never stored: compiled and interpreted results agree, and so do derivatives.

Small spaces are usually stored: here the planner's limits and blocks are changed.
"""

import jax
import numpy as np
import pytest
from hypothesis import given, settings

from tcjax import interpreter
from tests.agreement import comparing, lines
from tests.agreement.formulas import FORMULAS
from tests.agreement.nesting import nesting
from tests.effort import examples, phases
from tests.strategies.nests import nests
from tests.strategies.programs import Case
from tests.strategies.random_expressions import Flavour

pytestmark = pytest.mark.usefixtures("quickly_compiled")

# Derivatives of nests take longest to compile: the default profile has few of them.
SOME = examples(12)
FEW = examples(6)
LEAST = examples(4)
SMOOTH = Flavour(smooth=True)
DOUBLE = Flavour(floats=("double",), integers=("int64", "uint64", "int32"))


def blocks(case: Case) -> tuple[int, int]:
    """The number of vectorised values, and of unrolled ones: chosen by the text."""
    number = len(case.text)
    return (1, 2, 3, 4, 8)[number % 5], (1, 2)[number % 2]


@settings(max_examples=SOME, phases=phases())
@given(nests())
def test_a_nest_gives_the_interpreters_values(case: Case) -> None:
    with nesting(*blocks(case)):
        comparing.values(case)


@settings(max_examples=FEW, phases=phases())
@given(nests())
def test_a_nest_under_vmap_is_a_loop_over_the_interpreter(case: Case) -> None:
    with nesting(*blocks(case)):
        comparing.vmapped(case)


@settings(max_examples=FEW, phases=phases())
@given(nests(DOUBLE))
def test_a_nest_of_64_bit_types_gives_the_interpreters_values(case: Case) -> None:
    with nesting(*blocks(case)), jax.enable_x64(True):
        comparing.values(case)


@settings(max_examples=FEW, phases=phases())
@given(nests(SMOOTH))
def test_slopes_are_the_interpreters_differences(case: Case) -> None:
    with nesting(*blocks(case)):
        lines.first(case)


@settings(max_examples=LEAST, phases=phases())
@given(nests(SMOOTH))
def test_second_derivatives_are_differences_of_differences(case: Case) -> None:
    with nesting(*blocks(case)):
        lines.second(case)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("rows", [1, 4, 1000])
def test_a_formula_gives_the_values_of_jnp(name: str, rows: int) -> None:
    formula = FORMULAS[name]
    arrays = formula.arrays()

    with nesting(rows, 2):
        found = formula.fresh()(*arrays)

    np.testing.assert_allclose(found, formula.jnp(*arrays), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("check", [lines.first, lines.second])
def test_a_wrong_slope_would_be_noticed(check, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f(float(N) A, float(M) B) -> (O) { O(i) = sum[j](tanh(A(i) - B(j))) }"
    case = Case(text, {"A": np.array([0.4, 1.0], "float32"), "B": np.array([-0.5, 0.7, 1.3], "float32")})
    assert check(case) is None
    right = interpreter.interpret
    # A function whose first and second derivatives differ from it.
    monkeypatch.setattr(
        interpreter,
        "interpret",
        lambda bound, arrays, *rest: tuple(r + arrays["A"] ** 3 for r in right(bound, arrays, *rest)),
    )

    with pytest.raises(AssertionError):
        check(case)


def test_random_programs_have_nests_in_them() -> None:
    found = []

    @settings(max_examples=25, phases=phases(), derandomize=True, database=None)
    @given(nests())
    def plan(case: Case) -> None:
        with nesting():
            found.append("loop nest" in str(case.kernel.plan(*case.arguments.values())))

    plan()
    assert sum(found) > len(found) // 2
