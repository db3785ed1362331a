"""Looks up the choice of an earlier search before every plan: nearly free if nothing was ever tuned."""

import errno
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ... import planning, ranges
from ..frontends import Call, Frontend

if TYPE_CHECKING:
    from .choices import Choice

DIRECTORY = "TCJAX_CACHE_DIR"


# The plan of a call with a choice; raises `CompileError` for an illegal one.
Planner = Callable[[Call, "Choice | None"], planning.Plan]


def remembered(frontend: Frontend, call: Call, bound: ranges.Bound, planned: Planner) -> "Choice | None":
    """The choice of an earlier search for this program, these shapes and this device; None if there is none.

    A file that is damaged or foreign is ignored with a `CompileWarning`.
    """
    place = directory()
    if place is None:
        return None
    try:
        # Without tuning, this costs one file-system query.
        if not stat.S_ISDIR(os.stat(place).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        from .store import warn_of_place

        warn_of_place(place, problem)
        return None
    from .store import recall

    return recall(place, frontend, call, bound, planned)


def directory() -> Path | None:
    """The directory of choices: ``TCJAX_CACHE_DIR``, or this system's cache directory; None for none.

    A ``~`` in the variable is the home directory; a relative path starts at the working directory.
    """
    given = os.environ.get(DIRECTORY)
    try:
        if given is not None:
            return Path(given).expanduser() if given else None
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "tcjax" / "Cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "tcjax"
        # The XDG specification says to ignore relative paths.
        given = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "tcjax"
    except RuntimeError:  # There is no home.
        return None
