"""Which operation computes each statement, and why; data only, no arrays."""

from . import nodes
from .cost import Cost, cost_of
from .plan import make_plan
from .printer import name_of, reason_of, show_node, show_plan
from .stages import Call, CallForeign, Compute, Plan, Stage, Store

__all__ = [
    "Call",
    "CallForeign",
    "Compute",
    "Cost",
    "Plan",
    "Stage",
    "Store",
    "cost_of",
    "make_plan",
    "name_of",
    "nodes",
    "reason_of",
    "show_node",
    "show_plan",
]
