"""Which elements go from which device to which."""

from collections.abc import Iterator
from dataclasses import replace

from ...symbolic.runs import Run
from .blocks import Move
from .lines import Stretches, over


def moves(stretches: Stretches, lo: int, step: int, count: int, block: int, parts: int) -> tuple[Move, ...]:
    """What brings each device the places from ``lo + step * number`` on, `count` of them.

    Each of the `parts` devices holds a `block` of the elements.
    """
    pairs: dict[tuple[bool, Move], list[tuple[int, int]]] = {}
    for number in range(parts):
        first = lo + step * number
        for stretch in over(stretches, first, first + count):
            if stretch.run is None:
                continue
            place = stretch.place - first
            for giver, run in _by_block(stretch.run, block):
                move = Move((), run.start, run.stride if run.count > 1 else 1, run.count, place)
                pairs.setdefault((giver == number, move), []).append((giver, number))
                place += run.count
    return tuple(
        replace(move, pairs=tuple(part))
        for (is_local, move), own in pairs.items()
        for part in ([own] if is_local else _rounds(own))
    )


def _by_block(run: Run, block: int) -> Iterator[tuple[int, Run]]:
    """The parts of a run that lie in one block each, and which block that is; they count from its first element."""
    at = 0
    while at < run.count:
        giver, first = divmod(run.start + run.stride * at, block)
        if run.stride == 0:
            length = run.count
        elif run.stride > 0:
            length = (block - 1 - first) // run.stride + 1
        else:
            length = first // -run.stride + 1
        length = min(length, run.count - at)
        yield giver, Run(first, run.stride, length)
        at += length


def _rounds(pairs: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """The pairs in rounds, in each of which a device gives once."""
    while pairs:
        givers: set[int] = set()
        now: list[tuple[int, int]] = []
        later: list[tuple[int, int]] = []
        for pair in pairs:
            (later if pair[0] in givers else now).append(pair)
            givers.add(pair[0])
        yield now
        pairs = later
