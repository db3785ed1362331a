"""Scattered values, as the operations see them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from ... import ir
from ...ir import Monoid
from ...symbolic import Box, IndexVar
from ..data.nodes import Axes, Lookup
from ..data.stages import Compute, Scatter
from ..scope import Scope


@dataclass(frozen=True, slots=True)
class Placement:
    """``target(places) reducer=! value``: a planned statement, except for how its values are scattered.

    `statement` is the statement as written, with its ranges in the `box`; `origin` is the target's first element.
    `plan` plans an equivalent statement; None inside the loops of a schedule, where there is none.
    """

    stage: Compute
    statement: ir.Define | ir.Accumulate
    box: Box
    origin: tuple[int, ...]
    scope: Scope
    plan: Callable[[ir.Accumulate, Box], Compute] | None

    @property
    def is_by_operator(self) -> bool:
        """Whether values are combined by a binary operator, without further information."""
        store = self.stage.store
        return store.combine is not None and store.combine.operator is not None and store.weight is None

    @property
    def points(self) -> Axes:
        """The axes of all points: of values, positions and conditions."""
        store = self.stage.store
        places = (d.positions.axes for d in store.dimensions if isinstance(d, Lookup))
        others = (part.axes for part in (self.stage.value, store.mask, store.weight) if part is not None)
        return self.scope.sorted(axis for axes in (store.sliced, *places, *others) for axis in axes)

    @property
    def shared(self) -> tuple[IndexVar, ...]:
        """The axes of points that share a value."""
        return tuple(axis for axis in self.points if axis not in self.stage.value.axes)

    @property
    def has_order(self) -> bool:
        """Whether the values are those of a registered reduction, which are combined in order."""
        return isinstance(self.stage.store.combine, Monoid)

    def by(self, scatter: Scatter) -> Compute:
        """The statement with its values scattered this way."""
        return replace(self.stage, store=replace(self.stage.store, scatter=replace(scatter, points=self.points)))

    def repeated(self, scatter: Scatter | None) -> int:
        """The bytes of shared values, repeated for each of the points scattered at once."""
        if scatter is None:
            return 0
        points = prod(map(self.scope.extent, (axis for axis in self.points if axis != scatter.along)))
        own = self.scope.points(axis for axis in self.stage.value.axes if axis != scatter.along)
        return points * ir.types.width(self.stage.accumulate) if points > own else 0
