"""Locks that a process does not inherit from a thread that it does not have."""

import os
import threading
import weakref
from typing import Any, Final

# Those that exist: a forked child gets new ones.
_LOCKS: Final["weakref.WeakSet[Any]"] = weakref.WeakSet()


def lock() -> threading.RLock:
    """A lock that the thread which holds it may take again, and that nobody holds in a forked child.

    Only the thread that forks goes on in the child: what another one held would be held for ever. So what is done under
    such a lock must leave whole what it changes wherever Python could stop it.
    """
    made = threading.RLock()
    _LOCKS.add(made)
    return made


def _free() -> None:
    for each in _LOCKS:
        each._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free)
