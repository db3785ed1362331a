"""The programs of ``make demo`` one after another, in one process: JAX is imported once. Stops at the first failure."""

import time
from importlib import import_module

PROGRAMS = ("digits", "photo", "blur", "stencil", "multigrid")


def main() -> None:
    """Runs them, each below its name and what it does."""
    began = time.perf_counter()
    for name in PROGRAMS:
        print(f"\n===== {name}.py", flush=True)
        start = time.perf_counter()
        program = import_module(name)
        print(f"{(program.__doc__ or '').splitlines()[0]}\n", flush=True)
        program.main()
        print(f"----- {name}.py: {time.perf_counter() - start:.1f} s", flush=True)
    print(f"\n{len(PROGRAMS)} programs in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
