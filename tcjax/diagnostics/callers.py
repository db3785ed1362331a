"""Mistakes in notebooks: the caller's lines and the message, without the compiler's stack frames."""

import sys
import traceback
from types import TracebackType
from typing import Final

# Packages whose frames do not help the reader of a message.
_INSIDE: Final = (__name__.partition(".")[0], "jax", "IPython")


class ShownToCallers(Exception):
    """A mistake of the caller: IPython asks it for the text to show."""

    def _render_traceback_(self) -> list[str]:
        """The lines of the callers, and the message."""
        frames = _callers(self.__traceback__)
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if shell is None:
            return traceback.format_exception(type(self), self, frames)
        return shell.InteractiveTB.structured_traceback(type(self), self, frames, tb_offset=0)


def _callers(frames: TracebackType | None) -> TracebackType | None:
    """The frames outside this package, in the same order."""
    kept: list[TracebackType] = []
    while frames is not None:
        if str(frames.tb_frame.f_globals.get("__name__")).partition(".")[0] not in _INSIDE:
            kept.append(frames)
        frames = frames.tb_next
    shown: TracebackType | None = None
    for frame in reversed(kept):
        shown = TracebackType(shown, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return shown
