"""Shells of IPython for tests."""

from collections.abc import Iterator
from contextlib import contextmanager

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


@contextmanager
def fresh_shell() -> Iterator[InteractiveShell]:
    """A shell with the magic, without a history on disk; its display output can be captured."""
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=config)
    try:
        shell.run_line_magic("load_ext", "tcjax")
        yield shell
    finally:
        InteractiveShell.clear_instance()
