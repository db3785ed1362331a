"""Kernels on eight devices against the same kernels on one; `test_sharding` runs this in a process of its own."""

import json
import os
import sys
import warnings
from dataclasses import dataclass
from typing import Any

if __name__ == "__main__":
    # Before the first import of jax.
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np

import tcjax

Shape = tuple[int, ...]
MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) OP A(m,k) * B(k,n) }"
PAIRS = "def g(float(N,D) X) -> (O) { O(i) +=! (X(i,d) - X(j,d)) * (X(i,d) - X(j,d)) * X(j,d) }"
SOFTMAX = """
def softmax(float(N,M) X) -> (O, S) {
    Z(i) max=! X(i,j)
    S(i) +=! exp(X(i,j) - Z(i))
    O(i,j) = exp(X(i,j) - Z(i)) / S(i)
}"""
NEAREST = """
def nearest(float(N,D) X, float(M,D) Y) -> (O) {
    O(i) min=! (X(i,0) - Y(j,0)) * (X(i,0) - Y(j,0)) + (X(i,1) - Y(j,1)) * (X(i,1) - Y(j,1))
}"""


@dataclass(frozen=True)
class Case:
    """A program, the axes of its indices, the shapes of its arguments (an int: that many small integers)."""

    text: str
    axes: dict[str, str | tuple[str, ...]]
    shapes: tuple[Shape | int, ...]
    # How each result is cut.
    specs: list[list[Any]]
    initial: Shape | None = None
    has_gradient: bool = True
    # Whether the types of arrays say how they are sharded.
    explicit: bool = False

    def arrays(self) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        return [
            rng.integers(0, 5, shape).astype("int32")
            if isinstance(shape, int)
            else rng.normal(size=shape).astype("float32")
            for shape in self.shapes
        ]


def product(operator: str, *, specs: list[list[Any]] | None = None, **more: Any) -> Case:
    """``C(m,n) OP A(m,k) * B(k,n)``, m and k cut."""
    axes = {"m": "data", "k": "model"}
    return Case(MM.replace("OP", operator), axes, ((8, 6), (6, 4)), specs or [["data"]], **more)


CASES = {
    "rows of a product": Case(MM.replace("OP", "+=!"), {"m": "data"}, ((8, 6), (6, 4)), [["data"]]),
    "rows and columns": Case(
        MM.replace("OP", "+=!"), {"m": "data", "n": "model"}, ((8, 6), (6, 4)), [["data", "model"]]
    ),
    "with sharding in types": product("+=!", explicit=True),
    "along two axes": Case(MM.replace("OP", "+=!"), {"k": ("data", "model")}, ((8, 16), (16, 4)), [[]]),
    "sum": product("+=!"),
    "sum that goes on": product("+=", initial=(8, 4)),
    "product": product("*=!"),
    "product that goes on": product("*=", initial=(8, 4)),
    "min": product("min=!"),
    "max": product("max=!"),
    "max that goes on": product("max=", initial=(8, 4)),
    "mean": product("mean=!"),
    "logsumexp": product("logsumexp=!"),
    "argmin inside of a block": Case(
        MM.replace("OP", "argmin=!"), {"m": "data"}, ((8, 6), (6, 4)), [["data"]], has_gradient=False
    ),
    "one tensor by two indices": Case(PAIRS, {"i": "data"}, ((8, 3),), [["data"]]),
    "one tensor by two cut indices": Case(PAIRS, {"i": "data", "j": "model"}, ((8, 3),), [["data"]]),
    "an index as a value, and a guard": Case(
        "def g(float(N,M) X) -> (O) { O(i) +=! X(i,j) * j where i in 0:N, j in 0:M, j <= i }",
        {"i": "data", "j": "model"},
        ((8, 8),),
        [["data"]],
    ),
    "a chain": Case(SOFTMAX, {"i": "data", "j": "model"}, ((8, 6),), [["data", "model"], ["data"]]),
    "a chain over the reduction": Case(SOFTMAX, {"j": "model"}, ((8, 6),), [[None, "model"], []]),
    "transposed": Case(
        "def t(float(N,M) A) -> (O) { B(i,j) = A(i,j) * 2  O(j,i) = B(i,j) }",
        {"i": "data", "j": "model"},
        ((8, 4),),
        [["model", "data"]],
    ),
    "a diagonal": Case("def d(float(N,N) A) -> (O) { O(i) = A(i,i) }", {"i": "data"}, ((8, 8),), [["data"]]),
    "an inline reduction inside of a block": Case(
        "def s(float(N,M) A) -> (O) { O(i) = sum[j](A(i,j)) }", {"i": "data"}, ((8, 3),), [["data"]]
    ),
    "rows by data": Case(
        "def h(int32(N) I, float(K,M) A) -> (O) { O(i,j) = A(I(i),j) }",
        {"i": "data", "j": "model"},
        (8, (5, 6)),
        [["data", "model"]],
    ),
    "into rows by data": Case(
        "def h(int32(N) I, float(N,M) A) -> (float(9,M) O) { O(I(i),j) +=! A(i,j) }",
        {"i": "data", "j": "model"},
        (8, (8, 6)),
        [[None, "model"]],
    ),
    "bags of rows": Case(
        "def h(int32(N) I, float(K,M) A) -> (O) { O(i,j) +=! A(I(i) + l, j) where l in 0:32 }",
        {"i": "data"},
        (4096, (40, 64)),
        [["data"]],
    ),
    "values that go away in chunks": Case(
        "def h(int32(N) I, float(N,M) A) -> (float(40,M) O) {"
        " O(I(i) + l, j) +=! 0.00001 * fabs(A(i,j) - l) where l in 0:32 }",
        {"i": "data"},
        (4096, (4096, 64)),
        [[]],
    ),
    "a total": Case("def t(float(N,M) A) -> (O) { O() +=! A(i,j) }", {"i": "data", "j": "model"}, ((8, 4),), [[]]),
    "SaC": Case("{ [i,j] -> sum({ [k] -> A[i,k] * B[k,j] }) }", {"i": "data"}, ((8, 4), (4, 6)), [["data"]]),
    "a loop nest": Case(NEAREST, {"i": "data", "j": "model"}, ((2048, 2), (4096, 2)), [["data"]]),
}


def run(case: Case, gradient: bool = True) -> dict[str, Any]:
    """How far values, and gradients if asked for, are from those of one device, and how the results are cut."""
    kind = jax.sharding.AxisType.Explicit if case.explicit else jax.sharding.AxisType.Auto
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(kind,) * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        kernel = tcjax.kernel(case.text)
    sharded, arrays = kernel.sharded(mesh, case.axes), case.arrays()
    start = {} if case.initial is None else {"C": np.random.default_rng(1).normal(size=case.initial).astype("float32")}
    results = jax.tree.leaves(sharded(*arrays, **start))

    def loss(k: tcjax.Kernel, *given: Any) -> tuple[Any, list[Any]]:
        outputs = jax.tree.leaves(k(*given, **start))
        parts = [jnp.sum(jnp.sin(r) * (2 + jnp.cos(jnp.arange(r.size)).reshape(r.shape))) for r in outputs]
        return sum(parts), outputs

    found: dict[str, Any] = {"specs": [[_plain(axes) for axes in result.sharding.spec] for result in results]}
    if case.has_gradient and gradient:
        floats = tuple(n for n, array in enumerate(arrays, 1) if array.dtype.kind == "f")
        differentiated = jax.jit(jax.grad(loss, floats, has_aux=True), static_argnums=0)
        slopes, _ = differentiated(sharded, *arrays)
        plain, expected = differentiated(kernel, *arrays)
        found["gradients"] = max(map(_apart, slopes, plain))
    else:
        expected = jax.tree.leaves(kernel(*arrays, **start))
    found["values"] = max(map(_apart, results, expected))
    return found


def _apart(result: Any, expected: Any) -> float:
    """The largest difference, relative to the largest expected value."""
    result, expected = np.asarray(result, "float64"), np.asarray(expected, "float64")
    assert result.shape == expected.shape and np.isfinite(result).all()
    return float(np.abs(result - expected).max() / max(1e-30, np.abs(expected).max()))


def _plain(axes: Any) -> Any:
    return list(axes) if isinstance(axes, tuple) else axes


if __name__ == "__main__":
    warnings.simplefilter("error")
    # With a number, one of two cases has its gradient compared, the others with the next number; with ``all``, all.
    seed = None if sys.argv[1] == "all" else int(sys.argv[1])
    found = {name: run(case, seed is None or (n + seed) % 2 == 0) for n, (name, case) in enumerate(CASES.items())}
    json.dump(found, sys.stdout)
