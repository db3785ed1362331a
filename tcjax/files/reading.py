"""Regular files, open for reading: no pipes that would wait for a writer, no endless devices."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

# A pipe without a writer would block `open`.
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A regular file, or a link to one. Raises `OSError` for anything else, `ValueError` for what is not a path."""
    handle = os.open(path, _FLAGS)
    try:
        check_regular(os.fstat(handle).st_mode, path)
        file = os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise
    with file:
        yield file


def read(path: str | os.PathLike[str], most: int) -> bytes:
    """The contents of a regular file. Raises `OSError` as `opened` does, and for more than `most` bytes."""
    with opened(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"longer than {most >> 20} MiB", os.fspath(path))
    return content


def check_regular(mode: int, path: str | os.PathLike[str]) -> None:
    """Raises `OSError` unless the mode is that of a regular file."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "a pipe, a socket or a device, not a file", os.fspath(path))
