"""Locks that a forked child does not inherit in a locked state."""

import os
import threading
import weakref
from typing import Any, Final

# The existing locks: a forked child gets new ones.
_LOCKS: Final["weakref.WeakSet[Any]"] = weakref.WeakSet()


def lock() -> threading.RLock:
    """A re-entrant lock, which is free in a forked child.

    Only the forking thread continues in the child: a lock held by another thread would be held for ever. So code under
    such a lock must keep the data consistent at every point where Python could switch threads.
    """
    made = threading.RLock()
    _LOCKS.add(made)
    return made


def _free() -> None:
    for each in _LOCKS:
        each._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free)
