"""Finds statements that share rows: one row of each target is computed from the same row of the others."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ... import ir, ranges
from ...symbolic import IndexVar
from ...transforms import Step, reads
from ...transforms.factors import non_negative

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Run:
    """Statements, by number, whose targets have the same rows, `span`, with the row dimension of each target.

    The `living` targets are read later on, or returned.
    """

    steps: Mapping[int, Step]
    dimensions: Mapping[str, int]
    span: Span
    living: frozenset[str]

    def row(self, number: int) -> IndexVar:
        """The row index of a statement."""
        statement = self.steps[number].statement
        index = statement.indices[self.dimensions[statement.target.name]].bare
        assert index is not None
        return index

    def is_one(self, name: str) -> bool:
        """Whether a single statement writes to a target."""
        return sum(step.statement.target.name == name for step in self.steps.values()) == 1

    def is_new(self, number: int) -> bool:
        """Whether nothing was written to the target of a statement before."""
        name = self.steps[number].statement.target.name
        return all(step.statement.target.name != name for other, step in self.steps.items() if other < number)


def runs_of(bound: ranges.Bound, steps: Mapping[int, Step]) -> Iterator[Run]:
    """The longest runs of statements that share rows which a condition couples to another index."""
    rows = _Rows(bound, steps)
    known: list[Mapping[str, int]] = []
    for number, step in steps.items():
        for dimension in _coupled(step.statement):
            name = step.statement.target.name
            if any(dimensions.get(name) == dimension for dimensions in known):
                continue
            run = rows.run(number, dimension)
            if run is not None:
                known.append(run.dimensions)
                yield run


def _coupled(statement: ir.Define | ir.Accumulate) -> Iterator[int]:
    """The dimensions of a target whose index a condition couples to another one."""
    coupled: set[IndexVar] = set()
    guard = () if statement.domain.guard is None else (statement.domain.guard,)
    for part in (*guard, statement.value):
        for node in ir.walk(part):
            affine = non_negative(node) if isinstance(node, ir.Binary) and node.dtype == "bool" else None
            if affine is not None and len(affine.variables) > 1:
                coupled |= affine.variables
    return (n for n, subscript in enumerate(statement.indices) if subscript.bare in coupled)


class _Rows:
    """The statements of a program, and the tensors that it updates."""

    def __init__(self, bound: ranges.Bound, steps: Mapping[int, Step]) -> None:
        self.bound = bound
        self.steps = steps
        self.statements: Sequence[ir.Statement] = bound.function.statements
        function = bound.function
        self.given = {tensor.name for tensor in (*function.parameters, *function.initial)}
        self.returned = {tensor.name for tensor in function.returns}

    def run(self, number: int, dimension: int) -> Run | None:
        """The longest run around a statement with rows along a dimension of its target; None if there is none."""
        span = self.span(number, dimension)
        if span is None:
            return None
        dimensions = {self.target(number): dimension}
        chosen = [number]
        for later in self.others(range(number + 1, len(self.statements))):
            found = self.reader(later, dimensions)
            if found is None or self.span(later, found) != span:
                break
            dimensions[self.target(later)] = found
            chosen.append(later)
        for earlier in self.others(range(number - 1, -1, -1)):
            found = self.source(self.target(earlier), chosen, dimensions)
            if found is None or self.span(earlier, found) != span:
                break
            if self.is_read_otherwise(earlier, {**dimensions, self.target(earlier): found}):
                break
            dimensions[self.target(earlier)] = found
            chosen.insert(0, earlier)
        if any(tensor.name in dimensions for n in range(chosen[0]) for tensor in self.written(n)):
            return None
        later = range(chosen[-1] + 1, len(self.statements))
        read = {name for n in later if n in self.steps or not self.is_step(n) for name in reads(self.current(n))}
        kept = {tensor.name for n in later for tensor in self.written(n)}
        living = frozenset(dimensions.keys() & (read | kept | self.returned))
        return Run({n: self.steps[n] for n in chosen}, dimensions, span, living)

    def others(self, numbers: Iterable[int]) -> Iterator[int]:
        """Those of these statements that are computed, up to the first one that is not a comprehension."""
        for number in numbers:
            if number in self.steps:
                yield number
            elif not self.is_step(number):
                return

    def is_step(self, number: int) -> bool:
        return isinstance(self.statements[number], (ir.Define, ir.Accumulate))

    def current(self, number: int) -> ir.Statement:
        return self.steps[number].statement if number in self.steps else self.statements[number]

    def written(self, number: int) -> tuple[ir.Tensor, ...]:
        return ir.targets(self.statements[number]) if number in self.steps or not self.is_step(number) else ()

    def target(self, number: int) -> str:
        return self.steps[number].statement.target.name

    def span(self, number: int, dimension: int) -> Span | None:
        """The rows of a statement's target along a dimension, if each is computed independently."""
        step = self.steps[number]
        statement, name = step.statement, step.statement.target.name
        index = statement.indices[dimension].bare
        if index is None or name in self.given or any(subscript.is_data for subscript in statement.indices):
            return None
        if isinstance(statement, ir.Accumulate) and isinstance(statement.reducer, ir.Monoid):
            return None
        if sum(index in subscript.variables for subscript in statement.indices) > 1:
            return None
        first, extent = self.bound.origins[name][dimension], self.bound.shapes[name][dimension]
        return step.box[index] if step.box[index] == (first, first + extent) else None

    def reader(self, number: int, dimensions: Mapping[str, int]) -> int | None:
        """The dimension of a statement's target that corresponds to the rows of its operands; None if there is none."""
        step = self.steps[number]
        name = step.statement.target.name
        found = {
            access.indices[dimensions[access.tensor.name]].bare
            for access in ir.accesses_of(step.statement)
            if access.tensor.name in dimensions
        }
        if len(found) != 1:
            return None
        places = [n for n, subscript in enumerate(step.statement.indices) if subscript.bare in found]
        if len(places) != 1 or dimensions.get(name, places[0]) != places[0]:
            return None
        return None if None in found else places[0]

    def source(self, name: str, chosen: Iterable[int], dimensions: Mapping[str, int]) -> int | None:
        """The dimension of a tensor along which all readers among these statements have their rows."""
        found: set[int | None] = {dimensions[name]} if name in dimensions else set()
        for number in chosen:
            statement = self.steps[number].statement
            row = statement.indices[dimensions[self.target(number)]].bare
            for access in ir.accesses_of(statement):
                if access.tensor.name == name:
                    places = [n for n, subscript in enumerate(access.indices) if subscript.bare == row]
                    found.add(places[0] if len(places) == 1 else None)
        return found.pop() if len(found) == 1 else None

    def is_read_otherwise(self, number: int, dimensions: Mapping[str, int]) -> bool:
        """Whether a statement reads another row of a tensor than its own."""
        statement = self.steps[number].statement
        row = statement.indices[dimensions[self.target(number)]].bare
        own = [access for access in ir.accesses_of(statement) if access.tensor.name in dimensions]
        return any(access.indices[dimensions[access.tensor.name]].bare != row for access in own)
