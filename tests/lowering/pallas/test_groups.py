"""Reductions over the same points in one kernel: attention, sums of kernels and searches, with their derivatives."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.lowering import pallas_triton, primitive
from tcjax.lowering.pallas_triton.calls import lowered
from tcjax.planning.data.groups import Softmax
from tcjax.planning.data.preferences import Backend
from tcjax.planning.fusion.ties import search_of
from tests.agreement.passing import passing
from tests.agreement.softmaxes import SOFTMAXES
from tests.lowering.test_softmax import SPECIAL, online, three

from .nests import Random, nest_of

random = Random()
HEAD = "def f(float(N,D) q, float(M,D) k, float(M,E) v) -> (O) "
SCORES = "sum[d](q(i,d) * k(j,d)) / sqrt(D)"
GROUPED = "sum[d](q(i,h,g,d) * k(j,h,d)) / sqrt(D)"
NARROW = "def f({0}(N,D) q, {0}(M,D) k, {0}(M,E) v) -> (O) "
WIDE = "sum[d](float(q(i,d)) * float(k(j,d))) / sqrt(D)"


@dataclass(frozen=True)
class Program:
    """A program, the shapes of its arguments, and the same formula over whole arrays."""

    text: str
    shapes: tuple[tuple[int, ...], ...]
    reference: Callable[..., Any]


def softmax(scores: Any) -> Any:
    weights = jnp.exp(scores - jnp.max(scores, -1, keepdims=True))
    return weights / jnp.sum(weights, -1, keepdims=True)


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ k.T / np.sqrt(q.shape[1])) @ v


def causal(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.T / np.sqrt(q.shape[1])
    seen = np.arange(len(k)) <= np.arange(len(q))[:, None]
    return softmax(jnp.where(seen, scores, -jnp.inf)) @ v


def grouped(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("ihgd,jhd->hgij", q, k) / np.sqrt(q.shape[-1])
    return jnp.einsum("hgij,jhe->ihge", softmax(scores), v)


def kernel_sum(x: Any, y: Any, b: Any) -> Any:
    return jnp.exp(-jnp.sum((x[:, None] - y) ** 2, -1)) @ b


def named(guard: str = "") -> str:
    return f"{HEAD} {{ l(i) = logsumexp[j{guard}]({SCORES})  O(i,e) = sum[j{guard}](exp({SCORES} - l(i)) * v(j,e)) }}"


PROGRAMS = {
    "attention": Program(named(), ((70, 24), (90, 24), (90, 40)), attention),
    "causal attention": Program(named(" where j <= i"), ((90, 24), (90, 24), (90, 40)), causal),
    "grouped attention": Program(
        "def f(float(N,H,G,D) q, float(M,H,D) k, float(M,H,E) v) -> (O) {"
        f" l(h,g,i) = logsumexp[j]({GROUPED})  O(i,h,g,e) = sum[j](exp({GROUPED} - l(h,g,i)) * v(j,h,e)) }}",
        ((30, 2, 3, 16), (40, 2, 16), (40, 2, 20)),
        grouped,
    ),
    "a quotient": Program(SOFTMAXES["a quotient"].text, ((70, 24), (90, 24), (90, 40)), attention),
    "kernel sum": Program(
        "def f(float(N,D) x, float(M,D) y, float(M) b) -> (O) {"
        " O(i) +=! exp(-sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))) * b(j) }",
        ((70, 3), (90, 3), (90,)),
        kernel_sum,
    ),
}


def arguments(program: Program) -> list[np.ndarray]:
    return [random.floats(*shape) for shape in program.shapes]


def in_double(function: Callable[..., Any], arrays: list[np.ndarray]) -> Any:
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, function(*(jnp.asarray(a, "float64") for a in arrays)))


def loss(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays: jnp.sum(jnp.sin(function(*arrays)))


@pytest.mark.usefixtures("strict", "quickly_compiled")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_group_has_the_values_of_its_formula(name: str) -> None:
    program = PROGRAMS[name]
    arrays = arguments(program)

    with passing():
        found = jax.jit(tcjax.kernel(program.text, backend="pallas"))(*arrays)

    np.testing.assert_allclose(found, in_double(program.reference, arrays), 1e-4, 1e-5)


@pytest.mark.usefixtures("strict", "quickly_compiled")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_derivative_of_a_group_is_that_of_its_formula(name: str) -> None:
    program = PROGRAMS[name]
    arrays, every = arguments(program), tuple(range(len(program.shapes)))

    with passing():
        kernel = tcjax.kernel(program.text, backend="pallas")
        found = jax.jit(jax.grad(loss(kernel), argnums=every))(*arrays)

    expected = in_double(jax.grad(loss(program.reference), argnums=every), arrays)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-4, 1e-4)


@pytest.mark.parametrize("device", [("NVIDIA H100", 132), ("NVIDIA A100", 108)], ids=lambda device: device[0])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_group_is_one_kernel_and_its_derivative_two_more(name: str, device: tuple[str, int]) -> None:
    program = PROGRAMS[name]
    avals = [jax.ShapeDtypeStruct(shape, "float32") for shape in program.shapes]

    with passing():
        kernel = tcjax.kernel(program.text, backend="pallas")
        forward = lowered(kernel, *avals, device=device[0], cores=device[1])
        derivative = jax.grad(loss(kernel), argnums=tuple(range(len(avals))))
        both = lowered(derivative, *avals, device=device[0], cores=device[1])

    assert forward.count("__gpu$xla.gpu.triton") == 1
    assert both.count("__gpu$xla.gpu.triton") <= 3


@pytest.mark.parametrize("reducer", ["max", "logsumexp"])
@pytest.mark.parametrize("guard", ["", " where j < i + 1 && i < 3"])
def test_scores_that_are_not_finite_give_what_the_language_says(reducer: str, guard: str) -> None:
    v = np.linspace(-1, 1, 7, dtype="float32")

    with passing():
        kernel = tcjax.kernel(three(reducer, guard), backend="pallas")
        run = jax.jit(kernel)
        for name, (x, y) in SPECIAL.items():
            given = np.array(x, "float32"), np.array(y, "float32"), v
            for found, expected in zip(run(*given), kernel.interpret(*given), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=name)


@pytest.mark.usefixtures("strict", "quickly_compiled")
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("scores", [SCORES, WIDE])
def test_an_attention_of_halves_runs_in_wider_types(kind: str, scores: str) -> None:
    arrays = [np.asarray(jnp.asarray(random.floats(*shape), kind)) for shape in ((40, 24), (50, 24), (50, 40))]
    text = f"{NARROW.format(kind)} {{ l(i) = logsumexp[j]({scores})  O(i,e) = sum[j](exp({scores} - l(i)) * v(j,e)) }}"

    with passing():
        kernel = tcjax.kernel(text, backend="pallas")
        found = np.asarray(kernel(*arrays)).astype("float64")

    expected = in_double(attention, [array.astype("float64") for array in arrays])
    np.testing.assert_allclose(found, expected, 2e-2, 2e-2)


def test_a_sum_of_too_many_columns_has_no_kernel_with_others() -> None:
    avals = [jax.ShapeDtypeStruct(shape, "float32") for shape in ((40, 24), (50, 24), (50, 300))]
    with passing():
        whole = online(tcjax.kernel(named()), *avals)[0].whole

    assert isinstance(whole.group, Softmax)
    with pytest.raises(pallas_triton.Unsupported, match="axes of its own"):
        pallas_triton.emit_group(whole.group)


@pytest.mark.usefixtures("strict", "quickly_compiled")
def test_infinite_values_count_only_where_a_guard_lets_them() -> None:
    program = PROGRAMS["causal attention"]
    q, k, v = arguments(program)
    v[20, 3], v[40, 5], v[60, 5], v[61, 3] = np.inf, -np.inf, np.inf, np.nan

    with passing():
        found = np.asarray(tcjax.kernel(program.text, backend="pallas")(q, k, v))

    finite = in_double(causal, [q, k, np.where(np.isfinite(v), v, 0)])
    expected = finite.astype("float32")
    expected[20:, 3], expected[40:, 5] = np.inf, -np.inf
    expected[60:, 5], expected[61:, 3] = np.nan, np.nan
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


SEARCH = "def f(float(M,K) A, float(K,N) B) -> (C) { C(i,j) min=! A(i,k) + B(k,j) }"


@pytest.mark.usefixtures("strict", "quickly_compiled")
@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        (SEARCH, ((9, 21), (21, 18))),
        (SEARCH.replace("min=!", "max=!").replace(" }", " where k <= i }"), ((9, 21), (21, 18))),
        # The points of a row lie along the columns of a tile.
        ("def f(float(N,M) a, float(M) b) -> (o) { o(i) max=! a(i,j) * b(j) }", ((3, 300), (300,))),
    ],
)
@pytest.mark.parametrize("missing", [False, True])
def test_a_search_finds_the_value_the_place_and_the_ties(text: str, shapes: Any, missing: bool) -> None:
    arrays = [np.round(random.floats(*shape), 0) for shape in shapes]
    if missing:
        arrays[0][2, 1:3] = np.nan
    with passing():
        group = search_of(nest_of(tcjax.kernel(text), *arrays), None)
        assert group is not None and group.ties is not None
        run = pallas_triton.emit_group(group, interpret=True)
        given = {o.name: a for o, a in zip(group.operands, arrays, strict=True)}
        found = run(given)
        how = {"form": group.blocks, "foreign": (), "backend": Backend("xla")}
        expected = primitive.run(*arrays, platform="rocm", group=group, **how)

    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
