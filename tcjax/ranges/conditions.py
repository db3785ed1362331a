"""What must hold on the way to an access."""

from collections.abc import Mapping

from .. import ir
from ..symbolic import Condition, SizeVar, with_sizes
from .survey import Test


def test_condition(test: Test, sizes: Mapping[SizeVar, int]) -> Condition:
    """That one test on the way to a read has its outcome, every size being a number."""
    return with_sizes(ir.condition_of(test.condition, test.outcome), sizes)
