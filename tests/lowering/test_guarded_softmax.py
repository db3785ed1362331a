"""Softmaxes under guards: blocks that follow a window, and blocks that data excludes."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax import planning
from tcjax.planning import replanning
from tcjax.planning.blocked import kernel_sum_blocks, softmax_blocks
from tcjax.planning.data.blocked_loop import BlockedLoop
from tcjax.planning.data.groups import Blocks, Softmax
from tcjax.planning.data.nodes import LoopNest, operands
from tests.agreement.nesting import nesting

N, FAR = 19, 2**31 - 1
# The guard, and the same for arrays.
WINDOWS = {
    "a window behind": ("k <= q, q - k < 5", lambda q, k, a, b: (k <= q) & (q - k < 5)),
    "a window on both sides": ("k - q < 3, q - k <= 2", lambda q, k, a, b: (k - q < 3) & (q - k <= 2)),
    "a window that some rows do not have": ("k < q - 13, k > q - 17", lambda q, k, a, b: (k < q - 13) & (k > q - 17)),
}
DATA = {
    "ends of data": ("k >= first(q), k < last(q)", lambda q, k, a, b: (k >= a[:, None]) & (k < b[:, None])),
    "ends the other way round": (
        "!(k < first(q)), last(q) > k",
        lambda q, k, a, b: (k >= a[:, None]) & (k < b[:, None]),
    ),
    "an end of data in the past": ("k <= q, first(q) <= k", lambda q, k, a, b: (k <= q) & (k >= a[:, None])),
}
GUARDS = WINDOWS | DATA


def kernel(guard: str) -> tcjax.Kernel:
    score = "sum[d](Q(h,q,d) * K(h,k,d))"
    return tcjax.kernel(f"""
        def f(float(H,T,D) Q, float(H,T,D) K, float(H,T,E) V, int32(T) first, int32(T) last) -> (out) {{
            total(h,q) = logsumexp[k where {guard}]({score})
            out(h,q,e) = sum[k where {guard}](exp({score} - total(h,q)) * V(h,k,e))
        }}""")


def arguments() -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(0)
    Q, K, V = random.normal(size=(3, 2, N, 3)).astype(np.float32)
    first = np.sort(random.integers(0, N, N)).astype(np.int32)
    last = np.minimum(first + random.integers(0, 6, N), N).astype(np.int32)
    first[[2, 5, 11]] = -FAR - 1, FAR, N
    last[[3, 5, 7]] = FAR, -FAR - 1, -4
    return Q, K, V, first, last


def reference(live, Q, K, V, first, last):
    q, k = jnp.ogrid[:N, :N]
    seen = live(q, k, first, last)
    scores = jnp.where(seen, jnp.einsum("hqd,hkd->hqk", Q, K), -jnp.inf)
    largest = jnp.where(seen.any(-1), scores.max(-1), 0)
    weights = jnp.where(seen, jnp.exp(scores - largest[..., None]), 0)
    total = weights.sum(-1, keepdims=True)
    return weights / jnp.where(total == 0, 1, total) @ V


@pytest.fixture
def small() -> Iterator[None]:
    """Blocks of four rows, and passes at any size."""
    with nesting(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(softmax_blocks, "FOLLOWING", (4,))
        patch.setattr(softmax_blocks, "GUARDED", (64, 4))
        patch.setattr(softmax_blocks, "SQUARE", 4)
        patch.setattr(softmax_blocks, "BEGIN", 0)
        patch.setattr(kernel_sum_blocks, "SQUARE", 4)
        patch.setattr(kernel_sum_blocks, "ELEMENTS", 128)
        replanning.plan_cpu.cache_clear()
        yield
    replanning.plan_cpu.cache_clear()


def passes(made: tcjax.Kernel, *given: object) -> list[tuple[Softmax, Blocks]]:
    found: list[tuple[Softmax, Blocks]] = []
    pending = [stage.value for stage in made.plan(*given).stages if isinstance(stage, planning.Compute)]
    while pending:
        node = pending.pop()
        if isinstance(node, LoopNest) and isinstance(node.whole.group, Softmax):
            assert isinstance(node.whole.schedule, Blocks)
            found.append((node.whole.group, node.whole.schedule))
        pending += operands(node)
    return found


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", GUARDS)
def test_values_and_gradients_are_those_of_the_whole(name: str) -> None:
    guard, live = GUARDS[name]
    made, given = kernel(guard), arguments()

    [(group, blocks), *_] = passes(made, *given)
    out = made(*given)
    pulled = jax.grad(lambda *own: (made(*own, *given[3:]) ** 2).sum(), (0, 1, 2))(*given[:3])

    assert blocks.follows == (name in WINDOWS)
    plan = replanning.plan_cpu(group, blocks, None)
    assert isinstance(plan, BlockedLoop)
    assert [end.data is not None for end in plan.ends].count(True) == ("first" in guard) + ("last" in guard)
    np.testing.assert_allclose(out, made.interpret(*given), atol=2e-6)
    with jax.enable_x64(True):
        exact = [jnp.asarray(array, jnp.float64) for array in given[:3]]
        wanted = jax.grad(lambda *own: (reference(live, *own, *given[3:]) ** 2).sum(), (0, 1, 2))(*exact)
    for found, right in zip(pulled, wanted, strict=True):
        np.testing.assert_allclose(found, right, atol=2e-5)


@pytest.mark.usefixtures("small")
def test_what_no_guard_lets_in_may_be_infinite() -> None:
    made, (Q, K, V, first, last) = kernel(WINDOWS["a window behind"][0]), arguments()
    V[:, 3], K[1, 9] = np.inf, np.nan

    out = made(Q, K, V, first, last)

    np.testing.assert_allclose(out, made.interpret(Q, K, V, first, last), atol=2e-6)
    assert np.isfinite(out[:, :3]).all() and np.isfinite(out[0, 8:]).all() and np.isfinite(out[1, 14:]).all()


@pytest.mark.usefixtures("small")
def test_a_batch_has_ends_of_its_own() -> None:
    made, (Q, K, V, first, last) = kernel(DATA["ends of data"][0]), arguments()
    firsts, lasts = np.stack([first, first[::-1]]), np.stack([last, last[::-1]])

    both = jax.vmap(made, (None, None, None, 0, 0))(Q, K, V, firsts, lasts)

    for found, *ends in zip(both, firsts, lasts, strict=True):
        np.testing.assert_allclose(found, made(Q, K, V, *ends), atol=2e-6)


@pytest.mark.parametrize("guard", ["k <= q, q - k < 128", "k in first(q):last(q)"])
def test_no_scores_are_stored_at_full_size(guard: str) -> None:
    text = str(kernel("k > 0")).replace("k where k > 0", f"k where {guard}" if "<=" in guard else guard)
    shapes = [((4, 1024, 32), "float32")] * 3 + [((1024,), "int32")] * 2
    given = [jax.ShapeDtypeStruct(*shape) for shape in shapes]

    [(_, blocks), *_] = passes(tcjax.kernel(text), *given)

    assert blocks.follows == ("<=" in guard)
    assert blocks.width == (191 if blocks.follows else 128)


def test_named_scores_are_not_stored_where_data_say_which_count() -> None:
    text = """
    def f(float(H,T,D) Q, float(H,T,D) K, float(H,T,E) V, int32(T) first, int32(T) last) -> (out) {
        score(h,q,k) = sum[d](Q(h,q,d) * K(h,k,d)) / sqrt(D)
        total(h,q) = logsumexp[k in first(q):last(q)](score(h,q,k))
        out(h,q,e) = sum[k in first(q):last(q)](exp(score(h,q,k) - total(h,q)) * V(h,k,e))
    }"""
    heads, ends = (
        jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in (((4, 2311, 64), "float32"), ((2311,), "int32"))
    )

    assert len(passes(tcjax.kernel(text), heads, heads, heads, ends, ends)) == 2


@pytest.mark.usefixtures("small")
def test_the_gradient_by_slopes_goes_along_with_the_others() -> None:
    score = "sum[d](Q(h,q,d) * K(h,k,d)) - slope(h) * (q - k)"
    made = tcjax.kernel(f"""
        def f(float(H,T,D) Q, float(H,T,D) K, float(H,T,E) V, float(H) slope) -> (out) {{
            total(h,q) = logsumexp[k where k <= q]({score})
            out(h,q,e) = sum[k where k <= q](exp({score} - total(h,q)) * V(h,k,e))
        }}""")
    Q, K, V, *_ = arguments()
    slope = np.float32([0.5, 0.25])

    def biased(Q, K, V, slope):
        q, k = jnp.ogrid[:N, :N]
        scores = jnp.einsum("hqd,hkd->hqk", Q, K) - slope[:, None, None] * (q - k)
        return jax.nn.softmax(jnp.where(k <= q, scores, -jnp.inf)) @ V

    found = jax.grad(lambda *own: (made(*own) ** 2).sum(), (0, 1, 2, 3))(Q, K, V, slope)
    sums = [line for line in str(made.explain(Q, K, V, slope)).splitlines() if line.startswith("  sum[")]

    with jax.enable_x64(True):
        exact = [jnp.asarray(array, jnp.float64) for array in (Q, K, V, slope)]
        wanted = jax.grad(lambda *own: (biased(*own) ** 2).sum(), (0, 1, 2, 3))(*exact)
    for own, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(own, right, atol=5e-5)
    assert sums and not any(line.startswith("  sum[i.1, j.0") for line in sums)
