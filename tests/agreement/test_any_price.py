"""Results do not depend on prices: with random prices they are still the interpreter's.

With real prices, small programs take the first form of each statement and store what they name: here every form is
chosen sometimes.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcjax.planning import choice
from tcjax.planning.cost import prices
from tcjax.planning.cost.bill import Bill
from tcjax.planning.fusion import temporaries
from tcjax.transforms import common
from tests.agreement import comparing
from tests.effort import examples, phases
from tests.strategies import arrays
from tests.strategies.programs import Case, Flavour, chains

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@contextmanager
def by_lot(seed: int) -> Iterator[None]:
    """Prices unrelated to costs, and no size too small for a choice."""
    lots = random.Random(seed)
    priced = prices._price

    def lot(bill: Bill) -> prices.Price:
        return replace(priced(bill), seconds=10 ** lots.uniform(-6, 0))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prices, "_price", lot)
        patch.setattr(choice, "NOISE", 0.0)
        patch.setattr(choice, "EQUAL", 0.0)
        patch.setattr(choice, "SMALL_SPACE", lots.choice([64, choice.SMALL_SPACE]))
        patch.setattr(choice, "SMALL_TERMS", lots.choice([1, choice.SMALL_TERMS]))
        patch.setattr(temporaries, "FEW_ELEMENTS", 1)
        patch.setattr(common, "FEW_POINTS", 1)
        yield


LOTS = st.integers(0, 2**31)


@settings(max_examples=examples(20), phases=phases())
@given(chains(), LOTS)
def test_any_form_gives_the_interpreters_values(case: Case, lot: int) -> None:
    with by_lot(lot):
        comparing.values(case)


@settings(max_examples=examples(12), phases=phases())
@given(chains(Flavour(smooth=True)), LOTS)
def test_any_form_has_the_interpreters_gradient(case: Case, lot: int) -> None:
    with by_lot(lot):
        comparing.grads(case)


# A reader of a temporary may have an index of the same name.
NAMES = [
    "T(k) +=! A(j)*B(k) where j in 0:4  U(k) +=! A(j)*B(k) where j in 4:8  O(j) = T(j) + U(j)",
    "T(j) +=! A(k)*B(j) where k in 0:4  U(j) +=! A(k)*B(j) where k in 4:8  O(k) = B(k) * (T(k) + U(k))",
    "T(j) +=! A(k)*B(j) where k in 0:4  U(j) +=! A(k)*B(j) where k in 4:8  O +=! B(k) * (T(k) + U(k))",
    "T(j) max=! A(k)*B(j) where k in 0:4  U(j) max=! A(k)*B(j) where k in 4:8  O(k) = max(T(k), U(k)) * B(k)",
    "T(k) = A(7-k)  O(k) +=! T(k)*T(j)*B(i) where i in 0:5",
    "S(i) +=! A(i)*B(k)  O +=! S(i)*S(i)*A(i)",
    "T(i) = A(i)*2  O(y) +=! T(h) where y in 0:4, h / 2 == y",
    "T(h) = A(h) + 1  U(y) +=! T(2*y+h) where h in 0:2, y in 0:4  O(h) = U(h)*T(h)",
    "T(i / 2, i % 2) = A(i)*A(7-i)  O(i) +=! T(i,j)*A(2*i+j)",
    "T(k) = k < 3 ? A(k) : 2*A(k)  O(j) +=! k < 4 ? T(k)*B(j) : T(k)*A(k)",
]


@pytest.mark.parametrize("lot", range(4))
@pytest.mark.parametrize("body", NAMES)
def test_names_that_meet_stay_apart(body: str, lot: int) -> None:
    parameters = [f"float({n}) {name}" for name, n in (("A", 8), ("B", 5)) if f"{name}(" in body]
    values = {p[-1]: arrays.generic((int(p[6]),), "float", 0) for p in parameters}
    with by_lot(lot):
        comparing.values(Case(f"def f({', '.join(parameters)}) -> (O) {{ {body} }}", values))
