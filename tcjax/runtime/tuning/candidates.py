"""The candidates of a search: other forms of a statement's loop nests, and tiles in which producers are computed."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ... import planning, ranges
from ...planning.blocked.loop_schedules import candidates
from ...planning.data import nodes
from ...planning.data.nests import LoopSchedule
from ...planning.schedule.stages import Stage, consumers_of, stages_of
from ..gradients import traced_cotangents
from .choices import Choice, Tiles, show_form
from .search import Candidate

ROWS = (32, 64, 128, 256, 512)


def candidates_of(plan: planning.Plan) -> list[list[Candidate]]:
    """For each statement with a choice, its candidates, the most promising first."""
    targets: dict[str, list[planning.Compute]] = {}
    for stage in _computes(plan):
        targets.setdefault(stage.target, []).append(stage)
    found = [_forms(target, stages) for target, stages in targets.items()]
    found += _tilings(plan.bound)
    return [candidates for candidates in found if candidates]


def _computes(plan: planning.Plan) -> Iterator[planning.Compute]:
    """The statements, including those of called definitions: forms are identified by target name alone."""
    for stage in plan.stages:
        if isinstance(stage, planning.Compute):
            yield stage
        elif isinstance(stage, planning.Call):
            yield from _computes(stage.plan)


def offers(plan: planning.Plan, choice: Choice) -> bool:
    """Whether a choice consists of candidates; others may not compute what the program says."""
    known = {candidate.change(Choice()) for candidates in candidates_of(plan) for candidate in candidates}
    parts = [Choice(forms=(form,)) for form in choice.forms] + [Choice(tiles=(tiles,)) for tiles in choice.tiles]
    return all(part in known for part in parts)


def _forms(target: str, stages: list[planning.Compute]) -> list[Candidate]:
    """Other forms for the loop nests of all statements with this target, and none at all."""
    found: dict[LoopSchedule | None, None] = {}
    decided: set[LoopSchedule] = set()
    for node in (node for stage in stages for node in _nests(stage.value)):
        found.update(dict.fromkeys(candidates(node.nest)))
        decided.add(node.form)
    if decided:
        found[None] = None
    forms = [form for form in found if {form} != decided]
    return [Candidate(f"{target}: {show_form(f)}", partial(Choice.with_form, target=target, form=f)) for f in forms]


def gradient_candidates_of(plan: planning.Plan, fns: Mapping[str, Callable[..., Any]]) -> list[list[Candidate]]:
    """Other forms for each loop nest of reverse mode that is not in the plan itself, and none at all."""
    from ...lowering.traced import nests_of

    own = {node.nest for stage in _computes(plan) for node in _nests(stage.value)}
    found: list[list[Candidate]] = []
    for number, (nest, decided) in enumerate(nests_of(traced_cotangents(plan, fns).jaxpr).items()):
        if nest in own or decided.whole:
            continue
        forms: list[LoopSchedule | None] = [form for form in candidates(nest) if form != decided]
        label = f"gradient {number}, {nest.reduce.reducer.value} over {nest.shape}"
        found.append(
            [
                Candidate(f"{label}: {show_form(f)}", partial(Choice.with_gradient, nest=nest.name, form=f))
                for f in (*forms, None)
            ]
        )
    return found


def _nests(node: nodes.Node) -> Iterator[nodes.LoopNest]:
    if isinstance(node, nodes.LoopNest) and node.is_alone:
        yield node
    for operand in nodes.operands(node):
        yield from _nests(operand)


def _tilings(bound: ranges.Bound) -> Iterator[list[Candidate]]:
    """For each output, its private producers, computed in tiles of the output's first loop."""
    stages = stages_of(bound.function)
    returned = {tensor.name for tensor in bound.function.returns}
    for consumer in stages.values():
        if consumer.is_call or consumer.spatial == 0 or consumer.target.name not in returned:
            continue
        producers = _private(consumer, stages)
        if not producers:
            continue
        loop = consumer.leaves[0]
        lo, hi = bound.boxes[consumer.number][consumer.roots[loop]]
        tiles = [Tiles(consumer.name, loop, rows, producers) for rows in ROWS if rows < hi - lo]
        yield [Candidate(str(each), partial(Choice.with_tiles, tiles=each)) for each in tiles]


def _private(consumer: Stage, stages: dict[str, Stage]) -> tuple[str, ...]:
    """The stages that only the consumer needs, directly or through other such stages."""
    found: dict[str, Stage] = {}
    for stage in reversed(stages.values()):
        readers = [reader.name for reader in consumers_of(stage, stages)]
        within = bool(readers) and all(reader == consumer.name or reader in found for reader in readers)
        if within and stage.number < consumer.number and not stage.fixed:
            found[stage.name] = stage
    return tuple(reversed(found))
