"""Which operation computes each statement, and why; data only, no arrays.

Schedules are in `planning.schedule`: only who writes one imports them.
"""

from . import nodes
from .cost import Cost, cost_of
from .plan import make_plan
from .printer import facts_of, name_of, reason_of, show_node, show_plan
from .stages import Call, CallForeign, Compute, Plan, Stage, Store
from .tiled import Loop, ScheduledStage, Tiled

__all__ = [
    "Call",
    "CallForeign",
    "Compute",
    "Cost",
    "Loop",
    "Plan",
    "ScheduledStage",
    "Stage",
    "Store",
    "Tiled",
    "cost_of",
    "facts_of",
    "make_plan",
    "name_of",
    "nodes",
    "reason_of",
    "show_node",
    "show_plan",
]
