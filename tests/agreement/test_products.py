"""Random sums of products and pools, computed by every operation that the planner proposes, not only the cheapest.

At the small sizes of random programs, most operations would never be the cheapest.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcjax.planning import choice, paths, sums
from tcjax.planning.data.nodes import Node
from tcjax.planning.scope import Scope
from tests.agreement import comparing
from tests.effort import examples, phases
from tests.strategies.products import products
from tests.strategies.programs import Case
from tests.strategies.random_expressions import Flavour

pytestmark = pytest.mark.usefixtures("quickly_compiled")

FEW = examples(60)
# Number of the proposal to take.
TURNS = st.integers(0, 5)


@contextmanager
def taking(turn: int) -> Iterator[None]:
    """The planner with a given proposal instead of the cheapest one; products of few operands have few paths."""

    def one_of(candidates: Iterable[Node], _: Scope) -> Node:
        found = list(dict.fromkeys(candidates))
        return found[turn % len(found)]

    with pytest.MonkeyPatch.context() as patch:
        for module in (choice, sums):
            patch.setattr(module, "cheapest", one_of)
        patch.setattr(paths, "MOST_OPERANDS", 2 + turn)
        yield


@settings(max_examples=FEW, phases=phases())
@given(case=products(), turn=TURNS)
def test_a_sum_of_products_has_the_interpreters_values(case: Case, turn: int) -> None:
    with taking(turn):
        comparing.values(case)


@settings(max_examples=FEW // 2, phases=phases())
@given(case=products(Flavour(smooth=True)), turn=TURNS)
def test_the_gradient_of_a_sum_of_products_is_a_difference_quotient(case: Case, turn: int) -> None:
    with taking(turn):
        comparing.grads(case)
