"""Random legal schedules, with `Schedule.infer_bounds` checked against the oracle."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import tcjax

from . import commands
from .commands import schedule_of
from .comparison import LOOSE_OVERLAP, differences
from .kernels import specs
from .oracle import Loop, TooManyPoints, expected_regions
from .program import Program, program_of
from .random_kernels import random_kernel


@dataclass(frozen=True, slots=True)
class Trial:
    """A kernel's text, its arguments and the commands of a schedule."""

    text: str
    arguments: str
    line: str


def random_line(rng: Random, program: Program) -> str:
    """A legal schedule: loops are rearranged, then producers are moved inside their consumers."""
    leaves = {stage.name: [stage.loop(index) for index in stage.indices] for stage in program.stages}
    chosen: list[commands.Command] = []
    for stage in program.stages:
        for _ in range(rng.choice((0, 0, 1, 2, 3) if stage.is_output else (0, 0, 0, 1, 2))):
            command = _rearrangement(rng, stage.name, leaves[stage.name], len(chosen))
            if command is not None:
                chosen.append(command)
    # The loops around each stage and its own; and those for which it has a copy.
    nests: dict[str, list[Loop]] = {}
    prefixes: dict[str, list[Loop]] = {}
    for stage in reversed(program.stages):
        own = [(stage.name, loop) for loop in leaves[stage.name]]
        nests[stage.name], prefixes[stage.name] = own, []
        readers = [reader.name for reader in program.readers(stage)]
        common = _common([nests[reader] for reader in readers])
        if stage.is_output or stage.is_update or stage.axes is None or not common or rng.random() < 0.2:
            continue
        path = common[: rng.randint(1, len(common))]
        consumer, loop = path[-1]
        around = [*prefixes[consumer], *(place for place in path if place[0] == consumer)]
        # A producer cannot distinguish iterations over which its reader is shared.
        kept = [{*prefixes[reader], *((reader, leaf) for leaf in leaves[reader])} for reader in readers]
        relax = {name for place in around for name in (place[1],) if not all(place in one for one in kept)}
        if rng.random() < 0.1:
            relax.add(rng.choice(around)[1])
        names = tuple(dict.fromkeys(name for _, name in around if name in relax))
        chosen.append(commands.ComputeAt(stage.name, consumer, loop, names))
        nests[stage.name] = [*path, *own]
        prefixes[stage.name] = [place for place in around if place[1] not in names]
    return commands.write(tuple(chosen))


def _common(nests: Sequence[Sequence[Loop]]) -> list[Loop]:
    common = []
    for places in zip(*nests, strict=False):
        if len(set(places)) > 1:
            break
        common.append(places[0])
    return common


def _rearrangement(rng: Random, stage: str, leaves: list[str], number: int) -> commands.Command | None:
    if not leaves:
        return None
    place = rng.randrange(len(leaves))
    loop = leaves[place]
    match rng.randrange(6):
        case 0 | 1 | 2:
            names = (f"s{number}o", f"s{number}i")
            leaves[place : place + 1] = names
            return commands.Split(stage, loop, rng.randint(1, 6), *names, by_parts=rng.random() < 0.25)
        case 3 if place + 1 < len(leaves):
            inner = leaves[place + 1]
            leaves[place : place + 2] = [f"f{number}"]
            return commands.Fuse(stage, loop, inner, f"f{number}")
        case _:
            some = rng.sample(leaves, rng.randint(1, len(leaves)))
            for position, name in zip(sorted(map(leaves.index, some)), some, strict=True):
                leaves[position] = name
            return commands.Reorder(stage, tuple(some))


def random_trial(rng: Random) -> Trial:
    """A kernel with a schedule."""
    text, arguments = random_kernel(rng)
    program = program_of(tcjax.kernel(text), specs(arguments))
    return Trial(text, arguments, random_line(rng, program))


def disagreements(trial: Trial) -> list[str]:
    """Differences between `Schedule.infer_bounds` and the oracle; an overlap may be overestimated.

    Empty for the few schedules with more points than the oracle can visit.
    """
    kernel, arguments = tcjax.kernel(trial.text), specs(trial.arguments)
    try:
        expected = expected_regions(program_of(kernel, arguments), trial.line)
    except TooManyPoints:
        return []
    found = differences(schedule_of(kernel, trial.line).infer_bounds(*arguments), expected)
    return [words for words in found if LOOSE_OVERLAP not in words]


def smallest(trial: Trial) -> Trial:
    """A shorter schedule of the kernel that still disagrees (or fails)."""
    chosen = list(commands.read(trial.line))
    shrunk = True
    while shrunk:
        shrunk = False
        for number in range(len(chosen)):
            fewer = replace(trial, line=commands.write(tuple(chosen[:number] + chosen[number + 1 :])))
            if _is_legal(fewer) and _fails(fewer):
                chosen, trial, shrunk = list(commands.read(fewer.line)), fewer, True
                break
    return trial


def _is_legal(trial: Trial) -> bool:
    try:
        expected_regions(program_of(tcjax.kernel(trial.text), specs(trial.arguments)), trial.line)
    except (AssertionError, ValueError, KeyError):
        return False
    return True


def _fails(trial: Trial) -> bool:
    try:
        return bool(disagreements(trial))
    except Exception:
        return True
