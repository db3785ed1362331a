"""The plan of one device: every statement over its blocks, and the collectives around it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ... import ranges, transforms
from ..cost.memory import allowance
from ..data.preferences import DEFAULT, Preferences
from ..data.stages import Call, Plan
from ..data.steps import Input, Kept, Steps, Window
from ..plan import given_bytes, make_plan
from ..recurrences import plan_loops
from .blocks import Axes, Collective, ShardedPlan
from .choosing import cheapest, way
from .joining import seconds_of, steps_between
from .layouts import Layouts
from .margins import fetched_once, going_round, margins
from .mistakes import refused
from .preparing import prepared
from .programs import LocalProgram
from .telling import tensor_of


def shard(
    bound: ranges.Bound,
    axes: Mapping[str, Axes],
    sizes: Mapping[str, int],
    preferences: Preferences = DEFAULT,
) -> ShardedPlan:
    """The plan of one device; `axes` are the mesh axes of each index by name, `sizes` the number of devices along each
    axis.

    Raises `CompileError`: TC0811 for a program that cannot be sharded.
    """
    bound = transforms.with_bodies(bound)
    function = bound.function
    for loop in function.loops:
        if loop.index.name in axes:
            raise refused(
                f"the steps of the loop over `{loop.index}` need one another: a mesh cannot take them apart",
                loop.span,
                f"leave `{loop.index}` whole, and shard an index of what a step computes",
            )
    known = {index.name for box in bound.boxes for index in box}
    for name in axes:
        if name not in known:
            raise refused(
                f"`{function.name}` has no index `{name}` to shard",
                function.span,
                f"its indices are {', '.join(sorted(known))}",
            )
    # XLA would drop the others too, but their exchanges would be listed, and decide about layouts.
    bound = transforms.needed(bound)
    sharder = _Sharder(axes, sizes, preferences)
    layouts = Layouts(bound, sizes)
    plan = sharder.plan(layouts)
    padded = {name: layouts.padded(name) for name in layouts.held}
    return ShardedPlan(plan, sharder.collectives, layouts.held, bound.shapes, layouts.blocks, padded)


@dataclass
class _Sharder:
    axes: Mapping[str, Axes]
    sizes: Mapping[str, int]
    preferences: Preferences
    collectives: dict[str, Collective] = field(default_factory=dict)

    def plan(self, layouts: Layouts, *, is_joined: bool = False) -> Plan:
        """The plan of one device for given layouts; with margins where steps are joined."""
        bound = fetched_once(layouts) if is_joined else layouts.bound
        first = way(*prepared(bound, self.axes), self.sizes, layouts.given)
        found = first if bound.function.loops or is_joined else cheapest(first)
        layouts.bound, layouts.held, layouts.blocks = found.layouts.bound, found.layouts.held, found.layouts.blocks
        if is_joined:
            layouts.margins = margins(layouts, found.formulas)
            layouts.round = going_round(layouts, found.formulas)
        if not bound.function.loops:
            return make_plan(LocalProgram(layouts, self.collectives).of(found.formulas), self.preferences)
        limit = self.preferences.backend.memory

        planned: dict[int, Plan] = {}

        def part(inner: ranges.Bound, step: transforms.OneStep | None) -> Plan:
            found = planned.get(id(step))
            return found or self.plan(_inside(layouts, inner, step), is_joined=step is not None and step.count > 1)

        def joined(step: transforms.OneStep, stage: Call) -> transforms.OneStep | None:
            count = steps_between(step, stage, self.collectives, self.sizes)
            several = transforms.together(step, count) if count > 1 else None
            if several is None:
                return None
            planned[id(several)] = plan = part(several.bound, several)
            alone, together = (seconds_of(each, self.collectives, self.sizes) for each in (stage.plan, plan))
            return several if together < count * alone else None

        most = allowance(given_bytes(bound)) if limit is None else limit
        return _local(plan_loops(bound, part, most, joined), layouts)


def _inside(layouts: Layouts, inner: ranges.Bound, step: transforms.OneStep | None) -> Layouts:
    """The layouts inside a part of a program, or in a step of its loop: the same as outside."""
    found = Layouts(inner, layouts.sizes)
    rows = {} if step is None else {row.tensor.name: row.dimension for row in step.rows}
    for tensor in (*inner.function.parameters, *inner.function.returns):
        taken = None if step is None else step.taken.get(tensor.name)
        # Of joined steps each leaves it under another name.
        name = tensor_of(tensor.name) if taken is None else taken.tensor
        if name not in layouts.held:
            found.given[tensor.name] = (), ()
            continue
        lies = list(zip(layouts.held[name], layouts.blocks[name], strict=True))
        dropped = {rows[name]} if name in rows else set()
        if taken is not None and taken.kind == "part":
            dropped = {d for d, count in enumerate(taken.counts) if count is None}
            for (weight, _), along in zip(taken.begins, layouts.held[name], strict=True):
                if weight and along:
                    raise refused(
                        f"a step of the loop reads `{name}` in another place of a dimension that is cut",
                        layouts.bound.function.span,
                        "leave the index of that dimension whole",
                    )
        held = [(along, block) for d, (along, block) in enumerate(lies) if d not in dropped]
        found.given[tensor.name] = (
            tuple(along for along, _ in held),
            # Where a dimension is not cut, the part may have fewer elements.
            tuple(b if along else e for (along, b), e in zip(held, inner.shapes[tensor.name], strict=True)),
        )
    return found


def _local(plan: Plan, layouts: Layouts) -> Plan:
    """The plan of a program with loops, with the shapes of one device's blocks in its steps."""
    stages = tuple(
        replace(stage, steps=_local_steps(stage.steps, layouts))
        if isinstance(stage, Call) and stage.steps is not None
        else stage
        for stage in plan.stages
    )
    return replace(plan, stages=stages)


def _local_steps(steps: Steps, layouts: Layouts) -> Steps:
    def taken(given: Input) -> Input:
        if not isinstance(given, Window):
            return given
        blocks, held = layouts.blocks[given.tensor], layouts.held[given.tensor]
        return replace(given, counts=tuple(b if a else c for b, a, c in zip(blocks, held, given.counts, strict=True)))

    def local(kept: Kept) -> Kept:
        return replace(kept, shape=layouts.blocks[kept.tensor])

    inputs = tuple((name, taken(given)) for name, given in steps.inputs)
    return replace(steps, inputs=inputs, kept=tuple(map(local, steps.kept)))
