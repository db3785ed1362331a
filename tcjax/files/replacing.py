"""Files that are written under an unguessable temporary name, then renamed."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from .reading import check_regular

# With O_EXCL nothing that stands there is opened, no link to another file either.
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


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
    beside = target.parent / f".{secrets.token_hex(8)}.tmp"
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


def _lend(before: os.stat_result, handle: int) -> None:
    """Gives an open file the owner and the permissions of another, as far as the system lets us."""
    if not hasattr(os, "fchown"):
        return
    with suppress(OSError):
        now = os.fstat(handle)
        if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
            os.fchown(handle, before.st_uid, before.st_gid)
    os.fchmod(handle, before.st_mode & 0o7777)
