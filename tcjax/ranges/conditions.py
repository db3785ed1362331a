"""What must hold on the way to an access."""

from collections.abc import Mapping

from .. import ir
from ..symbolic import Condition, SizeLike, SizeVar, all_of, with_sizes
from .survey import Test


def test_condition(test: Test, sizes: Mapping[SizeVar, SizeLike]) -> Condition:
    """That one test on the way to a read has its outcome, the known sizes in their places."""
    return with_sizes(ir.condition_of(test.condition, test.outcome), sizes)


class Paths:
    """What must hold for an access to happen; the reads in a chain of conditionals share their tests."""

    def __init__(self, sizes: Mapping[SizeVar, SizeLike]) -> None:
        self.sizes = sizes
        self.known: dict[int, Condition] = {}

    def condition(self, path: Test | None) -> Condition:
        """That every test of the path has its outcome."""
        parts: list[Condition] = []
        while path is not None:
            if id(path) not in self.known:
                self.known[id(path)] = test_condition(path, self.sizes)
            parts.append(self.known[id(path)])
            path = path.before
        return all_of(reversed(parts))
