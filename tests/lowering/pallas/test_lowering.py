"""Kernels for GPUs, lowered for CUDA without a GPU: what Triton accepts, and what is refused by name."""

import warnings
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest

import tcjax
from tcjax.ir.builtins import BUILTINS
from tcjax.lowering import pallas_triton
from tcjax.lowering.pallas_triton import Blocks, Unsupported
from tcjax.lowering.pallas_triton.calls import lowered
from tcjax.planning.blocked.gpu_kernels import NOT_LOWERED
from tcjax.planning.data.nests import Nest

from .nests import Random, nest_of

random = Random()
X, Y, B = random.floats(70, 3), random.floats(1000, 3), random.floats(1000)
HALVES = random.floats(64, 64, dtype="float16")
POINTS = "def f(float(N,D) x, float(M,D) y, float(M) b) -> (O) "
PROGRAMS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "kernel sum": (POINTS + "{ O(i) +=! exp(-sum[d]((x(i,d)-y(j,d)) * (x(i,d)-y(j,d)))) * b(j) }", (X, Y, B)),
    "its gradient": (
        POINTS + "{ O(i,e) +=! exp(-sum[d]((x(i,d)-y(j,d)) * (x(i,d)-y(j,d)))) * b(j) * (x(i,e) - y(j,e)) }",
        (X, Y, B),
    ),
    "nearest": (POINTS + "{ O(i) argmin=! b(j) + sum[d](fabs(x(i,d)-y(j,d))) }", (X, Y, B)),
    "min-plus": (
        "def f(float(M,K) A, float(K,N) B) -> (C) { C(i,j) min=! A(i,k) + B(k,j) }",
        (random.floats(70, 65), random.floats(65, 90)),
    ),
    "attention": (
        """def f(float(Q,D) q, float(K,D) k, float(K,E) v, float(Q) l) -> (O) {
            O(i,e) +=! exp(sum[d](q(i,d) * k(j,d)) - l(i)) * v(j,e) where i in 0:Q, j <= i }""",
        (random.floats(90, 24), random.floats(90, 24), random.floats(90, 40), random.floats(90)),
    ),
    "log of a sum": (
        "def f(float(Q,D) q, float(K,D) k) -> (O) { O(i) = logsumexp[j](sum[d](q(i,d) * k(j,d))) }",
        (random.floats(90, 24), random.floats(90, 24)),
    ),
    "halves": ("def f(float16(N,K) a, float16(K,M) b) -> (C) { C(i,j) +=! a(i,k) * b(k,j) }", (HALVES, HALVES)),
    "brains": (
        "def f(bfloat16(N,K) a, bfloat16(M,K) b) -> (C) { C(i,j) max=! a(i,k) / b(j,k) }",
        (np.asarray(jax.numpy.asarray(HALVES, "bfloat16")),) * 2,
    ),
    "integers": (
        "def f(int32(N,K) a, uint8(M,K) b) -> (C) { C(i,j) +=! a(i,k) / 3 * b(j,k) % 5 }",
        (HALVES.astype("int32"), HALVES.astype("uint8")),
    ),
    "booleans": (
        "def f(float(N,M) a) -> (O, P) { O(i) = any[j](a(i,j) > 0.0) }".replace(", P", ""),
        (random.floats(9, 70),),
    ),
    "product": ("def f(float(N,M) a) -> (O) { O(i) = prod[j](a(i,j)) }", (random.floats(90, 70),)),
    "gather": (
        "def f(float(N,M) a, int32(K) t) -> (O) { O(k) max=! a(t(k), j) * 2.0 }",
        (random.floats(90, 70), np.arange(5, dtype="int32")),
    ),
    "four axes": (
        "def f(float(A,K) x, float(B,K) y, float(C,D,K) z) -> (O) { O(a,b,c,d) max=! x(a,k) * y(b,k) - z(c,d,k) }",
        (random.floats(20, 5), random.floats(9, 5), random.floats(3, 4, 5)),
    ),
    "one number": ("def f(float(N,M) a) -> (O) { O() = mean[i in 0:N, j in 0:M where i < j](a(i,j)) }", (X,)),
    "shared": ("def f(float(N) a) -> (O) { O() = argmax[i](a(i)) }", (random.floats(100000),)),
}


def avals(nest: Nest) -> dict[str, jax.ShapeDtypeStruct]:
    return {o.name: jax.ShapeDtypeStruct(o.shape, o.dtype) for o in nest.operands}


@pytest.mark.parametrize("device", [("NVIDIA H100", 132), ("NVIDIA A100", 108)], ids=lambda device: device[0])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_kernel_lowers_to_triton(name: str, device: tuple[str, int]) -> None:
    text, arrays = PROGRAMS[name]
    nest = nest_of(tcjax.kernel(text), *arrays)

    run = pallas_triton.emit(nest)

    assert "__gpu$xla.gpu.triton" in lowered(run, avals(nest), device=device[0], cores=device[1])


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_tile_has_three_dimensions_or_a_size_that_is_no_power_of_two(name: str) -> None:
    text, arrays = PROGRAMS[name]
    nest = nest_of(tcjax.kernel(text), *arrays)

    shapes = set(shapes_inside(jax.make_jaxpr(pallas_triton.emit(nest, interpret=True))(avals(nest)).jaxpr))

    assert shapes
    for shape in shapes:
        assert len(shape) <= 2
        assert all(extent & (extent - 1) == 0 for extent in shape), shape


def shapes_inside(jaxpr: Any, *, inside: bool = False) -> Iterator[tuple[int, ...]]:
    """The shapes of all values in the kernels of a program."""
    for equation in jaxpr.eqns:
        if inside:
            yield from (v.aval.shape for v in equation.outvars if hasattr(v.aval, "shape"))
        for parameter in equation.params.values():
            for part in parameter if isinstance(parameter, tuple) else (parameter,):
                part = getattr(part, "jaxpr", part)
                if hasattr(part, "eqns"):
                    yield from shapes_inside(part, inside=inside or equation.primitive.name == "pallas_call")


def test_a_kernel_is_made_and_lowered_inside_of_a_trace_without_a_warning() -> None:
    text, arrays = PROGRAMS["min-plus"]
    nest = nest_of(tcjax.kernel(text), *arrays)
    pallas_triton.emit.cache_clear()

    def run(given: dict[str, jax.Array]) -> jax.Array:
        return pallas_triton.emit(nest)(given) * 2

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "__gpu$xla.gpu.triton" in lowered(run, avals(nest))


@pytest.mark.parametrize("function", [name for name, builtin in BUILTINS.items() if name != "popcount"])
def test_a_builtin_lowers_or_is_refused_by_name(function: str) -> None:
    arguments = ", ".join(["a(i,j)"] * BUILTINS[function].arity)
    nest = nest_of(tcjax.kernel(f"def f(float(N,M) a) -> (O) {{ O(i) max=! {function}({arguments}) }}"), X)

    if function in NOT_LOWERED:
        with pytest.raises(Unsupported, match=function):
            pallas_triton.emit(nest)
    else:
        pallas_triton.emit(nest)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def f(complex64(N,M) a) -> (O) { O(i) = sum[j](a(i,j)) }", "complex"),
        ("def f(float(N,M) a) -> (O) { O(i) = mink[j](a(i,j), 2) }", "mink"),
        ("def f(float(N,M) a) -> (O) { O(i) = sum[j](erf(a(i,j))) }", "erf"),
    ],
)
def test_what_triton_cannot_do_is_refused(text: str, reason: str) -> None:
    nest = nest_of(tcjax.kernel(text), X.astype("complex64") if "complex" in text else X)

    with pytest.raises(Unsupported, match=reason):
        pallas_triton.emit(nest, interpret=True)


def test_tiles_are_powers_of_two() -> None:
    with pytest.raises(AssertionError, match="power of two"):
        Blocks(rows=48)
