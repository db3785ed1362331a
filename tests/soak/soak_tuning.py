"""Processes that tune the same programs in one directory, while they are killed and their files are damaged.

``python -m tests.soak.soak_tuning --seconds 600`` stops if a process fails or returns a wrong value, if a file is
damaged that was not damaged on purpose, or if the result of a search is lost.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np

import tcjax
from tcjax.runtime.tuning import store
from tcjax.runtime.tuning.choices import Choice, from_json
from tests.processes import warnings_are_errors

PROCESSES = 3
# Seconds in which a process must answer for one program.
PATIENCE = 300.0

PROGRAMS = (
    "def nearest(float(N,K) A, float(M,K) B) -> (C) { C(i,j) min=! fabs(A(i,k) - B(j,k)) }",
    "def largest(float(N,K) A, float(M,K) B) -> (C) { C(i) max=! A(i,k) * B(j,k) }",
)
GARBAGE = (
    b"",
    b"\0",
    b"{}",
    b"[1, 2",
    b"null",
    b'{"key": 1}',
    b"\xff" * 4000,
    b"[" * 5000,
    b"9" * 9000,
    b" " * (store._LONGEST + 1),
)


def arrays() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.normal(size=(160, 24)).astype("float32"), random.normal(size=(150, 24)).astype("float32")


def expected(number: int) -> np.ndarray:
    """The result of a program, in float64 by NumPy."""
    a, b = (array.astype("float64") for array in arrays())
    if number == 0:
        return np.abs(a[:, None, :] - b[None, :, :]).min(-1)
    return (a[:, None, :] * b[None, :, :]).max((1, 2))


def check(kernel: tcjax.Kernel, number: int) -> None:
    np.testing.assert_allclose(np.asarray(kernel(*arrays()), "float64"), expected(number), rtol=1e-4, atol=1e-4)


def tune_on(seed: int, end: float) -> None:
    """Tunes and calls, in a process of its own: damaged files cause a warning and nothing else."""
    warnings_are_errors()
    warnings.filterwarnings("ignore", ".*TC1216", tcjax.CompileWarning)
    rng = Random(seed)
    while time.time() < end:
        number = rng.randrange(len(PROGRAMS))
        store._warned = type(store._warned)()
        check(tcjax.kernel(PROGRAMS[number]), number)
        tuned = tcjax.kernel(PROGRAMS[number]).tune(*arrays(), seconds=0.3, progress=False, gradient=rng.random() < 0.5)
        check(tuned, number)
        print(number, flush=True)


class Tuners:
    """Processes that tune in one directory; killed ones are started again."""

    def __init__(self, place: Path, seed: int, end: float) -> None:
        self.place, self.rng, self.end = place, Random(seed), end
        self.running = [self.start() for _ in range(PROCESSES)]

    def start(self) -> "subprocess.Popen[str]":
        seed = self.rng.randrange(1 << 30)
        command = [sys.executable, "-m", "tests.soak.soak_tuning", "--tuner", str(seed), str(self.end)]
        environment = {**os.environ, "TCJAX_CACHE_DIR": str(self.place)}
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def kill_one(self) -> None:
        """Kills one of them, at an arbitrary instruction."""
        number = self.rng.randrange(PROCESSES)
        if self.running[number].poll() is None:
            self.running[number].kill()
            self.running[number].communicate()
            self.running[number] = self.start()

    def problems(self) -> Iterator[str]:
        """The output of those that failed, once all have ended."""
        for process in self.running:
            try:
                _, said = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                said = f"it never ended\n{process.communicate()[1]}"
            if process.returncode:
                yield said[-3000:]


def damage(path: Path, rng: Random) -> bytes:
    """Truncates a file or overwrites it; gives its new contents."""
    content = path.read_bytes()
    content = content[: rng.randrange(len(content) + 1)] if rng.random() < 0.6 else rng.choice(GARBAGE)
    path.write_bytes(content)
    return content


def whole(path: Path) -> Choice | None:
    """The choice in a file; None if no search has written it."""
    try:
        return from_json(json.loads(path.read_bytes())["choice"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def soak(seconds: float, seed: int) -> list[str]:
    """The failures."""
    rng, found = Random(seed), list[str]()
    with tempfile.TemporaryDirectory(prefix="choices-") as folder:
        place = Path(folder)
        tuners = Tuners(place, seed, time.time() + seconds)
        damaged: dict[Path, bytes] = {}
        while time.time() < tuners.end and all(process.poll() in (None, 0) for process in tuners.running):
            time.sleep(rng.uniform(0.5, 3))
            for path in place.glob("*.json"):
                if whole(path) is None and path.read_bytes() != damaged.get(path):
                    found.append(f"{path.name} is broken: {path.read_bytes()[:200]!r}")
            paths = sorted(place.glob("*.json"))
            if rng.random() < 0.2:
                tuners.kill_one()
            elif paths and rng.random() < 0.5:
                path = rng.choice(paths)
                damaged[path] = damage(path, rng)
        found += tuners.problems()
        # Readers still get right values, and the next search repairs damaged files.
        os.environ["TCJAX_CACHE_DIR"] = folder
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tcjax.CompileWarning)
            for number, text in enumerate(PROGRAMS):
                check(tcjax.kernel(text), number)
                check(tcjax.kernel(text).tune(*arrays(), seconds=0.3, progress=False), number)
        found += [f"{path.name} is broken at the end" for path in place.glob("*.json") if whole(path) is None]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=Random().randrange(1 << 30))
    parser.add_argument("--tuner", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tuner:
        tune_on(int(options.tuner[0]), float(options.tuner[1]))
        return 0
    found = soak(options.seconds, options.seed)
    print(f"seed {options.seed}: {PROCESSES} processes, {len(found)} problems", *found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
