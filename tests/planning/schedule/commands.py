"""Schedules as a line of text, ``split D dj 8 djo dji; at C D djo``, and what `tcjax.Schedule` makes of it.

split D x 8 xo xi       parts D x 3 xo xi      fuse D x y f      order D y x
tile D x y 4 6 xo yo xi yi                     at C D xo         at C D xi relax t
"""

from dataclasses import dataclass
from typing import Any, assert_never

import tcjax


@dataclass(frozen=True, slots=True)
class Split:
    """``split D x 8 xo xi``, or with `by_parts` ``parts D x 3 xo xi``."""

    stage: str
    loop: str
    number: int
    outer: str
    inner: str
    by_parts: bool = False


@dataclass(frozen=True, slots=True)
class Fuse:
    """``fuse D x y f``."""

    stage: str
    outer: str
    inner: str
    into: str


@dataclass(frozen=True, slots=True)
class Reorder:
    """``order D y x``."""

    stage: str
    loops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """``tile D x y 4 6 xo yo xi yi``."""

    stage: str
    x: str
    y: str
    width: int
    height: int
    names: tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class ComputeAt:
    """``at C D xo``, ``at C D xo relax t``."""

    stage: str
    consumer: str
    loop: str
    relax: tuple[str, ...] = ()


Command = Split | Fuse | Reorder | Tile | ComputeAt


def read(text: str) -> tuple[Command, ...]:
    """The commands of a line, separated by semicolons."""
    return tuple(_command(part.split()) for part in text.split(";") if part.strip())


def _command(words: list[str]) -> Command:
    match words:
        case ["split", stage, loop, number, outer, inner]:
            return Split(stage, loop, int(number), outer, inner)
        case ["parts", stage, loop, number, outer, inner]:
            return Split(stage, loop, int(number), outer, inner, by_parts=True)
        case ["fuse", stage, outer, inner, into]:
            return Fuse(stage, outer, inner, into)
        case ["order", stage, *loops]:
            return Reorder(stage, tuple(loops))
        case ["tile", stage, x, y, width, height, a, b, c, d]:
            return Tile(stage, x, y, int(width), int(height), (a, b, c, d))
        case ["at", stage, consumer, loop]:
            return ComputeAt(stage, consumer, loop)
        case ["at", stage, consumer, loop, "relax", *relax]:
            return ComputeAt(stage, consumer, loop, tuple(relax))
        case _:
            raise AssertionError(words)


def write(commands: tuple[Command, ...]) -> str:
    """The commands as a line of text."""
    parts = []
    for command in commands:
        match command:
            case Split(stage, loop, number, outer, inner, by_parts):
                parts.append(f"{'parts' if by_parts else 'split'} {stage} {loop} {number} {outer} {inner}")
            case Fuse(stage, outer, inner, into):
                parts.append(f"fuse {stage} {outer} {inner} {into}")
            case Reorder(stage, loops):
                parts.append(f"order {stage} {' '.join(loops)}")
            case Tile(stage, x, y, width, height, names):
                parts.append(f"tile {stage} {x} {y} {width} {height} {' '.join(names)}")
            case ComputeAt(stage, consumer, loop, relax):
                parts.append(f"at {stage} {consumer} {loop}" + (f" relax {' '.join(relax)}" if relax else ""))
            case _:
                assert_never(command)
    return "; ".join(parts)


def schedule_of(kernel: tcjax.Kernel, text: str, *arguments: Any) -> tcjax.Schedule:
    """The kernel's schedule after the commands of a line; arguments are only needed if ranks are unknown."""
    schedule = kernel.schedule(*arguments)
    for command in read(text):
        match command:
            case Split(stage, loop, number, outer, inner, by_parts):
                how = {"nparts": number} if by_parts else {"factor": number}
                schedule = schedule.split(stage, loop, **how, outer=outer, inner=inner)
            case Fuse(stage, outer, inner, into):
                schedule = schedule.fuse(stage, outer, inner, into=into)
            case Reorder(stage, loops):
                schedule = schedule.reorder(stage, *loops)
            case Tile(stage, x, y, width, height, names):
                schedule = schedule.tile(stage, x, y, width, height, names=names)
            case ComputeAt(stage, consumer, loop, ()):
                schedule = schedule.compute_at(stage, consumer, loop)
            case ComputeAt(stage, consumer, loop, relax):
                schedule = schedule.compute_at(stage, consumer, loop, relax=relax)
            case _:
                assert_never(command)
    return schedule
