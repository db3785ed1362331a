"""The loopback between devices of two processes on this machine: ``python -m bench.calibrate --links`` measures it.

Both processes send each other arrays with gloo, as JAX's CPU devices do: short ones for the time of a message, long
ones for that of a byte.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.processes import LAUNCH
from tcjax.planning.data.links import LOOPBACK, Link

SAMPLES: Final = 50
LONG: Final = 1 << 20  # elements of four bytes


def loopback(limit: float = 120.0) -> Link:
    """The table's row for this machine. Raises `RuntimeError` if a process fails or takes too long."""
    command = [sys.executable, str(LAUNCH), "--processes", "2", str(Path(__file__).resolve())]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"the processes took longer than {limit:g} s") from None
    if done.returncode:
        raise RuntimeError("a process failed")
    (said,) = (line for line in done.stdout.splitlines() if line.startswith("[0] ["))
    short, long = json.loads(said.removeprefix("[0] "))
    return replace(LOOPBACK, byte=float(f"{(long - short) / (4 * LONG):.2g}"), message=float(f"{short:.2g}"))


def row(link: Link) -> str:
    """The row as Python source."""
    return f'{link.kind.upper()}: Final = Link("{link.kind}", byte={link.byte:.2g}, message={link.message:.2g})'


def measure() -> None:
    """One of the two processes: the first prints the shortest times of a short and a long exchange."""
    import jax
    import jax.numpy as jnp

    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))

    def exchange(x: jax.Array) -> jax.Array:
        return jax.lax.ppermute(x, "x", [(0, 1), (1, 0)])

    run = jax.jit(jax.shard_map(exchange, mesh=mesh, in_specs=rows.spec, out_specs=rows.spec))

    def time_of(count: int) -> float:
        array = jax.jit(lambda: jnp.zeros(2 * count, "float32"), out_shardings=rows)()
        return _least(lambda: jax.block_until_ready(run(array)))

    times = [time_of(1), time_of(LONG)]
    if jax.process_index() == 0:
        print(json.dumps(times))


def _least(call: Callable[[], object]) -> float:
    """The shortest time: processes wait for each other, and for other work on the machine."""
    call()
    samples: list[float] = []
    for _ in range(SAMPLES):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    return min(samples)


if __name__ == "__main__":
    measure()
