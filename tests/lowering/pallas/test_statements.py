"""Kernels that compute several statements: what a tile reads is computed inside it."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tcjax
from tcjax.lowering import pallas_triton, primitive
from tcjax.lowering.pallas_triton.calls import lowered
from tcjax.planning.data.stages import Tiled
from tcjax.planning.fused_statements import Unfused, fused_nest

from .nests import Random

random = Random()
MLP = """def f(float(B,I) x, float(I,H) w, float(H,O) v) -> (y) {
    h(b,j) +=! x(b,i) * w(i,j)  r(b,j) = fmax(h(b,j), 0.0)  y(b,o) +=! r(b,j) * v(j,o) }"""
POOL = """def f(float(H,W) I, float(KH,KW) K) -> (P) {
    C(h,w) +=! I(h+kh,w+kw) * K(kh,kw)  R(h,w) = fmax(C(h,w), 0.0)
    P(h,w) max=! R(2*h+ph, 2*w+pw) where ph in 0:2, pw in 0:2 }"""
CONV2 = """def f(float(H,W) I, float(KH,KW) K, float(LH,LW) L) -> (O) {
    T(h,w) +=! I(h+kh,w+kw) * K(kh,kw)  O(h,w) +=! T(h+lh,w+lw) * L(lh,lw) }"""
PADDED = """def f(float(N) A) -> (D) { C(i) = exp(A(i))
    D(i) = (i > 0 ? C(i-1) : 0.0) + C(i) + (i < N - 1 ? C(i+1) : 0.0) where i in 0:N }"""

CASES: dict[str, tuple[str, tuple[np.ndarray, ...], Callable[[tcjax.Schedule], tcjax.Schedule]]] = {
    "the hidden row of a perceptron": (
        MLP,
        (random.floats(37, 20), random.floats(20, 50), random.floats(50, 9)),
        lambda s: s.split("y", "b", 16, outer="bo").compute_at("h", "y", "bo").compute_at("r", "y", "bo"),
    ),
    "a convolution under its pool": (
        POOL,
        (random.floats(15, 19), random.floats(3, 3)),
        lambda s: s.tile("P", "h", "w", 4, 4).compute_at("R", "P", "w_outer").compute_at("C", "P", "w_outer"),
    ),
    "the halo of a convolution": (
        CONV2,
        (random.floats(15, 19), random.floats(3, 3), random.floats(2, 2)),
        lambda s: s.tile("O", "h", "w", 4, 6).compute_at("T", "O", "w_outer"),
    ),
    "the halo of a stencil with a border": (
        PADDED,
        (random.floats(61),),
        lambda s: s.split("D", "i", 16, outer="io").compute_at("C", "D", "io"),
    ),
}


def scheduled(name: str, backend: str = "pallas") -> tuple[tcjax.Kernel, tuple[np.ndarray, ...]]:
    text, arrays, arrange = CASES[name]
    kernel = tcjax.kernel(text, backend=backend)
    return kernel.with_schedule(arrange(kernel.schedule())), arrays


def kernels_of(kernel: Any, *arrays: np.ndarray) -> int:
    return lowered(kernel, *arrays).count("__gpu$xla.gpu.triton")


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("name", CASES)
def test_what_is_computed_in_a_tile_is_what_the_statements_say(name: str) -> None:
    kernel, arrays = scheduled(name)
    (stage,) = kernel.plan(*arrays).scheduled or ()
    assert isinstance(stage, Tiled) and stage.kernel is not None
    whole = stage.kernel
    given = dict(
        zip((parameter.name for parameter in kernel.plan(*arrays).bound.function.parameters), arrays, strict=True)
    )

    # On a CPU a requested kernel is interpreted.
    found = primitive.run(
        *(given[operand.name] for operand in whole.group.operands),
        group=whole.group,
        form=whole.schedule,
        foreign=(),
        backend=whole.backend,
        platform="cpu",
    )

    np.testing.assert_allclose(np.asarray(found[0]), kernel.interpret(*arrays), 1e-5, 1e-5)


@pytest.mark.parametrize("name", CASES)
def test_a_schedule_is_one_kernel_on_a_gpu_and_its_loops_elsewhere(name: str) -> None:
    kernel, arrays = scheduled(name)

    assert kernels_of(kernel, *arrays) == 1
    np.testing.assert_allclose(np.asarray(kernel(*arrays)), kernel.interpret(*arrays), 1e-5, 1e-5)


def test_a_schedule_is_a_kernel_only_where_somebody_asks_for_one() -> None:
    kernel, arrays = scheduled("the hidden row of a perceptron", "auto")

    assert kernels_of(kernel, *arrays) == 0


def test_a_scheduled_kernel_has_batches_and_derivatives() -> None:
    kernel, (x, w, v) = scheduled("the hidden row of a perceptron")

    batched = jax.vmap(kernel, (0, None, None))
    gradient = jax.grad(lambda w: jax.numpy.sum(kernel(x, w, v)))
    plain = jax.grad(lambda w: jax.numpy.sum(jax.numpy.maximum(x @ w, 0) @ v))

    assert kernels_of(batched, np.stack([x, 2 * x]), w, v) == 1
    np.testing.assert_allclose(batched(np.stack([x, 2 * x]), w, v)[1], 2 * kernel.interpret(x, w, v), 1e-4, 1e-4)
    np.testing.assert_allclose(gradient(w), plain(w), 1e-4, 1e-4)


def test_a_tile_has_the_extents_of_the_schedule() -> None:
    kernel, arrays = scheduled("a convolution under its pool")
    (stage,) = kernel.plan(*arrays).scheduled or ()

    assert isinstance(stage, Tiled) and stage.kernel is not None and stage.kernel.backend.tile == (4, 4)


def test_the_hidden_row_goes_from_one_matrix_product_to_the_next() -> None:
    text, arrays, _ = CASES["the hidden row of a perceptron"]
    nest = fused_nest("y", ("h", "r"), tcjax.kernel(text).schedule().bind(*arrays))

    run: Any = pallas_triton.emit_group(nest, interpret=True)

    assert run.kernels[0].tiling.product is not None
    assert {operand.name for operand in nest.operands} == {"x", "w", "v"}


@pytest.mark.parametrize(
    ("text", "arrays", "reason"),
    [
        ("def f(float(N) a) -> (d) { c(i) += a(i)  d(i) = c(i) }", (random.floats(5),), "continues from"),
        (
            "def f(float(N) a) -> (d) { c(2*i) = a(i)  d(i) = c(2*i) }",
            (random.floats(5),),
            "other than index variables",
        ),
        (
            "def f(float(N) a, int32(N) t) -> (d) { c(i) = a(i)  d(i) = c(t(i)) }",
            (random.floats(5), np.zeros(5, "int32")),
            "data decides",
        ),
    ],
)
def test_what_a_tile_cannot_compute_is_refused(text: str, arrays: tuple[np.ndarray, ...], reason: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        bound = tcjax.kernel(text).schedule().bind(*arrays)

    with pytest.raises(Unfused, match=reason):
        fused_nest("d", ("c",), bound)
