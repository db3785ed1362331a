"""Softmaxes block by block: how often things are computed, what is stored, and scores that are NaN."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tcjax
from tcjax import planning
from tcjax.lowering import primitive
from tcjax.planning.data.nodes import LoopNest, operands
from tcjax.planning.data.views import Viewed
from tests.agreement import comparing
from tests.agreement.passing import passing
from tests.effort import examples, phases

N, D = 4096, 64
SCORES = "sum[d](Q(q,d) * K(k,d)) / sqrt(D)"
HEAD = "def f(float(N) x, float(M) y, float(M) v) -> (m, z, O)"


def attention(guard: str = "") -> tcjax.Kernel:
    return tcjax.kernel(f"""
        def f(float(T,D) Q, float(T,D) K, float(T,E) V) -> (O) {{
            m(q)   = max[k{guard}]({SCORES})
            z(q)   = sum[k{guard}](exp({SCORES} - m(q)))
            O(q,e) = sum[k{guard}](exp({SCORES} - m(q)) * V(k,e)) / z(q)
        }}""")


def three(reducer: str, guard: str = "") -> str:
    """A statistic, the sum of the weights and a weighted sum of scores that are sums."""
    return (
        f"{HEAD} {{ m(i) = {reducer}[j{guard}](x(i) + y(j))  z(i) = sum[j{guard}](exp(x(i) + y(j) - m(i)))"
        f"  O(i) = sum[j{guard}](exp(x(i) + y(j) - m(i)) * v(j)) }}"
    )


def arguments(*shapes: tuple[int, ...], dtype: str = "float32") -> tuple[jax.ShapeDtypeStruct, ...]:
    return tuple(jax.ShapeDtypeStruct(shape, jnp.dtype(dtype)) for shape in shapes)


def online(kernel: tcjax.Kernel, *given: Any) -> list[LoopNest]:
    """The results of a plan's passes."""
    found: list[LoopNest] = []
    pending = [stage.value for stage in kernel.plan(*given).stages if isinstance(stage, planning.Compute)]
    while pending:
        node = pending.pop()
        found += [node] if isinstance(node, LoopNest) and not node.is_alone else []
        pending += operands(node)
    return found


def equations(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield equation
        for parameter in jax.tree.leaves(equation.params, is_leaf=lambda value: hasattr(value, "eqns")):
            inner = getattr(parameter, "jaxpr", parameter)
            if hasattr(inner, "eqns"):
                yield from equations(inner)


def test_a_block_has_its_scores_and_their_exponentials_once() -> None:
    whole = online(attention(), *arguments((N, D), (N, D), (N, D)))[0].whole
    avals = [jax.ShapeDtypeStruct(operand.shape, operand.dtype) for operand in whole.group.operands]
    ((_, rows),) = whole.schedule.tile

    def run(*arrays: jax.Array) -> Any:
        settled = {"group": whole.group, "form": whole.schedule, "foreign": (), "backend": whole.backend}
        return primitive.run(*arrays, platform="cpu", **settled)

    found = list(equations(jax.make_jaxpr(run)(*avals).jaxpr))
    products = [equation for equation in found if equation.primitive.name == "dot_general"]
    exponentials = [e.outvars[0].aval.shape for e in found if e.primitive.name == "exp"]
    assert len(products) == 2, "the scores, and the weighted sum"
    assert exponentials.count((rows, whole.schedule.width)) == 1


@pytest.mark.parametrize("guard", ["", " where k <= q"])
def test_the_scores_of_an_attention_are_never_stored(guard: str) -> None:
    given = arguments((N, D), (N, D), (N, D))

    compiled = jax.jit(attention(guard)).lower(*given).compile()

    predicted = attention(guard).explain(*given).to_dict()["temporary_bytes"]
    analysis = compiled.memory_analysis()
    assert analysis is not None
    assert analysis.temp_size_in_bytes <= 8 << 20 < N * N
    assert analysis.temp_size_in_bytes <= 2 * predicted


INF, NAN = float("inf"), float("nan")
SPECIAL = {
    "some scores are minus infinity": ([0.5, -INF, 1.0, -1.0], [-INF, 0.5, -INF, 2.0, -INF, 1.0, 0.25]),
    "no score is more than minus infinity": ([0.5, -INF, 1.0, -1.0], [-INF] * 7),
    "the first block has nothing": ([0.5, 1.5, 1.0, -1.0], [-INF] * 4 + [1.0, 2.0, -0.5]),
    "a score is infinite": ([0.5, 1.5, 1.0, -1.0], [0.5, 1.0, 0.25, INF, 2.0, 1.0, 0.25]),
    "a score is not a number": ([0.5, NAN, 1.0, -1.0], [0.5, 1.0, 0.25, 0.75, 2.0, NAN, 0.25]),
    "exponentials would overflow": ([0.5e4, 1.5e4, 1e4, -1e4], [1e4, -2e4, 3e4, 0.5, 1.0, 3e4, 3e4]),
}


@pytest.mark.parametrize("reducer", ["max", "logsumexp"])
@pytest.mark.parametrize("guard", ["", " where j < i + 1 && i < 3"])
def test_scores_that_are_not_finite_give_what_the_language_says(reducer: str, guard: str) -> None:
    v = np.linspace(-1, 1, 7, dtype="float32")

    with passing(width=3, tile=3):
        kernel = tcjax.kernel(three(reducer, guard))
        run = jax.jit(kernel)
        for name, (x, y) in SPECIAL.items():
            given = np.array(x, "float32"), np.array(y, "float32"), v
            for found, expected in zip(run(*given), kernel.interpret(*given), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=name)


@settings(max_examples=examples(5), phases=phases())
@given(
    st.sampled_from(["max", "logsumexp"]),
    st.sampled_from(["", " where j <= i", " where i < j", " where i - j <= 1 && j - i <= 2", " where x(i) < y(j)"]),
    st.tuples(st.integers(1, 6), st.integers(1, 9)),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.sampled_from(["float", "float", "half", "bfloat16"]),
    st.integers(0, 99),
)
def test_blocks_and_tiles_of_any_size_give_the_interpreters_values(
    reducer: str, guard: str, sizes: tuple[int, int], blocks: tuple[int, int], kind: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    dtype = {"float": jnp.float32, "half": jnp.float16, "bfloat16": jnp.bfloat16}[kind]
    given = [np.asarray(jnp.asarray(rng.normal(size=n), dtype)) for n in (sizes[0], sizes[1], sizes[1])]

    with passing(*blocks):
        kernel = tcjax.kernel(three(reducer, guard).replace("float(", f"{kind}("))
        # An index with one value is a number, so there is no loop.
        assert len(online(kernel, *given)) == 3 or 1 in sizes
        found = kernel(*given)

    loosest = {"float": "float32", "half": "float16"}.get(kind, kind)
    comparing.agree(found, kernel.interpret(*given), loosest=loosest)


def test_an_empty_softmax_is_what_the_language_says() -> None:
    kernel = tcjax.kernel(three("max"))
    for rows, points in ((0, 3), (3, 0), (0, 0)):
        given = np.ones(rows, "float32"), np.ones(points, "float32"), np.ones(points, "float32")

        with passing():
            found = kernel(*given)

        comparing.agree(found, kernel.interpret(*given))


def test_a_softmax_is_linear_in_its_weights() -> None:
    rng = np.random.default_rng(0)
    x, y, v = (jnp.asarray(rng.normal(size=n), "float32") for n in (4, 7, 7))
    ct = jnp.arange(4.0)

    with passing():
        kernel = tcjax.kernel(three("logsumexp"))
        (found,) = jax.linear_transpose(lambda v: kernel(x, y, v)[2], v)(ct)

    np.testing.assert_allclose(found, ct @ jax.nn.softmax(x[:, None] + y, axis=1), rtol=1e-5)


def test_apart_the_results_are_the_same() -> None:
    rng = np.random.default_rng(0)
    x, y, v = (jnp.asarray(rng.normal(size=n), "float32") for n in (4, 7, 7))

    with passing():
        whole = online(tcjax.kernel(three("logsumexp", " where j <= i + 1")), x, y, v)[0].whole
        order = [source.tensor for source in whole.sources if isinstance(source, Viewed)]
        arrays = [{"x": x, "y": y, "v": v}[name] for name in order]
        settled = {"group": whole.group, "form": whole.schedule, "foreign": (), "backend": whole.backend}
        found, expected = (primitive.run(*arrays, platform=platform, **settled) for platform in ("cuda", "cpu"))

    comparing.agree(tuple(found), tuple(map(np.asarray, expected)))


def test_with_jit_disabled_a_pass_and_a_nest_still_run() -> None:
    rng = np.random.default_rng(0)
    x, y, v = (rng.normal(size=n).astype(np.float32) for n in (4, 7, 7))

    with passing(), jax.disable_jit():
        z = tcjax.kernel(three("logsumexp"))(x, y, v)[1]
        nearest = tcjax.kernel("def f(float(N) x, float(M) y) -> (o) { o(i) min=! abs(x(i) - y(j)) }")(x, y)

    np.testing.assert_allclose(z, np.ones(4), rtol=1e-5)
    np.testing.assert_array_equal(nearest, np.abs(x[:, None] - y).min(1))


@pytest.mark.parametrize("tile", (2, 3, 8))
@pytest.mark.parametrize("extents", ((4, 2, 6), (6, 4, 2), (2, 4, 3)))
def test_statistics_have_the_order_of_their_axes_however_scores_lie(extents: tuple[int, int, int], tile: int) -> None:
    text = """
        def f(float(B,H,T,D) q, float(B,S,D) k, float(B,S,E) v) -> (l, O) {
            l(b,h,i)   = logsumexp[j](sum[d](q(b,h,i,d) * k(b,j,d)))
            O(b,h,i,e) = sum[j](exp(sum[d](q(b,h,i,d) * k(b,j,d)) - l(b,h,i)) * v(b,j,e))
        }"""
    rng = np.random.default_rng(5)
    b, h, t = extents
    q, k, v = (rng.normal(size=shape) for shape in ((b, h, t, 3), (b, 7, 3), (b, 7, 2)))
    with passing(tile=tile), jax.enable_x64(True):
        found, summed = tcjax.kernel(text.replace("float", "double"))(q, k, v)
        gradient = jax.grad(lambda q: tcjax.kernel(text.replace("float", "double"))(q, k, v)[1][..., 0].sum())(q)
    scores = np.einsum("bhid,bjd->bhij", q, k)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    means = np.einsum("bhij,bj->bhi", weights, v[..., 0])
    expected = np.einsum("bhij,bhij,bjd->bhid", weights, v[:, None, None, :, 0] - means[..., None], k)
    np.testing.assert_allclose(found, np.log(np.exp(scores).sum(-1)), rtol=1e-12)
    np.testing.assert_allclose(summed, np.einsum("bhij,bje->bhie", weights, v), rtol=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=1e-10)
