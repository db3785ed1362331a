"""Cotangents dilated with zeros, so that the adjoint of a strided window is a plain convolution.

``O(h) +=! x(2*h + k) * w(k)`` gives ``e(2*h) = d_O(h)`` and ``d_x(p) +=! e(p - k) * w(k)``.
"""

from collections.abc import Mapping
from dataclasses import replace

from ... import ir
from ...symbolic import Affine, IndexVar, Interval
from .backward import Occurrence
from .calls import Namer
from .inversion import names_once
from .scope import Scope
from .steps import Place, Step


class Spreading:
    """The occurrences of one statement; its cotangent is dilated once for each set of strides."""

    def __init__(
        self,
        statement: ir.Define | ir.Accumulate,
        cotangent: ir.Tensor,
        scope: Scope,
        namer: Namer,
        places: dict[str, Place],
    ) -> None:
        self.cotangent = cotangent
        self.read = ir.Access(cotangent, statement.indices)
        self.scope = scope
        self.namer = namer
        self.places = places
        self.left = [index.bare for index in statement.indices]
        self.known: dict[tuple[tuple[IndexVar, int], ...], tuple[ir.Access, Mapping[IndexVar, IndexVar]]] = {}
        self.axes: frozenset[IndexVar] = frozenset()
        self.steps: list[Step] = []

    def taken(self) -> list[Step]:
        """The dilating statements that were not yet taken."""
        steps, self.steps = self.steps, []
        return steps

    def occurrence(self, found: Occurrence) -> Occurrence:
        """The same sum over the positions of the dilated cotangent, if it depends on strided indices only through
        these.
        """
        strides: dict[IndexVar, int] = {}
        for subscript in found.access.indices:
            if names_once(subscript, self.scope.ranges):
                continue
            weights = {a: w.constant for a, w in subscript.terms if isinstance(a, IndexVar)}
            for index, weight in weights.items():
                if index in self.left and weight is not None and weight > 1 and len(subscript.terms) > 1:
                    strides.setdefault(index, weight)
        strides = {index: step for index, step in strides.items() if self.is_alone(index, step, found)}
        if not strides:
            return found
        key = tuple(strides.items())
        if key not in self.known:
            self.known[key] = self.spread(strides)
        read, places = self.known[key]
        names = {index: (places[index], step) for index, step in strides.items()}
        return replace(
            found,
            access=_moved(found.access, names),
            value=ir.replaced(found.value, self.read, read),
            bound=tuple([places.get(index, index) for index in found.bound]),
        )

    def is_alone(self, index: IndexVar, step: int, found: Occurrence) -> bool:
        """Whether the index occurs in the read as a whole number of steps, and else only in the cotangent's read."""
        if self.left.count(index) != 1 or None in self.left:
            return False
        if found.guard is not None and index in ir.free_indices(found.guard):
            return False
        for subscript in found.access.indices:
            weight = subscript.weight(index).constant
            rest = subscript - Affine.of(index).scale(subscript.weight(index))
            if weight is None or weight % step or index in rest.variables:
                return False
        nothing = ir.Const(0, "int32")
        return index not in ir.free_indices(ir.replaced(found.value, self.read, nothing))

    def spread(self, strides: Mapping[IndexVar, int]) -> tuple[ir.Access, Mapping[IndexVar, IndexVar]]:
        """The read of the dilated cotangent, and the indices that run over its positions."""
        places: dict[IndexVar, IndexVar] = {}
        left: list[Affine] = []
        shape, place = [], []
        for index in self.left:
            assert index is not None
            interval, step = self.scope.ranges[index], strides.get(index, 1)
            if step > 1:
                interval = Interval(interval.lo * step, (interval.hi - 1) * step + 1)
                places[index] = self.scope.new(index, interval)
            left.append(Affine.of(index).scale(step))
            shape.append(interval.extent)
            place.append(interval)
        target = replace(self.cotangent, name=self.namer.new(f"{self.cotangent.name}_spread"), shape=tuple(shape))
        self.places[target.name] = tuple(place)
        intervals = {index: self.scope.ranges[index] for index in self.left if index is not None}
        self.steps.append(Step(ir.Define(target, tuple(left), self.read), intervals))
        self.axes |= frozenset(places.values())
        return ir.Access(target, tuple([Affine.of(places.get(i, i)) for i in self.left if i is not None])), places


def _moved(access: ir.Access, names: Mapping[IndexVar, tuple[IndexVar, int]]) -> ir.Access:
    """The read over positions, each the index times a step."""

    def moved(subscript: Affine) -> Affine:
        for index, (place, step) in names.items():
            weight = subscript.weight(index).constant or 0
            subscript = subscript - Affine.of(index).scale(weight) + Affine.of(place).scale(weight // step)
        return subscript

    return replace(access, indices=tuple(map(moved, access.indices)))
