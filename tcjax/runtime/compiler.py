"""Caches the pipeline's results for the calls of one program, planned according to options, schedules and `tuning`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import jax

from .. import ir, planning, ranges
from ..diagnostics import Code, CompileError
from ..keeping import Recent
from . import pipeline
from .determinism import check_deterministic
from .frontends import Call, Frontend
from .tuning import remembered

if TYPE_CHECKING:
    from ..planning.sharding import ShardedPlan
    from .inspecting import Inspection
    from .tuning.choices import Choice


def refuse_loops(function: ir.Function) -> None:
    """Raises `CompileError` (TC0801) for a schedule of a program that contains a loop."""
    for loop in function.loops:
        raise CompileError(
            Code.BAD_SCHEDULE,
            f"the loop over `{loop.index}` runs step by step: a schedule cannot move it",
            loop.span,
            help="schedule a kernel for what is before or after the loop",
        )


@dataclass(eq=False)
class Compiler:
    """One program under its options; `choices` are the tuned choices for calls of this kernel."""

    frontend: Frontend
    choices: "dict[Call, Choice]" = field(default_factory=dict)
    # The bytes that XLA needs for calls under a limit.
    measured: Recent[Any, int] = field(default_factory=Recent)
    _bounds: Recent[Call, ranges.Bound] = field(default_factory=Recent)
    _plans: Recent[Call, planning.Plan] = field(default_factory=Recent)
    _sharded: "Recent[Call, ShardedPlan]" = field(default_factory=Recent)
    _inspections: "Recent[Call, Inspection]" = field(default_factory=Recent)

    def bound(self, call: Call) -> ranges.Bound:
        """All ranges and sizes as numbers."""
        return self._bounds.of(
            call, lambda: pipeline.bind(self.frontend, pipeline.elaborate(self.frontend, call), call)
        )

    def plan(self, call: Call) -> planning.Plan:
        """The plan: how every statement is computed."""
        return self._plans.of(call, lambda: self.planned(call, self._choice(call)))

    def planned(self, call: Call, choice: "Choice | None") -> planning.Plan:
        """The plan under a tuned choice; None and an empty choice leave everything to the planner.

        Raises `CompileError` for a choice whose tiles are illegal.
        """
        bound, options = self.bound(call), self.frontend.options
        schedule, preferences = options.schedule, options.preferences
        with self.frontend.within_depth():
            if choice is not None:
                # Imported only for tuning.
                from .tuning.choices import preferring, scheduled

                preferences = preferring(choice, preferences)
                schedule = scheduled(choice, bound.function) or schedule
            preferences = replace(preferences, stored=schedule is not None)
            plan = pipeline.plan(self.frontend, bound, preferences)
            if schedule is not None:
                refuse_loops(bound.function)
                # Imported only for schedules.
                from ..planning.schedule import nest
                from ..planning.tiling import tile

                plan = tile(plan, nest(schedule, bound), preferences.backend)
            if options.memory is not None and options.sharding is None:
                planning.check_memory(plan, options.memory)
            return plan

    def _choice(self, call: Call) -> "Choice | None":
        """The tuned choice for a call: of this kernel, or from an earlier search for its program."""
        options, choice = self.frontend.options, self.choices.get(call)
        if options.deterministic:
            check_deterministic(self.frontend)
        elif choice is None and options.schedule is None:
            with self.frontend.within_depth():
                return remembered(self.frontend, call, self.bound(call), self.planned)
        return choice

    def results(
        self, call: Call, arrays: Mapping[str, jax.Array], initial: Mapping[str, jax.Array]
    ) -> tuple[jax.Array, ...]:
        """The results of a call, in JAX operations, on the devices of the mesh if there is one."""
        frontend, sharding = self.frontend, self.frontend.options.sharding
        if sharding is None:
            return pipeline.lower(frontend, self.plan(call), arrays, initial)
        from ..lowering.sharding import lower_sharded

        plan = self.sharded(call)
        with frontend.within_depth():
            return lower_sharded(plan, sharding.mesh, arrays, initial, frontend.options.fns)

    def sharded(self, call: Call) -> "ShardedPlan":
        """How one device of the mesh computes its part of every statement."""
        sharding = self.frontend.options.sharding
        assert sharding is not None, "a kernel for a mesh asks"
        return self._sharded.of(call, lambda: self.cut(call, dict(sharding.axes), sharding.sizes))

    def cut(self, call: Call, axes: Mapping[str, tuple[str, ...]], sizes: Mapping[str, int]) -> "ShardedPlan":
        """The same for a mesh with these numbers of devices along its axes, which need not exist."""
        from ..planning.sharding import shard

        options = self.frontend.options
        with self.frontend.within_depth():
            plan = shard(self.bound(call), axes, sizes, options.preferences)
            if options.memory is not None:
                planning.check_memory(plan.plan, options.memory)
            return plan

    def placed(self, call: Call, names: Iterable[str]) -> tuple[jax.sharding.NamedSharding, ...]:
        """The shardings on the mesh of the arguments and initial values with these names."""
        from ..lowering.sharding import spec

        sharding, plan = self.frontend.options.sharding, self.sharded(call)
        assert sharding is not None, "a kernel for a mesh asks"
        return tuple(jax.sharding.NamedSharding(sharding.mesh, spec(plan.even(name))) for name in names)

    def inspection(self, call: Call) -> "Inspection":
        """The run-time checks of a call's data, and their messages."""
        from .inspecting import inspection

        return self._inspections.of(call, lambda: inspection(self.frontend, self.bound(call)))
