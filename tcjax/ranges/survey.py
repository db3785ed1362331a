"""What a statement reads and under which conditions, and its index variables."""

from dataclasses import dataclass

from .. import ir
from ..symbolic import Affine, IndexVar
from .guards import explicit_guard, last_of_each, moving_guard

Comprehension = ir.Define | ir.Accumulate


@dataclass(frozen=True, slots=True)
class Test:
    """One condition before a read: `condition` had the given `outcome`, and so had all tests before it."""

    condition: ir.Expr
    outcome: bool
    before: "Test | None"


@dataclass(frozen=True, slots=True)
class Read:
    """A tensor read in context.

    `path` is what must hold for it to be executed, `guarded` whether a written condition is part of that, `inner` the
    indices of the inline reductions around it.
    """

    access: ir.Access
    path: Test | None = None
    guarded: bool = False
    inner: tuple[IndexVar, ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """The parts of a statement that range inference needs.

    `indices` are its own index variables and `inline` those of its inline reductions, in the order of first appearance,
    left side first; `auxiliary` are those of inline reductions in ``exists``. `ranges` are the given ones except the
    `ragged` ones, whose hulls follow from the reads. `reads` are evaluated, `hypothetical` ones occur only in
    ``exists``; `guard` must hold for the statement to write, and `guarded` tells whether a written guard is part of it.
    `loops` are the indices of the loops around it.
    """

    indices: tuple[IndexVar, ...]
    inline: tuple[IndexVar, ...]
    auxiliary: tuple[IndexVar, ...]
    ranges: dict[IndexVar, ir.Range]
    ragged: dict[IndexVar, ir.Range]
    reads: tuple[Read, ...]
    hypothetical: tuple[Read, ...]
    guard: Test | None
    guarded: bool
    loops: tuple[IndexVar, ...]


def survey(statement: Comprehension) -> Survey:
    """The reads, index variables and given ranges of a statement."""
    walker = _Walker()
    for index in statement.indices:
        walker.meet(index)
    if isinstance(statement, ir.Accumulate):
        walker.indices.update(dict.fromkeys(statement.reduction))
    domain = statement.domain
    walker.indices.update(dict.fromkeys(domain.loops))
    moving, guard = moving_guard(statement), domain.guard
    inside = _under(moving, None)
    path, guarded = _under(guard, inside), guard is not None
    for index in statement.indices:
        for data in ir.data_atoms(index):
            walker.walk(data.expr, path, guarded)
    walker.bounded(domain.ranges, None, False, ())
    walker.walk(statement.value, path, guarded)
    if guard is not None:
        walker.walk(guard, inside, False)
    reads, indices, inline = tuple(walker.reads), walker.indices, walker.inline
    imagined = _Walker()
    for expr in domain.exists:
        imagined.walk(expr, None, False)
    return Survey(
        indices=tuple(index for index in indices if index not in inline),
        inline=tuple(inline),
        auxiliary=tuple(index for index in imagined.inline if index not in inline),
        ranges=walker.ranges | imagined.ranges,
        ragged=walker.ragged | imagined.ragged,
        reads=reads,
        hypothetical=tuple(imagined.reads),
        guard=path,
        guarded=guarded,
        loops=statement.domain.loops,
    )


def _under(condition: ir.Expr | None, before: Test | None) -> Test | None:
    return before if condition is None else Test(condition, True, before)


class _Walker:
    def __init__(self) -> None:
        self.indices: dict[IndexVar, None] = {}
        self.inline: dict[IndexVar, None] = {}
        self.ranges: dict[IndexVar, ir.Range] = {}
        self.ragged: dict[IndexVar, ir.Range] = {}
        self.reads: list[Read] = []

    def meet(self, affine: Affine) -> None:
        for atom, _ in affine.terms:
            if isinstance(atom, IndexVar):
                self.indices.setdefault(atom)
            else:
                self.indices.update(dict.fromkeys(sorted(atom.index_variables(), key=str)))

    def bounded(
        self, ranges: tuple[ir.Range, ...], path: Test | None, guarded: bool, inner: tuple[IndexVar, ...]
    ) -> None:
        """Records given ranges, and the reads in the ends of ragged ones."""
        for index, given in last_of_each(ranges).items():
            (self.ragged if given.is_ragged else self.ranges)[index] = given
            if given.is_ragged:
                self.meet(given.lo)
                self.meet(given.hi)
                for expr in ir.ragged_ends((given,)):
                    self.walk(expr, path, guarded, inner)

    def walk(self, expr: ir.Expr, path: Test | None, guarded: bool, inner: tuple[IndexVar, ...] = ()) -> None:
        """Records every read in the expression, outermost and leftmost first. ``&&`` and ``

        `` short-circuit, as in C.
        """
        pending: list[tuple[ir.Expr, Test | None, bool, tuple[IndexVar, ...]]] = [(expr, path, guarded, inner)]
        while pending:
            node, path, guarded, inner = pending.pop()
            match node:
                case ir.Index(variable):
                    self.indices.setdefault(variable)
                    continue
                case ir.Access(_, indices):
                    self.reads.append(Read(node, path, guarded, inner))
                    for index in indices:
                        self.meet(index)
                    below = [(child, path, guarded, inner) for child in ir.children(node)]
                case ir.Select(condition, then, otherwise):
                    below = [
                        (condition, path, guarded, inner),
                        (then, Test(condition, True, path), True, inner),
                        (otherwise, Test(condition, False, path), True, inner),
                    ]
                case ir.Binary("&&" | "||" as operator, left, right):
                    below = [(left, path, guarded, inner), (right, Test(left, operator == "&&", path), True, inner)]
                case ir.Reduce(_, indices, ranges, _, body, rank):
                    self.inline.update(dict.fromkeys(indices))
                    self.indices.update(dict.fromkeys(indices))
                    within = (*inner, *indices)
                    self.bounded(ranges, path, guarded, within)
                    moving, guard = moving_guard(node), explicit_guard(node)
                    inside = _under(moving, path)
                    below = [(body, _under(guard, inside), guarded or guard is not None, within)]
                    if guard is not None:
                        below.append((guard, inside, guarded, within))
                    if rank is not None:
                        below.append((rank, path, guarded, inner))
                case _:
                    below = [(child, path, guarded, inner) for child in ir.children(node)]
            pending.extend(reversed(below))
