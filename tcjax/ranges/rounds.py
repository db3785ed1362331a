"""TC's inference rounds: the range of every index of a statement, from the accesses."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

from .. import ir
from ..diagnostics import phrases
from ..keeping import cached_property
from ..symbolic import Affine, Clamp, Facts, IndexVar, Interval, Quotient, SizeLike, SizeVar
from ..symbolic.affine import Atom
from .survey import Comprehension, Read, Survey, Test, survey

# Limit on the number of alternatives that clamps multiply into.
CLAMP_LIMIT: Final = 64

# Longer formulas are useless, and nested ones could double in length at every step.
FORMULA_LIMIT: Final = 1000

# A Python subscript at the start of a text.
_SUBSCRIPTED: Final = re.compile(r"([^\W\d]\w*)\s*\[")

Ranges = dict[IndexVar, Interval | None]


@dataclass(frozen=True, slots=True)
class Place:
    """The logical indices of a tensor's elements, per dimension; None if they depend on sizes in a way without a
    formula.

    `written` says whether a statement has defined it; before that a declaration or a caller may have fixed its extents.
    Along the dimensions `open` only single positions have been written so far, and later writes may be elsewhere.
    """

    intervals: tuple[Interval | None, ...]
    written: bool = True
    open: frozenset[int] = frozenset()

    def substitute(self, sizes: Mapping[SizeVar, SizeLike]) -> "Place":
        """The place with size variables substituted."""
        return replace(self, intervals=tuple(each and each.substitute(sizes) for each in self.intervals))


@dataclass(frozen=True)
class Constraint:
    """``subscript`` must stay in `region`: one dimension of a read or of the left side, with sizes substituted."""

    subscript: Affine
    region: Interval | None
    read: Read
    dimension: int

    @property
    def is_always_inside(self) -> bool:
        """Whether it is clamped or mapped into its dimension, which then must not be empty: by a boundary, or because
        it is data.
        """
        return self.subscript.is_data or self.subscript.bounded is not None

    @cached_property
    def subscripts(self) -> tuple[Affine, ...]:
        """The affine expressions that are constrained: the subscript, with each clamp replaced by each of its
        arguments.
        """
        bare = self.subscript.bare is not None
        if self.is_always_inside or (self.read.guarded and not bare):
            return ()
        return (self.subscript,) if bare else tuple(_unclamped(self.subscript))

    def __str__(self) -> str:
        access = self.read.access
        where = f" (dimension {self.dimension})" if access.tensor.rank > 1 else ""
        return f"`{show_access(access)}`{where}"


Ends = tuple[tuple[Constraint, ...], tuple[Constraint, ...]]


@dataclass(frozen=True, slots=True)
class Solution:
    """The range of each index of a statement (None: depends on sizes), and its origin in words.

    `reads` has a constraint for each dimension of each evaluated read, `unsolved` the indices without a range;
    `decisive` are all constraints that gave the ends of an inferred range, low and high; `facts` hold at every point of
    the statement.
    """

    survey: Survey
    ranges: Ranges
    reasons: Mapping[IndexVar, str]
    decisive: Mapping[IndexVar, Ends]
    reads: tuple[Constraint, ...]
    unsolved: tuple[IndexVar, ...]
    facts: Facts


def solve_statement(
    statement: Comprehension, places: Mapping[str, Place], sizes: Mapping[SizeVar, SizeLike], facts: Facts
) -> Solution:
    """Solves for every index: given ranges first, then rounds over the subscripts with one open index.

    All solutions of a round are simultaneous. The left side takes part, too: from the start with bare indices of a
    tensor that an earlier statement wrote; if nothing else helps, with computed subscripts and with a tensor that is
    only declared or passed in. The same holds for a compound subscript under a condition that cannot keep it inside.
    After section 2.1 of TC's inference; `where` replaces, it never intersects. `facts` are those about sizes.
    """
    surveyed = survey(statement)
    imagined = read_constraints(surveyed.hypothetical, places, sizes)
    reads = tuple(read_constraints(surveyed.reads, places, sizes))
    firm, weak = _split_left(statement, places.get(statement.target.name), surveyed, sizes)
    wanted = (*surveyed.indices, *surveyed.inline, *surveyed.auxiliary)
    rounds = _Rounds(surveyed.ranges, sizes, wanted, [*firm, *imagined, *reads], facts)
    rounds.run()
    for helpful in (_unprotected(reads, rounds.open), weak):
        if rounds.open:
            rounds.constraints += helpful
            rounds.run()
    hidden = set(surveyed.auxiliary)
    return Solution(
        survey=surveyed,
        ranges={index: rounds.solved[index] for index in wanted if index in rounds.solved and index not in hidden},
        reasons={index: reason for index, reason in rounds.reasons.items() if index not in hidden},
        decisive={index: ends for index, ends in rounds.decisive.items() if index not in hidden},
        reads=reads,
        unsolved=tuple(index for index in rounds.open if index not in hidden),
        facts=rounds.facts,
    )


def read_constraints(
    reads: Iterable[Read], places: Mapping[str, Place], sizes: Mapping[SizeVar, SizeLike]
) -> Iterator[Constraint]:
    """One constraint for each dimension of each read of a tensor that already has elements."""
    for read in reads:
        place = places.get(read.access.tensor.name)
        if place is None:
            continue
        for dimension, (index, region) in enumerate(zip(read.access.indices, place.intervals, strict=True)):
            yield Constraint(index.substitute_sizes(sizes), region, read, dimension)


def left_constraints(
    statement: Comprehension, place: Place, surveyed: Survey, sizes: Mapping[SizeVar, SizeLike]
) -> list[Constraint]:
    """The left side as constraints: one for each dimension."""
    access = ir.Access(statement.target, statement.indices, span=statement.span)
    left = Read(access, surveyed.guard, surveyed.guarded)
    return list(read_constraints([left], {statement.target.name: place}, sizes))


def _split_left(
    statement: Comprehension, place: Place | None, surveyed: Survey, sizes: Mapping[SizeVar, SizeLike]
) -> tuple[list[Constraint], list[Constraint]]:
    """Those that hold from the start, and those used if nothing else helps."""
    if place is None:
        return [], []
    constraints = left_constraints(statement, place, surveyed, sizes)
    constraints = [c for c in constraints if c.dimension not in place.open]
    firm = [c for c in constraints if place.written and c.subscript.bare is not None]
    return firm, [c for c in constraints if c not in firm]


def _unprotected(reads: Iterable[Constraint], open_: Iterable[IndexVar]) -> list[Constraint]:
    """Compound subscripts whose condition does not keep them inside; they count as unconditional.

    The condition compares none of the subscript's indices, and its reads do not depend on the open ones: in
    ``M(k) > 0 ? A(i+k) : 0`` only the range of `i` can keep ``i+k`` inside.
    """
    wanted, known = frozenset(open_), dict[int, tuple[frozenset[IndexVar], frozenset[IndexVar]]]()
    found: list[Constraint] = []
    for constraint in reads:
        variables = constraint.subscript.variables
        if constraint.read.guarded and variables & wanted:
            compared, probed = conditioned(constraint.read.path, known)
            if not variables & compared and not variables & wanted & probed:
                found.append(replace(constraint, read=replace(constraint.read, guarded=False)))
    return found


def conditioned(
    path: Test | None, known: dict[int, tuple[frozenset[IndexVar], frozenset[IndexVar]]]
) -> tuple[frozenset[IndexVar], frozenset[IndexVar]]:
    """The indices that the tests of a path compare, and those at which the tests read tensors."""
    tests: list[Test] = []
    while path is not None and id(path) not in known:
        tests.append(path)
        path = path.before
    compared, probed = known[id(path)] if path is not None else (frozenset[IndexVar](), frozenset[IndexVar]())
    for test in reversed(tests):
        nodes = list(ir.walk(test.condition))
        compared |= {node.variable for node in nodes if isinstance(node, ir.Index)}
        subscripts = [index for node in nodes if isinstance(node, ir.Access) for index in node.indices]
        probed |= {variable for index in subscripts for variable in index.variables}
        known[id(test)] = compared, probed
    return compared, probed


class _Rounds:
    """The state of one statement's solution."""

    def __init__(
        self,
        given: Mapping[IndexVar, ir.Range],
        sizes: Mapping[SizeVar, SizeLike],
        wanted: tuple[IndexVar, ...],
        constraints: list[Constraint],
        facts: Facts,
    ) -> None:
        self.given = {index: _substituted(range_, sizes) for index, range_ in given.items()}
        self.written = {index: phrases.limits(index, r.lo, r.hi, r.span) for index, r in given.items()}
        self.open: dict[IndexVar, None] = dict.fromkeys(wanted)
        self.constraints = constraints
        self.solved: Ranges = {}
        self.reasons: dict[IndexVar, str] = {}
        self.decisive: dict[IndexVar, Ends] = {}
        self.facts = facts

    def run(self) -> None:
        """Rounds until nothing more can be solved."""
        while self.open:
            while self.resolve_given():
                pass
            found: dict[IndexVar, list[tuple[Constraint, Interval | None]]] = {}
            for constraint in self.constraints:
                for subscript in constraint.subscripts:
                    index = self.only_open_index(subscript)
                    if index is not None and is_solvable(subscript, index):
                        region = constraint.region
                        interval = None if region is None else solve(subscript, index, region, self.facts)
                        found.setdefault(index, []).append((constraint, interval))
            if not found:
                return
            for index, solutions in found.items():
                intervals = [interval for _, interval in solutions if interval is not None]
                known = len(intervals) == len(solutions)
                self.settle(index, reduce(self.facts.intersection, intervals) if known else None, solutions)

    def resolve_given(self) -> bool:
        """Resolves the given ranges whose ends are known; returns whether there was one."""
        ready = [
            index
            for index in self.open
            if index in self.given and all(v in self.solved for v in _ends(self.given[index]))
        ]
        for index in ready:
            given = self.given[index]
            lo, hi = self.facts.interval(given.lo), self.facts.interval(given.hi)
            if lo is None or hi is None:
                interval = None
            else:
                # A range with varying ends may be empty at every point: that is legal.
                last = hi.hi - 1
                interval = Interval(lo.lo, self.facts.maximum(lo.lo, last) if _ends(given) else last)
            self.close(index, interval, self.written[index])
        return bool(ready)

    def only_open_index(self, subscript: Affine) -> IndexVar | None:
        """The only index that is still unsolved, unless it has a given range."""
        unresolved = [index for index in subscript.variables if index not in self.solved]
        if len(unresolved) != 1 or unresolved[0] in self.given or unresolved[0] not in self.open:
            return None
        return unresolved[0]

    def settle(
        self, index: IndexVar, interval: Interval | None, solutions: list[tuple[Constraint, Interval | None]]
    ) -> None:
        low, high = self.decisive[index] = _decisive(interval, solutions)
        both = next((constraint for constraint in low if any(constraint is other for other in high)), None)
        if both is not None:
            deciding = [both]
        else:
            deciding = [low[0], high[0]] if low and high else [constraint for constraint, _ in solutions]
        reasons = [self.reason(index, constraint) for constraint in deciding]
        self.close(index, interval, " and ".join(dict.fromkeys(reasons)))

    def reason(self, index: IndexVar, constraint: Constraint) -> str:
        """The constraint in words, with the given ranges of its other indices, which determine what remains for this
        one.
        """
        others = sorted(map(str, constraint.subscript.variables - {index}))
        given = {str(other): words for other, words in self.written.items()}
        beside = [given[other] for other in others if other in given]
        return f"{constraint} at every {' and '.join(beside)}" if beside else str(constraint)

    def close(self, index: IndexVar, interval: Interval | None, reason: str) -> None:
        """Records that an index is solved."""
        found = self.solved[index] = None if interval is None else _readable(self.facts.shortened(interval))
        self.reasons[index] = reason
        del self.open[index]
        if found is not None:
            self.facts = self.facts.with_ranges({index: found})


def is_solvable(subscript: Affine, index: IndexVar) -> bool:
    """Whether the index occurs only once, at most inside floors."""
    while True:
        holding = [atom for atom, _ in subscript.terms if _occurs(index, atom)]
        if len(holding) != 1:
            return False
        match holding[0]:
            case IndexVar():
                return True
            case Quotient(argument, _):
                subscript = argument
            case _:
                return False


def solve(subscript: Affine, index: IndexVar, region: Interval, facts: Facts) -> Interval | None:
    """The widest interval of `index` with ``subscript in region`` at every resolved point; None: sizes decide.

    With ``subscript = w*index + rest`` and ``w > 0``: from ``ceil((lo - min rest) / w)`` up to and including
    ``floor((hi - 1 - max rest) / w)``, in elements; a floor ``u // c`` in ``[lo, hi)`` is ``u`` in ``[c*lo, c*hi)``.
    """
    while True:
        atom, weight = next((a, w) for a, w in subscript.terms if _occurs(index, a))
        rest = facts.interval(subscript - Affine.of(atom).scale(weight))
        if rest is None:
            return None
        lo, last = region.lo - rest.lo, region.hi - rest.hi
        if facts.at_least_zero(weight):
            inner = Interval(lo.ceildiv(weight), last // weight + 1)
        elif facts.at_least_zero(-weight):
            inner = Interval((-last).ceildiv(-weight), (-lo) // -weight + 1)
        else:
            return None
        match atom:
            case Quotient(argument, divisor):
                if not facts.at_least_zero(divisor):
                    return None
                subscript, region = argument, Interval(inner.lo * divisor, inner.hi * divisor)
            case _:
                return inner


def show_access(access: ir.Access) -> str:
    """The access, or the left side of a statement, as written if the text is available; else as it would be written."""
    text, name = access.span.text, written_name(access)
    if text.startswith(name) and (brackets := _first_bracket(text[len(name) :])):
        return name + brackets
    return phrases.element(name, access.indices, access.span)


def written_name(access: ir.Access) -> str:
    """The tensor's name in the text: where Python accumulates into a parameter, the tensor is a copy."""
    head = _SUBSCRIPTED.match(access.span.text) if access.span.source.is_python else None
    return head[1] if head else access.tensor.name


def _first_bracket(text: str) -> str:
    """The bracket pair at the beginning of a text, and its content; after it the statement continues."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if depth == 0:
            return text[: position + 1] if position else ""
    return ""


def _substituted(given: ir.Range, sizes: Mapping[SizeVar, SizeLike]) -> ir.Range:
    if not (given.lo.has_sizes or given.hi.has_sizes):
        return given
    return ir.Range(given.index, given.lo.substitute_sizes(sizes), given.hi.substitute_sizes(sizes), span=given.span)


def _readable(interval: Interval) -> Interval | None:
    """The interval, unless its formulas are too long."""
    return interval if interval.is_constant or len(str(interval)) <= FORMULA_LIMIT else None


def _ends(given: ir.Range) -> frozenset[IndexVar]:
    return given.lo.variables | given.hi.variables


def _occurs(index: IndexVar, atom: Atom) -> bool:
    return atom == index if isinstance(atom, IndexVar) else index in atom.index_variables()


def _decisive(interval: Interval | None, solutions: list[tuple[Constraint, Interval | None]]) -> Ends:
    """The constraints that gave the lower end, and those that gave the upper one."""
    if interval is None:
        return (), ()
    found = [(constraint, other) for constraint, other in solutions if other is not None]
    low = tuple(constraint for constraint, other in found if other.lo == interval.lo)
    return low, tuple(constraint for constraint, other in found if other.hi == interval.hi)


def _unclamped(affine: Affine) -> list[Affine]:
    """The expression with each clamp replaced by each of its arguments that contains an index; unchanged without
    clamps.
    """
    results = [Affine.of(affine.base)]
    for atom, weight in affine.terms:
        match atom:
            case Clamp(_, arguments) if atom.index_variables():
                options = [option for argument in arguments if argument.variables for option in _unclamped(argument)]
            case Quotient(argument, divisor):
                options = [option.quotient(divisor) for option in _unclamped(argument)]
            case _:
                options = [Affine.of(atom)]
        results = [result + option.scale(weight) for result in results for option in options]
        if len(results) > CLAMP_LIMIT:
            return []
    return results


__all__ = [
    "Constraint",
    "Ends",
    "Place",
    "Ranges",
    "Solution",
    "conditioned",
    "is_solvable",
    "left_constraints",
    "read_constraints",
    "show_access",
    "solve",
    "solve_statement",
    "written_name",
]
