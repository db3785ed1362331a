"""The messages that devices send when a sharded plan runs."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

from ... import ir, ranges
from ...ir import Reducer
from ..data.stages import Call, CallForeign, Plan, targets_of
from .blocks import Axes, Collective, Combine, Send, ShardedPlan, Whole


@dataclass(frozen=True, slots=True)
class Message:
    """One XLA collective that gives every device `bytes`, run `times` times.

    It moves elements of `tensor` along the mesh axes `axes`.
    """

    operation: str
    tensor: str
    axes: Axes
    bytes: int
    times: int
    reason: str


def messages(plan: ShardedPlan) -> tuple[Message, ...]:
    """The collectives of a plan, in order. Results that do not divide into equal blocks cost one more for each
    dimension.
    """
    found = [*sent(plan.plan, plan.collectives)]
    for name in plan.plan.returns:
        size = prod(plan.blocks[name]) * ir.types.width(_dtype(plan.plan, name))
        # XLA begins with the last dimension.
        for dimension, along in reversed([*enumerate(plan.layouts[name])]):
            if along and plan.even(name)[dimension] != along:
                size *= plan.padded[name][dimension] // plan.blocks[name][dimension]
                reason = "its extent is not a multiple of the number of devices, and JAX has no blocks of other sizes"
                found.append(Message("all-gather", name, along, size, 1, reason))
    return tuple(found)


def messages_of(program: ranges.Bound, collectives: Mapping[str, Collective]) -> Iterator[Message]:
    """The collectives of one device's program without loops, before it is planned."""
    told = _Told(collectives)
    for statement in program.function.statements:
        match statement:
            case ir.ApplyForeign((target,), name, arguments) if name in collectives:
                given = [tensor.name for tensor in arguments]
                yield from told.sent(name, target.name, given, program.shapes[target.name], target.dtype, 1)
            case _:
                told.write(target.name for target in ir.targets(statement))


def _dtype(plan: Plan, name: str) -> str:
    return next(tensor.dtype for tensor in plan.bound.function.returns if tensor.name == name)


def sent(plan: Plan, collectives: Mapping[str, Collective]) -> Iterator[Message]:
    """The collectives of a plan, in order, without those that gather results."""
    return _Told(collectives).of(plan, 1)


@dataclass
class _Told:
    """What has been sent and is still valid: XLA merges gathers of one tensor whose types differ in JAX only."""

    collectives: Mapping[str, Collective]
    # What was sent, by its tensor; and the names of tensors that equal others.
    known: dict[str, dict[Hashable, str]] = field(default_factory=dict)
    equal: dict[str, str] = field(default_factory=dict)

    def of(self, plan: Plan, times: int) -> Iterator[Message]:
        for stage in plan.stages:
            match stage:
                case Call(targets, inner, _, steps):
                    yield from _Told(self.collectives).of(inner, times * (1 if steps is None else steps.count))
                    kept = () if steps is None else tuple(each.tensor for each in steps.kept)
                    self.write((*targets, *kept))
                case CallForeign((target,), name, arguments, ((dtype, shape),)) if name in self.collectives:
                    yield from self.sent(name, target, arguments, shape, dtype, times)
                case _:
                    self.write(targets_of(stage))

    def sent(
        self, name: str, target: str, arguments: Collection[str], shape: tuple[int, ...], dtype: str, times: int
    ) -> Iterator[Message]:
        """What a collective sends to compute the target, which has this shape."""
        collective = self.collectives[name]
        self.write((target,))
        for content, message in _sent(collective, shape, dtype, times):
            if content is None:
                yield message
                continue
            (given,) = arguments
            source = self.equal.get(given, given)
            known = self.known.setdefault(source, {})
            if content not in known:
                known[content] = target
                yield message
            else:
                self.equal[target] = known[content]

    def write(self, names: Iterable[str]) -> None:
        for name in names:
            self.known.pop(name, None)
            self.equal.pop(name, None)


def _sent(collective: Collective, shape: tuple[int, ...], dtype: str, times: int) -> Iterator[tuple[Hashable, Message]]:
    """The messages of a collective, each with a key: XLA sends messages of one tensor with equal keys once."""
    width = ir.types.width(dtype)
    match collective:
        case Send(tensor=tensor, dimension=dimension, axes=axes, move=move, inside=inside):
            giver, taker = move.pairs[0]
            reason = f"a halo of {move.count} in dimension {dimension}"
            if abs(giver - taker) > 1 and len(move.pairs) == 1:
                reason += f": device {giver} to {taker}"
            message = Message("collective-permute", tensor_of(tensor), axes, width * prod(shape), times, reason)
            yield (dimension, axes, move, inside), message
        case Whole(tensor=tensor, dimension=dimension, axes=axes, extent=extent, moved=moved):
            reason = f"every device reads all of dimension {dimension}"
            size = width * prod(shape) // max(1, extent) * moved
            yield (dimension, axes), Message("all-gather", tensor_of(tensor), axes, size, times, reason)
        case Combine():
            for message in _combined(collective, shape, width, times):
                yield None, message
        case _:
            return


def _combined(how: Combine, shape: tuple[int, ...], width: int, times: int) -> Iterator[Message]:
    if not how.axes:
        return
    reducer, tensor = how.reducer, tensor_of(how.name)
    word = reducer if isinstance(reducer, str) else reducer.name.lower()
    reason = f"{word} over all devices"
    size = prod(shape) * prod(count for _, _, count in how.kept)
    if isinstance(reducer, ir.Monoid) or reducer is Reducer.PRODUCT:
        # XLA has no such collective.
        for each in map(ir.types.width, how.states) if how.states else (width,):
            yield Message("all-gather", tensor, how.axes, each * size * how.parts, times, reason)
        return
    for _, along, count in how.scattered:
        size //= count
        yield Message("reduce-scatter", tensor, along, width * size, times, reason)
    if not how.left:
        return
    # Extrema and truth values are reduced as integers.
    found = width if reducer in (Reducer.SUM, Reducer.MEAN) else max(width, 4)
    for each in (found, width) if reducer is Reducer.LOGSUMEXP else (found,):
        yield Message("all-reduce", tensor, how.left, each * size, times, reason)


def tensor_of(name: str) -> str:
    """The program's tensor for the name of a row or a fetch of it."""
    return name.partition(".")[0].partition(ir.MARK)[0]
