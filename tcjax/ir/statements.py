"""Typed index notation: statements and functions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from ..symbolic import Affine, IndexVar, SizeVar
from .expressions import Expr, Node, Range, Reducer, Tensor
from .monoids import Monoid


@dataclass(frozen=True, slots=True)
class Domain(Node):
    """The points of a statement: given ranges, a guard, and reads that only take part in range inference.

    `loops` are the indices of the loops around the statement, outermost first; each has a given range.
    """

    ranges: tuple[Range, ...] = ()
    guard: Expr | None = None
    exists: tuple[Expr, ...] = ()
    loops: tuple[IndexVar, ...] = ()


@dataclass(frozen=True, slots=True)
class Define(Node):
    """``target[indices] = value`` at every point of the domain."""

    target: Tensor
    indices: tuple[Affine, ...]
    value: Expr
    domain: Domain = Domain()


@dataclass(frozen=True, slots=True)
class Accumulate(Node):
    """``target[indices] reducer= value``, reduced over `reduction`.

    With `restart`, every target element of the statement is first set to the identity. `accumulate` is the type of the
    running value.
    """

    target: Tensor
    indices: tuple[Affine, ...]
    reducer: Reducer | Monoid
    restart: bool
    reduction: tuple[IndexVar, ...]
    value: Expr
    accumulate: str
    domain: Domain = Domain()


@dataclass(frozen=True, slots=True)
class Invoke(Node):
    """``targets = function(arguments)``: another definition, on whole tensors."""

    targets: tuple[Tensor, ...]
    function: "Function"
    arguments: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class ApplyForeign(Node):
    """``targets = function(arguments)``: a Python function from ``fns``, on whole tensors.

    With a `frame`, it is applied to the cells of tensors: the first `frame` dimensions of the targets, and of the
    arguments marked in `varying`, number the cells.
    """

    targets: tuple[Tensor, ...]
    function: str
    arguments: tuple[Tensor, ...]
    frame: int = 0
    varying: tuple[bool, ...] = ()


Statement = Define | Accumulate | Invoke | ApplyForeign


def targets(statement: Statement) -> tuple[Tensor, ...]:
    """What the statement writes."""
    match statement:
        case Define(target) | Accumulate(target):
            return (target,)
        case Invoke(targets) | ApplyForeign(targets):
            return targets
        case _:
            assert_never(statement)


@dataclass(frozen=True, slots=True)
class Loop(Node):
    """``for index in lo:hi:step``: runs the statements numbered from `first` up to `last` for one value after another.

    The values are every `step`-th one of the index's range in the statements, from its start, or backwards from its
    end.
    """

    index: IndexVar
    step: int
    first: int
    last: int

    def holds(self, number: int) -> bool:
        """Whether a statement is inside the loop."""
        return self.first <= number < self.last

    def values(self, lo: int, hi: int) -> range:
        """The values of the index in order, for the given range."""
        return range(lo, hi, self.step) if self.step > 0 else range(hi - 1, lo - 1, self.step)


@dataclass(frozen=True, slots=True)
class Function(Node):
    """A definition with every type known.

    `initial` are the outputs whose first statement accumulates without restarting: a caller may pass their initial
    values under their names. `declared` are the locals whose extents an annotation or a declaration fixed. `free_sizes`
    are sizes that no parameter binds. `loops` are recurrences, outer ones first.
    """

    name: str
    parameters: tuple[Tensor, ...]
    returns: tuple[Tensor, ...]
    statements: tuple[Statement, ...]
    initial: tuple[Tensor, ...] = ()
    declared: tuple[Tensor, ...] = ()
    free_sizes: tuple[SizeVar, ...] = ()
    loops: tuple[Loop, ...] = ()

    def around(self, number: int) -> tuple[Loop, ...]:
        """The loops around a statement, outermost first."""
        return tuple(loop for loop in self.loops if loop.holds(number))

    @property
    def recurrent(self) -> frozenset[str]:
        """The tensors of which a loop writes different elements in each step."""
        written = (self.statements[n] for loop in self.loops for n in range(loop.first, loop.last))
        own = (s for s in written if isinstance(s, (Define, Accumulate)))
        return frozenset(s.target.name for s in own if any(i.variables & {*s.domain.loops} for i in s.indices))

    @property
    def growing(self) -> Mapping[str, frozenset[int]]:
        """The dimensions of tensors whose extent is that of all their writers together, if nothing else gives it.

        Loops write different elements in each step, and a program that begins with single elements, ``y(0) = a``,
        continues with others.
        """
        places: dict[str, list[tuple[Affine, ...]]] = {}
        for statement in self.statements:
            if isinstance(statement, (Define, Accumulate)):
                places.setdefault(statement.target.name, []).append(statement.indices)
        begun = {
            name: frozenset(d for d, at in enumerate(first) if at.is_place and any(o[d] != at for o in others))
            for name, (first, *others) in places.items()
        }
        loops = {name: frozenset(range(len(places[name][0]))) for name in self.recurrent}
        called = (targets(each) for each in self.statements if not isinstance(each, (Define, Accumulate)))
        declared = {tensor.name for tensor in self.declared}
        given = {tensor.name for tensors in (self.parameters, self.initial, *called) for tensor in tensors}
        grown = {name: dimensions for name, dimensions in begun.items() if dimensions and name not in given} | loops
        return {name: dimensions for name, dimensions in grown.items() if name not in declared}

    def __str__(self) -> str:
        from .printer import show

        return show(self)
