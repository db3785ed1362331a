"""Processes started by tests: their environment, and several that run one program."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

from .effort import deep

ROOT = Path(__file__).parents[1]
LAUNCHER = ROOT / "examples" / "distributed" / "launch.py"
# Processes that import JAX at a time, on a machine where other tests run too.
SECONDS = 150


def warnings_are_errors() -> None:
    """As in pyproject.toml for the tests: if another process is writing a cache entry, compile it here instead."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache entry")


def started(command: list[object]) -> subprocess.Popen[str]:
    """A Python process that shares the compilation cache (tests/conftest.py), with few XLA optimisations."""
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "JAX_DISABLE_MOST_OPTIMIZATIONS": str(not deep())},
    )


def launched(program: Path, *arguments: object, processes: int = 2) -> list[str]:
    """The output of a program in several processes, which must succeed, in order of rank."""
    with started([LAUNCHER, "--processes", processes, program, *arguments]) as running:
        try:
            printed, _ = running.communicate(timeout=SECONDS)
        finally:
            running.terminate()
    assert running.returncode == 0, printed
    return sorted(printed.splitlines(), key=lambda line: line[:3])
