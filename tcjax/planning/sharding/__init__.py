"""One program on many devices: which part of each tensor a device holds, and what the devices combine.

An index that runs along a mesh axis is cut into equal blocks, one for each device of the axis. Each statement is then
planned for one block; a device that needs a block of a tensor that it holds whole takes it by itself, and a reduction
over a cut index is combined across the axis. What would have to move between devices otherwise is refused.
"""

from .blocks import Axes, Block, Layout, ShardedPlan, Start, Step
from .shard import shard

__all__ = ["Axes", "Block", "Layout", "ShardedPlan", "Start", "Step", "shard"]
