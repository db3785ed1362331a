"""Files that are written under an unguessable temporary name, then renamed."""

import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from .reading import check_regular

# O_EXCL never opens an existing file, nor follows an existing link.
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_BYTES: Final = 8
_TEMPORARY: Final = re.compile(rf"\.[0-9a-f]{{{2 * _BYTES}}}\.tmp")


@contextmanager
def replacing(path: str | os.PathLike[str], *, follow: bool) -> Iterator[BinaryIO]:
    """A new file, which takes the place of `path` once the block ends without an exception.

    An existing file passes on its permissions and its owner. Where `path` is a symbolic link, `follow` replaces its
    target; otherwise the link is replaced. Raises `OSError` where this is not possible.
    """
    target = Path(os.path.realpath(path)) if follow else Path(path)
    before: os.stat_result | None = None
    with suppress(FileNotFoundError):
        before = target.lstat()
    if before is not None and target.is_symlink():
        # Only a link that leads in a circle is still one after `realpath`.
        before = target.stat() if follow else None
    if before is not None:
        check_regular(before.st_mode, path)
    beside = target.parent / f".{secrets.token_hex(_BYTES)}.tmp"
    handle = os.open(beside, _FLAGS, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if before is not None:
                _lend(before, handle)
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def remove_abandoned(directory: Path, seconds: float) -> None:
    """Removes temporary files that have not been written to for this long: those of killed writers.

    Files that cannot be removed stay, and so does everything that `replacing` did not create.
    """
    with suppress(OSError):
        for path in [each for each in directory.iterdir() if _TEMPORARY.fullmatch(each.name)]:
            with suppress(OSError):
                status = path.lstat()
                if stat.S_ISREG(status.st_mode) and status.st_mtime < time.time() - seconds:
                    path.unlink()


def _lend(before: os.stat_result, handle: int) -> None:
    """Gives an open file the owner and the permissions of another, as far as the system lets us."""
    if not hasattr(os, "fchown"):
        return
    with suppress(OSError):
        now = os.fstat(handle)
        if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
            os.fchown(handle, before.st_uid, before.st_gid)
    os.fchmod(handle, before.st_mode & 0o7777)
