"""The loop nest of a scheduled function, as input for its execution."""

from collections.abc import Mapping
from dataclasses import dataclass

from ... import ranges
from ...symbolic import IndexVar
from ...symbolic.facts.trees import Expr, Var
from .regions import Placed, Region, place_stages, region_of
from .roots import qualified
from .schedule import Schedule
from .stages import Fuse, Split, Stage, Stages, prefix_of


@dataclass(frozen=True)
class Nested:
    """A stage in the nest.

    `prefix` are the loops around it on which its region may depend, ``(stage, loop)``, outermost first: it is computed
    in the last one, and further loops share that copy. `loops` are the names of its leaves in its own stage, and
    `leaves` their names in the nest, which are unique, with their static extents. Expressions over the latter are
    `roots`, the value of each index of the statement (including the start of the region), `guards`, which hold where a
    point belongs to the stage, and `origin`, the first index of the region per axis. `tiles` are the leaves that step
    from tile to tile: the outer part of a split, or fused from such.
    """

    number: int
    name: str
    prefix: tuple[tuple[str, str], ...]
    loops: tuple[str, ...]
    leaves: tuple[tuple[str, int], ...]
    tiles: frozenset[str]
    roots: Mapping[IndexVar, Expr]
    guards: tuple[Expr, ...]
    origin: tuple[Expr, ...]
    region: Region


# The formulas of a function in order of computation.
Nest = tuple[Nested, ...]


def nest(schedule: Schedule, bound: ranges.Bound) -> Nest:
    """The loops of a bound function after a schedule. Raises `CompileError` if the schedule is illegal."""
    stages = schedule.on(bound.function).checked()
    names = _names(stages)
    renamed = {qualified(*place): Var(name) for place, name in names.items()}
    placed = place_stages(stages, bound)
    return tuple(_nested(placed[name], stages, names, renamed) for name, stage in stages.items() if not stage.is_call)


def _nested(
    placed: Placed, stages: Stages, names: Mapping[tuple[str, str], str], renamed: Mapping[str, Expr]
) -> Nested:
    stage = placed.stage
    return Nested(
        number=stage.number,
        name=stage.name,
        prefix=prefix_of(stage, stages),
        loops=stage.leaves,
        leaves=tuple((names[stage.name, loop], placed.roots.extents[loop]) for loop in stage.leaves),
        tiles=_tiles(stage),
        roots={index: value.substitute(renamed) for index, value in placed.values.items()},
        guards=tuple(guard.substitute(renamed) for guard in placed.guards),
        origin=tuple(low.substitute(renamed) for low in placed.box.lows),
        region=region_of(placed),
    )


def _names(stages: Stages) -> dict[tuple[str, str], str]:
    """A name for each leaf: its own, unless a leaf of another stage has the same."""
    places = [(stage.name, loop) for stage in stages.values() for loop in stage.leaves]
    loops = [loop for _, loop in places]
    return {(stage, loop): loop if loops.count(loop) == 1 else f"{stage}.{loop}" for stage, loop in places}


def _tiles(stage: Stage) -> frozenset[str]:
    outer: set[str] = set()
    for relation in stage.relations:
        match relation:
            case Split(parent, name, inner):
                outer.add(name)
                if parent in outer:
                    outer.add(inner)
            case Fuse(first, second, fused):
                if first in outer and second in outer:
                    outer.add(fused)
    return frozenset(outer & set(stage.leaves))
