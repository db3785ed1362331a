"""Which statements a program needs for its results."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain

from .. import ir
from ..ranges import Bound
from .definitions import covers
from .guards import guard_ranges
from .inlining import reads
from .recurrences import OneStep


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


def needed_step(step: OneStep, results: Collection[ir.Tensor]) -> OneStep:
    """The step of a loop, without what neither these results nor a further step, if there is one, need."""
    wanted, names = {tensor.name for tensor in results}, {row.tensor.name for row in step.rows}
    returned = iter(step.bound.function.returns)
    made = {row: [next(returned) for _ in range(row.many)] for row in step.rows}
    while not wanted >= names:
        kept = {row: tensors for row, tensors in made.items() if row.tensor.name in wanted}
        bound = needed(_returning(step.bound, kept.values()))
        read = {name for statement in bound.function.statements for name in reads(statement)}
        parameters = tuple(tensor for tensor in bound.function.parameters if tensor.name in read)
        taken = {tensor.name: step.taken[tensor.name] for tensor in parameters}
        old = {taken[own.name].tensor: own for own in parameters if taken[own.name].kind in ("state", "row")}
        if len(step.values) > 1 and not wanted >= {*old}:
            wanted |= {*old}
            continue
        # The loop keeps a tensor whose old content its only step reads, and gets that back.
        kept |= {row: [old[row.tensor.name]] * row.many for row in made if row not in kept and row.tensor.name in old}
        function = replace(_returning(bound, kept.values()).function, parameters=parameters)
        return replace(step, bound=replace(bound, function=function), taken=taken, rows=tuple(kept))
    return step


def _returning(bound: Bound, returns: Iterable[Iterable[ir.Tensor]]) -> Bound:
    return replace(bound, function=replace(bound.function, returns=tuple(chain.from_iterable(returns))))


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
                if loop.first == number and len(self._steps(loop)) > 1:
                    self.again[number] = frozenset(live)
        return self.again != before

    def _steps(self, loop: ir.Loop) -> range:
        """The values of a loop's index."""
        return loop.values(*self.bound.boxes[loop.first][loop.index])

    def _replaces(self, number: int, statement: ir.Statement) -> bool:
        """Whether nothing is left of what the target was before: a step of a loop may write a part, or none may run."""
        around = self.bound.function.around(number)
        if not all(map(self._steps, around)):
            return False
        match statement:
            case ir.Define(target) | ir.Accumulate(target, restart=True):
                if any(loop.index in index.variables for loop in around for index in statement.indices):
                    return False
                shape, origin = self.bound.shapes[target.name], self.bound.origins[target.name]
                is_guarded = guard_ranges(statement).domain.guard is not None
                return not is_guarded and covers(statement, self.bound.boxes[number], shape, origin)
            case ir.Accumulate():
                return False
            case _:
                return not around
