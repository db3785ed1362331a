"""Processes that tests start: what they set up as tests do, and several that are one program."""

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
    """As pyproject.toml says for the tests: what another process is writing to the cache is compiled here instead."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache entry")


def started(command: list[object]) -> subprocess.Popen[str]:
    """A Python process. It reads what others have compiled (tests/conftest.py), and XLA optimises little."""
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "JAX_DISABLE_MOST_OPTIMIZATIONS": str(not deep())},
    )


def launched(program: Path, *arguments: object, processes: int = 2) -> list[str]:
    """What a program printed in several processes that ended well, in order of their ranks."""
    with started([LAUNCHER, "--processes", processes, program, *arguments]) as running:
        try:
            printed, _ = running.communicate(timeout=SECONDS)
        finally:
            running.terminate()
    assert running.returncode == 0, printed
    return sorted(printed.splitlines(), key=lambda line: line[:3])
