"""Plans with some of their loop nests replaced by results of passes."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from ..blocked.extrema import describe_search
from ..blocked.kernel_sum_blocks import describe_kernel_sums
from ..blocked.softmax_blocks import describe
from ..data.groups import Blocks, Extrema, KernelSums, Softmax
from ..data.nodes import Computation, Fold, FusedReduction, Lookup, LoopNest, Node
from ..data.stages import Compute, Stage

# The replacements of nests, by identity: results of passes, or sums of these.
Changes = dict[int, LoopNest | Fold]


def with_changes(stages: Sequence[Stage], changes: Changes) -> tuple[Stage, ...]:
    """The stages with some nests in them replaced."""
    if not changes:
        return tuple(stages)
    change = _Change(changes)
    return tuple(
        replace(stage, value=change.of(stage.value)) if isinstance(stage, Compute) else stage for stage in stages
    )


class _Change:
    """Computations with some nests replaced; shared nodes stay shared."""

    def __init__(self, changed: Changes) -> None:
        self.changed = changed
        self.passes: set[int] = set()
        self.done: dict[int, Any] = {}

    def of(self, value: Any) -> Any:
        if isinstance(value, tuple):
            parts = tuple([self.of(part) for part in value])
            return value if all(new is old for new, old in zip(parts, value, strict=True)) else parts
        if not isinstance(value, (Computation, Lookup, FusedReduction)):
            return value
        if id(value) not in self.done:
            self.done[id(value)] = self.result(id(value)) if id(value) in self.changed else self.rebuilt(value)
        return self.done[id(value)]

    def result(self, nest: int) -> Node:
        """The replacement of a nest, by identity."""
        found = self.changed[nest]
        if isinstance(found, LoopNest):
            return self.told(found)
        assert isinstance(found.operand, LoopNest)
        return replace(found, operand=self.told(found.operand))

    def told(self, found: LoopNest) -> LoopNest:
        """The result of a pass; the first one represents it."""
        first = id(found.whole) not in self.passes
        self.passes.add(id(found.whole))
        return replace(found, first=first, why=_why(found.whole, first=first))

    def rebuilt(self, node: Any) -> Any:
        parts = {each.name: getattr(node, each.name) for each in fields(node)}
        new = {name: self.of(part) for name, part in parts.items()}
        new = {name: part for name, part in new.items() if part is not parts[name]}
        return replace(node, **new) if new else node


def _why(whole: FusedReduction, *, first: bool) -> str:
    match whole.group, whole.schedule:
        case Softmax() as group, Blocks() as blocks:
            return describe(group, blocks, first=first)
        case KernelSums() as group, Blocks() as blocks:
            return describe_kernel_sums(group, blocks, first=first)
        case Extrema() as group, _:
            return describe_search(group, first=first)
        case other:
            raise AssertionError(other)
