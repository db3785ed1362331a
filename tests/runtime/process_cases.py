"""A kernel whose arrays are distributed over two processes, launched by `test_processes`; each compares with NumPy."""

import jax
import numpy as np

import tcjax
from tests.processes import warnings_are_errors

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"


def main() -> None:
    mesh = jax.make_mesh((jax.device_count(),), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    random = np.random.default_rng(0)
    a, b = random.normal(size=(8, 6)).astype("float32"), random.normal(size=(6, 4)).astype("float32")
    A, B = (jax.make_array_from_callback(x.shape, rows, lambda part, x=x: x[part]) for x in (a, b))
    outer, inner = (tcjax.kernel(MM).sharded(mesh, axes) for axes in ({"m": "data"}, {"k": "data"}))
    product = a.astype(float) @ b

    for name, kernel, arrays in (
        ("arrays of all processes", outer, (A, B)),
        ("NumPy's, the same in every process", outer, (a, b)),
        ("a sum over processes", inner, (A, B)),
        ("with a limit", tcjax.kernel(MM, memory_limit="1MiB", sharding=(mesh, {"m": "data"})), (A, b)),
        ("checked", tcjax.kernel(MM, checked=True).sharded(mesh, {"m": "data"}), (A, b)),
    ):
        print(f"{name}: {same(kernel(*arrays), product)}")
    slope = jax.jit(jax.grad(lambda B, A: (outer(A, B) ** 2).sum()))(B, A)
    print(f"gradient: {same(slope, 2 * a.astype(float).T @ product)}")

    told = inner.explain(A, B, compiled=True).to_dict()
    compiled = [(each["operation"], each["bytes"]) for each in told["compiled"]["collectives"]]
    print(f"collectives: {compiled == [(each['operation'], each['bytes']) for each in told['collectives']] != []}")
    try:
        outer.interpret(A, B)
    except tcjax.CompileError as error:
        print(f"interpreted: {error.message}")


def same(found: jax.Array, expected: np.ndarray) -> bool:
    """Whether the local blocks have these values."""
    blocks = found.addressable_shards
    return bool(blocks) and all(np.allclose(np.asarray(b.data), expected[b.index], atol=1e-4) for b in blocks)


if __name__ == "__main__":
    warnings_are_errors()
    main()
