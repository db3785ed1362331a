"""What a process holds: memory, files, threads, what each cache has, and kernels that nobody needs.

JAX remembers what it traced and compiled of its own functions, as many entries as it lets itself have. These entries
are counted; then JAX is asked to forget them (`jax.clear_caches`), so that the memory that is left is the package's.
"""

import ctypes
import gc
import os
import threading
import weakref
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jax

from . import caches
from .caches import Cache

MIB: Final = 1 << 20
# Allowed growth of a warm process. Memory: bounded caches still fill up; a leak of 64 KiB per program is seen after two
# thousand programs. Files and threads: XLA starts some at any time.
MORE_MEMORY: Final = 128 * MIB
MORE_HANDLES: Final = 16
MORE_THREADS: Final = 16


@dataclass(frozen=True)
class Census:
    """What a process holds once all garbage is collected; `caches` by name, before JAX forgot what it has."""

    memory: int
    handles: int
    threads: int
    kernels: int
    caches: Mapping[str, Cache]

    def __str__(self) -> str:
        return (
            f"{self.memory / MIB:.0f} MiB, {self.handles} handles, {self.threads} threads, "
            f"{self.kernels} kernels that nobody holds; entries in caches: {caches.shown(self.caches)}"
        )

    def beyond(self, warm: "Census") -> list[str]:
        """What has grown more than it may since the process was `warm`."""
        found = caches.beyond(self.caches, warm.caches)
        for name, now, before, more in (
            ("bytes of memory", self.memory, warm.memory, MORE_MEMORY),
            ("handles", self.handles, warm.handles, MORE_HANDLES),
            ("threads", self.threads, warm.threads, MORE_THREADS),
            ("kernels that nobody holds", self.kernels, 0, 0),
        ):
            if now > before + more:
                found.append(f"{now} {name}, and at most {before + more} are right ({before} when warm)")
        return found


def census(gone: Iterable["weakref.ref[Any]"] = (), forget: bool = True) -> Census:
    """What this process holds; `gone` are kernels that nobody needs. Without `forget` JAX keeps its caches."""
    gc.collect()
    found = caches.caches()
    if forget:
        jax.clear_caches()
    for _ in range(2):
        gc.collect()
    _give_back()
    return Census(
        _memory(),
        len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0,
        max(threading.active_count(), _threads()),
        sum(reference() is not None for reference in gone),
        found,
    )


def _give_back() -> None:
    """Return free memory to the system, or it would count as used."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _status(name: str) -> int:
    """A number from ``/proc/self/status``; 0 if there is none."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)


def _memory() -> int:
    return _status("VmRSS") << 10


def _threads() -> int:
    return _status("Threads")
