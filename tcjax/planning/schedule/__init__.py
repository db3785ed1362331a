"""Schedules: how the loops of a function run, where each stage is computed, and which part of it at a time."""

from .kernel_plan import Block, InputPlan, KernelPlan, OutputPlan, StagePlan
from .nest import Nest, Nested, nest
from .pictures import Drawing, Picture
from .regions import Region, infer_regions
from .schedule import Schedule
from .stages import Stage, stages_of

__all__ = [
    "Block",
    "Drawing",
    "InputPlan",
    "KernelPlan",
    "Nest",
    "Nested",
    "OutputPlan",
    "Picture",
    "Region",
    "Schedule",
    "Stage",
    "StagePlan",
    "infer_regions",
    "nest",
    "stages_of",
]
