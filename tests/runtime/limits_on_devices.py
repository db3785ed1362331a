"""`memory_limit` on eight devices: ``python -m tests.runtime.limits_on_devices`` prints one line of JSON.

For each program and limit, in each direction: XLA's count for one device, or None if the limit is refused. The tests
run this in a process of its own, because XLA_FLAGS must request the CPU devices before JAX starts.
"""

import json
import os
import sys
from typing import Any

if __name__ == "__main__":
    # Before the first import of jax.
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp

import tcjax
from bench.allocations import towards

P = jax.sharding.PartitionSpec
WAYS = ("forward", "reverse")
SQUARES = "sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))"
KERNEL_SUM = f"def f(float(N,D) x, float(M,D) y, float(M) b) -> (O) {{ O(i) +=! exp(-{SQUARES}) * b(j) }}"
POINTS = ("float32[4096,3]", "float32[4096,3]", "float32[4096]")
PRODUCT = "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
MIN_PLUS = "def f(float(I,K) A, float(K,J) B) -> (C) { C(i,j) min=! A(i,k) + B(k,j) }"
MATRICES = ("float32[512,256]", "float32[256,256]")
BAG = "def f(int32(N,L) I, float(K,M) A) -> (O) { O(i,j) +=! A(I(i,l),j) }"
PAIRS = (
    "def f(int32(N,L) I, float(N,D) x, float(N,L) y) -> (float(1000,D) O) { O(I(i,l), d) +=! fabs(x(i,d) - y(i,l)) }"
)
EXPERTS = "def f(float(T,N) h, int32(T) e, float(E,N,D) w) -> (O) { O(t,d) +=! h(t,n) * w(e(t),n,d) }"
# Each program with its sharded index, its arguments, and the limits.
PROGRAMS: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...]]] = {
    "terms of a product": (PRODUCT, "k", MATRICES, ("2MiB", "256KiB")),
    "rows of a kernel sum": (KERNEL_SUM, "i", POINTS, ("1MiB",)),
    "terms of a min-plus product": (MIN_PLUS, "k", MATRICES, ("16MiB", "1MiB")),
    "bags of rows": (BAG, "i", ("int32[2048,32]", "float32[1000,64]"), ("8MiB", "64KiB")),
    "values that are sent away": (PAIRS, "i", ("int32[8192,32]", "float32[8192,64]", "float32[8192,32]"), ("4MiB",)),
    "experts": (EXPERTS, "t", ("float32[1024,128]", "int32[1024]", "float32[8,128,128]"), ("4MiB", "256KiB")),
}


def main() -> None:
    mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    found: dict[str, dict[str, Any]] = {}
    for name, (text, index, arguments, limits) in PROGRAMS.items():
        for limit in limits:
            kernel = tcjax.kernel(text, memory_limit=limit).sharded(mesh, {index: "data"})
            given = tuple(map(_spec, arguments))
            found[f"{name}, {limit}"] = {way: _counted(kernel, given, way) for way in WAYS}
    inner = jax.shard_map(
        tcjax.kernel(KERNEL_SUM, memory_limit="1MiB"), mesh=mesh, in_specs=(P("data"), P(), P()), out_specs=P("data")
    )
    found["inside of shard_map, 1MiB"] = {way: _counted(inner, tuple(map(_spec, POINTS)), way) for way in WAYS}
    typed = jax.make_mesh((8,), ("rows",), axis_types=(jax.sharding.AxisType.Explicit,))
    with jax.set_mesh(typed):
        x, y, b = (jnp.zeros(spec.shape, spec.dtype) for spec in map(_spec, POINTS))
        placed = jax.device_put(x, P("rows")), jax.device_put(y, P()), jax.device_put(b, P())
        kernel = tcjax.kernel(KERNEL_SUM, memory_limit="8MiB")
        found["along explicit axes, 8MiB"] = {way: _counted(kernel, placed, way) for way in WAYS}
    json.dump(found, sys.stdout)


def _counted(function: Any, arguments: tuple[Any, ...], direction: str) -> int | None:
    """The temporary bytes of one device; None if the limit is refused."""
    try:
        directed = towards(function, arguments, direction)
        assert directed is not None
        analysis = jax.jit(directed[0]).lower(*directed[1]).compile().memory_analysis()
    except tcjax.CompileError as error:
        assert error.code == "TC0810", error
        return None
    assert analysis is not None
    return int(analysis.temp_size_in_bytes)


def _spec(text: str) -> jax.ShapeDtypeStruct:
    dtype, _, shape = text.rstrip("]").partition("[")
    return jax.ShapeDtypeStruct(tuple(map(int, shape.split(","))), jnp.dtype(dtype))


if __name__ == "__main__":
    main()
