"""A progress bar, if there is a terminal and tqdm is installed."""

import importlib
import sys
from typing import Any


class Bar:
    """A bar that draws nothing."""

    def says(self, text: str) -> None:
        """What is being tried now."""

    def advance(self) -> None:
        """One more candidate is done."""

    def close(self) -> None:
        """Removes the bar."""


class _Drawn(Bar):
    def __init__(self, drawn: Any) -> None:
        self._drawn = drawn

    def says(self, text: str) -> None:
        self._drawn.set_postfix_str(text[:50])

    def advance(self) -> None:
        self._drawn.update()

    def close(self) -> None:
        self._drawn.close()


def progress_bar(name: str, total: int, wanted: bool) -> Bar:
    """A bar on standard error; an empty one if that is not a terminal, or tqdm is not installed."""
    if not wanted or not sys.stderr.isatty():
        return Bar()
    try:
        tqdm = importlib.import_module("tqdm").tqdm
    except ImportError:
        return Bar()
    return _Drawn(tqdm(total=total, desc=f"tuning {name}", leave=False))
