"""From a program to bound plans, each stage done once: per definition, per types, per shapes."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .. import ir, planning, ranges
from ..diagnostics import CompileError
from .assumptions import assumptions_of
from .depth import within_depth
from .determinism import check_deterministic
from .fronts import Call, Front, Shape
from .recent import Recent
from .tuning import remembered

if TYPE_CHECKING:
    from ..planning.schedule import Schedule
    from ..planning.sharding import ShardedPlan
    from ..transforms.hazards import Hazard
    from .tuning.choices import Choice


@dataclass(eq=False)
class Compiler:
    """One program under its options; `choices` are those that were found for calls of this very kernel."""

    front: Front
    choices: "dict[Call, Choice]" = field(default_factory=dict)
    _bounds: Recent[Call, ranges.Bound] = field(default_factory=Recent)
    _plans: Recent[Call, planning.Plan] = field(default_factory=Recent)
    _sharded: "Recent[Call, ShardedPlan]" = field(default_factory=Recent)
    _inspections: "Recent[Call, tuple[planning.Plan, tuple[Hazard, ...]]]" = field(default_factory=Recent)

    def within_depth(self) -> AbstractContextManager[None]:
        """Turns a stack that is too short for the program into a `CompileError` (TC0103)."""
        return within_depth(self.front.name, self.front.span)

    def bound(self, call: Call) -> ranges.Bound:
        """All ranges and sizes as numbers."""
        bound = self._bounds.get(call)
        if bound is None:
            with self.within_depth():
                function = self.front.function(call)
            shapes = {p.name: shape for p, shape in zip(self.front.parameters, call.shapes, strict=True)}
            sizes, initial = dict(call.sizes), dict(call.initial)
            try:
                with self.within_depth():
                    assumptions = assumptions_of(self.front, function)
                    bound = ranges.bind(function, shapes, sizes, initial, self._foreign_shapes, assumptions)
            except CompileError as error:
                raise self.front.explained(error) from None
            for warning in bound.warnings:
                self.front.warn(self.front.explained(warning))
            bound = self._bounds.keep(call, bound)
        return bound

    def plan(self, call: Call) -> planning.Plan:
        """How every statement is computed."""
        plan = self._plans.get(call)
        if plan is None:
            choice = self.choices.get(call)
            options = self.front.options
            if options.deterministic:
                check_deterministic(self.front)
            elif choice is None and options.schedule is None:
                choice = remembered(self.front, call, self.bound(call), self.planned)
            plan = self._plans.keep(call, self.planned(call, choice))
        return plan

    def sharded(self, call: Call) -> "ShardedPlan":
        """How one device of the mesh computes its part of every statement."""
        from ..planning.sharding import shard

        sharded = self._sharded.get(call)
        if sharded is None:
            bound, options = self.bound(call), self.front.options
            assert options.sharding is not None, "a kernel for a mesh asks"
            preferences = planning.Preferences(backend=planning.Backend(options.backend, options.memory))
            with self.within_depth():
                found = shard(bound, dict(options.sharding.axes), options.sharding.sizes, preferences)
            sharded = self._sharded.keep(call, found)
        return sharded

    def inspection(self, call: Call) -> "tuple[planning.Plan, tuple[Hazard, ...]]":
        """How to look for what the data of a call do wrong, and what that may be."""
        from ..transforms.hazards import inspect

        inspection = self._inspections.get(call)
        if inspection is None:
            with self.within_depth():
                found = inspect(self.bound(call), nan=self.front.options.checked == "nan")
                inspection = planning.make_plan(found.bound), found.hazards
            inspection = self._inspections.keep(call, inspection)
        return inspection

    def planned(self, call: Call, choice: "Choice | None") -> planning.Plan:
        """How every statement is computed with such a choice; None and an empty one leave all to the planner.

        Raises `CompileError` for a choice whose tiles are illegal.
        """
        bound = self.bound(call)
        with self.within_depth():
            options = self.front.options
            schedule, forms, gradient = options.schedule, {}, ()
            if choice is not None:
                # Only who tunes imports what it needs.
                from .tuning.choices import scheduled

                schedule = scheduled(choice, bound.function) or schedule
                forms, gradient = dict(choice.forms), choice.gradient
            backend = planning.Backend(options.backend, options.memory, forms=gradient)
            preferences = planning.Preferences(forms, backend, stored=schedule is not None)
            return self._checked(_tiled(planning.make_plan(bound, preferences), schedule))

    def _checked(self, plan: planning.Plan) -> planning.Plan:
        """The plan, if it keeps to the limit of memory that a user set."""
        limit = self.front.options.memory
        if limit is not None:
            planning.check_memory(plan, limit)
        return plan

    def _foreign_shapes(
        self, name: str, tensors: tuple[ir.Tensor, ...], shapes: tuple[Shape, ...]
    ) -> tuple[Shape, ...]:
        arguments = [(shape, tensor.dtype) for shape, tensor in zip(shapes, tensors, strict=True)]
        return self.front.foreign[name].shapes(arguments)


def _tiled(plan: planning.Plan, schedule: "Schedule | None") -> planning.Plan:
    if schedule is None:
        return plan
    # Only who writes a schedule imports what it needs.
    from ..planning.schedule import nest
    from ..planning.tiling import tile

    return tile(plan, nest(schedule, plan.bound))
