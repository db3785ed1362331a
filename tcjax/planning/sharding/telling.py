"""What devices tell each other when a plan for many of them runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from ... import ir
from ...ir import Reducer
from ..data.stages import Call, CallForeign, Plan
from .blocks import Axes, Collective, Combine, Exchange, Layout, Move, ShardedPlan, Whole


@dataclass(frozen=True, slots=True)
class Message:
    """One collective of XLA, that gives every device so many `bytes`, and as often as `times` says.

    `tensor` is what they are of, `axes` the axes of the mesh along which they go.
    """

    operation: str
    tensor: str
    axes: Axes
    bytes: int
    times: int
    reason: str


def messages(plan: ShardedPlan) -> tuple[Message, ...]:
    """The collectives of a plan, in order. Results that do not divide into equal blocks cost one more each."""
    found = [*_of(plan.plan, plan.collectives, 1)]
    for name in plan.plan.returns:
        shape, padded, layout = plan.shapes[name], plan.padded[name], plan.layouts[name]
        if shape != padded:
            size = prod(padded) * ir.types.width(_dtype(plan.plan, name))
            reason = "its extent is no multiple of the number of devices, and JAX has no such arrays in blocks"
            found.append(Message("all-gather", name, _all(layout), size, 1, reason))
    return tuple(found)


def _dtype(plan: Plan, name: str) -> str:
    return next(tensor.dtype for tensor in plan.bound.function.returns if tensor.name == name)


def _all(layout: Layout) -> Axes:
    return tuple(axis for along in layout for axis in along)


def _of(plan: Plan, collectives: Mapping[str, Collective], times: int) -> Iterator[Message]:
    for stage in plan.stages:
        match stage:
            case Call(plan=inner, steps=steps):
                yield from _of(inner, collectives, times * (1 if steps is None else steps.count))
            case CallForeign(function=name, results=((dtype, shape),)) if name in collectives:
                yield from _sent(collectives[name], shape, dtype, times)
            case _:
                continue


def _sent(collective: Collective, shape: tuple[int, ...], dtype: str, times: int) -> Iterator[Message]:
    width = ir.types.width(dtype)
    match collective:
        case Exchange(axes=axes, moves=moves):
            tensor = _tensor(collective.tensor)
            for move in moves:
                if not move.is_local:
                    size = width * _elements(collective, move, shape)
                    giver, taker = move.pairs[0]
                    reason = f"{move.count} beside the block, of dimension {collective.dimension}"
                    if abs(giver - taker) > 1 and len(move.pairs) == 1:
                        reason += f": device {giver} to {taker}"
                    yield Message("collective-permute", tensor, axes, size, times, reason)
        case Whole(tensor=tensor, axes=axes, extent=extent, moved=moved):
            reason = f"all of dimension {collective.dimension} is read by every device"
            size = width * prod(shape) // max(1, extent) * moved
            yield Message("all-gather", _tensor(tensor), axes, size, times, reason)
        case Combine(name=name, reducer=reducer, axes=axes, parts=parts, kept=kept):
            if not axes:
                return
            word = reducer if isinstance(reducer, str) else reducer.name.lower()
            reason = f"{word} of the parts of all devices"
            size = prod(shape) * prod(count for _, _, count in kept)
            if isinstance(reducer, ir.Monoid) or reducer is Reducer.PRODUCT:
                # There is no such collective.
                yield Message("all-gather", _tensor(name), axes, width * size * parts, times, reason)
                return
            for _, along, count in collective.scattered:
                size //= count
                yield Message("reduce-scatter", _tensor(name), along, width * size, times, reason)
            if not collective.left:
                return
            # The largest and the smallest, and what is true, are found among integers.
            found = width if reducer in (Reducer.SUM, Reducer.MEAN) else max(width, 4)
            for each in (found, width) if reducer is Reducer.LOGSUMEXP else (found,):
                yield Message("all-reduce", _tensor(name), collective.left, each * size, times, reason)
        case _:
            return


def _tensor(name: str) -> str:
    """The tensor of the program of which a row, or what was fetched before, has this name."""
    return name.partition(".")[0].partition("~")[0]


def _elements(exchange: Exchange, move: Move, shape: tuple[int, ...]) -> int:
    extents = dict(enumerate(shape))
    extents[exchange.dimension] = 1 if move.stride == 0 else move.count
    extents |= {dimension: hi - lo for dimension, lo, hi in exchange.inside}
    return prod(extents.values())
