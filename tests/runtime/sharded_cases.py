"""Kernels on eight devices against the same kernels on one; `test_sharding` runs this in a process of its own."""

import json
import os
import sys
import warnings
from collections.abc import Mapping
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
    """A program, the axes of its indices, the shapes of its arguments (an int: a vector of small integers)."""

    text: str
    axes: Mapping[str, str | tuple[str, ...]]
    shapes: tuple[Shape | int, ...]
    # How each result is sharded.
    specs: list[list[Any]]
    initial: Shape | None = None
    has_gradient: bool = True
    # The axes of the mesh along which the types of arrays say how they are sharded.
    explicit: tuple[str, ...] = ()
    # How the arguments are placed, if they are.
    placed: tuple[tuple[Any, ...], ...] | None = None
    # Number of NaN in the first argument; or results may be infinite.
    missing: int = 0
    infinite: bool = False
    # Whether two concurrent calls are compared too.
    batched: bool = False
    # Collectives, if they are compared: each with the bytes that a device receives.
    told: list[tuple[str, int]] | None = None

    def arrays(self) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        arrays = [
            rng.integers(0, 5, shape).astype("int32")
            if isinstance(shape, int)
            else rng.normal(size=shape).astype("float32")
            for shape in self.shapes
        ]
        if self.missing:
            arrays[0].flat[rng.permutation(arrays[0].size)[: self.missing]] = np.nan
        return arrays


def product(operator: str, *, specs: list[list[Any]] | None = None, **more: Any) -> Case:
    """``C(m,n) OP A(m,k) * B(k,n)``, m and k sharded."""
    axes = {"m": "data", "k": "model"}
    return Case(MM.replace("OP", operator), axes, ((8, 6), (6, 4)), specs or [["data"]], **more)


CASES = {
    "rows of a product": Case(MM.replace("OP", "+=!"), {"m": "data"}, ((8, 6), (6, 4)), [["data"]]),
    "rows and columns": Case(
        MM.replace("OP", "+=!"), {"m": "data", "n": "model"}, ((8, 6), (6, 4)), [["data", "model"]]
    ),
    "with sharding in types": product("+=!", explicit=("data", "model")),
    "along two axes": Case(MM.replace("OP", "+=!"), {"k": ("data", "model")}, ((8, 16), (16, 4)), [[]]),
    "sum": product("+=!"),
    "sum that goes on": product("+=", initial=(8, 4)),
    "product": product("*=!", told=[("all-gather", 4 * 2 * 4 * 2)]),
    "product that goes on": product("*=", initial=(8, 4)),
    "min": product("min=!", told=[("all-reduce", 4 * 2 * 4)]),
    "max": product("max=!"),
    "max that goes on": product("max=", initial=(8, 4)),
    "mean": product("mean=!"),
    "logsumexp": product("logsumexp=!", told=[("all-reduce", 4 * 2 * 4)] * 2),
    "argmin inside of a block": Case(
        MM.replace("OP", "argmin=!"), {"m": "data"}, ((8, 6), (6, 4)), [["data"]], has_gradient=False
    ),
    "argmin over devices": Case(
        MM.replace("OP", "argmin=!"),
        {"m": "data", "k": "model"},
        ((8, 6), (6, 4)),
        [["data"]],
        has_gradient=False,
        told=[("all-reduce", 4 * 2 * 4)] * 2,
        batched=True,
    ),
    "argmax of a window that does not divide": Case(
        "def f(float(N,M,K) A) -> (O) { O(i) argmax=! A(i,j,k) where i in 0:N, j in 1:M-1, k in 0:K, k != 2 }",
        {"i": "data", "k": "model"},
        ((7, 6, 5),),
        [[]],
        has_gradient=False,
    ),
    "argmin where a device has no points, or none has": Case(
        "def f(float(N,M) A) -> (O) { O(i) = argmin[j where j < 3 * i](A(i,j)) }",
        {"j": ("data", "model")},
        ((5, 11),),
        [[]],
        has_gradient=False,
    ),
    "the first of ties": Case(
        "def f(float(N,M) A) -> (O, P) { O(i) argmin=! floor(A(i,j))"
        "  P(i,r) = argmink[j](floor(A(i,j)), r) where r in 0:9 }",
        {"j": "data"},
        ((4, 11),),
        [[], []],
        has_gradient=False,
    ),
    "NaN": Case(
        "def f(float(N,M) A) -> (O, P, Q, R) { O(i) argmin=! A(i,j)  P(i) min=! A(i,j)  Q(i) max=! A(i,j)"
        " R(i,r) = maxk[j](A(i,j), r) where r in 0:3 }",
        {"j": "data"},
        ((4, 11),),
        [[]] * 4,
        has_gradient=False,
        missing=6,
    ),
    "the nearest three": Case(
        "def f(float(N) X, float(M) Y) -> (O, P) { O(i,r) = mink[j](fabs(X(i) - Y(j)), r) where r in 0:3"
        "  P(i,r) = argmink[j](fabs(X(i) - Y(j)), r) where r in 0:3 }",
        {"i": "data", "j": "model"},
        ((8,), (11,)),
        [["data"], ["data"]],
        told=[("all-gather", 4 * 2 * 3 * 2)] * 2,
    ),
    "ranks beyond the points, and one that data decide": Case(
        "def f(float(N,M) X, int32(N) K) -> (O, P, Q) { O(i,r) = maxk[j where j > i](X(i,j), r) where r in -1:6"
        "  P(i,r) = argmaxk[j where j > i](X(i,j), r) where r in -1:6  Q(i) = argmink[j](X(i,j), K(i)) }",
        {"j": "data"},
        ((5, 7), 5),
        [[]] * 3,
        has_gradient=False,
        infinite=True,
    ),
    "softmax in a line": Case(
        "y(n,i) = exp(x(n,i) - max[j](x(n,j))) / sum[j](exp(x(n,j) - max[k](x(n,k))))",
        dict.fromkeys("ijk", "data"),
        ((4, 11),),
        [[]],
        told=[*[("all-reduce", 4 * 4)] * 2, ("all-gather", 4 * 4 * 12)],
        batched=True,
    ),
    "inline reductions on conditions": Case(
        "def f(float(N,M) x) -> (y) {"
        " y(i) = i < 4 ? sum[j](x(i+1,j)) * mean[j where j > i](x(i,j)) : 0.5 where i in 0:N-1 }",
        {"i": "data", "j": "model"},
        ((8, 7),),
        [[]],
    ),
    "a mean of guarded points": Case(
        "def f(float(N,M) x) -> (y) { y(i) mean=! x(i,j) where j <= i }",
        {"i": "data", "j": "model"},
        ((8, 8),),
        [["data"]],
        told=[("all-reduce", 8)] * 2,
    ),
    "reductions in each other, in a loop": Case(
        "def f(float(T,D) x, float(D,D) W) -> (h) { h(0,d) = x(0,d) for t in 1:T {"
        " h(t,d) = tanh(sum[e](W(d,e)*h(t-1,e)) - max[e](h(t-1,e)) + x(t,d)) } }",
        {"e": "data"},
        ((5, 8), (8, 8)),
        [[]],
    ),
    "one halo for two statements": Case(
        "def f(float(N) u) -> (v, w) { v(i) = u(wrap(i-1)) + u(i)  w(i) = u(wrap(i-1)) * u(i) }",
        {"i": "data"},
        ((16,),),
        [["data"]] * 2,
        told=[("collective-permute", 4)],
    ),
    "halos with sharding in types": Case(
        "v(i,j) = u(wrap(i-1),j) + u(i,j) * u(i,wrap(j+1)) + sum[k](w(i,k))",
        {"i": "data", "j": "model", "k": "model"},
        ((8, 6), (8, 4)),
        [["data", "model"]],
        explicit=("data", "model"),
    ),
    "what is read by all and computed by all": Case(
        "def f(int32(K) I, float(N) u) -> (O) { v(k) = u(k) * 2  O(i) = v(I(i)) }",
        {"k": "data"},
        (7, (9,)),
        [[]],
        told=[("all-gather", 4 * 12)],
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
    "transposed, read transposed": Case(
        "def t(float(N,M) A) -> (O, P) { B(i,j) = A(i,j) * 2  O(i,j) = B(j,i)  P(i) = B(i,wrap(i+1)) where i in 0:N }",
        {"i": "data", "j": "model"},
        ((8, 8),),
        [["data", "model"], ["data"]],
    ),
    "a diagonal of columns": Case(
        "def t(float(N,N) A) -> (O) { B(k,i) = A(k,i) * 2  O(i) = B(i,wrap(i+1)) where i in 0:N }",
        {"i": "data"},
        ((8, 8),),
        [["data"]],
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
    "into rows by data that another statement has in blocks": Case(
        "def h(int32(N) I, float(N,M) A) -> (float(9,M) O, P) { O(I(i),j) +=! A(i,j)  P(k,j) = O(k,j) * 2 }",
        {"i": "data", "k": "data"},
        (9, (9, 2)),
        [[], []],
        told=[("reduce-scatter", 4 * 3 * 2), *[("all-gather", 4 * 12 * 2)] * 2],
    ),
    "into rows that are there in blocks": Case(
        "def h(int32(N) I, float(N,M) A) -> (float(9,M) O, Q) { O(k,j) = 1.0 * k where k in 0:9  O(I(i),j) += A(i,j)"
        "  Q(k,j) max=! A(k,j) where k in 0:9  Q(I(i),j) max= A(i,j) }",
        {"i": "data", "k": "data"},
        (9, (9, 2)),
        [[], []],
    ),
    "a table in blocks, whose devices answer": Case(
        "def h(int32(N) I, float(K,M) T) -> (O) { O(i,j) +=! T(k,j) where I(i) == k }",
        {"i": "data", "k": "data"},
        (8, (100, 2)),
        [["data"]],
        told=[("all-gather", 4 * 8), ("reduce-scatter", 4 * 2 * 2)],
    ),
    "a small table in blocks, which moves": Case(
        "def h(int32(N) I, float(K,M) T) -> (O) { O(i,j) +=! T(k,j) where I(i) == k }",
        {"i": "data", "k": "data"},
        (32, (8, 2)),
        [["data"]],
        told=[("all-gather", 4 * 8 * 2)],
    ),
    "a table by few data, beyond its ends too": Case(
        "def f(int32(N) I, float(K,M) u, float(M) w) -> (O, P) { v(k,j) = u(k,j) * 2"
        "  O(i,j) = v(I(i)-2,j) * w(j)  P(i) = u(I(i),0) + v(I(i)-2,1) }",
        {"i": "data", "k": "data"},
        (8, (100, 2), (2,)),
        [["data"]] * 2,
        told=[("all-gather", 4 * 8), ("reduce-scatter", 4 * 2 * 2), *[("reduce-scatter", 4 * 2)] * 2],
        batched=True,
    ),
    "a table along another axis of the mesh": Case(
        "def f(int32(N) I, float(K) u) -> (O) { v(k) = u(k) * 2  O(i) = v(I(i)) }",
        {"i": "model", "k": "data"},
        (8, (100,)),
        [["model"]],
        told=[("all-reduce", 4 * 4)],
    ),
    "a table that is read twice by data": Case(
        "def f(int32(N) I, int32(K) u, float(K) w) -> (O) { v(k) = u(k) + 1  O(i) = w(v(v(I(i)))) * w(i) }",
        {"i": "data", "k": "data"},
        (8, 100, (100,)),
        [["data"]],
    ),
    "few that go into a table": Case(
        "def h(int32(N) I, float(N,M) A) -> (float(96,M) O, P) { O(I(i)-2,j) +=! A(i,j)  P(k,j) = O(k,j) * O(k,j) }",
        {"i": "data", "k": "data"},
        (8, (8, 2)),
        [["data"]] * 2,
        told=[("all-gather", 4 * 8), ("all-gather", 4 * 8 * 2)],
    ),
    "rows that do not move where the other operand is smaller": Case(
        MM.replace("OP", "+=!"),
        {"m": "data", "k": "data"},
        ((32, 8), (8, 4)),
        [["data"]],
        told=[("all-gather", 4 * 8 * 4)],
    ),
    "rows and what is summed along one axis": Case(
        MM.replace("OP", "+=!"),
        {"m": "data", "k": "data"},
        ((8, 6), (6, 4)),
        [["data"]],
        told=[("reduce-scatter", 4 * 2 * 4)],
        batched=True,
    ),
    "the largest, and rows along one axis": Case(
        MM.replace("OP", "max=!"), {"m": "data", "k": ("data", "model")}, ((7, 11), (11, 4)), [[]]
    ),
    "a mean, and rows along one axis": Case(
        MM.replace("OP", "mean=!"), {"m": "data", "k": ("data", "model")}, ((8, 16), (16, 4)), [["data"]]
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
    "a reduction whose state has two components": Case(
        "def f(float(N,M) A) -> (O, P) { O(i) rms=! A(i,j)  P() = rms[i,j where j != i](A(i,j)) }",
        {"i": "model", "j": "data"},
        ((6, 7),),
        [["model"], []],
        told=[*[("all-gather", 4 * 3 * 4)] * 2, *[("all-gather", 4 * 8)] * 2],
    ),
    "any and all": Case(
        "def f(float(N,M) A) -> (O, P) { O(i) any=! A(i,j) > 1.5  P(i) all=! A(i,j) < 1.5 }",
        {"j": "data"},
        ((4, 9),),
        [[]] * 2,
        has_gradient=False,
        told=[("all-reduce", 4 * 4)] * 2,
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
        "v(i) = u(wrap(i-3)) - u(clamp(i+3)) + u(i)",
        {"i": ("data", "model")},
        ((16,),),
        [[["data", "model"]]],
        batched=True,
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
    "the last column, of rows above": Case(
        "v(i,j) = u(clamp(i-2),clamp(j+6)) where i in 0:u.0, j in 0:u.1",
        {"i": "model", "j": "data"},
        ((7, 3),),
        [[]],
        has_gradient=False,
        # Six elements of the last column; then the result, along each dimension.
        told=[
            ("collective-permute", 4 * 6),
            ("all-gather", 4 * 4 * 4),
            ("all-gather", 4 * 8 * 4),
        ],
    ),
    "rows that data name, of a table in blocks of both dimensions": Case(
        "def f(int32(N) I, float(K,M) A) -> (O) { B(k,j) = 2*A(k,j)  O(i,j) = B(I(i),j) }",
        {"k": "model", "j": "data"},
        (10, (12, 2)),
        [[]],
        has_gradient=False,
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
    "a left side that counts down": Case(
        "def b(float(N,M) u) -> (O) { O(N-1-i,j) = u(i,j) * i }",
        {"i": "data", "j": "model"},
        ((13, 4),),
        [[None, "model"]],
    ),
    "what each element receives": Case(
        "y(i+k) +=! x(i) * w(k)",
        {"i": "data"},
        ((14,), (3,)),
        [["data"]],
        told=[("collective-permute", 8)],
        batched=True,
    ),
    "what each element receives of other devices": Case(
        "def f(float(N) A, float(K) w) -> (B, C) { B(i+k) max=! A(i) * w(k)  C(k-i) +=! A(i) * w(k) }",
        {"i": "data", "k": "model"},
        ((8,), (3,)),
        [[], []],
    ),
    "places of ties over two indices": Case(
        "def f(float(N,M) A) -> (B, C) { B(r) = argmink[i,j](floor(A(i,j)), r) where r in 0:6"
        " C(i,r) = argmaxk[k,j where k <= i](floor(A(k,j)), r) where i in 0:N, r in 0:3 }",
        {"j": "data", "i": "model"},
        ((5, 7),),
        [[], []],
        has_gradient=False,
    ),
    "windows that overlap on the left": Case(
        "def t(float(B,N) x, float(K) w) -> (y) { y(b,2*i+k) +=! x(b,i) * w(k) }", {"i": "data"}, ((2, 9), (5,)), [[]]
    ),
    "the largest that each element receives": Case("y(i-k) max=! x(i) * w(k)", {"i": "data"}, ((11,), (3,)), [[]]),
    "round the end": Case(
        "def t(float(N) x) -> (float(N) y, float(N) z) { y(wrap(i+3)) = x(i)  z(clamp(i-2)) +=! x(i) }",
        {"i": "data"},
        ((16,),),
        [["data"]] * 2,
    ),
    "twice as many": Case("O(2*i+k) = u(i) * k where k in 0:2", {"i": "data"}, ((8,),), [["data"]]),
    "rows and columns that do not divide": Case(
        MM.replace("OP", "+=!"), {"m": "data", "k": "model"}, ((7, 5), (5, 3)), [[]], explicit=("data", "model")
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
        told=[("all-gather", 4 * 8)],
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
        # Four steps of a block of four elements: all at once.
        told=[("collective-permute", 16)] * 2,
    ),
    "corners for two steps at once, and for the one that is left": Case(
        "def f(float(N,M) u0) -> (u) { u(i,j) = u0(i,j) for t in 0:5 { v(i,j) = u(i,j)"
        " u(i,j) = 0.5*v(i,j) + 0.2*v(clamp(i-1),wrap(j+1)) + 0.1*sin(v(clamp(i+1),wrap(j-1)))"
        " where i in 0:N, j in 0:M } }",
        {"i": "data", "j": "model"},
        ((12, 8),),
        [["data", "model"]],
        # Rows of 4 elements from both sides, then columns of the 3 own rows and the received ones.
        told=[("collective-permute", 4 * size) for size in (2 * 4, 2 * 4, 2 * 7, 2 * 7, 4, 4, 5, 5)],
    ),
    "mirrored ends in halos for all steps at once": Case(
        "def f(float(N) u0) -> (u) { u(i) = u0(i) for t in 0:3 { v(i) = u(i)"
        " u(i) = 0.5*v(mirror(i-1)) - 0.3*v(reflect(i+1)) where i in 0:N } }",
        {"i": "data"},
        ((13,),),
        [[]],
        has_gradient=False,
        # Three elements from both sides of a block of four, where there are as many, and the result.
        told=[*[("collective-permute", 4 * size) for size in (3, 3, 1)], ("all-gather", 4 * 16)],
    ),
    "rows from the end, one side round it and the other not, for four steps at once": Case(
        "def f(float(N) u0) -> (u) { u(5,i) = u0(i) for t in 4:-1:-1 {"
        " u(t,i) = 0.5*u(t+1,wrap(i-1)) - 0.3*u(t+1,clamp(i+1)) + 0.1*t } }",
        {"i": "data"},
        ((16,),),
        [[None, "data"]],
        told=[("collective-permute", 4 * size) for size in (4, 4, 1, 1)],
    ),
    "the inner points of two fields that step together": Case(
        "def f(float(N) a0, float(N) b0, float(N) k) -> (a, b) { a(i) = a0(i) b(i) = b0(i) for t in 0:4 {"
        " p(i) = a(i) q(i) = b(i) a(i) = p(i) + 0.1*k(i)*(q(i+1) - q(i)) where i in 1:N-1"
        " b(i) = q(i) + 0.1/(1 + k(i)*k(i))*(a(i) - a(i-1)) where i in 2:N-1 } }",
        {"i": "data"},
        ((16,), (16,), (16,)),
        [["data"], ["data"]],
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
    "definitions that call others": Case(
        "def g(float(N,M) A) -> (B, C) { B(i,j) = A(i,j) * 2  C(i) +=! B(i,j) }"
        " def f(float(N,M) A) -> (D, E) { X(i,j) = A(i,j) + 1  D, S = g(X)  T, E = g(D)  E(i) = E(i) + S(i) }",
        {"i": "data", "j": "model"},
        ((7, 6),),
        [[None, "model"], []],
    ),
    "halos of what is called, twice": Case(
        "def smooth(float(N) u) -> (v) { v(i) = u(wrap(i-1)) + u(i) * u(wrap(i+1)) }"
        " def f(float(N) u) -> (w) { w = smooth(u)  w = smooth(w) }",
        {"i": "data"},
        ((16,),),
        [["data"]],
        told=[("collective-permute", 4)] * 4,
    ),
    "a loop in what is called": Case(
        "def heat(float(N) u0) -> (u) { u(0,i) = u0(i) for t in 1:4 { u(t,i) = u(t-1,i) - u(t-1,wrap(i+1)) } }"
        " def f(float(N) u0) -> (w) { u = heat(u0)  w(i) +=! u(t,i) }",
        {"i": "data"},
        ((16,),),
        [["data"]],
    ),
    "a halo along axes in another order than the mesh's": Case(
        "def f(float(N) u) -> (v) { v(i) = u(wrap(i-1)) - 2*u(i) where i in 0:N }",
        {"i": ("model", "data")},
        ((16,),),
        [[["model", "data"]]],
        told=[("collective-permute", 4)],
    ),
    "an index along one axis, shardings in types along another": Case(
        "def f(float(N,M) u) -> (v) { v(i,j) = sin(u(wrap(i-1),j)) * u(i,clamp(j+1)) where i in 0:N, j in 0:M }",
        {"i": "data"},
        ((8, 6),),
        [["data"]],
        explicit=("model",),
        placed=((None, "model"),),
        told=[("collective-permute", 24)],
    ),
    "indices along axes of both kinds": Case(
        "def f(float(N,M) A, float(M,K) B) -> (C) { C(i,k) max=! A(i,j) * B(j,k) }",
        {"i": "model", "j": "data"},
        ((7, 8), (8, 6)),
        [[]],
        explicit=("model",),
        placed=((None, "data"), (None, "model")),
        batched=True,
        told=[("all-gather", 192), ("all-reduce", 96)],
    ),
    "a loop beside an axis that types name": Case(
        "def f(float(N,M) u0) -> (u) { u(i,j) = u0(i,j) for t in 0:3 {"
        " v(i,j) = u(i,j)  u(i,j) = 0.5*v(wrap(i-1),j)*v(i,j) + v(i,clamp(j+1)) where i in 0:N, j in 0:M } }",
        {"i": "data", "j": "model"},
        ((16, 8),),
        [["data", "model"]],
        explicit=("data",),
        placed=(("data",),),
        told=[("collective-permute", 48), ("collective-permute", 84)],
    ),
    "equal elements for several statements": Case(
        "def f(float(N) u) -> (v) { w(i) = u(wrap(i+2)) + sin(u(clamp(i+6))) where i in 0:N"
        " v(i) = w(clamp(i-2)) * w(wrap(i-2)) + u(i) where i in 0:N }",
        {"i": ("data", "model")},
        ((11,),),
        [[]],
        told=[("all-gather", 64), *[("collective-permute", 4)] * 8, *[("collective-permute", 8)] * 3],
    ),
    "reads that leave the block along one dimension or both": Case(
        "def f(float(N,M) u) -> (v) {"
        " v(i,j) = u(reflect(i+1),j) + u(mirror(i-2),wrap(j-2)) + u(i,clamp(j+1)) * u(wrap(i+1),mirror(j+2))"
        " where i in 0:N, j in 0:M }",
        {"i": "data", "j": "model"},
        ((8, 8),),
        [["data", "model"]],
        told=[*[("collective-permute", 16)] * 4, *[("collective-permute", 32)] * 2],
    ),
    "what no result needs": Case(
        "def f(float(N) u) -> (v) { v(i) = u(i)  w(i) = u(wrap(i-1)) where i in 0:N  for t in 0:5 {"
        " s(t) +=! v(i) * w(i)  a(i) = v(i)  v(i) = 0.5*a(wrap(i+1)) where i in 0:N } }",
        {"i": "data"},
        ((16,),),
        [["data"]],
        told=[("collective-permute", 4), ("collective-permute", 8)],
    ),
    "a left side beyond the block of an index that is not alone": Case(
        "def f(float(N,M) x, float(K) w) -> (O) { O(i-k,j) max=! x(i,j) * w(k) }",
        {"k": "data"},
        ((12, 2), (8,)),
        [[]],
        told=[("all-reduce", 19 * 2 * 4)],
    ),
    "one index in two dimensions": Case(
        "def f(float(N,M) x) -> (O) { O(i,2*i+j) += x(i,j) }", {"i": "data"}, ((8, 3),), [["data"]], told=[]
    ),
    # Five steps are two pairs and a last one, which need not compute `b`; the pairs need not compute `c`.
    "what no further step needs": Case(
        "def f(float(N) u) -> (a, c) { a(i) = u(i)  b(i) = 2*u(i)  c(i) = u(i)  for t in 0:5 {"
        " p(i) = a(i)  c(i) = b(wrap(i-2)) where i in 0:N  a(i) = 0.5*b(wrap(i+1)) where i in 0:N"
        " b(i) = p(wrap(i-1)) - 0.5*b(i) where i in 0:N } }",
        {"i": "data"},
        ((24,),),
        [["data"], ["data"]],
        told=[*[("collective-permute", 4)] * 3, ("collective-permute", 8)],
    ),
    "what a loop's only step needs": Case(
        "def f(float(N) u) -> (z) { a(0,i) = u(i)  b(0,i) = u(wrap(i+3)) where i in 0:N  for t in 1:2 {"
        " a(t,i) = 0.5*b(t-1,wrap(i+1)) where i in 0:N  b(t,i) = a(t-1,wrap(i-1)) where i in 0:N }  z(i) = a(1,i) }",
        {"i": "data"},
        ((16,),),
        [["data"]],
        told=[("collective-permute", 12), ("collective-permute", 4)],
    ),
    "what no point reads": Case(
        "def f(float(N) u) -> (v) { w(i) = u(wrap(i-1)) where i in 0:N  v(i) = u(i) + pad(w(i+8), 2) where i in 0:N }",
        {"i": "data"},
        ((8,),),
        [["data"]],
        told=[],
    ),
    "a loop nest": Case(NEAREST, {"i": "data", "j": "model"}, ((2048, 2), (4096, 2)), [["data"]]),
}


def register() -> None:
    """The reductions of the cases: the root of the mean of squares."""
    tcjax.monoid(
        "rms",
        lambda a, b: (a[0] + b[0], a[1] + b[1]),
        (0.0, np.int32(0)),
        inject=lambda x: (x * x, 1),
        finish=lambda state: (state[0] / state[1]) ** 0.5,
    )


def run(case: Case) -> dict[str, Any]:
    """Errors of values and gradients against one device, how the results are sharded, and the collectives."""
    axes, kinds = ("data", "model"), jax.sharding.AxisType
    types = tuple(kinds.Explicit if axis in case.explicit else kinds.Auto for axis in axes)
    mesh = jax.make_mesh((4, 2), axes, axis_types=types)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        kernel = tcjax.kernel(case.text)
    sharded, arrays = kernel.sharded(mesh, case.axes), case.arrays()
    given: list[Any] = [*arrays]
    if case.placed is not None:
        places = [jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*each)) for each in case.placed]
        given = [jax.device_put(*each) for each in zip(arrays, places, strict=True)]
    start = {} if case.initial is None else {"C": np.random.default_rng(1).normal(size=case.initial).astype("float32")}
    results = jax.tree.leaves(sharded(*given, **start))

    def loss(k: tcjax.Kernel, *given: Any) -> tuple[Any, list[Any]]:
        outputs = jax.tree.leaves(k(*given, **start))
        parts = [jnp.sum(jnp.sin(r) * (2 + jnp.cos(jnp.arange(r.size)).reshape(r.shape))) for r in outputs]
        return sum(parts), outputs

    found: dict[str, Any] = {"specs": [[_plain(axes) for axes in result.sharding.spec] for result in results]}
    if case.has_gradient:
        floats = tuple(n for n, array in enumerate(arrays, 1) if array.dtype.kind == "f")
        differentiated = jax.jit(jax.grad(loss, floats, has_aux=True), static_argnums=0)
        slopes, _ = differentiated(sharded, *given)
        plain, expected = differentiated(kernel, *arrays)
        found["gradients"] = max(map(_apart, slopes, plain))
    else:
        expected = jax.tree.leaves(kernel(*arrays, **start))
    if case.told is not None:
        explained = sharded.explain(*arrays, compiled=True).to_dict()
        both = explained["collectives"], explained["compiled"]["collectives"]
        found["told"] = [sorted((each["operation"], each["bytes"]) for each in told) for told in both]
    if case.missing or case.infinite:
        for result, other in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, other)
        found["values"] = 0
        return found
    if case.batched:
        stacked = [np.stack([array, array[::-1]]) for array in arrays]
        many = zip(
            jax.tree.leaves(jax.vmap(sharded)(*stacked)), jax.tree.leaves(jax.vmap(kernel)(*stacked)), strict=True
        )
        found["batches"] = max(_apart(*each) for each in many)
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
    register()
    json.dump({name: run(CASES[name]) for name in sys.argv[1:]}, sys.stdout)
