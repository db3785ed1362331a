"""Which statements a program needs for its results."""

from dataclasses import replace

from .. import ir
from ..ranges import Bound
from .definitions import covers
from .guards import guard_ranges
from .inlining import reads


def needed(bound: Bound) -> Bound:
    """The program without statements whose values no result needs: ``w`` in ``v = a(i)  w = a(i+1)`` that returns v."""
    function = bound.function
    kept = _Liveness(bound).kept
    if len(kept) == len(function.statements):
        return bound
    numbers = sorted(kept)

    def moved(number: int) -> int:
        return sum(each < number for each in numbers)

    loops = (replace(loop, first=moved(loop.first), last=moved(loop.last)) for loop in function.loops)
    statements = tuple(function.statements[number] for number in numbers)
    return replace(
        bound,
        function=replace(
            function, statements=statements, loops=tuple(each for each in loops if each.first < each.last)
        ),
        boxes=tuple(bound.boxes[number] for number in numbers),
        calls={moved(number): inner for number, inner in bound.calls.items() if number in kept},
        reasons=tuple(bound.reasons[number] for number in numbers) if bound.reasons else (),
    )


class _Liveness:
    """Visits the statements backwards, until loops need nothing more; `kept` are the numbers of those needed."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.kept = set[int]()
        # The tensors that a loop's next step needs, by the number of its first statement.
        self.again = dict[int, frozenset[str]]()
        while self._visit():
            continue

    def _visit(self) -> bool:
        """Whether a loop turns out to need more than was known."""
        function, before = self.bound.function, dict(self.again)
        live = {tensor.name for tensor in function.returns}
        for number in reversed(range(len(function.statements))):
            statement = function.statements[number]
            for loop in function.loops:
                if loop.last == number + 1:
                    live |= self.again.get(loop.first, frozenset())
            targets = {tensor.name for tensor in ir.targets(statement)}
            if targets & live:
                self.kept.add(number)
                if self._replaces(number, statement):
                    live -= targets
                live |= {*reads(statement)}
            for loop in function.loops:
                if loop.first == number:
                    self.again[number] = frozenset(live)
        return self.again != before

    def _replaces(self, number: int, statement: ir.Statement) -> bool:
        """Whether nothing is left of what the target was before; a loop may write a part in each step."""
        if self.bound.function.around(number):
            return False
        match statement:
            case ir.Define(target) | ir.Accumulate(target, restart=True):
                shape, origin = self.bound.shapes[target.name], self.bound.origins[target.name]
                is_guarded = guard_ranges(statement).domain.guard is not None
                return not is_guarded and covers(statement, self.bound.boxes[number], shape, origin)
            case ir.Accumulate():
                return False
            case _:
                return True
