"""Random sums of products and pools, for which the planner chooses between operations.

Which one is best depends on sizes that random programs do not have, so that the limits are moved.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from hypothesis import given, settings

from tcjax.planning import contractions, convolutions, folds, paths, windows
from tests.agreement import comparing
from tests.effort import examples, phases
from tests.strategies.expressions import Flavour
from tests.strategies.products import products
from tests.strategies.programs import Case

pytestmark = pytest.mark.usefixtures("quickly_compiled")

FEW = examples(20)
LIMITS: Mapping[str, Mapping[tuple[object, str], int]] = {
    "as they are": {},
    "convolutions and pools": {
        (convolutions, "FEW_TERMS"): 0,
        (windows, "WIDE_WINDOW"): 2,
        (windows, "SMALL_GATHER"): 1,
        (folds, "LARGE"): 1,
    },
    "matrix products": {
        (convolutions, "FEW_TERMS"): 0,
        (convolutions, "FEW_GROUPS"): 0,
        (folds, "UNROLL_TERMS"): 1,
        (contractions, "TINY_SIDE"): 0,
        (contractions, "TINY_SUM"): 0,
        (contractions, "MINOR_PRODUCTS"): 0,
        (contractions, "BATCHED_SUM"): 0,
        (contractions, "WIDE_BLOCK"): 1,
        (contractions, "MIDDLE_PRODUCTS"): 0,
        (paths, "MOST_OPERANDS"): 2,
    },
    "short loops": {
        (windows, "SMALL_GATHER"): 1,
        (folds, "UNROLL_GATHERS"): 1000,
        (folds, "SHORT"): 100,
        (folds, "LARGE"): 1,
        (contractions, "WIDE_BLOCK"): 2,
    },
}


@contextmanager
def moved(limits: Mapping[tuple[object, str], int]) -> Iterator[None]:
    """The planner with other limits."""
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), limit in limits.items():
            patch.setattr(module, name, limit)
        yield


@pytest.mark.parametrize("limits", LIMITS)
@settings(max_examples=FEW, phases=phases())
@given(case=products())
def test_a_sum_of_products_has_the_interpreters_values(limits: str, case: Case) -> None:
    with moved(LIMITS[limits]):
        comparing.values(case)


@pytest.mark.parametrize("limits", LIMITS)
@settings(max_examples=FEW // 2, phases=phases())
@given(case=products(Flavour(smooth=True)))
def test_the_gradient_of_a_sum_of_products_is_a_difference_quotient(limits: str, case: Case) -> None:
    with moved(LIMITS[limits]):
        comparing.grads(case)
