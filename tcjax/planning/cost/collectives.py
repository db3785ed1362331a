"""The cost of exchanges between devices: rounds of messages, and bytes on a link."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from ... import ir
from ..data.links import NETWORKS, Link
from ..data.machine import Machine
from ..data.stages import Call, CallForeign, Plan


@dataclass(frozen=True, slots=True)
class Sending:
    """What a device sends in one collective: `messages` in sequence, with `bytes` in total."""

    messages: int
    bytes: float


def sending(operation: str, size: int, devices: int) -> Sending:
    """The sending for an XLA collective that gives every device `size` bytes, with this number of devices.

    For the algorithms that are best for long messages and need few rounds: recursive doubling and halving, and for a
    sum both. After Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH",
    IJHPCA 19(1), 2005.
    """
    rounds, part = (devices - 1).bit_length(), (devices - 1) / devices
    match operation:
        case "collective-permute":
            return Sending(1, size)
        case "all-gather":
            return Sending(rounds, size * part)
        case "all-reduce":
            return Sending(2 * rounds, 2 * size * part)
        case "reduce-scatter":
            return Sending(rounds, size * (devices - 1))
        case "all-to-all":
            return Sending(devices - 1, size * part)
        case _:
            raise AssertionError(operation)


def collective_seconds(operation: str, size: int, devices: int, link: Link, machine: Machine) -> float:
    """The time of one collective, including the kernel that starts it."""
    sent = sending(operation, size, devices)
    return machine.dispatch + sent.messages * link.message + sent.bytes * link.byte


def usual_link(axes: tuple[str, ...], sizes: Mapping[str, int], machine: Machine) -> Link:
    """The link along axes of a mesh, whose last axis numbers neighbours: within a node, or between nodes."""
    network = NETWORKS[machine.kind]
    names = list(sizes)
    reach = max(prod(sizes[inner] for inner in names[names.index(axis) :]) for axis in axes)
    return network.inside if reach <= network.node else network.between


def copied(plan: Plan, calls: Collection[str]) -> tuple[int, int]:
    """How often a device puts elements together in these `calls`, and the bytes that it reads and writes for that.

    Received elements are stored separately from its own: both are read, and written as one array.
    """
    found = [*_copied(plan, calls, 1)]
    return sum(times for times, _ in found), sum(times * size for times, size in found)


def _copied(plan: Plan, calls: Collection[str], times: int) -> Iterator[tuple[int, int]]:
    for stage in plan.stages:
        match stage:
            case Call(plan=inner, steps=steps):
                yield from _copied(inner, calls, times * (1 if steps is None else steps.count))
            case CallForeign(function=function, arguments=arguments, results=results) if (
                arguments and function in calls
            ):
                yield times, 2 * sum(prod(shape) * ir.types.width(dtype) for dtype, shape in results)
            case _:
                continue


__all__ = ["Sending", "collective_seconds", "copied", "sending", "usual_link"]
