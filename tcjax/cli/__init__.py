"""The command `tcjax`: it checks, formats, translates, explains, runs and times programs in files."""

import os
import signal
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Runs the command as a process, which ends with its exit code."""
    signal.signal(signal.SIGINT, _interrupted)
    from .command import command

    # However it was started: help and errors then show what to type.
    command.main(prog_name="tcjax")


def _interrupted(*_: object) -> NoReturn:
    # Not an exception: libraries that are being imported would turn one into their own error page.
    os.write(2, b"Error: interrupted\n")
    os._exit(130)
