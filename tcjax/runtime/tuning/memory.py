"""What an earlier search chose, asked before every plan: nearly free for whoever never tunes."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ... import ranges
from ..fronts import Call, Front

if TYPE_CHECKING:
    from .choices import Choice

DIRECTORY = "TCJAX_CACHE_DIR"


def remembered(front: Front, call: Call, bound: ranges.Bound) -> "Choice | None":
    """What an earlier search chose for this program, these shapes and this device; None where none was made.

    A file that is broken, or not ours, is left alone with a `CompileWarning`.
    """
    place = directory()
    # Who never tunes pays for one question to the file system.
    if place is None or not place.is_dir():
        return None
    from .store import recall

    return recall(place, front, call, bound)


def directory() -> Path | None:
    """Where choices are kept: ``TCJAX_CACHE_DIR``, or the place for caches of this system; None: nowhere."""
    given = os.environ.get(DIRECTORY)
    if given is not None:
        return Path(given) if given else None
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "tcjax" / "Cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "tcjax"
        # The XDG specification says that a relative path is as good as none.
        given = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "tcjax"
    except RuntimeError:  # There is no home.
        return None
