"""The result of range inference once every size is a number."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .. import ir
from ..diagnostics import CompileWarning
from ..symbolic import Box, IndexVar, SizeVar
from .unread import Unread


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A function with all its sizes known.

    * `sizes`: every size variable of the function, including those of local tensors (``C.0``), in elements.
    * `boxes`: for each statement the half-open range of each of its indices (inline reductions' too); empty for calls.
    * `origins` and `shapes`: for every tensor by name, the logical index of its first element and its extent per
      dimension. Element ``C(i, j)`` is stored at ``[i - origin[0], j - origin[1]]``; parameters start at 0.
    * `calls`: the bound callee of each `Invoke`, by statement number.
    * `assumptions`: the user's assumptions about the sizes; they hold.
    * `reasons`: for each statement, in words, where the range of each index comes from (a read, or a given range).
    * `is_part`: whether this is a part of a program, a run of statements or a loop step, with the program's ranges.
    * `unread`: the elements of parameters that no read covers, although nothing in the program says so; `warnings`
      includes those of its callees.
    """

    function: ir.Function
    sizes: Mapping[SizeVar, int]
    boxes: tuple[Box, ...]
    origins: Mapping[str, tuple[int, ...]]
    shapes: Mapping[str, tuple[int, ...]]
    calls: Mapping[int, "Bound"] = field(default_factory=dict)
    reasons: tuple[Mapping[IndexVar, str], ...] = ()
    assumptions: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    is_part: bool = False

    @property
    def warnings(self) -> Iterator[CompileWarning]:
        """Warnings: legal code that probably means something else."""
        yield from (each.warning for each in self.unread)
        for callee in self.calls.values():
            yield from callee.warnings
