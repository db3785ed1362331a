"""The values of a subscript along a line of points, as arithmetic sequences: ``(i + 3) % 7`` is 3 4 5 6, then 0 1 2."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

from .affine import Affine, Atom, Clamp, IndexVar, Quotient, Remainder


@dataclass(frozen=True, slots=True)
class Run:
    """The values ``start, start + stride, ...``, `count` of them."""

    start: int
    stride: int
    count: int

    @property
    def last(self) -> int:
        return self.start + self.stride * (self.count - 1)

    def part(self, first: int, count: int) -> "Run":
        return Run(self.start + self.stride * first, self.stride if count > 1 else 0, count)


Runs = tuple[Run, ...]


def runs_of(values: Iterable[int]) -> Runs:
    """The values in as few runs as comparing neighbours gives."""
    kept: list[Run] = []
    for value in values:
        joint = _joint(kept[-1], Run(value, 0, 1)) if kept else None
        kept[len(kept) - (joint is not None) :] = [joint or Run(value, 0, 1)]
    return tuple(kept)


class TooMany(Exception):
    """More runs than allowed."""


def direction(affine: Affine) -> Affine | None:
    """The linear expression that determines the whole subscript: ``i + j`` for ``(i + j) % n``.

    Its weights have no common divisor, and keep their signs; None if there is no such expression.
    """
    found: dict[IndexVar, int] | None = None
    for weights in _linear_parts(affine):
        if not weights:
            continue
        common = gcd(*weights.values())
        primitive = {index: weight // common for index, weight in weights.items()}
        opposite = {index: -weight for index, weight in primitive.items()}
        if found not in (None, primitive, opposite):
            return None
        found = found or primitive
    if found is None:
        return None
    return sum((Affine.of(index).scale(weight) for index, weight in found.items()), Affine.of(0))


def _linear_parts(affine: Affine) -> Iterator[dict[IndexVar, int]]:
    """The weights of the variables in linear terms, here and inside every floor and clamp, in the order of names."""
    yield {atom: weight.constant or 0 for atom, weight in affine.terms if isinstance(atom, IndexVar)}
    for atom, _ in affine.terms:
        match atom:
            case Quotient(argument, _) | Remainder(argument, _):
                yield from _linear_parts(argument)
            case Clamp(_, arguments):
                for argument in arguments:
                    yield from _linear_parts(argument)
            case _:
                continue


def runs_along(affine: Affine, line: Affine, lo: int, hi: int, most: int) -> Runs | None:
    """The values of the subscript where `line`, its `direction`, is ``lo, lo + 1, ..., hi``; None if there are more
    than `most` runs.
    """
    if hi < lo:
        return ()
    try:
        return _Along(line, lo, hi - lo + 1, most).affine(affine)
    except TooMany:
        return None


@dataclass(frozen=True, slots=True)
class _Along:
    line: Affine
    lo: int
    count: int
    most: int

    def affine(self, affine: Affine) -> Runs:
        base = affine.base.constant
        assert base is not None
        total: Runs = (Run(base, 0, self.count),)
        linear = next((a for a, _ in affine.terms if isinstance(a, IndexVar)), None)
        if linear is not None:
            step = (affine.weight(linear).constant or 0) // (self.line.weight(linear).constant or 1)
            total = (Run(base + step * self.lo, step, self.count),)
        for atom, weight in affine.terms:
            if not isinstance(atom, IndexVar):
                total = self.sum(total, self.atom(atom), weight.constant or 0)
        return total

    def atom(self, atom: Atom) -> Runs:
        match atom:
            case Quotient(argument, divisor):
                return self.joined(_divided(self.affine(argument), divisor.constant or 1, self.most))
            case Remainder(argument, divisor):
                by = divisor.constant or 1
                inner = self.affine(argument)
                return self.sum(inner, self.joined(_divided(inner, by, self.most)), -by)
            case Clamp(kind, arguments):
                first, *rest = map(self.affine, arguments)
                for other in rest:
                    first = self.joined(_extremum(kind, first, other))
                return first
            case _:
                raise TooMany

    def sum(self, a: Runs, b: Runs, factor: int) -> Runs:
        return self.joined(
            Run(x.start + factor * y.start, x.stride + factor * y.stride, x.count) for x, y in _aligned(a, b)
        )

    def joined(self, runs: Iterator[Run]) -> Runs:
        """The same values in as few runs as comparing neighbours gives."""
        kept: list[Run] = []
        for run in runs:
            if kept and (joint := _joint(kept[-1], run)) is not None:
                kept[-1] = joint
            else:
                kept.append(run)
            if len(kept) > self.most:
                raise TooMany
        return tuple(kept)


def _joint(a: Run, b: Run) -> Run | None:
    """Two runs as one, if the second continues the first."""
    stride = a.stride if a.count > 1 else b.start - a.start
    if b.start == a.last + stride and (b.count == 1 or b.stride == stride):
        return Run(a.start, stride, a.count + b.count)
    return None


def _aligned(a: Runs, b: Runs) -> Iterator[tuple[Run, Run]]:
    """The two sequences, split at the same places."""
    ends = sorted({*_ends(a), *_ends(b)})
    return zip(_cut(a, ends), _cut(b, ends), strict=True)


def _ends(runs: Runs) -> list[int]:
    ends = [0]
    for run in runs:
        ends.append(ends[-1] + run.count)
    return ends


def _cut(runs: Runs, ends: Sequence[int]) -> Iterator[Run]:
    starts = _ends(runs)
    number = 0
    for first, last in pairwise(ends):
        while starts[number + 1] <= first:
            number += 1
        yield runs[number].part(first - starts[number], last - first)


def _divided(runs: Runs, by: int, most: int) -> Iterator[Run]:
    """The floors of the quotients."""
    for run in runs:
        if run.stride % by == 0:
            yield Run(run.start // by, run.stride // by, run.count)
            continue
        if run.count * abs(run.stride) // by > most * 2 and abs(run.stride) < by:
            raise TooMany
        place = 0
        while place < run.count:
            value = run.start + run.stride * place
            room = (by - 1 - value % by) if run.stride > 0 else value % by
            length = min(room // abs(run.stride) + 1, run.count - place)
            yield Run(value // by, 0, length)
            place += length


def _extremum(kind: str, a: Runs, b: Runs) -> Iterator[Run]:
    for x, y in _aligned(a, b):
        # Where the difference of two lines changes sign, the other one becomes the extremum.
        sign = 1 if kind == "min" else -1
        first, slope = sign * (x.start - y.start), sign * (x.stride - y.stride)
        below = x if first < 0 or (first == 0 and slope <= 0) else y
        above = y if below is x else x
        gap, closing = abs(first), abs(slope) if first * slope < 0 else 0
        kept = x.count if not closing else min(x.count, gap // closing + 1)
        yield below.part(0, kept)
        if kept < x.count:
            yield above.part(kept, x.count - kept)
