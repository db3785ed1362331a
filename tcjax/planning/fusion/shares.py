"""Exponentials divided by their sum: the derivative of such a share needs only the share itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...ir import Reducer
from ...symbolic import IndexVar
from ..data.nodes import Apply, Axes, CallBuiltin, Fill, Fold, Lookup, Node, Read, Strip, tensors_read
from ..data.stages import Call, CallForeign, Compute, Stage

_Axes = Mapping[IndexVar, IndexVar]
# A sum in a 16-bit type is computed in a wider one: it is not that of the stored values.
_TYPES: Final = ("float32", "float64")


@dataclass(frozen=True, slots=True)
class _Known:
    """A tensor that holds exponentials or a sum of them, and their axes in the order of its dimensions."""

    tensor: str
    value: CallBuiltin | Fold
    axes: Axes

    def names(self, node: Node) -> _Axes | None:
        """The names of the axes if a node reads the whole tensor; None if it does anything else."""
        if not isinstance(node, Read) or node.tensor != self.tensor or node.views:
            return None
        axes = _whole(node.dimensions, [d.count for d in node.dimensions if isinstance(d, Strip)])
        return None if axes is None else dict(zip(self.axes, axes, strict=True))


def with_shares(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The stages with the operator ``share`` where they divide an exponential by the sum of exponentials.

    Otherwise JAX would keep the exponentials besides the quotients, and differentiate both.
    """
    found: list[Stage] = []
    known: list[_Known] = []
    for stage in stages:
        if isinstance(stage, Compute):
            value = _shared(stage.value, known)
            stage = stage if value is stage.value else replace(stage, value=value)
        found.append(stage)
        written = _written(stage)
        known = [each for each in known if written.isdisjoint({each.tensor, *tensors_read(each.value)})]
        new = _stored(stage, known) if isinstance(stage, Compute) else None
        known += [] if new is None else [new]
    return tuple(found)


def _written(stage: Stage) -> frozenset[str]:
    match stage:
        case Compute(target=target):
            return frozenset((target,))
        case Call(targets=targets) | CallForeign(targets=targets):
            return frozenset(targets)
        case _:
            return frozenset()


def _stored(stage: Compute, known: Sequence[_Known]) -> _Known | None:
    """The tensor that a stage stores, if it consists of exponentials or a sum of them."""
    store, value = stage.store, stage.value
    axes = _whole(store.dimensions, stage.shape)
    if axes is None or store.keeps or store.mask is not None or store.scatter is not None:
        return None
    if stage.chunks is not None or stage.proviso is not None or stage.loops or stage.apart:
        return None
    match value:
        case CallBuiltin("exp", live=None, foreign=False) if value.dtype == stage.dtype:
            return _Known(stage.target, value, axes)
        case Fold(Reducer.SUM, operand, shifts=()) if value.dtype == stage.dtype:
            part = _exponential(operand, known)
            return None if part is None else _Known(stage.target, replace(value, operand=part), axes)
        case _:
            return None


def _whole(dimensions: Sequence[Strip | Lookup], shape: Sequence[int]) -> Axes | None:
    """The axis of each dimension, if each is one complete axis."""
    strips = [d for d in dimensions if isinstance(d, Strip)]
    if len(strips) != len(dimensions) or len(strips) != len(shape):
        return None
    for strip, extent in zip(strips, shape, strict=True):
        plain = strip.start.constant == 0 and strip.stride == 1 and not strip.low and not strip.high
        if not plain or strip.count != extent or [size for _, size, _ in strip.factors] != [extent]:
            return None
    return tuple(strip.factors[0][0] for strip in strips)


def _shared(node: Node, known: Sequence[_Known]) -> Node:
    if not isinstance(node, Apply):
        return node
    if node.operator == "/":
        dividend, divisor = node.arguments
        part = _exponential(dividend, known)
        if part is not None and part.dtype in _TYPES and _is_total(divisor, part, known):
            return replace(node, operator="share", arguments=(part, divisor))
    found = tuple(_shared(argument, known) for argument in node.arguments)
    same = all(one is other for one, other in zip(found, node.arguments, strict=True))
    return node if same else replace(node, arguments=found)


def _exponential(node: Node, known: Sequence[_Known]) -> CallBuiltin | None:
    """The exponentials that a node computes or reads."""
    if isinstance(node, CallBuiltin):
        return node if node.function == "exp" and node.live is None and not node.foreign else None
    for each in known:
        names = each.names(node)
        if names is not None and isinstance(each.value, CallBuiltin):
            part = _named(each.value, names)
            return part if isinstance(part, CallBuiltin) and part.axes == node.axes else None
    return None


def _is_total(divisor: Node, part: CallBuiltin, known: Sequence[_Known]) -> bool:
    """Whether the divisor is the sum of these exponentials along the axes missing from it."""
    if isinstance(divisor, Fold):
        operand = _exponential(divisor.operand, known)
        return operand is not None and _sums(replace(divisor, operand=operand), _same_names(divisor.axes), part)
    for each in known:
        names = each.names(divisor)
        if names is not None and isinstance(each.value, Fold):
            return _sums(each.value, names, part)
    return False


def _same_names(axes: Axes) -> _Axes:
    return dict(zip(axes, axes, strict=True))


def _sums(total: Fold, kept: _Axes, part: CallBuiltin) -> bool:
    """Whether the sum, whose result has these axes, is that of the exponentials along all others."""
    summed = [axis for axis in total.operand.axes if axis in total.indices]
    left = [axis for axis in part.axes if axis not in kept.values()]
    if total.reducer is not Reducer.SUM or total.shifts or len(summed) != len(left):
        return False
    if set(kept) != set(total.operand.axes) - set(summed):
        return False
    return _named(total.operand, {**kept, **dict(zip(summed, left, strict=True))}) == part


def _named(node: Node, names: _Axes) -> Node | None:
    """An elementwise computation on slices, with renamed axes; None for anything else."""
    if not set(node.axes) <= set(names):
        return None
    axes = tuple(names[axis] for axis in node.axes)
    match node:
        case Fill():
            return node
        case Read(dimensions=dimensions):
            strips = [d for d in dimensions if isinstance(d, Strip)]
            if len(strips) != len(dimensions) or not {axis for s in strips for axis, _, _ in s.factors} <= set(names):
                return None
            found = [replace(s, factors=tuple((names[axis], n, block) for axis, n, block in s.factors)) for s in strips]
            return replace(node, dimensions=tuple(found), axes=axes)
        case Apply(arguments=arguments) | CallBuiltin(arguments=arguments, live=None):
            parts = [_named(argument, names) for argument in arguments]
            known = tuple(part for part in parts if part is not None)
            return replace(node, arguments=known, axes=axes) if len(known) == len(parts) else None
        case _:
            return None
