"""Failures of a command: one line, or the error with its caret, and an exit code; never a traceback."""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import click

from ..diagnostics import CompileError

# What a shell reports for a program ended by SIGINT; click itself exits with 1 when its output is closed.
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 1
UNEXPECTED: Final = 70


class Failure(click.ClickException):
    """Prints one line on stderr; exit code 2."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


def one_line(text: str) -> str:
    """The text on one line for a terminal: file names may contain any character."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def explained(action: Callable[[], object], traceback: Callable[[], bool]) -> NoReturn:
    """Runs a command and exits with its exit code.

    The code is 2 for misuse, unreadable files and mistakes in a program; otherwise what `action` raises as
    `click.exceptions.Exit`. `traceback` is asked after the options were read: whether to show the traceback of an
    unexpected exception.
    """
    try:
        action()
    except click.exceptions.Exit as done:
        _leave(done.exit_code)
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        _leave(INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        _leave(error.exit_code)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else "tcjax"
        _say(f"{' '.join(error.format_message().split())} ({path} --help shows how)")
        _leave(error.exit_code)
    except click.ClickException as error:
        error.show()
        _leave(error.exit_code)
    except CompileError as error:
        show_error(error)
        _leave(2)
    except OSError as error:
        if error.errno == errno.EPIPE:
            _forget_output()
            sys.exit(BROKEN_PIPE)
        if traceback():
            raise
        _say(_os_error(error))
        _leave(2)
    except Exception as error:
        if traceback():
            raise
        if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error):
            _say("not enough memory for these sizes")
            _leave(2)
        said = next(iter(str(error).splitlines()), "")
        _say(f"{type(error).__name__}: {said} (tcjax --traceback ... shows where)")
        _leave(UNEXPECTED)
    _leave(0)


def _leave(code: int) -> NoReturn:
    try:
        # None where the shell closed it; the language server closes it itself.
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except OSError:
        _forget_output()
        code = BROKEN_PIPE
    sys.exit(code)


def _forget_output() -> None:
    """The reader of the output is gone: the interpreter must not complain when it flushes at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


def _say(message: str) -> None:
    click.echo(f"Error: {one_line(message)}", err=True)


def show_error(error: CompileError, err: bool = True) -> None:
    """The error with its caret, in colour on a terminal."""
    headline, *lines = str(error).splitlines()
    click.echo(click.style(headline, fg="red", bold=True), err=err)
    for line in lines:
        is_caret = line.lstrip(" |") and not line.lstrip(" |").strip("^")
        is_help = line.startswith("help: ")
        click.echo(click.style(line, fg="red" if is_caret else "green") if is_caret or is_help else line, err=err)


@contextmanager
def files(path: str) -> Iterator[None]:
    """Turns the operating system's message about a file into one line."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise Failure(f"{path}: not UTF-8 text (byte {error.start})") from None
    except MemoryError:
        raise Failure(f"{path}: does not fit into memory") from None
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        raise Failure(_os_error(error, path)) from None
    except ValueError as error:
        # A path with a zero byte.
        raise Failure(f"{path}: {error}") from None


def _os_error(error: OSError, path: str | None = None) -> str:
    name = path or (error.filename if isinstance(error.filename, str) else "")
    said = error.strerror or str(error)
    return f"{name}: {said}" if name else said
