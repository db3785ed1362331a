"""Where an expression is evaluated: the tensors, the sizes and the current point."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..ranges.bound import Bound
from ..symbolic import Affine, Box, IndexVar
from ..symbolic.affine import Atom, Bounded, Clamp, Quotient, Remainder


@dataclass(frozen=True, slots=True)
class Scope:
    """The tensors before a statement, and the current point: one entry of `point` for each bound index."""

    bound: Bound
    box: Box
    tensors: Mapping[str, np.ndarray[Any, Any]]
    foreign: Mapping[str, Callable[..., Any]]
    slots: Mapping[IndexVar, int] = field(default_factory=dict)
    point: list[int] = field(default_factory=list)

    def bind(self, indices: Sequence[IndexVar]) -> "tuple[Scope, slice, list[range]]":
        """The scope inside loops over `indices`, the entries of `point` that the loops set, and their ranges."""
        first = len(self.point)
        self.point.extend(0 for _ in indices)
        slots = {**self.slots, **{index: first + place for place, index in enumerate(indices)}}
        ranges = [range(*self.box[index]) for index in indices]
        return replace(self, slots=slots), slice(first, first + len(indices)), ranges


def affine_value(affine: Affine, scope: Scope, opaque: Callable[[Atom], Callable[[], int]]) -> Callable[[], int]:
    """The value of an affine expression at the scope's point, an exact integer; `opaque` evaluates data."""
    sizes, point = scope.bound.sizes, scope.point
    base = affine.base.evaluate(sizes)
    linear: list[tuple[int, int]] = []
    others: list[tuple[int, Callable[[], int]]] = []
    for atom, weight in affine.terms:
        if isinstance(atom, IndexVar):
            linear.append((weight.evaluate(sizes), scope.slots[atom]))
        else:
            others.append((weight.evaluate(sizes), _atom_value(atom, scope, opaque)))
    match linear, others:
        case [], []:
            return lambda: base
        case [(1, slot)], []:
            return lambda: point[slot] + base
        case [(1, slot), (1, other)], []:
            return lambda: point[slot] + point[other] + base
        case [], [(1, value)]:
            return lambda: value() + base
        case _:

            def total() -> int:
                value = base
                for weight, slot in linear:
                    value += weight * point[slot]
                for weight, other in others:
                    value += weight * other()
                return value

            return total


def _atom_value(atom: Atom, scope: Scope, opaque: Callable[[Atom], Callable[[], int]]) -> Callable[[], int]:
    match atom:
        case Quotient(argument, divisor):
            inner, by = affine_value(argument, scope, opaque), divisor.evaluate(scope.bound.sizes)
            return lambda: inner() // by
        case Remainder(argument, divisor):
            inner, by = affine_value(argument, scope, opaque), divisor.evaluate(scope.bound.sizes)
            return lambda: inner() % by
        case Clamp(kind, arguments):
            inners = [affine_value(argument, scope, opaque) for argument in arguments]
            pick = min if kind == "min" else max
            return lambda: pick([inner() for inner in inners])
        case Bounded(kind, argument, first, extent):
            place = affine_value(argument, scope, opaque)
            start, count = first.evaluate(scope.bound.sizes), extent.evaluate(scope.bound.sizes)
            return lambda: start + _brought_inside(kind, place() - start, count)
        case _:
            return opaque(atom)


def _brought_inside(kind: str, place: int, count: int) -> int:
    """The position that a boundary maps to, in a dimension of `count` elements."""
    if count == 0:
        # There is no element at all, so nothing is read.
        return 0
    if kind == "reflect" and count == 1:
        return 0
    while not 0 <= place < count:
        before = place < 0
        match kind:
            case "clamp":
                place = 0 if before else count - 1
            case "wrap":
                place += count if before else -count
            case "mirror":
                place = -1 - place if before else 2 * count - 1 - place
            case "reflect":
                place = -place if before else 2 * (count - 1) - place
            case _:
                raise AssertionError(kind)
    return place
