"""One program on many devices: which part of each tensor a device holds, and what the devices combine.

An index that runs along a mesh axis is cut into blocks of equal size, one for each device of the axis. Each statement
is then planned for one block. Elements that a device reads beyond its block (a halo) come from its neighbours; its
block of a replicated tensor is a local slice; a reduction over a cut index is combined across the axis.
"""

from .blocks import Axes, Collective, Combine, Exchange, Layout, Move, Part, Send, ShardedPlan, Start, Whole
from .shard import shard
from .telling import Message, messages, tensor_of

__all__ = [
    "Axes",
    "Collective",
    "Combine",
    "Exchange",
    "Layout",
    "Message",
    "Move",
    "Part",
    "Send",
    "ShardedPlan",
    "Start",
    "Whole",
    "messages",
    "shard",
    "tensor_of",
]
