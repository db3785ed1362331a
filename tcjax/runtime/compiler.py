"""From a program to bound plans, each stage done once: per definition, per types, per shapes."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from .. import ir, planning, ranges
from ..diagnostics import CompileError
from .assumptions import assumptions_of
from .depth import within_depth
from .fronts import Call, Front, Shape


@dataclass(eq=False)
class Compiler:
    """One program under its options."""

    front: Front
    _bounds: dict[Call, ranges.Bound] = field(default_factory=dict)
    _plans: dict[Call, planning.Plan] = field(default_factory=dict)

    def within_depth(self) -> AbstractContextManager[None]:
        """Turns a stack that is too short for the program into a `CompileError` (TC0103)."""
        return within_depth(self.front.name, self.front.span)

    def bound(self, call: Call) -> ranges.Bound:
        """All ranges and sizes as numbers."""
        if call not in self._bounds:
            with self.within_depth():
                function = self.front.function(call)
            shapes = {p.name: shape for p, shape in zip(self.front.parameters, call.shapes, strict=True)}
            sizes, initial = dict(call.sizes), dict(call.initial)
            try:
                with self.within_depth():
                    assumptions = assumptions_of(self.front, function)
                    self._bounds[call] = ranges.bind(
                        function, shapes, sizes, initial, self._foreign_shapes, assumptions
                    )
            except CompileError as error:
                raise self.front.explained(error) from None
        return self._bounds[call]

    def plan(self, call: Call) -> planning.Plan:
        """How every statement is computed."""
        if call not in self._plans:
            with self.within_depth():
                self._plans[call] = self._scheduled(planning.make_plan(self.bound(call)))
        return self._plans[call]

    def _scheduled(self, plan: planning.Plan) -> planning.Plan:
        schedule = self.front.options.schedule
        if schedule is None:
            return plan
        # Only who writes a schedule imports what it needs.
        from ..planning.schedule import nest
        from ..planning.tiling import tile

        return tile(plan, nest(schedule, plan.bound))

    def _foreign_shapes(
        self, name: str, tensors: tuple[ir.Tensor, ...], shapes: tuple[Shape, ...]
    ) -> tuple[Shape, ...]:
        arguments = [(shape, tensor.dtype) for shape, tensor in zip(shapes, tensors, strict=True)]
        return self.front.foreign[name].shapes(arguments)
