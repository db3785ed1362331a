"""How a kernel runs on this device: searched by measuring (`tuning.tune`), remembered on disk.

Calls import `remembered` alone, searches and schedules only who needs them.
"""

from .memory import remembered

__all__ = ["remembered"]
