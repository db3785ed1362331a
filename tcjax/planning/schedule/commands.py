"""Schedule commands: what each does to the stages."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from . import mistakes
from .legality import check_place
from .stages import Attach, Fuse, Relation, Split, Stage, Stages


@dataclass(frozen=True, slots=True)
class SplitLoop:
    """``split(stage, parent, factor=, outer=, inner=)``, or with ``nparts=``."""

    stage: str
    split: Split

    def __str__(self) -> str:
        split = self.split
        size = f"nparts={split.nparts}" if split.factor is None else f"factor={split.factor}"
        return f'split("{self.stage}", "{split.parent}", {size}, outer="{split.outer}", inner="{split.inner}")'


@dataclass(frozen=True, slots=True)
class FuseLoops:
    """``fuse(stage, outer, inner, into=)``."""

    stage: str
    fuse: Fuse

    def __str__(self) -> str:
        return f'fuse("{self.stage}", "{self.fuse.outer}", "{self.fuse.inner}", into="{self.fuse.fused}")'


@dataclass(frozen=True, slots=True)
class Reorder:
    """``reorder(stage, *loops)``: these loops, in this order, at the positions that they occupy."""

    stage: str
    loops: tuple[str, ...]

    def __str__(self) -> str:
        return f"reorder({', '.join(_quoted((self.stage, *self.loops)))})"


@dataclass(frozen=True, slots=True)
class ComputeAt:
    """``compute_at(stage, consumer, loop, relax=)``."""

    stage: str
    attach: Attach

    def __str__(self) -> str:
        words = ", ".join(_quoted((self.stage, self.attach.consumer, self.attach.loop)))
        relax = "".join(f'"{loop}", ' for loop in self.attach.relax)
        return f"compute_at({words}, relax=({relax.rstrip(' ')}))" if relax else f"compute_at({words})"


@dataclass(frozen=True, slots=True)
class ComputeRoot:
    """``compute_root(stage)``."""

    stage: str

    def __str__(self) -> str:
        return f'compute_root("{self.stage}")'


Command = SplitLoop | FuseLoops | Reorder | ComputeAt | ComputeRoot


def carry_out(command: Command, stages: Stages, name: str) -> Stages:
    """The stages after a command on the function `name`. Raises `CompileError` (TC08xx) if it is illegal."""
    stage = stages.get(command.stage)
    if stage is None:
        raise mistakes.unknown_stage(command.stage, stages, name)
    match command:
        case SplitLoop(_, split):
            changed = _split(stage, split, stages)
        case FuseLoops(_, fuse):
            changed = _fuse(stage, fuse, stages)
        case Reorder(_, loops):
            changed = _reorder(stage, loops)
        case ComputeAt(_, attach):
            check_place(stage, attach, stages, name)
            changed = replace(stage, attach=attach)
        case ComputeRoot():
            changed = replace(stage, attach=None)
        case _:
            assert_never(command)
    return {**stages, stage.name: changed}


def _split(stage: Stage, split: Split, stages: Stages) -> Stage:
    place = _leaf(stage, split.parent)
    _check_unused(stage, split.parent, "split", stages)
    _check_new(stage, (split.outer, split.inner))
    return _with(stage, split, place, 1, (split.outer, split.inner))


def _fuse(stage: Stage, fuse: Fuse, stages: Stages) -> Stage:
    place, inner = _leaf(stage, fuse.outer), _leaf(stage, fuse.inner)
    if place == inner:
        raise mistakes.listed_twice(stage, "fuse", fuse.outer)
    if inner != place + 1:
        raise mistakes.not_adjacent(stage, fuse.outer, fuse.inner)
    _check_unused(stage, fuse.outer, "fused", stages)
    _check_unused(stage, fuse.inner, "fused", stages)
    _check_new(stage, (fuse.fused,))
    return _with(stage, fuse, place, 2, (fuse.fused,))


def _with(stage: Stage, relation: Relation, place: int, count: int, loops: tuple[str, ...]) -> Stage:
    leaves = (*stage.leaves[:place], *loops, *stage.leaves[place + count :])
    return replace(stage, leaves=leaves, relations=(*stage.relations, relation))


def _reorder(stage: Stage, loops: tuple[str, ...]) -> Stage:
    places = sorted(_leaf(stage, loop) for loop in loops)
    for loop in loops:
        if loops.count(loop) > 1:
            raise mistakes.listed_twice(stage, "reorder", loop)
    leaves = list(stage.leaves)
    for place, loop in zip(places, loops, strict=True):
        leaves[place] = loop
    return replace(stage, leaves=tuple(leaves))


def _leaf(stage: Stage, loop: str) -> int:
    if loop not in stage.leaves:
        raise mistakes.unknown_loop(stage, loop)
    return stage.leaves.index(loop)


def _check_unused(stage: Stage, loop: str, change: str, stages: Stages) -> None:
    """Raises `CompileError` (TC0805) if another stage is computed at the loop."""
    for user in stages.values():
        if user.attach is not None and user.attach.consumer == stage.name and user.attach.loop == loop:
            raise mistakes.loop_in_use(stage, loop, user, change)


def _check_new(stage: Stage, loops: Sequence[str]) -> None:
    taken = set(stage.loops())
    for loop in loops:
        if loop in taken:
            raise mistakes.name_taken(stage, loop)
        taken.add(loop)


def _quoted(names: Sequence[str]) -> list[str]:
    return [f'"{name}"' for name in names]
