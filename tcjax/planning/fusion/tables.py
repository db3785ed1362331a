"""Drops row tables that no statement needs in the end."""

from collections.abc import Iterator
from dataclasses import replace

from ... import ir, transforms
from ..data.stages import Compute, Parts, Plan, Stage


def without_unread(plan: Plan, tables: transforms.Tables) -> Plan:
    """The plan without the statements of unread tables."""
    own = {name for table in tables.values() for name in table.names}
    while own:
        read = {name for stage in plan.stages for name in _read(stage)}
        gone = [n for n, stage in enumerate(plan.stages) if isinstance(stage, Compute) and stage.target in own - read]
        if not gone:
            break
        stages = tuple(stage for number, stage in enumerate(plan.stages) if number not in gone)
        moved = {number - sum(n < number for n in gone): each for number, each in plan.assemblies.items()}
        plan = replace(plan, stages=stages, assemblies=moved)
    return plan


def _read(stage: Stage) -> Iterator[str]:
    """The names of the tensors that a stage reads."""
    if isinstance(stage, Parts):
        for plan in stage.plans:
            for inner in plan.stages:
                yield from _read(inner)
    if isinstance(stage, Compute):
        yield from (access.tensor.name for access in ir.accesses_of(stage.statement))
        others = () if stage.proviso is None else (*stage.proviso.tests, stage.proviso.otherwise)
        for part in (*stage.before, *others):
            yield from _read(part)
