"""Random programs, shapes, types and arrays: the compiled program agrees with the interpreted one.

`make deep` tries thousands, new ones every time; the default profile tries the same few everywhere.
"""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agreement import comparing
from tests.agreement.options import with_options
from tests.effort import examples, phases
from tests.strategies.programs import Case, Flavour, programs
from tests.strategies.recurrences import recurrences

# Compiling takes most of the time, so the default profile has few examples; a deep profile has more.
SOME = examples(30)
FEW = examples(16)
WIDE = st.one_of(programs(), programs(), programs(Flavour(ragged=True)))
SMOOTH = st.one_of(programs(Flavour(smooth=True)), programs(Flavour(smooth=True, ragged=True)))
# Shrinking a program takes long: the default profile shows the failing one as it is, a deep profile the smallest.


@settings(max_examples=SOME, phases=phases())
@given(WIDE)
def test_a_kernel_gives_the_interpreters_values(case: Case) -> None:
    comparing.values(case)


@settings(max_examples=FEW, phases=phases())
@given(WIDE)
def test_a_kernel_inside_jit_gives_the_interpreters_values(case: Case) -> None:
    comparing.jitted(case)


@settings(max_examples=FEW, phases=phases())
@given(WIDE)
def test_a_kernel_under_vmap_is_a_loop_over_the_interpreter(case: Case) -> None:
    comparing.vmapped(case)


@settings(max_examples=FEW // 4, phases=phases())
@given(case=st.one_of(WIDE, recurrences()), check=st.sampled_from([comparing.values, comparing.vmapped]))
def test_options_that_change_no_result_change_none(case: Case, check: Callable[[Case], object]) -> None:
    with_options(check)(case)


@settings(max_examples=SOME, phases=phases())
@given(SMOOTH)
def test_a_gradient_is_the_interpreters_difference_quotient(case: Case) -> None:
    comparing.grads(case)


@settings(max_examples=FEW, phases=phases())
@given(SMOOTH)
def test_a_second_derivative_is_a_difference_of_difference_quotients(case: Case) -> None:
    comparing.second(case)


@pytest.mark.parametrize("name", ["values", "grads"])
def test_a_difference_would_be_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    from tcjax import interpreter

    case = Case("def f(float(N) A) -> (B) { B(i) = A(i) * A(i) }", {"A": np.array([1.0, 2.0], "float32")})
    door = {"values": "interpret", "grads": "differences"}[name]
    right = getattr(interpreter, door)
    shift = (lambda out: tuple(a + 1 for a in out)) if name == "values" else (lambda out: out + 1)
    monkeypatch.setattr(interpreter, door, lambda *args, **kwargs: shift(right(*args, **kwargs)))

    with pytest.raises(AssertionError):
        getattr(comparing, name)(case)
