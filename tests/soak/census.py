"""What a process holds: memory, files, threads, what the package's caches have, and kernels that nobody needs.

JAX remembers what it traced and compiled of its own functions, as many entries as it lets itself have; before anything
is counted it is asked to forget them (`jax.clear_caches`), so that what is left is the package's.
"""

import ctypes
import gc
import os
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jax

from tcjax.symbolic.facts import trees

MIB: Final = 1 << 20
# Beyond what a process has once it is warm. Memory: the bounded caches fill as other programs come; a leak of 64 KiB a
# program is seen after two thousand. Files and threads: XLA starts some when it likes.
MORE_MEMORY: Final = 128 * MIB
MORE_HANDLES: Final = 16
MORE_THREADS: Final = 16
# Interned expressions that are alive: those of the proofs whose cost is remembered, and of plans that are.
MOST_EXPRESSIONS: Final = 200_000


@dataclass(frozen=True)
class Census:
    """What a process holds once all garbage is collected; `full` are caches with more than they may have."""

    memory: int
    handles: int
    threads: int
    entries: int
    expressions: int
    kernels: int
    full: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.memory / MIB:.0f} MiB, {self.handles} handles, {self.threads} threads, {self.entries} entries in "
            f"caches, {self.expressions} expressions, {self.kernels} kernels that nobody holds"
        )

    def beyond(self, warm: "Census") -> list[str]:
        """What has grown more than it may since the process was `warm`."""
        found = list(self.full)
        for name, now, before, more in (
            ("bytes of memory", self.memory, warm.memory, MORE_MEMORY),
            ("handles", self.handles, warm.handles, MORE_HANDLES),
            ("threads", self.threads, warm.threads, MORE_THREADS),
            ("expressions", self.expressions, 0, MOST_EXPRESSIONS),
            ("kernels that nobody holds", self.kernels, 0, 0),
        ):
            if now > before + more:
                found.append(f"{now} {name}, and at most {before + more} are right ({before} when warm)")
        return found


def census(gone: Iterable["weakref.ref[Any]"] = ()) -> Census:
    """What this process holds; `gone` are kernels that nobody needs any more."""
    jax.clear_caches()
    for _ in range(2):
        gc.collect()
    _give_back()
    sizes = dict(_caches())
    full = tuple(
        f"{name} has {size} entries, and {most} are the most" for name, (size, most) in sizes.items() if size > most
    )
    return Census(
        _memory(),
        len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0,
        max(threading.active_count(), _threads()),
        sum(size for size, _ in sizes.values()),
        len(trees._NODES),
        sum(reference() is not None for reference in gone),
        tuple(full),
    )


def _caches() -> Iterator[tuple[str, tuple[int, int]]]:
    """The caches of functions in the package: how many entries each has, and may have."""
    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == "tcjax"]:
        for name, value in vars(module).items():
            if hasattr(value, "cache_info") and getattr(value, "__module__", "") == module.__name__:
                info = value.cache_info()
                yield f"{module.__name__}.{name}", (info.currsize, 1 if info.maxsize is None else info.maxsize)


def _give_back() -> None:
    """What is free goes back to the system, or the process seems to hold it."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _status(name: str) -> int:
    """A number of ``/proc/self/status``; 0 where there is none."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)


def _memory() -> int:
    return _status("VmRSS") << 10


def _threads() -> int:
    return _status("Threads")
