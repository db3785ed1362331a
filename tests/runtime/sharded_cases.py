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
from tests.processes import warnings_are_errors

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
    # What devices tell each other, if that is compared: each collective and the bytes that a device gets.
    told: list[tuple[str, int]] | None = None

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
    "a halo that goes round": Case(
        "v(i) = u(wrap(i-1)) + 2*u(wrap(i+2)) + u(i)",
        {"i": "data"},
        ((16,),),
        [["data"]],
        told=[("collective-permute", 4), ("collective-permute", 8)],
    ),
    "a halo along two axes of the mesh": Case(
        "v(i) = u(wrap(i-1)) - u(i)", {"i": ("data", "model")}, ((16,),), [[["data", "model"]]]
    ),
    "a halo wider than a block": Case(
        "v(i) = u(wrap(i-3)) - u(clamp(i+3)) + u(i)", {"i": ("data", "model")}, ((16,),), [[["data", "model"]]]
    ),
    "mirrored ends that do not divide": Case(
        "v(i) = u(mirror(i-2)) + 2*u(reflect(i+1)) + 3*u(clamp(i+2)) + 4*u(wrap(i-3)) where i in 0:u.0",
        {"i": "data"},
        ((13,),),
        [[]],
    ),
    "a stencil of five points": Case(
        "v(i,j) = u(wrap(i-1),j) + 2*u(wrap(i+1),j) + 3*u(i,wrap(j-1)) + u(i,wrap(j+1)) - 4*u(i,j)",
        {"i": "data", "j": "model"},
        ((16, 6),),
        [["data", "model"]],
        told=[("collective-permute", 12), ("collective-permute", 12), *[("collective-permute", 16)] * 2],
    ),
    "corners beside zeros": Case(
        "v(i,j) = pad(u(i-1,j-1), 0) + 2*pad(u(i+1,j+1), 0) where i in 0:u.0, j in 0:u.1",
        {"i": "data", "j": "model"},
        ((16, 6),),
        [["data", "model"]],
    ),
    "an image": Case(
        "O(n,f,h,w) +=! pad(I(n,c,h+a-1,w+b-1), 0) * W(f,c,a,b) where a in 0:3, b in 0:3, h in 0:I.2, w in 0:I.3",
        {"h": "data", "w": "model"},
        ((2, 3, 8, 6), (4, 3, 3, 3)),
        [[None, None, "data", "model"]],
        told=[*[("collective-permute", 4 * 6 * 3)] * 2, *[("collective-permute", 4 * 6 * (2 + 2))] * 2],
    ),
    "strides, and what is left over": Case("O(i) +=! u(2*i+k) * w(k)", {"i": "data"}, ((19,), (3,)), [[]]),
    "backwards": Case("def b(float(N) u) -> (O) { O(i) = u(N-1-i) }", {"i": "data"}, ((16,),), [["data"]]),
    "twice as many": Case("O(2*i+k) = u(i) * k where k in 0:2", {"i": "data"}, ((8,),), [["data"]]),
    "rows and columns that do not divide": Case(
        MM.replace("OP", "+=!"), {"m": "data", "k": "model"}, ((7, 5), (5, 3)), [[]]
    ),
    "a mean that does not divide": Case("O(i) mean=! u(i,j)", {"i": "data", "j": "model"}, ((7, 5),), [[]]),
    "a halo of a halo": Case(
        "def f(float(N) u) -> (w) { v(i) = u(wrap(i-1)) + u(i)  w(i) = v(wrap(i+1)) * v(i) }",
        {"i": "data"},
        ((16,),),
        [["data"]],
        told=[("collective-permute", 4)] * 2,
    ),
    "what all devices get": Case(
        "def f(float(N,D) X) -> (O) { Y(i,d) = X(i,d) * 2  O(i) +=! Y(i,d) * Y(j,d) }",
        {"i": "data"},
        ((8, 3),),
        [["data"]],
        told=[("all-gather", 4 * 8 * 3)],
    ),
    "a table by data": Case(
        "def f(int32(K) I, float(N) u) -> (O) { v(k) = u(k) * 2  O(i) = v(I(i)) }",
        {"i": "data", "k": "data"},
        (8, (8,)),
        [["data"]],
    ),
    "elements that one device has": Case(
        "def f(float(N) u) -> (v) { v(i) = 0.0 where i in 0:N  v(0) = u(3)  v(k) = u(k) where k in 1:N-1 }",
        {"i": "data"},
        ((8,),),
        [["data"]],
    ),
    "heat": Case(
        "def heat(float(N) u0, float() c) -> (u) { u(0,i) = u0(i) for t in 1:5 {"
        " u(t,i) = u(t-1,i) + c()*(u(t-1,wrap(i-1)) - 2*u(t-1,i) + u(t-1,wrap(i+1))) } }",
        {"i": "data"},
        ((16,), ()),
        [[None, "data"]],
        told=[("collective-permute", 4)] * 2,
    ),
    "waves on a plate that does not divide": Case(
        "def waves(float(N,M) u0) -> (u) { u(0,i,j) = u0(i,j) u(1,i,j) = u0(i,j) for t in 2:6 {"
        " u(t,i,j) = 2*u(t-1,i,j) - u(t-2,i,j) + 0.1*(pad(u(t-1,i-1,j),0) + pad(u(t-1,i+1,j),0) - 2*u(t-1,i,j))"
        " where i in 0:N, j in 0:M } }",
        {"i": "data", "j": "model"},
        ((13, 5),),
        [[]],
    ),
    "a loop that begins at the end": Case(
        "def f(float(T,D) a, float(T,D) b) -> (h) { h(T-1,d) = b(T-1,d) for t in T-2:-1:-1 {"
        " h(t,d) = a(t,d)*h(t+1,d) + b(t,wrap(d+1)) } }",
        {"d": "data"},
        ((5, 8), (5, 8)),
        [[None, "data"]],
    ),
    "a loop with a state and a total": Case(
        "def f(float(N) u0) -> (s, u) { u(i) = u0(i) for t in 0:4 {"
        " v(i) = u(wrap(i-1)) + u(i)  u(i) = 0.5*v(i)  s(t) +=! v(i)*v(i) } }",
        {"i": "data"},
        ((16,),),
        [[], ["data"]],
    ),
    "a layer that runs": Case(
        "def f(float(T,D) x, float(D,D) W) -> (h) { h(0,d) = x(0,d) for t in 1:T {"
        " h(t,d) = tanh(sum[e](W(d,e)*h(t-1,e)) + x(t,d)) } }",
        {"d": "data"},
        ((5, 8), (8, 8)),
        [[None, "data"]],
        told=[("all-gather", 32)],
    ),
    "a loop nest": Case(NEAREST, {"i": "data", "j": "model"}, ((2048, 2), (4096, 2)), [["data"]]),
}


def run(case: Case) -> dict[str, Any]:
    """How far values and gradients are from those of one device, how the results are cut, and what devices told."""
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
    if case.has_gradient:
        floats = tuple(n for n, array in enumerate(arrays, 1) if array.dtype.kind == "f")
        differentiated = jax.jit(jax.grad(loss, floats, has_aux=True), static_argnums=0)
        slopes, _ = differentiated(sharded, *arrays)
        plain, expected = differentiated(kernel, *arrays)
        found["gradients"] = max(map(_apart, slopes, plain))
    else:
        expected = jax.tree.leaves(kernel(*arrays, **start))
    if case.told is not None:
        explained = sharded.explain(*arrays, compiled=True).to_dict()
        both = explained["collectives"], explained["compiled"]["collectives"]
        found["told"] = [sorted((each["operation"], each["bytes"]) for each in told) for told in both]
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
    warnings_are_errors()
    json.dump({name: run(CASES[name]) for name in sys.argv[1:]}, sys.stdout)
