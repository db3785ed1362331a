"""The conditions under which an access is executed."""

from collections.abc import Mapping

from .. import ir
from ..symbolic import Condition, SizeLike, SizeVar, all_of, with_sizes
from .survey import Test


def test_condition(test: Test, sizes: Mapping[SizeVar, SizeLike]) -> Condition:
    """The condition that a test before a read has its outcome, with known sizes inserted."""
    return with_sizes(ir.condition_of(test.condition, test.outcome), sizes)


class Paths:
    """The conditions under which accesses are executed; the reads in a chain of conditionals share their tests."""

    def __init__(self, sizes: Mapping[SizeVar, SizeLike]) -> None:
        self.sizes = sizes
        self.known: dict[int, Condition] = {}

    def condition(self, path: Test | None) -> Condition:
        """The condition that every test of the path has its outcome."""
        parts: list[Condition] = []
        while path is not None:
            if id(path) not in self.known:
                self.known[id(path)] = test_condition(path, self.sizes)
            parts.append(self.known[id(path)])
            path = path.before
        return all_of(reversed(parts))
