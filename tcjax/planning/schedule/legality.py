"""Which placements of a stage keep the meaning of the program."""

from . import mistakes
from .stages import Attach, Stage, Stages, consumers_of, path_of, prefix_of


def check_place(stage: Stage, attach: Attach, stages: Stages, name: str) -> None:
    """Raises `CompileError` if no later command can make a placement legal (TC0802, TC0803, TC0807, TC0809)."""
    consumer = stages.get(attach.consumer)
    if consumer is None:
        raise mistakes.unknown_stage(attach.consumer, stages, name)
    if attach.loop not in consumer.leaves:
        raise mistakes.unknown_loop(consumer, attach.loop)
    if consumer.number == stage.number:
        raise mistakes.not_movable(stage, consumer.name, attach.loop, "a stage cannot be inside itself")
    if stage.fixed:
        raise mistakes.not_movable(stage, consumer.name, attach.loop, stage.fixed)
    readers = consumers_of(stage, stages)
    for reader in readers:
        # Both stay at the root for good.
        if reader.fixed and consumer.fixed and reader.name != consumer.name:
            raise mistakes.consumer_outside(stage, consumer, attach.loop, reader)
    if consumer.number < stage.number:
        if readers:
            raise mistakes.consumer_outside(stage, consumer, attach.loop, readers[-1])
        raise mistakes.not_movable(
            stage, consumer.name, attach.loop, f"`{consumer.name}` is computed before `{stage.name}`"
        )
    if not readers:
        raise mistakes.not_movable(stage, consumer.name, attach.loop, f"nothing reads `{stage.name}`")


def check(stages: Stages) -> None:
    """Raises `CompileError` unless every consumer of a stage is inside the loops that contain the stage.

    The operands of a stage must be unchanged at its new place: nothing may write them in between (TC0809).
    """
    for stage in stages.values():
        attach = stage.attach
        if attach is None:
            continue
        path, consumer = path_of(stage, stages), stages[attach.consumer]
        for reader in consumers_of(stage, stages):
            leaves = tuple((reader.name, loop) for loop in reader.leaves)
            inside = (*path_of(reader, stages), *leaves)[: len(path)] == path
            # A consumer that shares a copy over a loop has no value for that loop.
            if not inside or not set(prefix_of(stage, stages)) <= {*prefix_of(reader, stages), *leaves}:
                raise mistakes.consumer_outside(stage, consumer, attach.loop, reader)
        for loop in attach.relax:
            if loop not in {name for _, name in path}:
                raise mistakes.relaxed_outside(stage, loop, (name for _, name in path))
        outermost = stages[path[0][0]]
        for other in stages.values():
            overwritten = sorted(stage.reads & set(other.targets))
            if overwritten and stage.number < other.number <= outermost.number:
                why = f"`{other.name}` writes `{overwritten[0]}`, which it reads, before or while that loop runs"
                raise mistakes.not_movable(stage, consumer.name, attach.loop, why)
