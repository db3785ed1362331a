"""Random SaC programs: what is compiled equals what the reference says: values, shapes, types, kinds of mistakes."""

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings

import tcjax
from tcjax.syntax import sac
from tests.agreement.comparing import agree
from tests.effort import examples, phases
from tests.sac.strategies import Case, case_of, kind_of, need_not_read, programs

# Compiling takes most of the time, so that the default profile has few examples; a deep profile has more of all.
SOME = examples(70)
FEW = examples(30)


def outcome(case: Case, jitted: bool = False) -> Any:
    """What the kernel gives, or the kind of its error. Under jit, static arguments are closed over."""
    try:
        kernel = tcjax.kernel(case.text, dialect="sac")
        if not jitted:
            return kernel(**case.arguments)
        static = {name: array for name, array in case.arguments.items() if name in case.static}
        traced = {name: array for name, array in case.arguments.items() if name not in case.static}
        return jax.jit(lambda arrays: kernel(**arrays, **static))(traced)
    except tcjax.CompileError as error:
        return kind_of(error)


def check(case: Case, jitted: bool = False, mistaken: bool = False) -> None:
    """With `mistaken`, the program has a mistake somewhere."""
    found = outcome(case, jitted)
    if found == "static" and case.kind is not None:
        # The reference stops at the mistake, and does not say which values decide shapes: with all of them it is seen.
        found = outcome(case)

    if case.kind == "index" and need_not_read(case, found):
        return
    if case.kind == "index" and not isinstance(found, str):
        # Places that data say are clamped; a kernel that checks them says so.
        with pytest.raises(tcjax.DataError):
            tcjax.kernel(case.text, dialect="sac", checked=True)(**case.arguments)
        return
    unseen = mistaken or found in ("rank", "index")
    differs = isinstance(found, str) or (mistaken and case.kind is not None)
    if unseen and differs and any(a.size == 0 for a in case.arguments.values()):
        # The reference computes elements: of a body or a value that it never visits, as data alone may say, it does not
        # see the mistake. Where there is another one it tells of that. And a kernel does not look at the branch that is
        # not taken where no element decides, as in `all(a) ? b : c` of an empty `a`.
        return
    if case.kind is not None or isinstance(found, str):
        assert found == case.kind, case
    else:
        agree(found, case.expected)


@settings(max_examples=SOME, phases=phases())
@given(programs())
def test_a_program_gives_the_values_of_the_reference(case: Case) -> None:
    check(case)


@settings(max_examples=FEW, phases=phases())
@given(programs())
def test_a_program_inside_jit_gives_the_values_of_the_reference(case: Case) -> None:
    check(case, jitted=True)


@settings(max_examples=SOME, phases=phases())
@given(programs(mistakes=True))
def test_a_mistake_is_found_and_has_the_kind_of_the_reference(case: Case) -> None:
    check(case, mistaken=True)


def test_a_place_that_data_say_is_the_kind_of_the_reference_where_it_is_checked() -> None:
    program = sac.read("{ [i] -> a[k] | [i] < [2] }")
    check(case_of(program, {"a": np.array([1, 2], "int32"), "k": np.array(4, "int32")}), mistaken=True)


def test_a_difference_would_be_noticed() -> None:
    case = case_of(sac.read("{ [i] -> a[i] + 1 }"), {"a": np.array([1, 2], "int32")})
    wrong = Case(case.program, case.arguments, np.array([2, 4], "int32"), None, frozenset())

    check(case)
    with pytest.raises(AssertionError):
        check(wrong)
