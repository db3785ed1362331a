"""Extents that differ although nobody said so: which index runs less far than an argument that it reads."""

from collections.abc import Collection
from dataclasses import dataclass

from .. import ir
from ..diagnostics import Span, phrases
from ..symbolic import IndexVar, Size
from .rounds import Constraint, Solution
from .sizes import as_variable
from .survey import Comprehension


@dataclass(frozen=True, slots=True)
class Cut:
    """`index` stops at `end`, that of `short`, before that of `long`: a dimension of a parameter each."""

    index: IndexVar
    end: int
    short: Constraint
    long: Constraint
    extent: int

    @property
    def span(self) -> Span:
        return self.long.read.access.span

    def is_assumed(self, assumptions: Collection[str]) -> bool:
        """Whether an assumption tells how one of the two sizes relates to others."""
        return any(_size(each) in text for each in (self.short, self.long) for text in assumptions)

    @property
    def reason(self) -> str:
        """What `explain` says beside what fixed the range."""
        return f"{self.long} has {self.extent}"

    @property
    def warning(self) -> str:
        """What happens, and how to say that it should, or that it should not."""
        short, long = self.short.read.access.tensor.name, self.long.read.access.tensor.name
        size = _shared_size(self)
        typed = [_typed(each, size, self.span) for each in (self.short, self.long)]
        return (
            f"`{self.index}` takes {self.end} value{'' if self.end == 1 else 's'}, as many as dimension "
            f"{self.short.dimension} of `{short}` has, but dimension {self.long.dimension} of `{long}` has "
            f"{self.extent}: the others are not read. If they should be equal, declare it: {' and '.join(typed)}; "
            f"if not, say so: {phrases.ranged(self.index, 0, self.end, self.span)}"
        )


def find_cuts(function: ir.Function, statement: Comprehension, solution: Solution) -> tuple[Cut, ...]:
    """The indices that one argument stops before the end of another, where only the arguments decide.

    So it is where every subscript that mentions the index is the index alone, of a parameter, and read under no
    condition, where the dimensions are those of two parameters, and their sizes are not both declared. Whoever gives a
    range, computes a subscript, guards, or reads what another statement has computed meant the intersection.
    """
    if isinstance(statement, ir.Accumulate) and not statement.restart:
        return ()
    parameters = {tensor.name for tensor in function.parameters}
    imagined = {v for read in solution.survey.hypothetical for index in read.access.indices for v in index.variables}
    mentioned: dict[IndexVar, list[Constraint]] = {}
    for constraint in solution.reads:
        for index in constraint.subscript.variables:
            mentioned.setdefault(index, []).append(constraint)
    found = (
        _cut(index, constraints)
        for index, constraints in mentioned.items()
        if index in solution.ranges
        and index not in imagined
        and index not in solution.survey.ranges
        and all(_is_plain(constraint, parameters) for constraint in constraints)
    )
    return tuple(cut for cut in found if cut is not None)


def _is_plain(constraint: Constraint, parameters: Collection[str]) -> bool:
    return (
        constraint.subscript.bare is not None
        and not constraint.read.guarded
        and constraint.read.path is None
        and constraint.read.access.tensor.name in parameters
    )


def _cut(index: IndexVar, constraints: list[Constraint]) -> Cut | None:
    ends = [(end, constraint) for constraint in constraints if (end := _end(constraint)) is not None]
    if len(ends) < 2:
        return None
    (least, short), (most, long) = min(ends, key=_first), max(ends, key=_first)
    same = short.read.access.tensor.name == long.read.access.tensor.name
    if least == most or same or (_is_declared(short) and _is_declared(long)):
        return None
    return Cut(index, least, short, long, most)


def _first(pair: tuple[int, Constraint]) -> int:
    return pair[0]


def _end(constraint: Constraint) -> int | None:
    return None if constraint.region is None else constraint.region.hi.constant


def _is_declared(constraint: Constraint) -> bool:
    """Whether the program says how large the dimension is: by a number, or by a size with a name."""
    return _is_named(constraint.read.access.tensor.shape[constraint.dimension])


def _is_named(size: Size) -> bool:
    variable = as_variable(size)
    return variable is None or "." not in variable.name


def _shared_size(cut: Cut) -> str:
    declared = (_size(each) for each in (cut.short, cut.long) if _is_declared(each))
    return next(declared, cut.index.name.upper())


def _typed(constraint: Constraint, shared: str, span: Span) -> str:
    """The declaration of the parameter, `shared` at this dimension, and what is declared or its index at others."""
    access = constraint.read.access
    names: list[str] = []
    for dimension, (size, subscript) in enumerate(zip(access.tensor.shape, access.indices, strict=True)):
        if dimension == constraint.dimension:
            names.append(shared)
        elif _is_named(size):
            names.append(str(size))
        else:
            names.append("DEFGHIJKL"[dimension % 9] if subscript.bare is None else subscript.bare.name.upper())
    return phrases.typed(phrases.scalar(access.tensor.dtype), names, access.tensor.name, span)


def _size(constraint: Constraint) -> str:
    return str(constraint.read.access.tensor.shape[constraint.dimension])
