"""What an earlier search chose, asked before every plan: nearly free for whoever never tunes."""

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
    """What an earlier search chose for this program, these shapes and this device; None where none was made.

    A file that is broken, or not ours, is left alone with a `CompileWarning`.
    """
    place = directory()
    if place is None:
        return None
    try:
        # Who never tunes pays for one question to the file system.
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
    """Where choices are kept: ``TCJAX_CACHE_DIR``, or the place for caches of this system; None: nowhere.

    A ``~`` in the variable is the home directory, and a relative path begins in the working directory.
    """
    given = os.environ.get(DIRECTORY)
    try:
        if given is not None:
            return Path(given).expanduser() if given else None
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "tcjax" / "Cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "tcjax"
        # The XDG specification says that a relative path is as good as none.
        given = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "tcjax"
    except RuntimeError:  # There is no home.
        return None
