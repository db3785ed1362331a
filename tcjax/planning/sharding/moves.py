"""Which elements each device sends to which."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...symbolic.runs import Run
from .blocks import Move
from .lines import Stretches, over


def moves(
    stretches: Stretches,
    lo: int,
    step: int,
    count: int,
    block: int,
    parts: int,
    margin: tuple[int, int] = (0, 0),
    *,
    goes_round: bool = False,
) -> tuple[Move, ...]:
    """The moves that give each device the `count` places from ``lo + step * number`` on.

    Each of the `parts` devices holds a `block` of the elements, and a `margin` before and after it; if it `goes_round`,
    the first block follows the last. Elements are numbered from the first that a device holds.
    """
    pairs: dict[tuple[bool, Move], list[tuple[int, int]]] = {}
    for number in range(parts):
        first = lo + step * number
        own: list[tuple[int, Move]] = []
        for stretch in over(stretches, first, first + count):
            if stretch.run is None:
                continue
            place = stretch.place - first
            part = _Part(number, block, margin, block * parts if goes_round else 0)
            for giver, run in part.of(stretch.run):
                move = Move((), run.start + margin[0], run.stride if run.count > 1 else 1, run.count, place)
                before = own[-1] if own else None
                if any(margin) and before is not None and giver == before[0] == number and _goes_on(before[1], move):
                    own[-1] = giver, replace(before[1], count=before[1].count + move.count)
                else:
                    own.append((giver, move))
                place += run.count
        for giver, move in own:
            pairs.setdefault((giver == number, move), []).append((giver, number))
    return tuple(
        replace(move, pairs=tuple(part))
        for (is_local, move), own in pairs.items()
        for part in ([own] if is_local else _rounds(own))
    )


def _goes_on(before: Move, move: Move) -> bool:
    """Whether a move continues another, in source and destination."""
    is_next = before.start + before.count == move.start and before.place + before.count == move.place
    return is_next and before.stride == move.stride == 1


@dataclass(frozen=True, slots=True)
class _Part:
    """What a device holds: its block and a margin; `around` is the period of the elements, or 0."""

    number: int
    block: int
    margin: tuple[int, int]
    around: int

    def of(self, run: Run) -> Iterator[tuple[int, Run]]:
        """Pieces of a run that are each on one device, with its number; they are relative to its block.

        Elements that this device holds itself come from itself.
        """
        at = 0
        while at < run.count:
            element, rest = run.start + run.stride * at, run.count - at
            own = self.own(element)
            if own is not None:
                giver, first = self.number, own
                length = _length(first, run.stride, -self.margin[0], self.block + self.margin[1], rest)
            else:
                giver, first = divmod(element, self.block)
                length = _length(first, run.stride, 0, self.block, rest)
                if any(self.margin):
                    later = (n for n in range(1, length) if self.own(element + run.stride * n) is not None)
                    length = next(later, length)
            yield giver, Run(first, run.stride, length)
            at += length

    def own(self, element: int) -> int | None:
        """The position of an element relative to the block, or None if the device does not hold it."""
        here = element - self.number * self.block
        for place in (here, here - self.around, here + self.around):
            if -self.margin[0] <= place < self.block + self.margin[1]:
                return place
        return None


def _length(first: int, stride: int, lo: int, hi: int, most: int) -> int:
    """How many elements of a run, at most `most`, lie within ``lo:hi``."""
    if stride == 0:
        return most
    return min(most, (hi - 1 - first) // stride + 1 if stride > 0 else (first - lo) // -stride + 1)


def _rounds(pairs: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """The pairs in rounds: in each round a device sends at most once."""
    while pairs:
        givers: set[int] = set()
        now: list[tuple[int, int]] = []
        later: list[tuple[int, int]] = []
        for pair in pairs:
            (later if pair[0] in givers else now).append(pair)
            givers.add(pair[0])
        yield now
        pairs = later
