"""The programs of ``make demo``, one after another. Stops at the first failure.

JAX is imported and every program compiled in Python first, on one core: so on several cores a second process runs the
last programs at the same time. What it prints follows when the others are done.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

PROGRAMS = ("digits", "photo", "blur", "stencil", "multigrid")
# How many of the last ones take as long as the others.
LAST = 2


def main() -> None:
    """Runs the programs named on the command line, all of them unless any is."""
    began = time.perf_counter()
    if sys.argv[1:] or (os.cpu_count() or 1) < 2:
        run(sys.argv[1:] or PROGRAMS)
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        command = [sys.executable, str(Path(__file__)), *PROGRAMS[-LAST:]]
        beside = subprocess.Popen(command, stdout=printed, stderr=subprocess.STDOUT)
        try:
            run(PROGRAMS[:-LAST])
            status = beside.wait()
        finally:
            beside.kill()
        printed.seek(0)
        shutil.copyfileobj(printed, sys.stdout)
    if status:
        raise SystemExit(status)
    print(f"\n{len(PROGRAMS)} programs in {time.perf_counter() - began:.0f} s")


def run(names: Sequence[str]) -> None:
    """Runs programs in this process, each below its name and what it does."""
    for name in names:
        print(f"\n===== {name}.py", flush=True)
        start = time.perf_counter()
        program = import_module(name)
        print(f"{(program.__doc__ or '').splitlines()[0]}\n", flush=True)
        program.main()
        print(f"----- {name}.py: {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
