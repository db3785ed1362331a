"""Infinities and NaN in the data of random programs: where they are read, and where no point reads them."""

import re

import numpy as np
import pytest
from hypothesis import given, settings

import tcjax
from tcjax.planning.data.assembly import Overlay
from tests.agreement import comparing, unread
from tests.effort import examples, phases
from tests.strategies.nests import nests
from tests.strategies.products import products
from tests.strategies.programs import Case, programs
from tests.strategies.random_expressions import Flavour

pytestmark = pytest.mark.usefixtures("quickly_compiled")

SOME, FEW = examples(16), examples(8)
PHASES = phases()
ODD = Flavour(odd=True)
SMOOTH = Flavour(smooth=True)


@settings(max_examples=SOME, phases=PHASES)
@given(programs(ODD) | nests(ODD) | products(ODD))
def test_infinities_and_nan_are_computed_with_as_in_the_interpreter(case: Case) -> None:
    comparing.odd(case)


@settings(max_examples=SOME, phases=PHASES)
@given(programs() | nests() | products())
def test_what_no_point_reads_changes_no_value(case: Case) -> None:
    unread.values(case)


@settings(max_examples=FEW, phases=PHASES)
@given(programs(SMOOTH) | nests(SMOOTH) | products(SMOOTH))
def test_what_no_point_reads_changes_no_derivative(case: Case) -> None:
    unread.gradients(case)


# Each with the shapes of its tensors.
LEFT_OUT = {
    "a product that a later factor's guard leaves out": (
        "def f(float(M,K) A, float(K,L) B, float(M,L) C) -> (O) { O(m) +=! A(m,k) * B(k,l) * C(m,l) where m < 2 }",
        [(4, 3), (3, 4), (4, 4)],
    ),
    "a guard of two indices, each of another factor": (
        "def f(float(M,K) A, float(K,L) B, float(M,L,N) C) -> (O) { O(m,n) +=! A(m,k) * B(k,l) * C(m,l,n) "
        "where l + 1 < m }",
        [(4, 3), (3, 4), (4, 4, 2)],
    ),
    "a guard over the result of a product of matrices": (
        "def f(float(M,K) A, float(K,N) B) -> (O) { O(m,n) +=! A(m,k) * B(k,n) where m + n < 3, m < 3 }",
        [(4, 5), (5, 4)],
    ),
    "a guard over what stands in front": (
        "def f(float(M) A, float(K,L) B, float(L,N) C) -> (O) { O(m,n) +=! A(m) * B(k,l) * C(l,n) "
        "where m + 1 < 4, n < 2 }",
        [(4,), (3, 4), (4, 3)],
    ),
    "a guard that never holds": (
        "def f(float(K) A, float(L,N) B, float(K) C) -> (O) { O(n) +=! A(k) * B(l,n+1) * C(k) "
        "where n in 0:2, n + 1 < 1 }",
        [(3,), (2, 2), (3,)],
    ),
    "a convolution of which few elements count": (
        "def f(float(C,N) x, float(O,C,3) w) -> (y) { y(o,i) +=! x(c,i+k) * w(o,c,k) where i in 0:62, i > 40 }",
        [(16, 64), (16, 16, 3)],
    ),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_no_cotangent_meets_what_a_guard_leaves_out(name: str) -> None:
    text, shapes = LEFT_OUT[name]
    rng = np.random.default_rng(0)
    letters = re.findall(r"\) (\w)", text.split("->")[0])
    case = Case(text, {letter: rng.normal(size=s).astype("float32") for letter, s in zip(letters, shapes, strict=True)})

    assert unread.gradients(case) is None
    assert unread.values(case) is None


def test_the_elements_that_no_point_reads_are_found() -> None:
    text = "def f(float(N) A, float(N) B) -> (O) { O(i) = (i < 2 ? A(i) : B(i)) where i > 0 }"
    arrays = {"A": np.ones(4, "float32"), "B": np.ones(4, "float32")}

    found = unread.poisoned(Case(text, arrays))

    assert np.isfinite(found["A"]).tolist() == [False, True, False, False]
    assert np.isfinite(found["B"]).tolist() == [False, False, True, True]


@pytest.mark.parametrize("check", [unread.values, unread.gradients])
def test_a_use_of_what_no_point_reads_would_be_noticed(check, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f(float(N) A, float(N) B) -> (O) { O(i) = A(i) * B(i) where i in 1:3 }"
    case = Case(text, {"A": np.ones(4, "float32"), "B": np.ones(4, "float32")})
    assert check(case) is None
    right = tcjax.Kernel.__call__
    monkeypatch.setattr(
        tcjax.Kernel,
        "__call__",
        lambda self, *args, **given: right(self, *args, **given) + 0 * (args[0] if args else given["A"])[0] ** 2,
    )

    with pytest.raises(AssertionError):
        check(case)


def test_only_the_limit_of_large_numbers_may_stand_for_nan() -> None:
    text = "def f(float(N) A, float(M) B) -> (O) { O(i) +=! A(i) * B(j) }"
    arrays = {"A": np.array([np.inf, 1], "float32"), "B": np.array([2, -1], "float32")}
    comparing.odd(Case(text, arrays))

    with pytest.raises(AssertionError):
        comparing.odd(_Wrong(text, arrays, sign=-1.0))


class _Wrong(Case):
    """A case whose kernel gives the opposite infinity."""

    def __init__(self, text: str, arguments: dict[str, np.ndarray], sign: float) -> None:
        super().__init__(text, arguments)
        kernel = Case(text, arguments).kernel
        object.__setattr__(self, "kernel", _Turned(kernel, sign))


class _Turned:
    def __init__(self, kernel: tcjax.Kernel, sign: float) -> None:
        self.interpret, self.plan, self._kernel, self._sign = kernel.interpret, kernel.plan, kernel, sign

    def __call__(self, *args: np.ndarray) -> np.ndarray:
        found = np.asarray(self._kernel(*args))
        return np.where(np.isinf(found), self._sign * found, found)


def test_random_programs_write_parts_of_tensors_again() -> None:
    found = {"overlaid": 0, "beginning elsewhere": 0}

    @settings(max_examples=150, phases=PHASES, derandomize=True, database=None)
    @given(programs())
    def plan(case: Case) -> None:
        made = case.kernel.plan(*case.arguments.values(), **case.initial)
        for number, assembly in made.assemblies.items():
            target = made.stages[number].target  # type: ignore[union-attr]
            found["overlaid"] += isinstance(assembly.whole, Overlay) and assembly.whole.everywhere
            found["beginning elsewhere"] += any(made.bound.origins[target])

    plan()
    assert min(found.values()) > 0, found
