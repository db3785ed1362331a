"""``python -m bench.processes``: how much longer two processes take for twice the work of one."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
LAUNCH = ROOT / "examples" / "distributed" / "launch.py"

LEAST_SCALING = 0.8


@dataclass(frozen=True, slots=True)
class Weak:
    """A case: median seconds of one process and of two, with the same number of rows per process."""

    case: str
    one: float
    two: float
    # Median of the ratios within rounds, in each of which both are measured.
    scaling: float
    rounds: int


def main(arguments: list[str] | None = None) -> int:
    """Starts two processes, each on its own core, and prints what they measured; 0 if all cases scale well."""
    options = parse(arguments)
    if options.rank:
        return measure(options)
    command = [LAUNCH, "--processes", "2", "--pin", Path(__file__), "--rank", *(arguments or sys.argv[1:])]
    return subprocess.run([sys.executable, *map(str, command)], check=False).returncode


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.processes", description=__doc__)
    parser.add_argument("--rows", type=int, default=1024, help="rows or points of each process (1024)")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement to FILE")
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace) -> int:
    """One of the two processes: measures all cases together with the other one. The first one prints."""
    import tcjax
    from examples.distributed import heat, neighbours

    random = np.random.default_rng(0)
    plate = random.normal(size=(2 * options.rows, 1024)).astype(np.float32)
    points = random.normal(size=(2 * options.rows, 3)).astype(np.float32)
    known = random.normal(size=(4096, 3)).astype(np.float32)
    pairs, stencil = tcjax.kernel(neighbours.PROGRAM), tcjax.kernel(heat.PROGRAM, consts={"STEPS": 20})
    found = [
        weak("all pairs", pairs, (points, known), options.rounds),
        weak("stencil", stencil, (plate, heat.SPREAD), options.rounds),
    ]
    if jax.process_index():
        return 0
    for each in found:
        print(
            f"{each.case:10} one process {1e3 * each.one:8.2f} ms   two {1e3 * each.two:8.2f} ms"
            f"   scaling {each.scaling:.2f} {'ok' if each.scaling >= LEAST_SCALING else f'below {LEAST_SCALING}'}"
        )
    if options.json is not None:
        measured = {"jax": jax.__version__, "processes": 2, "rows": options.rows, "weak": [*map(asdict, found)]}
        options.json.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    return 0 if all(each.scaling >= LEAST_SCALING for each in found) else 1


def weak(case: str, kernel: Any, arrays: tuple[np.ndarray, ...], rounds: int) -> Weak:
    """Times a kernel whose first argument, sharded by `i`, has the rows of both processes. With one, one is idle."""
    first, *others = arrays
    alone = call_of(kernel, jax.local_devices()[:1], (first[: len(first) // 2], *others))
    both = call_of(kernel, jax.devices(), arrays)
    samples: list[tuple[float, float]] = []
    for _ in range(rounds + 1):
        one = together(alone if jax.process_index() == 0 else None)
        samples.append((one, together(both)))
    # The first round compiles.
    ones, twos = zip(*samples[1:], strict=True)
    ratios = [one / two for one, two in samples[1:]]
    return Weak(case, statistics.median(ones), statistics.median(twos), statistics.median(ratios), rounds)


def call_of(kernel: Any, devices: list[jax.Device], arrays: tuple[np.ndarray, ...]) -> Callable[[], Any]:
    """A call of the kernel on some devices, with its arrays placed there."""
    mesh = jax.sharding.Mesh(np.array(devices), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
    rows, whole = (jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes)) for axes in (("rows",), ()))
    places = [rows, *[whole] * (len(arrays) - 1)]
    if any(device.process_index == jax.process_index() for device in devices):
        arrays = tuple(
            jax.make_array_from_callback(array.shape, place, lambda part, array=array: np.asarray(array[part]))
            for array, place in zip(arrays, places, strict=True)
        )
    sharded = kernel.sharded(mesh, {"i": "rows"})
    return lambda: jax.block_until_ready(sharded(*arrays))


def together(call: Callable[[], Any] | None) -> float:
    """The seconds of the slowest process; a process without a call sleeps until the other is done."""
    from jax.experimental import multihost_utils

    multihost_utils.sync_global_devices("start")
    start = time.perf_counter()
    if call is not None:
        call()
    seconds = time.perf_counter() - start
    return float(multihost_utils.process_allgather(np.float32(seconds)).max())


if __name__ == "__main__":
    sys.exit(main())
