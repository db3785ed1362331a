"""Messages about elements that no read covers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .. import ir
from ..diagnostics import NO_SOURCE, NOWHERE, Code, CompileWarning, Span, phrases
from ..symbolic import IndexVar, Interval, Size
from .rounds import Constraint
from .sizes import as_variable


@dataclass(frozen=True, slots=True)
class Cause:
    """An index that does not run far enough: `end` as a size, `why` in words, `deciding` the constraints that end it.

    It is `inline` if the brackets of a reduction bind it. `whole` is the end that would read everything. `partner`
    reads a shorter parameter at the same bare index; with one of the two `exchanged`, both extents would be equal.
    """

    index: IndexVar
    interval: Interval
    end: Size
    why: str
    deciding: tuple[Constraint, ...]
    inline: bool
    whole: Size
    partner: Constraint | None
    exchanged: ir.Access | None


@dataclass(frozen=True, slots=True)
class Unread:
    """A dimension of a parameter of which `count` elements are never read; `read` is the read that extends furthest.

    `shape` is that of the parameter, `causes` are what limits the read, `indices` all indices that end too early, each
    with its statement's number.
    """

    read: Constraint
    shape: tuple[int, ...]
    count: int
    causes: tuple[Cause, ...]
    indices: frozenset[tuple[int, IndexVar]]

    @property
    def span(self) -> Span:
        """The place of the read, or, if it was derived, of what limits it."""
        reads = (self.read, *(constraint for cause in self.causes for constraint in cause.deciding))
        spans = [constraint.read.access.span for constraint in reads]
        return next((span for span in spans if span.source is not NO_SOURCE), NOWHERE)

    @property
    def extent(self) -> int:
        return self.shape[self.read.dimension]

    @property
    def note(self) -> str:
        """The note in `explain` next to the origin of the range."""
        return f"{self.read} has {self.extent}"

    @property
    def warning(self) -> CompileWarning:
        """What happens and why, and what to write if it is intended, or if it is not."""
        name, total = self.read.read.access.tensor.name, math.prod(self.shape)
        lost = total // self.extent * self.count
        along = f", {self.count} of {self.extent} along dimension {self.read.dimension}" if len(self.shape) > 1 else ""
        causes = ", and ".join(f"`{each.index}` {_runs(each.interval)}, because of {each.why}" for each in self.causes)
        return CompileWarning(
            Code.UNREAD_ELEMENTS,
            f"{lost} of the {total} elements of `{name}` {'is' if lost == 1 else 'are'} never read{along}: {causes}",
            self.span,
            help=self._help(),
        )

    def _help(self) -> str:
        cause, partner = self.causes[0], self.causes[0].partner
        said = f"say so: {self._ranged(cause, cause.interval.lo, cause.end)}"
        # SaC's own conditionals, such as those of `++`, are not conditions in the text.
        if partner is not None and partner.read.guarded and not self.span.source.is_sac:
            full = self._ranged(cause, 0, cause.whole)
            return f"a bare `{cause.index}` limits its range even under a condition, so say how far it runs: {full}"
        access = cause.exchanged
        # A component of an index vector has no name of its own in the text.
        if access is not None and all(str(index) in access.span.text for index in access.indices):
            return f"did you mean `{phrases.element(access.tensor.name, access.indices, self.span)}`? If not, {said}"
        if partner is not None:
            both = sorted((partner, self.read), key=_place)
            typed = [_typed(constraint, _shared_size(both, cause.index), self.span) for constraint in both]
            return f"if they should be equal, declare it: {' and '.join(typed)}; if not, {said}"
        computed = [c for c in cause.deciding if c.subscript.bare is None and not c.read.guarded]
        if computed:
            return f"read zeros outside: {' and '.join(map(_guarded, computed))}; if they should not count, {said}"
        return f"if that is meant, {said}"

    def _ranged(self, cause: Cause, lo: object, hi: object) -> str:
        if cause.inline:
            return f"{phrases.limits(cause.index, lo, hi, self.span)} in the brackets"
        return phrases.ranged(cause.index, lo, hi, self.span)


def is_declared(size: Size) -> bool:
    """Whether the program states the extent: as a number, or by name."""
    variable = as_variable(size)
    return variable is None or "." not in variable.name


def _runs(interval: Interval) -> str:
    first, last = interval.lo, interval.hi - 1
    return f"is only {first}" if first == last else f"runs only from {first} to {last}"


def _guarded(constraint: Constraint) -> str:
    """The read, with zero where it would be outside."""
    access, region = constraint.read.access, constraint.region
    assert region is not None
    subscript, size = access.indices[constraint.dimension], access.tensor.shape[constraint.dimension]
    inside = f"{subscript} >= {region.lo} && {subscript} < {size if region.lo == Size.of(0) else region.hi}"
    zero = "0.0" if ir.types.is_float(access.dtype) else "0"
    return phrases.chosen(inside, access.tensor.name, access.indices, access.span, zero)


def _place(constraint: Constraint) -> tuple[int, int]:
    span = constraint.read.access.span
    return span.line, span.column


def _shared_size(constraints: Sequence[Constraint], index: IndexVar) -> str:
    sizes = (constraint.read.access.tensor.shape[constraint.dimension] for constraint in constraints)
    return next((str(size) for size in sizes if is_declared(size)), index.name.upper())


def _typed(constraint: Constraint, shared: str, span: Span) -> str:
    """A declaration of the parameter: `shared` at this dimension, elsewhere the declared sizes or the indices."""
    access = constraint.read.access
    names: list[str] = []
    for dimension, (size, subscript) in enumerate(zip(access.tensor.shape, access.indices, strict=True)):
        if dimension == constraint.dimension:
            names.append(shared)
        elif is_declared(size):
            names.append(str(size))
        else:
            names.append("DEFGHIJKL"[dimension % 9] if subscript.bare is None else subscript.bare.name.upper())
    return phrases.typed(phrases.scalar(access.tensor.dtype), names, access.tensor.name, span)
