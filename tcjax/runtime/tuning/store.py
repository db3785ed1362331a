"""The choices of earlier searches, one JSON file each in a directory of the user.

A file is named after its key: the program, types and shapes, the options, the device, and the versions of JAX and of
tcjax. Different keys use different files, and writers replace a file atomically: processes need no coordination.
"""

import errno
import hashlib
import json
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import jax
import jaxlib.version

from ... import files, ir, planning, ranges
from ...diagnostics import Code, CompileError, CompileWarning, warn
from ...keeping import Recent
from ..frontends import Call, Frontend
from .choices import Choice, from_json, to_json
from .memory import DIRECTORY, Planner, directory

# Increased when the meaning of forms or schedules changes.
FORMAT = 2
_LONGEST = 1 << 20  # Bytes: a longer file is not one of ours.
# Warnings given so far: one per file and problem.
_warned: Recent[str, bool] = Recent()

_TUNE_AGAIN: Final = "remove the file, or call `tune` again, which replaces it"
_OWN_DIRECTORY: Final = f"set {DIRECTORY} to a directory of your own"
_MAKE_ROOM: Final = f"make room there and tune again, or set {DIRECTORY} to a directory on another disk"
_CLOSE_FILES: Final = "close unused files, or raise this process's limit (`ulimit -n`)"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_TOO_MANY: Final = (errno.EMFILE, errno.ENFILE)

# Seconds to wait for another search that is writing; writing takes far less.
_PATIENCE: Final = 5.0
# Seconds after which an unfinished temporary file is removed: a choice is a few kilobytes.
_ABANDONED: Final = 3600.0


def recall(place: Path, frontend: Frontend, call: Call, bound: ranges.Bound, planned: Planner) -> Choice | None:
    """The choice stored in a directory for a call; None if there is none that can be used.

    A file affects the speed of a call, never whether it works: a file that cannot be used is ignored with a warning.
    """
    key = key_of(frontend, call, bound)
    if key is None:
        return None
    path = place / name_of(key)
    try:
        data = json.loads(files.read(path, _LONGEST).decode("utf-8"))
        if not isinstance(data, dict) or data.get("key") != key:
            raise ValueError("it was written for another program")
        choice = from_json(data.get("choice"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as problem:
        help = _CLOSE_FILES if getattr(problem, "errno", None) in _TOO_MANY else _TUNE_AGAIN
        _warn_once(f"the tuned choice in {path} is ignored: {_words(problem)}", help)
        return None
    # Imported late: only needed once a choice is found.
    from .candidates import offers

    if not offers(planning.make_plan(bound), choice):
        _warn_once(f"the tuned choice in {path} is ignored: this program does not offer {choice!s:.100}", _TUNE_AGAIN)
        return None
    try:
        # Tiles that are legal one by one may be illegal together.
        if choice.tiles:
            planned(call, choice)
    except CompileError as problem:
        _warn_once(f"the tuned choice in {path} is ignored: {problem.message}", _TUNE_AGAIN)
        return None
    return choice


def warn_of_place(place: Path, problem: Exception) -> None:
    """Warns, once, that a directory cannot be searched."""
    _warn_once(f"tuned choices are not looked for in {place}: {_words(problem)}", _OWN_DIRECTORY)


def remember(key: Mapping[str, Any], choice: Choice, about: Mapping[str, Any]) -> Path | None:
    """Saves a choice and returns its file; None, with one `CompileWarning`, if it cannot be written.

    With ``TCJAX_CACHE_DIR=""`` nothing is saved, and there is no warning. `about` is stored for human readers.
    """
    place = directory()
    if place is None:
        return None
    path = place / name_of(key)
    text = json.dumps({"key": key, "choice": to_json(choice), "about": about}, indent=1, sort_keys=True)
    try:
        place.mkdir(parents=True, exist_ok=True)
        files.remove_abandoned(place, _ABANDONED)
        with files.replacing(path, follow=False) as file:
            file.write(text.encode())
    except (OSError, ValueError) as problem:
        number = getattr(problem, "errno", None)
        help = _MAKE_ROOM if number in _FULL else _CLOSE_FILES if number in _TOO_MANY else _OWN_DIRECTORY
        _warn_once(f"tuned choices cannot be kept in {place}: {_words(problem)}", help)
        return None
    return path


@contextmanager
def alone() -> Iterator[None]:
    """A lock, across threads and processes, for reading and then writing choices.

    Files are replaced atomically in any case; the lock prevents lost updates. Without file locks, or if the lock is
    held for several seconds, it is skipped.
    """
    place = directory()
    handle: int | None = None
    with suppress(OSError, ValueError, ImportError):
        import fcntl

        if place is not None:
            place.mkdir(parents=True, exist_ok=True)
            handle = os.open(place, os.O_RDONLY)
            end = time.monotonic() + _PATIENCE
            while time.monotonic() < end:
                with suppress(BlockingIOError):
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(0.01)
    try:
        yield
    finally:
        if handle is not None:
            # Closing it releases the lock.
            os.close(handle)


def key_of(frontend: Frontend, call: Call, bound: ranges.Bound) -> dict[str, Any] | None:
    """Everything that the fastest choice depends on; None if there is no device."""
    device = device_kind()
    if device is None:
        return None
    from ... import __version__

    values = [[name, dtype, list(shape), _digest(data)] for name, dtype, shape, data in call.values]
    return {
        "format": FORMAT,
        "program": _digest(ir.show(bound.function).encode()),
        "types": list(call.dtypes),
        "shapes": [list(shape) for shape in call.shapes],
        "initial": [[name, list(shape)] for name, shape in call.initial],
        "sizes": [[name, size] for name, size in call.sizes],
        "values": values,
        "accumulate": frontend.options.accumulate,
        "backend": frontend.options.backend,
        "memory": frontend.options.memory,
        "assume": [str(assumption) for assumption in frontend.options.assume],
        "x64": jax.dtypes.canonicalize_dtype("float64") == "float64",
        "device": device,
        "versions": {"jax": jax.__version__, "jaxlib": jaxlib.version.__version__, "tcjax": __version__},
    }


def name_of(key: Mapping[str, Any]) -> str:
    """The name of the file for a key."""
    return _digest(json.dumps(key, sort_keys=True).encode())[:32] + ".json"


def device_kind() -> str | None:
    """A description of the default device, as far as it affects speed; None if there is none."""
    device = jax.config.jax_default_device  # type: ignore[attr-defined]
    try:
        if device is None or isinstance(device, str):
            device = jax.devices(device)[0]
    except RuntimeError:
        return None
    if device.platform != "cpu":
        return f"{device.platform}: {device.device_kind}"
    return f"cpu: {_processor()}, {os.cpu_count()} cores"


@cache
def _processor() -> str:
    """JAX calls every processor ``cpu``, but several machines may share one directory."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _words(problem: BaseException) -> str:
    match problem:
        case OSError(strerror=str(said)):
            return said
        case UnicodeDecodeError() | json.JSONDecodeError() | RecursionError():
            return "it is not valid JSON"
        case _:
            return str(problem)


def _warn_once(message: str, help: str) -> None:
    if _warned.get(message) is None:
        _warned.keep(message, True)
        warn(CompileWarning(Code.TUNING_FILE, message, help=help))
