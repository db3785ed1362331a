"""Threads that make, call, differentiate, explain and tune the same kernels at the same time, from the first call on.

``python -m tests.soak.soak_threads --seconds 600`` stops if a value is wrong, an exception escapes, or threads
deadlock.
"""

import argparse
import faulthandler
import os
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from random import Random

import jax
import numpy as np

import tcjax

# Threads of a round; and seconds after which running threads count as deadlocked.
THREADS = 6
PATIENCE = 300.0

PROGRAMS = (
    "def nearest(float(N,K) A, float(M,K) B) -> (C) { C(i,j) min=! fabs(A(i,k) - B(j,k)) }",
    "def product(float(N,K) A, float(M,K) B) -> (C) { C(i,j) +=! A(i,k) * B(j,k) }",
    "def shared(A, B) -> (C) { S(i) +=! A(i,k)  C(i,j) = S(i) * B(j,0) }",
    "{ [i,j] -> sum({ [k] -> a[i,k] * b[j,k] }) }",
)


def arrays(rng: Random) -> tuple[np.ndarray, np.ndarray]:
    """Two matrices with equally many columns, of one of a few shapes."""
    random = np.random.default_rng(rng.randrange(1 << 30))
    rows, others, columns = rng.choice(((3, 4, 5), (1, 2, 3), (8, 8, 8), (2, 9, 4)))
    return random.normal(size=(rows, columns)).astype("float32"), random.normal(size=(others, columns)).astype(
        "float32"
    )


def expected(number: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The result of a program, in float64 by NumPy."""
    a, b = a.astype("float64"), b.astype("float64")
    match number:
        case 0:
            return np.abs(a[:, None, :] - b[None, :, :]).min(-1)
        case 2:
            return a.sum(1)[:, None] * b[:, 0][None, :]
        case _:
            return a @ b.T


def slope(number: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The gradient of the sum of a program's result with respect to `a`: differences in float64."""
    found = np.zeros(a.shape)
    for place in np.ndindex(a.shape):
        step = np.zeros(a.shape)
        step[place] = 1e-6
        found[place] = (expected(number, a + step, b).sum() - expected(number, a - step, b).sum()) / 2e-6
    return found


def work(kernels: Sequence[tcjax.Kernel], rng: Random, tunes: bool) -> None:
    """One use of a kernel that other threads use at the same time."""
    number = rng.randrange(len(kernels))
    kernel, (a, b) = kernels[number], arrays(rng)
    wanted = expected(number, a, b)
    match rng.randrange(8 if tunes else 7):
        case 0 | 1 | 2:
            found = kernel(a, b)
        case 3:
            found = jax.jit(kernel)(a, b)
        case 4:
            ways = np.asarray(jax.grad(lambda one: kernel(one, b).sum())(a), "float64")
            np.testing.assert_allclose(ways, slope(number, a, b), rtol=1e-3, atol=1e-3)
            found = kernel(a, b)
        case 5:
            assert str(kernel.explain(a, b)) and str(kernel.plan(a, b)) and kernel.ranges(a, b)
            found = kernel(a, b)
        case 6:
            found = tcjax.kernel(PROGRAMS[number])(a, b)
        case _:
            found = kernel.tune(a, b, seconds=0.2, progress=False, gradient=rng.random() < 0.5)(a, b)
    np.testing.assert_allclose(np.asarray(found, "float64"), wanted, rtol=1e-4, atol=1e-4)


def together(acts: Sequence[Callable[[], object]], patience: float = PATIENCE) -> list[str]:
    """Failures in threads that start together; threads that hang are shown with their stacks."""
    begin = threading.Barrier(len(acts))
    problems: list[str] = []

    def run(act: Callable[[], object]) -> None:
        try:
            begin.wait(patience)
            act()
        except BaseException as problem:
            problems.append(f"{type(problem).__name__}: {problem}"[:2000])

    threads = [threading.Thread(target=run, args=(act,), daemon=True) for act in acts]
    for thread in threads:
        thread.start()
    end = time.monotonic() + patience
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    waiting = sum(thread.is_alive() for thread in threads)
    if waiting:
        faulthandler.dump_traceback(all_threads=True)
        problems.append(f"{waiting} threads wait for each other")
    return problems


def once(seed: int, threads: int = THREADS, each: int = 3, tunes: bool = True) -> list[str]:
    """Failures in a round: new kernels, used by all threads at the same time."""
    kernels = [tcjax.kernel(text) for text in PROGRAMS]
    # In the process, not in a thread: warning filters apply to all threads.
    filters = list(warnings.filters)

    def act(rng: Random) -> None:
        for _ in range(each):
            work(kernels, rng, tunes)

    chances = [Random(f"{seed} {number}") for number in range(threads)]
    problems = together([lambda rng=rng: act(rng) for rng in chances])
    if warnings.filters != filters:
        problems.append(f"the filters of warnings are others than before: {warnings.filters}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=Random().randrange(1 << 30))
    options = parser.parse_args()
    end, rounds = time.monotonic() + options.seconds, 0
    with tempfile.TemporaryDirectory(prefix="choices-") as folder:
        os.environ["TCJAX_CACHE_DIR"] = folder
        while time.monotonic() < end:
            problems = once(options.seed + rounds)
            if problems:
                print(f"seed {options.seed + rounds}", *problems, sep="\n")
                return 1
            rounds += 1
            jax.clear_caches()
    print(f"seed {options.seed}: {rounds} rounds of {THREADS} threads, none wrong")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
