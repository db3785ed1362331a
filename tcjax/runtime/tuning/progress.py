"""A progress bar where there is a terminal and tqdm to draw one."""

import importlib
import sys
from typing import Any


class Bar:
    """A bar that is not there."""

    def says(self, text: str) -> None:
        """What is tried now."""

    def advance(self) -> None:
        """One candidate more is done."""

    def close(self) -> None:
        """The bar goes."""


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
    """A bar on standard error; none where that is no terminal, or tqdm is not installed."""
    if not wanted or not sys.stderr.isatty():
        return Bar()
    try:
        tqdm = importlib.import_module("tqdm").tqdm
    except ImportError:
        return Bar()
    return _Drawn(tqdm(total=total, desc=f"tuning {name}", leave=False))
