"""The command `tcjax`: programs in files are checked, formatted, translated, explained, run and timed."""

import os
import signal
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """The command as a process: leaves with its exit code."""
    signal.signal(signal.SIGINT, _interrupted)
    from .command import command

    # However it was started: help and errors then say what to type.
    command.main(prog_name="tcjax")


def _interrupted(*_: object) -> NoReturn:
    # Not an exception: the libraries that a command is importing turn one into pages of their own.
    os.write(2, b"Error: interrupted\n")
    os._exit(130)
