"""``python -m bench.calibrate``: measures what operations cost on this machine, and prints its row of
`tcjax.planning.data.machine`.

Each constant is the median time of a small JAX program that spends nearly all of it on that operation, divided by the
number of operations, less the time that other constants explain. Sizes, such as that of a cache, are not measured: they
are taken from the table.
"""

from __future__ import annotations

import argparse
import functools
import math
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tcjax.ir import Reducer
from tcjax.lowering.running import running
from tcjax.planning.data.machine import CPU, Machine
from tcjax.planning.operations.scan import BLOCK

from . import links
from .harness import keep_pages
from .report import device_name

SAMPLES: Final = 25
SAMPLE_SECONDS: Final = 3e-4  # A sample repeats a short call until it lasts this long.
# They are not measured.
SIZES: Final = (
    *("divided", "cache", "near", "alignment", "narrow", "small"),
    *("unrolled", "unrolled_lookups", "wide_window", "streams"),
)
MIB: Final = 1 << 20
# Steps of a recurrence.
STEPS: Final = 100_000

Found = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Probe:
    """A program for one constant: `make` gives the function and its arguments, `count` the number of operations.

    `less` is the part of its time that other constants explain; for a constant that is a ratio, `over` names the probe
    whose time is the denominator. With `wide` it runs in 64-bit mode.
    """

    constant: str
    make: Callable[[], tuple[Callable[..., Any], Sequence[Any]]]
    count: float = 1.0
    less: Callable[[Found], float] = lambda found: 0.0
    over: str = ""
    wide: bool = False


def main(arguments: list[str] | None = None) -> int:
    """Measures and prints the row."""
    parser = argparse.ArgumentParser(prog="python -m bench.calibrate", description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.6, help="time for each constant (0.6)")
    parser.add_argument("--compare", action="store_true", help="print the table's values beside the measured ones")
    parser.add_argument("--links", action="store_true", help="print the row of the loopback by two processes")
    options = parser.parse_args(arguments)
    if options.links:
        print(links.row(links.loopback()))
        return 0
    keep_pages()
    print(f"{device_name()}, jax {jax.__version__}", file=sys.stderr)
    machine = calibrated(options.seconds)
    print(comparison(machine) if options.compare else row(machine))
    return 0


def calibrated(seconds: float, probes: Sequence[Probe] | None = None) -> Machine:
    """The CPU's row with the measured constants, in `seconds` each."""
    found: dict[str, float] = {}
    for probe in PROBES if probes is None else probes:
        whole = timed(probe, seconds)
        if probe.over:
            value = whole / timed(next(p for p in RATIOS if p.constant == probe.over), seconds)
        else:
            rest = whole - probe.less({**_known(), **found})
            # Noise must not make the cost of an operation zero or negative.
            value = max(rest, whole / 10) / probe.count
        found[probe.constant] = float(f"{value:.2g}")
    return Machine(**{"kind": "cpu", **_known(), **found})  # type: ignore[arg-type]


def _known() -> dict[str, Any]:
    return {field.name: getattr(CPU, field.name) for field in fields(Machine) if field.name != "kind"}


def timed(probe: Probe, seconds: float) -> float:
    """The median time of a call, in seconds."""
    with jax.enable_x64(probe.wide):
        function, arguments = probe.make()
        given = [jax.device_put(jnp.asarray(one)) for one in arguments]
        compiled = jax.jit(function).lower(*given).compile()
        jax.block_until_ready(compiled(*given))
        start = time.perf_counter()
        jax.block_until_ready(compiled(*given))
        once = time.perf_counter() - start
        calls = max(1, math.ceil(SAMPLE_SECONDS / max(once, 1e-7)))
        samples: list[float] = []
        begin = time.perf_counter()
        while len(samples) < 3 or (len(samples) < SAMPLES and time.perf_counter() - begin < seconds):
            start = time.perf_counter()
            for _ in range(calls):
                jax.block_until_ready(compiled(*given))
            samples.append((time.perf_counter() - start) / calls)
    return statistics.median(samples)


def row(machine: Machine) -> str:
    """The row as it stands in the table."""
    lines = [f"    {field.name}={_value(getattr(machine, field.name))}," for field in fields(machine)]
    return "\n".join([f"{machine.kind.upper()}: Final = Machine(", *lines, ")"])


def _value(value: str | int | float) -> str:
    match value:
        case str():
            return f'"{value}"'
        case int() if value >= MIB and value % MIB == 0:
            return f"{value // MIB} << 20"
        case int():
            return str(value)
        case float():
            return f"{value:.2g}" if value < 0.1 else f"{value:.1f}"


def comparison(machine: Machine) -> str:
    """Each constant as measured and as in the table, and their ratio."""
    lines = []
    for field in fields(machine):
        old, new = getattr(CPU, field.name), getattr(machine, field.name)
        if field.name not in SIZES and field.name != "kind":
            lines.append(f"{field.name:16} {new:9.2g} {old:9.2g} {new / old:6.2f}")
    return "\n".join(lines)


def _normal(*shape: int, dtype: str = "float32") -> np.ndarray:
    values = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    return np.asarray(jnp.asarray(100 * values if dtype.startswith("int") else values, dtype))


def _places(count: int, most: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, most, count, dtype=np.int32)


def _of(function: Callable[..., Any], *arguments: Any) -> Callable[[], tuple[Callable[..., Any], Sequence[Any]]]:
    """A program whose arguments are made when it runs: arrays, or random numbers of a given shape."""
    return lambda: (function, [_normal(*one) if isinstance(one, tuple) else one() for one in arguments])


def _typed(shape: tuple[int, ...], dtype: str) -> Callable[[], np.ndarray]:
    return lambda: _normal(*shape, dtype=dtype)


def _chain(count: int) -> Callable[[jax.Array], jax.Array]:
    """A chain of `count` kernels."""

    def run(x: jax.Array) -> jax.Array:
        for _ in range(count):
            x = lax.optimization_barrier(x * 1.5 + 1)
        return x

    return run


def _sums(count: int) -> Callable[[jax.Array], jax.Array]:
    """A fused loop with twice `count` operations."""

    def run(x: jax.Array) -> jax.Array:
        y = x
        for _ in range(count):
            y = y * x + x
        return y.astype(x.dtype)

    return run


def _flags(a: jax.Array, b: jax.Array) -> jax.Array:
    """A fused loop of logic."""
    for _ in range(16):
        a = (a ^ b) + (a & b)
    return a


def _quotients(x: jax.Array) -> jax.Array:
    y = x
    for _ in range(16):
        y = x / (y + 2)
    return y


def _product(a: jax.Array, b: jax.Array) -> jax.Array:
    return a @ b


def _minimum(axis: int) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """A minimum over all pairs, along the minor axis or another."""
    if axis == 2:
        return lambda a, b: (a[:, None, :] + b[None, :, :]).min(2)
    return lambda a, b: (a[:, :, None] + b[None, :, :]).min(1)


def _rows(table: jax.Array, at: jax.Array) -> jax.Array:
    """Sums of eight rows."""
    return sum((table[at[number::8]] for number in range(8)), jnp.zeros((at.size // 8, table.shape[1])))


def _scattered(size: int, *row: int) -> Callable[[jax.Array, jax.Array], jax.Array]:
    return lambda at, values: jnp.zeros((size, *row)).at[at].add(values, mode="drop")


def _trips(x: jax.Array, square: jax.Array) -> jax.Array:
    """A loop with nearly empty iterations and a product in it, like the loops of nests."""

    def step(_: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return carry[0] @ carry[0], carry[1] * 1.5 + carry[0][0, 0]

    return lax.fori_loop(0, 1000, step, (square * 0, x))[1]


def _column_products(a: jax.Array, b: jax.Array) -> jax.Array:
    return (a * b[None] + lax.optimization_barrier(jnp.float32(-0.0))).sum(1)


def _in_turn(x: jax.Array) -> jax.Array:
    """A recurrence whose step is one kernel."""
    return lax.fori_loop(1, STEPS, lambda t, h: h.at[t].set(0.5 * h[t - 1] + h[t]), x)


def _exponentials_in_turn(x: jax.Array) -> jax.Array:
    return lax.fori_loop(1, STEPS, lambda t, h: h.at[t].set(jnp.exp(0.5 * h[t - 1]) - h[t]), x)


def _accumulated(x: jax.Array, y: jax.Array) -> jax.Array:
    """A min-plus product in blocks of 16 rows, 8 per iteration."""

    def step(trip: jax.Array, best: jax.Array) -> jax.Array:
        square = best[:16, :16] * 0
        rows = lax.dynamic_slice_in_dim(y, trip * 128 + (jnp.dot(square, square)[0, 0] < 0).astype(jnp.int32), 128)
        for number in range(8):
            value = rows[16 * number : 16 * number + 16, None] + x
            best = jnp.where(value < best, value, best)
        return best

    return lax.fori_loop(0, 32, step, jnp.full((16, 4096), jnp.inf)).min(0)


def _chosen(x: jax.Array) -> jax.Array:
    """A chain of sixteen conditionals."""
    for _ in range(16):
        x = lax.cond(x[0] > 0, lambda x: x * 1.5, lambda x: x + 2, x)
    return x


def _convolved(image: jax.Array, kernel: jax.Array) -> jax.Array:
    return lax.conv_general_dilated(image, kernel, (1, 1), "VALID")


def _windows(x: jax.Array) -> jax.Array:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 9), (1, 1), "VALID")


def _running(*, looped: bool) -> Callable[[jax.Array], jax.Array]:
    return functools.partial(running, Reducer.SUM, axis=0, reverse=False, block=BLOCK, looped=looped)


def _traffic(count: int) -> Callable[[Found], float]:
    return lambda found: count * found["cached_byte"] + found["launch"]


# The denominators of constants that are ratios.
RATIOS: Final = (
    Probe("sums", _of(_sums(32), (MIB,))),
    Probe("flags", _of(_flags, *2 * (_typed((MIB,), "int32"),))),
    Probe("product", _of(_product, (384, 384), (384, 384))),
    Probe("across", _of(lambda a, v: a.T * v, (1000, 1000), (1000,))),
)
PROBES: Final = (
    Probe("launch", _of(lambda x: x + 1, (4,))),
    Probe("dispatch", _of(_chain(64), (1024,)), 64, lambda f: f["launch"]),
    Probe("cached_byte", _of(lambda x: x + 1, (MIB,)), 8 * MIB, lambda f: f["launch"]),
    Probe("memory_byte", _of(lambda x: x + 1, (16 * MIB,)), 128 * MIB),
    Probe("fork", _of(_chain(16), (1 << 16,)), 16, lambda f: f["launch"] + 16 * (MIB // 2) * f["cached_byte"]),
    Probe("transposed", _of(lambda a: a.T, (1000, 1000)), 1e6),
    Probe("strided", _of(lambda a, v: a.T * v, (1000, 1000), (1000,)), 1e6),
    Probe("aligned", _of(lambda a, v: a.T * v, (1024, 1024), (1024,)), over="across"),
    Probe("element", _of(_sums(32), (MIB,)), 64 * MIB),
    Probe("division", _of(_quotients, (MIB,)), 16 * MIB),
    Probe("short", _of(lambda a, v: a + v, (MIB // 8, 16), (16,)), 4 * MIB),
    Probe("call", _of(jnp.exp, (MIB,)), MIB),
    Probe("slow_call", _of(jnp.sin, (MIB,)), MIB),
    Probe("wide", _of(_sums(32), _typed((MIB,), "float64")), over="sums", wide=True),
    Probe("bytewise", _of(_flags, *2 * (_typed((MIB,), "int8"),)), over="flags"),
    Probe("half", _of(_sums(32), _typed((MIB,), "bfloat16")), over="sums"),
    Probe("multiply_add", _of(_product, (768, 768), (768, 768)), 768**3),
    Probe("small_product", _of(_product, (1000, 16, 16), (1000, 16, 16)), 1000 * 16**3),
    Probe("thin", _of(_product, (1 << 17, 3), (3, 3)), 9 << 17),
    Probe("vector", _of(lambda a, b: jnp.einsum("ijr,jr->ir", a, b), (128, 128, 64), (128, 64)), MIB),
    Probe("matrix", _of(_product, (10000, 8, 8), (10000, 8, 8)), 10000, lambda f: 5120000 * f["small_product"]),
    Probe("integer_product", _of(_product, _typed((384, 384), "int32"), _typed((384, 384), "int32")), over="product"),
    Probe("half_product", _of(_product, *2 * (_typed((384, 384), "bfloat16"),)), over="product"),
    Probe("convolve", _of(_convolved, (4, 64, 30, 30), (64, 64, 3, 3)), 4 * 64 * 64 * 28 * 28 * 9),
    Probe("channel", _of(_convolved, (1, 1, 260, 260), (1, 1, 5, 5)), 256 * 256 * 25),
    Probe("fold_minor", _of(_minimum(2), (256, 256), (256, 256)), 256**3, lambda f: 256**3 * f["element"]),
    Probe("fold_major", _of(_minimum(1), (256, 256), (256, 256)), 256**3, lambda f: 256**3 * f["element"]),
    Probe("fold_row", _of(lambda a: a.sum(1), (MIB // 8, 8)), MIB // 8, _traffic(4 * MIB)),
    Probe("fold_slow", _of(lambda a: a.min(1), _typed((1024, 1024), "int32")), MIB),
    Probe("fold_columns", _of(_column_products, (128, 128, 64), (128, 64)), MIB),
    Probe("window", _of(_windows, (1024, 1024)), 9 * 1016 * 1024),
    Probe("running", _of(_running(looped=False), (1024, 1024)), MIB),
    Probe("running_looped", _of(_running(looped=True), (64, 1 << 14)), MIB),
    Probe("running_trip", _of(_running(looped=True), (4096, 16)), 1024, lambda f: 2**16 * f["running_looped"]),
    Probe("position", _of(lambda a: a.argmin(1), (1024, 1024)), MIB),
    Probe("sort", _of(lambda a: jnp.argsort(a, 1), (4096, 64)), 6 * 64 * 4096),
    Probe("gather", _of(lambda a, i: a[i], (1 << 16,), lambda: _places(MIB, 1 << 16)), MIB),
    Probe("gather_far", _of(lambda a, i: a[i], (16 * MIB,), lambda: _places(MIB, 16 * MIB)), MIB),
    Probe(
        "gather_row",
        _of(_rows, (1 << 12, 32), lambda: _places(1 << 16, 1 << 12)),
        1 << 16,
        lambda f: 2 * MIB * f["element"] + f["launch"],
    ),
    Probe("scatter", _of(_scattered(1024), lambda: _places(MIB, 1024), (MIB,)), MIB),
    Probe("scatter_far", _of(_scattered(4 * MIB), lambda: _places(MIB, 4 * MIB), (MIB,)), MIB, _traffic(16 * MIB)),
    Probe("scatter_row", _of(_scattered(4096, 4), lambda: _places(1 << 18, 4096), (1 << 18, 4)), 1 << 18),
    Probe(
        "scatter_byte",
        _of(_scattered(128, 256), lambda: _places(1 << 13, 128), (1 << 13, 256)),
        8 * MIB,
        lambda f: (1 << 13) * f["scatter_row"],
    ),
    Probe("trip", _of(_trips, (4096,), (16, 16)), 1000),
    Probe("step", _of(_in_turn, (STEPS,)), STEPS),
    Probe("alone", _of(_exponentials_in_turn, (STEPS,)), STEPS * CPU.call, lambda f: STEPS * f["step"]),
    Probe("accumulate", _of(_accumulated, (4096,), (4096,)), 16 * MIB, lambda f: 16 * MIB * 2 * f["element"]),
    Probe("branch", _of(_chosen, (1024,)), 16, lambda f: f["launch"] + 16 * f["dispatch"]),
)


if __name__ == "__main__":
    sys.exit(main())
