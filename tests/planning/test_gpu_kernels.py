"""Which nests run as kernels of their own on a GPU by default."""

import jax
import numpy as np
import pytest

import tcjax
from tcjax.lowering.pallas_triton.calls import lowered
from tcjax.planning.blocked.gpu_kernels import prefers_pallas

from ..lowering.pallas.nests import nest_of

POINTS, FEW = np.zeros((4096, 3), "float32"), np.zeros((64, 3), "float32")
KEYS, SQUARE = np.zeros((4096, 64), "float32"), np.zeros((4096, 4096), "float32")
DISTANCE = "sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))"


@pytest.mark.parametrize(
    ("text", "arrays", "chosen", "why"),
    [
        (f"def f(float(N,D) x, float(M,D) y) -> (O) {{ O(i) min=! {DISTANCE} }}", (POINTS, POINTS), True, "loads"),
        (f"def f(float(N,D) x, float(M,D) y) -> (O) {{ O(i) min=! {DISTANCE} }}", (FEW, FEW), False, "too few"),
        (
            "def f(float(M,K) A, float(K,N) B) -> (C) { C(i,j) min=! A(i,k) + B(k,j) }",
            (KEYS, np.zeros((64, 4096), "float32")),
            True,
            "64 times fewer loads",
        ),
        (
            "def f(float(N,D) q, float(M,D) k) -> (O) { O(i) = logsumexp[j](sum[d](q(i,d) * k(j,d))) }",
            (KEYS, KEYS),
            True,
            "store 64 MiB",
        ),
        ("def f(float(N,M) a) -> (O) { O(i) max=! a(i,j) * 2.0 }", (SQUARE,), False, "its own elements"),
        ("def f(float(N,M) a) -> (O) { O(i) = mink[j](a(i,j), 3) }", (SQUARE,), False, "mink runs in XLA"),
    ],
)
def test_a_kernel_is_chosen_where_points_share_what_they_read(
    text: str, arrays: tuple[np.ndarray, ...], chosen: bool, why: str
) -> None:
    found, reason = prefers_pallas(nest_of(tcjax.kernel(text), *arrays))

    assert found is chosen
    assert why in reason


@pytest.mark.parametrize(
    ("backend", "operation", "why"),
    [
        ("auto", "a Triton kernel", "store 64 MiB"),
        ("xla", "XLA operations", "asks"),
        ("pallas", "a Triton kernel", "asks"),
    ],
)
def test_explain_says_what_runs_on_a_cuda_device(backend: str, operation: str, why: str) -> None:
    scores = "sum[d](q(i,d) * k(j,d))"
    text = f"def f(float(N,D) q, float(M,D) k) -> (O) {{ O(i) = logsumexp[j]({scores}) }}"
    shape = jax.ShapeDtypeStruct((4096, 64), np.float32)

    said = tcjax.kernel(text, backend=backend).explain(shape, shape)

    [statement] = said.to_dict()["statements"]
    assert [one["operation"] for one in statement["cuda"]] == [operation]
    assert why in statement["cuda"][0]["reason"]
    assert f"on CUDA    {operation}: " in str(said)
    kernels = lowered(tcjax.kernel(text, backend=backend), shape, shape).count("xla.gpu.triton")
    assert kernels == (operation == "a Triton kernel")


def test_what_triton_cannot_lower_is_no_kernel_whoever_asks() -> None:
    text = "def f(float(N) x, float(M) y) -> (O) { O(i) +=! erf(x(i) * y(j)) }"
    shape = jax.ShapeDtypeStruct((4096,), np.float32)

    [statement] = tcjax.kernel(text, backend="pallas").explain(shape, shape).to_dict()["statements"]

    assert statement["cuda"] == [{"operation": "XLA operations", "reason": "Triton has no erf"}]
