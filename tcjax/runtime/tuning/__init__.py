"""The fastest way to run a kernel on this device: found by measuring (`tuning.tune`), remembered on disk.

Calls import only `remembered`; searches and schedules are imported on demand.
"""

from .memory import remembered

__all__ = ["remembered"]
