"""The cost of a call for each device of a hypothetical mesh: nothing is compiled, and no device is needed."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from .. import ir, planning
from ..diagnostics import Code, CompileError, phrases
from ..diagnostics.phrases import bytes_text, count_text, time_text
from ..planning.cost.collectives import collective_seconds, copied, usual_link
from ..planning.cost.costs import plan_cost
from ..planning.cost.prices import plan_price
from ..planning.data.links import LINKS, Link
from ..planning.data.machine import MACHINES, Machine
from .sharding import PaperSharding, Sharding, check_paper

if TYPE_CHECKING:
    from ..planning.sharding import Message, ShardedPlan


@dataclass(frozen=True, slots=True)
class CollectiveCost:
    """One XLA collective among `devices`: each receives `bytes` in `seconds`, `times` times."""

    operation: str
    tensor: str
    axes: tuple[str, ...]
    devices: int
    bytes: int
    times: int
    link: str
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class DeviceCost:
    """The cost of a call for each device: `str()` is the text, `to_dict()` the data. All figures are estimates.

    `flops` are scalar operations; `bytes` are read and written in the device's memory, including copies for
    collectives; `temporary_bytes` are needed in addition to the `held_bytes` of arguments and results. The statements
    take `compute_seconds`: for each, the time of its arithmetic or of its memory traffic, whichever is longer. The
    collectives take `collective_seconds` together. Without overlap the call takes `seconds`, the sum of both; with full
    overlap `overlapped_seconds`, the larger one.
    """

    mesh: Mapping[str, int]
    device: str
    flops: int
    bytes: int
    temporary_bytes: int
    held_bytes: int
    compute_seconds: float
    collectives: tuple[CollectiveCost, ...]

    @property
    def devices(self) -> int:
        """The number of devices in the mesh."""
        return prod(self.mesh.values())

    @property
    def collective_bytes(self) -> int:
        """The bytes received from other devices."""
        return sum(each.bytes * each.times for each in self.collectives)

    @property
    def collective_seconds(self) -> float:
        """The time of all collectives, one after another."""
        return sum((each.seconds * each.times for each in self.collectives), 0.0)

    @property
    def seconds(self) -> float:
        """The time of a call whose collectives and computation do not overlap."""
        return self.compute_seconds + self.collective_seconds

    @property
    def overlapped_seconds(self) -> float:
        """The time of a call whose collectives and computation overlap completely."""
        return max(self.compute_seconds, self.collective_seconds)

    def to_dict(self) -> dict[str, Any]:
        """The cost as plain dicts, lists, strings and numbers: the attributes by name."""
        collectives = [{**asdict(each), "axes": list(each.axes)} for each in self.collectives]
        return {
            "mesh": dict(self.mesh),
            "devices": self.devices,
            "device": self.device,
            "flops": self.flops,
            "bytes": self.bytes,
            "temporary_bytes": self.temporary_bytes,
            "held_bytes": self.held_bytes,
            "compute_seconds": self.compute_seconds,
            "collective_bytes": self.collective_bytes,
            "collective_seconds": self.collective_seconds,
            "seconds": self.seconds,
            "overlapped_seconds": self.overlapped_seconds,
            "collectives": collectives,
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        mesh = f", {', '.join(f'{axis}={size}' for axis, size in self.mesh.items())}" if self.mesh else ""
        yield f"{self.devices} {'device' if self.devices == 1 else 'devices'} ({self.device}){mesh}; each has"
        yield f"  arrays     {bytes_text(self.held_bytes)} of arguments and results"
        yield (
            f"  computes   {count_text(self.flops)} operations, {bytes_text(self.bytes)} moved, "
            f"{bytes_text(self.temporary_bytes)} temporary: {time_text(self.compute_seconds)}"
        )
        for each in self.collectives:
            often = f", {each.times} times" if each.times > 1 else ""
            yield (
                f"  gets       {bytes_text(each.bytes)} of {each.tensor} by {each.operation} among {each.devices} "
                f"along {', '.join(map(repr, each.axes))} ({each.link}){often}: {time_text(each.seconds * each.times)}"
            )
        if self.devices > 1 and not self.collectives:
            yield "  gets       nothing from other devices"
        yield (
            f"time: {time_text(self.seconds)} without overlap, {time_text(self.overlapped_seconds)} with "
            "collectives fully overlapped (estimates)"
        )


def machine_for(device: object) -> Machine:
    """The table row for a kind of device. Raises `CompileError` (TC0308) for an unknown one."""
    if not isinstance(device, str) or device not in MACHINES:
        raise _bad("device", device, f"one of {_listed(MACHINES)}")
    return MACHINES[device]


Links = str | Mapping[str, str] | None


def links_for(links: object, sizes: Mapping[str, int]) -> Mapping[str, Link]:
    """The interconnect along each axis. Raises `CompileError` (TC0308) for an unknown one."""
    wanted = f"one of {_listed(LINKS)}, or one for each axis of the mesh: {{'data': 'infiniband'}}"
    given = dict.fromkeys(sizes, links) if isinstance(links, str) else {} if links is None else links
    if not isinstance(given, Mapping):
        raise _bad("links", links, wanted)
    for axis, link in given.items():
        if not isinstance(link, str) or link not in LINKS:
            raise _bad("links", links, wanted)
        if axis not in sizes:
            raise CompileError(
                Code.BAD_OPTION,
                f"{phrases.value(axis)} is not an axis of the mesh",
                help=f"its axes are {_listed(sizes)}",
            )
    return {axis: LINKS[link] for axis, link in given.items()}


def cost_alone(plan: planning.Plan, machine: Machine) -> DeviceCost:
    """The cost of a plan on a single device."""
    return _cost(plan, {}, machine, (), (0, 0))


def cost_on_mesh(
    plan: "ShardedPlan", sizes: Mapping[str, int], machine: Machine, links: Mapping[str, Link]
) -> DeviceCost:
    """The cost for each device of a plan for many devices."""
    from ..planning.sharding import Send, messages

    def collective(message: "Message") -> CollectiveCost:
        devices = prod(sizes[axis] for axis in message.axes)
        usual = usual_link(message.axes, sizes, machine)
        # Over several axes, the transfer over the slowest one ends last.
        link = max((links.get(axis, usual) for axis in message.axes), key=lambda each: each.byte)
        seconds = collective_seconds(message.operation, message.bytes, devices, link, machine)
        return CollectiveCost(
            message.operation,
            message.tensor,
            message.axes,
            devices,
            message.bytes,
            message.times,
            link.kind,
            seconds,
            message.reason,
        )

    told = [collective(message) for message in messages(plan)]
    # On a single device XLA does nothing for it.
    shown = tuple(each for each in told if each.devices > 1)
    # What is sent is read and written where elements are put together.
    joined = {name for name, each in plan.collectives.items() if not isinstance(each, Send)}
    return _cost(plan.plan, sizes, machine, shown, copied(plan.plan, joined))


def _cost(
    plan: planning.Plan,
    sizes: Mapping[str, int],
    machine: Machine,
    collectives: tuple[CollectiveCost, ...],
    copies: tuple[int, int],
) -> DeviceCost:
    """The cost for one device; `copies` are the number of arrays that it puts together from others, and their bytes."""
    cost = plan_cost(plan)
    count, size = copies
    seconds = plan_price(plan, machine).seconds + machine.traffic(size) + count * machine.dispatch
    function, shapes = plan.bound.function, plan.bound.shapes
    arrays = {tensor.name: tensor for tensor in (*function.parameters, *function.initial, *function.returns)}
    held = sum(prod(shapes[name]) * ir.types.width(tensor.dtype) for name, tensor in arrays.items())
    return DeviceCost(
        dict(sizes), machine.kind, cost.flops, cost.bytes + size, cost.temporary, held, seconds, collectives
    )


def paper_for(mesh: object, shard: object, own: Sharding | None) -> PaperSharding | None:
    """The mesh of a question and its sharding; None stands for the kernel's `own`.

    None if neither is given. Raises `CompileError` (TC0308) if only one is given, and for invalid ones.
    """
    if mesh is None and own is not None:
        mesh = own.mesh
    if shard is None and own is not None:
        shard = dict(own.axes)
    if mesh is None and shard is None:
        return None
    if mesh is None or shard is None:
        missing = "which index runs along an axis of the mesh" if shard is None else "on which mesh the indices run"
        raise CompileError(
            Code.BAD_OPTION, f"nothing says {missing}", help='write mesh={"data": 8}, shard={"i": "data"}'
        )
    return check_paper(mesh, shard)


def _bad(name: str, value: object, wanted: str) -> CompileError:
    return CompileError(Code.BAD_OPTION, f"{name}={phrases.value(value)} is not an option", help=f"{name} is {wanted}")


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, names))


__all__ = [
    "CollectiveCost",
    "DeviceCost",
    "Links",
    "cost_alone",
    "cost_on_mesh",
    "links_for",
    "machine_for",
    "paper_for",
]
