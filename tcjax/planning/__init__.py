"""Which operation computes each statement, and why; data only, no arrays.

Schedules are in `planning.schedule`, which is imported only for them.
"""

from .cost.costs import Cost, Held, cost_of, memory_of
from .cost.growth import Growth, growth_of
from .cost.memory import allowance, check_memory
from .cost.prices import plan_price, price, price_of
from .data import nodes
from .data.machine import Machine, machine_of
from .data.preferences import Backend, Preferences
from .data.price import NOTHING, Price
from .data.stages import (
    Call,
    CallForeign,
    Compute,
    Loop,
    Parts,
    Plan,
    Proviso,
    Scatter,
    ScheduledStage,
    Stage,
    Store,
    Tiled,
    Unstored,
)
from .plan import given_bytes, make_plan
from .printer import describe_steps, facts_of, operation_of, operations_of, reason_of, show_plan

__all__ = [
    "NOTHING",
    "Backend",
    "Call",
    "CallForeign",
    "Compute",
    "Cost",
    "Growth",
    "Held",
    "Loop",
    "Machine",
    "Parts",
    "Plan",
    "Preferences",
    "Price",
    "Proviso",
    "Scatter",
    "ScheduledStage",
    "Stage",
    "Store",
    "Tiled",
    "Unstored",
    "allowance",
    "check_memory",
    "cost_of",
    "describe_steps",
    "facts_of",
    "given_bytes",
    "growth_of",
    "machine_of",
    "make_plan",
    "memory_of",
    "nodes",
    "operation_of",
    "operations_of",
    "plan_price",
    "price",
    "price_of",
    "reason_of",
    "show_plan",
]
