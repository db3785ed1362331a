"""Transforms one read with floors, remainders and clamps step by step into slices of a view."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import gcd, prod
from typing import Final

from ...symbolic import Affine, IndexVar
from ...symbolic.affine import Clamp, Quotient, Remainder, clamp
from ...symbolic.runs import Run, Runs, direction, runs_along
from ...transforms import Known, curves
from ..data.views import Divide, Merge, Pieces, Repeat, Tile, View, Zeros, is_reshape, shaped
from .slants import diagonals

# A dimension in more pieces than this is looked up.
MOST_PIECES: Final = 16
# The maximum number of transformations tried per read.
MOST_VIEWS: Final = 12


@dataclass(slots=True)
class Viewing:
    """A read during the transformation: the view so far, its shape and subscripts, and the maximum number of elements
    to copy.
    """

    known: Known
    shape: list[int]
    subscripts: list[Affine]
    limit: int
    views: list[View] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    copied: int = 0

    def straightened(self) -> bool:
        """Whether the view is now read by slices, which the original read was not."""
        before = _shared([subscript for subscript in self.subscripts if subscript.is_linear])
        self.cut()
        for _ in range(MOST_VIEWS):
            if not self.open():
                break
            if not (self.merged() or self.pieced() or self.divided() or self.peeled()):
                return False
            if self.copied > self.limit:
                return False
        if self.open():
            return False
        # Two subscripts with a common index would form a diagonal of a larger array, except for shifted rows.
        straight = list(self.subscripts)
        for diagonal in diagonals(straight):
            straight[diagonal.along] = diagonal.straight
        return _shared(straight) <= before

    def open(self) -> list[int]:
        """The dimensions whose subscripts are not yet sums of indices."""
        return [n for n, s in enumerate(self.subscripts) if not s.is_linear and not s.is_data]

    def take(self, view: View) -> None:
        self.views.append(view)
        self.shape = list(shaped(self.shape, view))
        if not is_reshape(view):
            self.copied = max(self.copied, prod(self.shape))

    def cut(self) -> None:
        """Cuts off elements that a subscript without floors never reads, if they are most of a dimension."""
        for d, subscript in enumerate(self.subscripts):
            ends = self.known.bounds(subscript) if subscript.is_linear else None
            if (
                ends is not None
                and ends[0] >= 0
                and ends[1] < self.shape[d]
                and 2 * (ends[1] - ends[0] + 1) <= self.shape[d]
            ):
                self.take(Pieces(d, (_run(ends[0], 1, ends[1] - ends[0] + 1),)))
                self.subscripts[d] = subscript - ends[0]

    def merged(self) -> bool:
        """Merges two dimensions if that simplifies the subscripts: ``A(e / c, e % c)`` becomes a read at e."""
        best: tuple[int, int, int, int, Affine] | None = None
        for second in self.open():
            low = self.subscripts[second]
            for extent in sorted({self.shape[second], *_divisors(low)}, reverse=True):
                if extent > self.shape[second] or not self.known.within(low, 0, extent):
                    continue
                for first in self.open():
                    high = self.subscripts[first]
                    if first == second or not high.variables & low.variables:
                        continue
                    whole = self.known.simplify(high.scale(extent) + low)
                    left = curves(whole)
                    if left < curves(high) + curves(low) and (best is None or left < best[0]):
                        best = left, first, second, extent, whole
        if best is not None:
            self.merge(*best[1:])
        return best is not None

    def merge(self, first: int, second: int, extent: int, whole: Affine) -> None:
        high, low = self.subscripts[first], self.subscripts[second]
        self.reasons.append(f"`{high}` and `{low}` split `{whole}`: {self.shape[first]} values in rows of {extent}")
        if extent < self.shape[second]:
            self.take(Pieces(second, (_run(0, 1, extent),)))
        self.take(Merge(first, second))
        self.subscripts[first] = whole
        del self.subscripts[second]

    def pieced(self) -> bool:
        """Splits a dimension into few pieces along the line of its subscript: ``A((i + 3) % 7)``."""
        for d in self.open():
            subscript = self.subscripts[d]
            line = direction(subscript)
            ends = None if line is None else self.known.bounds(line)
            if line is None or ends is None:
                continue
            runs = runs_along(subscript, line, *ends, MOST_PIECES)
            if runs is None:
                continue
            self.reasons.append(f"`{subscript}` is read in {_pieces(len(runs))}")
            self.take(Pieces(d, tuple(_inside(runs, self.shape[d]))))
            self.subscripts[d] = line - ends[0]
            return True
        return False

    def divided(self) -> bool:
        """Splits a dimension into rows: ``A(4*i + (j + 1) % 4)`` becomes a read at i, ``(j + 1) % 4`` of rows of 4."""
        for d in self.open():
            subscript = _factored(self.subscripts[d])
            for inner in sorted({abs(w.constant or 0) for _, w in subscript.terms} - {0, 1}):
                outside, inside = _parted(subscript, inner)
                if not outside.terms or not inside.terms:
                    continue
                ends = self.known.bounds(inside)
                if ends is None or ends[0] // inner != ends[1] // inner:
                    continue
                carry = ends[0] // inner
                whole = -(-self.shape[d] // inner) * inner
                if whole != self.shape[d]:
                    self.take(Pieces(d, (_run(0, 1, self.shape[d]), Zeros(whole - self.shape[d]))))
                self.take(Divide(d, inner))
                self.subscripts[d : d + 1] = [outside + carry, inside - carry * inner]
                self.reasons.append(f"`{subscript}` is in rows of {inner}")
                return True
        return False

    def peeled(self) -> bool:
        """Repeats a dimension as in its subscript: elements for ``e / c``, the whole for ``e % c``."""
        for d in self.open():
            subscript = self.subscripts[d]
            if len(subscript.terms) != 1:
                continue
            ((atom, weight),) = subscript.terms
            step, base = weight.constant or 0, subscript.base.constant
            if not isinstance(atom, (Quotient, Remainder)) or base is None or not step:
                continue
            ends, by = self.known.bounds(atom.argument), atom.divisor.constant
            if ends is None or by is None:
                continue
            lo, hi = ends[0] // by, ends[1] // by
            if isinstance(atom, Quotient):
                self.take(Pieces(d, tuple(_inside((_run(base + step * lo, step, hi - lo + 1),), self.shape[d]))))
                self.take(Repeat(d, by))
                self.reasons.append(f"`{atom}` repeats each element {by} times")
            else:
                self.take(Pieces(d, tuple(_inside((_run(base, step, by),), self.shape[d]))))
                self.take(Tile(d, hi - lo + 1))
                self.reasons.append(f"`{atom}` repeats {by} elements {hi - lo + 1} times")
            self.subscripts[d] = self.known.simplify(atom.argument - lo * by)
            return True
        return False


def _pieces(count: int) -> str:
    return "one piece" if count == 1 else f"{count} pieces"


def _run(start: int, stride: int, count: int) -> Run:
    return Run(start, stride if count > 1 else 0, count)


def _inside(runs: Runs, extent: int) -> Iterator[Run | Zeros]:
    """The runs inside the dimension, with zeros for the rest, which is read only where a guard is false."""
    for run in runs:
        if run.stride == 0:
            yield run if 0 <= run.start < extent else Zeros(run.count)
            continue
        # The positions n with 0 <= start + stride*n < extent.
        ends = sorted((-run.start / run.stride, (extent - 1 - run.start) / run.stride))
        first = max(0, -int(-ends[0] // 1))
        last = min(run.count - 1, int(ends[1] // 1))
        if first > last:
            yield Zeros(run.count)
            continue
        if first:
            yield Zeros(first)
        yield run.part(first, last - first + 1)
        if last < run.count - 1:
            yield Zeros(run.count - 1 - last)


def _parted(subscript: Affine, inner: int) -> tuple[Affine, Affine]:
    """``(q, r)`` with ``subscript == inner*q + r``, where q has the terms that `inner` divides."""
    outside, inside = Affine.of(0), Affine((), subscript.base)
    for atom, weight in subscript.terms:
        step = weight.constant or 0
        if step % inner == 0:
            outside = outside + Affine.of(atom).scale(step // inner)
        else:
            inside = inside + Affine.of(atom).scale(step)
    return outside, inside


def _factored(subscript: Affine) -> Affine:
    """With common factors of a clamp's arguments moved out: ``5*min(i, 2) + 2`` for ``min(5*i + 2, 12)``."""
    total = Affine((), subscript.base)
    for atom, weight in subscript.terms:
        found = Affine.of(atom)
        if isinstance(atom, Clamp):
            bases = [argument.base.constant or 0 for argument in atom.arguments]
            steps = [w.constant or 0 for argument in atom.arguments for _, w in argument.terms]
            common = gcd(*steps, *(base - bases[0] for base in bases))
            rest = bases[0] % common if common else 0
            if common > 1:
                found = clamp(atom.kind, [_shrunk(argument - rest, common) for argument in atom.arguments])
                found = found.scale(common) + rest
        total = total + found.scale(weight)
    return total


def _shrunk(affine: Affine, by: int) -> Affine:
    """The expression, a multiple of `by`, divided by it."""
    parts = (Affine.of(atom).scale((weight.constant or 0) // by) for atom, weight in affine.terms)
    return sum(parts, Affine.of((affine.base.constant or 0) // by))


def _divisors(subscript: Affine) -> Iterator[int]:
    for atom, _ in subscript.terms:
        if isinstance(atom, Remainder) and atom.divisor.constant is not None:
            yield atom.divisor.constant


def _shared(subscripts: list[Affine]) -> frozenset[IndexVar]:
    """The indices that several subscripts use."""
    seen: set[IndexVar] = set()
    twice: set[IndexVar] = set()
    for subscript in subscripts:
        twice |= seen & subscript.variables
        seen |= subscript.variables
    return frozenset(twice)
