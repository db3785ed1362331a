"""The function under construction: its statements, tensors and names, and what is known about its sizes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from ... import ir
from ...diagnostics import Code, CompileError, CompileWarning, Span
from ...symbolic import Affine, Condition, Facts, IndexVar, Size, SizeVar, with_sizes
from ...syntax.sac import tree
from ..literals import Value
from ..scope import local_shape
from ..signature import CellFunction
from .arrays import Array

Number = bool | int | float | complex
# A program of this many expressions and elements takes two or three seconds.
_MOST_STEPS: Final = 120_000

Known = Mapping[str, Callable[[tuple[int, ...]], Number]]


class IndexNeeded(Exception):
    """A value that must be known depends on an index."""

    def __init__(self, index: IndexVar) -> None:
        super().__init__(index.name)
        self.index = index


@dataclass(eq=False)
class Draft:
    """One call of `elaborate`.

    `sizes` are the numbers of this call, `known` the elements of parameters with known values, `functions` the Python
    functions on cells, `definitions` those of the text. `ranges` holds the half-open ranges of the indices of the
    current statement, `guards` the conditions around the element being read. `longer` has, for an extent that
    selections show, the other extents they show: the smallest one counts.
    """

    sizes: dict[SizeVar, int]
    known: Known
    functions: Mapping[str, CellFunction]
    definitions: Mapping[str, tree.Function]
    accumulate: str | None
    strict: bool
    parameters: frozenset[str]
    taken: set[str]
    # Whether an argument is a double.
    wide: bool = False
    warnings: dict[tuple[str, int, int], CompileWarning] = field(default_factory=dict)
    statements: list[ir.Statement] = field(default_factory=list)
    declared: list[ir.Tensor] = field(default_factory=list)
    sources: dict[str, Array] = field(default_factory=dict)
    ranges: dict[IndexVar, tuple[int, int]] = field(default_factory=dict)
    guards: tuple[Condition, ...] = ()
    longer: dict[Size, set[Size]] = field(default_factory=dict)
    number_of_statement: int = 0
    # How deeply the lengths of index vectors are inferred inside each other.
    searches: int = 0
    calls: list[str] = field(default_factory=list)
    steps: int = 0
    memory: dict[tuple[int, ...], tuple[tuple[object, ...], Array]] = field(default_factory=dict)
    # How many comprehensions, and branches decided by data or an index, surround the current expression.
    instances: int = 0
    # How many conditions surround the element being read, and how many of them depend on data.
    conditions: int = 0
    uncertain: int = 0
    _tags: dict[str, int] = field(default_factory=dict)
    _abstract: int = 0
    _counted: int = 0

    def step(self, span: Span) -> None:
        """Counts one unit of work. Raises `CompileError` (TC0103) for a program that needs too many."""
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise CompileError(
                Code.TOO_DEEP,
                "this program is too large once its functions and comprehensions are written out",
                span,
                help="compute parts of it in separate statements, `x = ...;`, or split it into kernels",
            )

    def warn(self, code: Code, message: str, span: Span, help: str) -> None:
        """Records a warning, without duplicates."""
        self.warnings[message, span.line, span.column] = CompileWarning(code, message, span, help=help)

    @property
    def recurs(self) -> bool:
        """Whether a function is being inlined into itself, for the second time."""
        return bool(self.calls) and self.calls.count(self.calls[-1]) > 2

    def number(self, size: Size) -> int:
        """A size as a number."""
        constant = size.constant
        return size.evaluate(self.sizes) if constant is None else constant

    def numbers(self, sizes: tuple[Size, ...]) -> tuple[int, ...]:
        return tuple(map(self.number, sizes))

    def interval(self, affine: Affine) -> tuple[int, int] | None:
        """The smallest and the largest value, inclusive; None if an index has no range or the value depends on data."""
        if affine.is_data or any(index not in self.ranges for index in affine.variables):
            return None
        if any(hi <= lo for lo, hi in (self.ranges[index] for index in affine.variables)):
            return None
        return Facts(self.ranges).values(affine.substitute_sizes(self.sizes), quickly=True)

    def proves(self, condition: Condition) -> bool:
        """Whether a condition on indices holds wherever the element is read."""
        facts = Facts.over(self.ranges, *self.guards)
        return facts.prove(with_sizes(condition, self.sizes))

    def fresh(self, name: str, lo: int, hi: int) -> IndexVar:
        """A new index of the statement, running over ``[lo, hi)``."""
        while name in self.taken:
            name += "_"
        tag = self._tags.get(name, 0)
        self._tags[name] = tag + 1
        index = IndexVar(name, tag)
        self.ranges[index] = (lo, hi)
        return index

    def adopt(self, index: IndexVar, lo: int, hi: int) -> None:
        """Adds an index of an enclosing statement to this one, unless it has one of that name."""
        self.ranges.setdefault(index, (lo, hi))
        self._tags[index.name] = max(self._tags.get(index.name, 0), index.tag + 1)

    def abstract(self, name: str) -> IndexVar:
        """An index without any known range."""
        self._abstract += 1
        return IndexVar(name, -self._abstract)

    @contextmanager
    def statement(self, *, inside: bool = False) -> Iterator[None]:
        """A new set of statement indices; with `inside`, added to those of the enclosing statement."""
        before = self.ranges, self.guards, self._tags, self.number_of_statement
        self.ranges = dict(self.ranges) if inside else {}
        self.guards = self.guards if inside else ()
        self._tags = dict(self._tags) if inside else {}
        self._counted += 1
        self.number_of_statement = self._counted
        try:
            yield
        finally:
            self.ranges, self.guards, self._tags, self.number_of_statement = before

    @contextmanager
    def instance(self) -> Iterator[None]:
        """Marks code that may not run."""
        self.instances += 1
        try:
            yield
        finally:
            self.instances -= 1

    @contextmanager
    def under(self, test: Value, outcome: bool) -> Iterator[None]:
        """The scope of elements read where a condition has an outcome: indices have narrower ranges there."""
        before, guards = self.ranges, self.guards
        on_data = isinstance(test, ir.Expr) and any(isinstance(node, ir.Access) for node in ir.walk(test))
        if isinstance(test, ir.Expr):
            guard = with_sizes(ir.condition_of(test, outcome), self.sizes)
            self.guards = (*guards, guard)
            narrowed = Facts(before).assume(guard).box
            assert narrowed is not None, "the ranges of a statement are numbers"
            self.ranges = dict(narrowed)
        self.conditions += 1
        self.uncertain += on_data
        try:
            yield
        finally:
            # Indices made inside stay known.
            self.ranges, self.guards = {**self.ranges, **before}, guards
            self.conditions -= 1
            self.uncertain -= on_data

    def tensor(self, name: str, dtype: str, shape: tuple[Size, ...], *, declared: bool, span: Span) -> ir.Tensor:
        """A tensor; `declared` unless its first statement fills it."""
        own = local_shape(name, len(shape))
        for size, extent in zip(own, shape, strict=True):
            self.sizes[next(iter(size.variables()))] = self.number(extent)
        tensor = ir.Tensor(name, dtype, shape if declared else own, span=span)
        if declared:
            self.declared.append(tensor)
        return tensor

    def unused(self, name: str) -> str:
        """An unused name for a tensor."""
        unused, count = name, 0
        while unused in self.taken:
            count += 1
            unused = f"{name}{count}"
        self.taken.add(unused)
        return unused
