"""Statements that fill one tensor part by part: which of them become one array, and that its values are right."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tcjax
from tcjax.planning import Plan
from tcjax.planning.data.assembly import Interleave, Join, Overlay, Pad

pytestmark = pytest.mark.usefixtures("quickly_compiled")


def plan_of(text: str, *arrays: np.ndarray) -> Plan:
    return tcjax.kernel(text).plan(*arrays)


def numbers(*shape: int) -> np.ndarray:
    return np.arange(1, 1 + int(np.prod(shape)), dtype="float32").reshape(shape)


@pytest.mark.parametrize(
    ("text", "shapes", "kind"),
    [
        ("a ++ b", [(3, 2), (4, 2)], Join),
        ("a ++^ b", [(3, 2), (3, 4)], Join),
        ("rotate([2], a)", [(5, 3)], Join),
        ("take_apl([7], a)", [(4, 3)], Pad),
        ("{ [i] -> a[i] | [0] <= [i] < shape(a) step [2]; [i] -> b[i] }", [(6,), (6,)], Interleave),
        ("{ iv -> a[iv] + 1 | 0*shape(a)+1 <= iv < shape(a)-1; iv -> a[iv] }", [(16, 17)], Overlay),
    ],
    ids=["++", "++^", "rotate", "take_apl", "step", "interior"],
)
def test_parts_are_put_together_by_one_operation(text: str, shapes: list[tuple[int, ...]], kind: type[object]) -> None:
    arrays = [numbers(*shape) for shape in shapes]

    plan = plan_of(text, *arrays)

    assert [type(assembly.whole) for assembly in plan.assemblies.values()] == [kind]


def test_a_part_that_reads_what_is_written_before_it_comes_after_it() -> None:
    text = "def f(float(N) a) -> (o) { o(i) = a(i) where i in 0:N  o(i) = o(i-3) + 1 where i in 3:N }"
    a = numbers(6)

    plan, result = plan_of(text, a), tcjax.kernel(text)(a)

    assert not plan.assemblies
    np.testing.assert_array_equal(result, np.concatenate([a[:3], a[:3] + 1]))


def test_a_masked_part_is_not_joined() -> None:
    text = "def f(float(N) a) -> (float(N) o) { o(i) = a(i) where i in 0:3  o(i) = 2*a(i) where i in 3:N, a(i) > 4 }"
    a = numbers(6)

    plan, result = plan_of(text, a), tcjax.kernel(text)(a)

    assert [assembly.stages for assembly in plan.assemblies.values()] == [1]
    np.testing.assert_array_equal(result, [1, 2, 3, 0, 10, 12])


@st.composite
def fillings(draw: st.DrawFn) -> tuple[str, tuple[int, int], np.ndarray]:
    """Partitions with boxes and strides over a matrix of zeros, in SaC, and their values."""
    rows, columns = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    expected = np.zeros((rows, columns), "float32")
    written = np.zeros((rows, columns), bool)
    parts: list[str] = []
    for number in range(draw(st.integers(1, 5))):
        lo = [draw(st.integers(0, extent)) for extent in (rows, columns)]
        hi = [draw(st.integers(start, extent)) for start, extent in zip(lo, (rows, columns), strict=True)]
        step = [draw(st.integers(1, 3)) for _ in range(2)]
        width = [draw(st.integers(1, own)) for own in step]
        i, j = np.indices((rows, columns))
        inside = (i >= lo[0]) & (i < hi[0]) & (j >= lo[1]) & (j < hi[1])
        inside &= ((i - lo[0]) % step[0] < width[0]) & ((j - lo[1]) % step[1] < width[1])
        # The first partition that covers an element defines it.
        expected[inside & ~written] = (10 * i + j + 100 * (number + 1))[inside & ~written]
        written |= inside
        generator = f"{lo} <= [i,j] < {hi} step {step} width {width}"
        parts.append(f"[i,j] -> tof(10 * i + j + {100 * (number + 1)}) | {generator}")
    parts.append(f"iv -> 0.0f | iv < [{rows}, {columns}]")
    return "{ " + "; ".join(parts) + " }", (rows, columns), expected


@given(fillings())
def test_any_filling_is_what_its_partitions_say(filling: tuple[str, tuple[int, int], np.ndarray]) -> None:
    text, _, expected = filling

    kernel = tcjax.kernel(text)

    np.testing.assert_array_equal(kernel(), expected)
    np.testing.assert_array_equal(kernel.interpret(), expected)


TWICE = """
b = { [i,j] -> (a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1]) / 4.0 | [1,1] <= [i,j] < shape(a) - 1; iv -> a[iv] };
{ [i,j] -> b[i-1,j] * b[i+1,j] | [1,1] <= [i,j] < shape(b) - 1; iv -> b[iv] }
"""


def test_a_part_over_a_whole_has_the_derivatives_of_an_update() -> None:
    a = jnp.asarray(np.random.default_rng(0).normal(size=(12, 12)).astype("float32"))

    def updated(a: jax.Array) -> jax.Array:
        b = a.at[1:-1, 1:-1].set((a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) / 4)
        return b.at[1:-1, 1:-1].set(b[:-2, 1:-1] * b[2:, 1:-1])

    def gradient(function: Callable[[jax.Array], jax.Array]) -> Callable[[jax.Array], jax.Array]:
        return jax.grad(lambda a: jnp.sum(function(a) ** 2))

    kernel = tcjax.kernel(TWICE)

    assert [type(assembly.whole) for assembly in kernel.plan(a).assemblies.values()] == [Overlay, Overlay]
    np.testing.assert_allclose(kernel(a), updated(a), rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(kernel)(jnp.stack([a, -a]))[1], updated(-a), rtol=1e-5)
    np.testing.assert_allclose(gradient(kernel)(a), gradient(updated)(a), rtol=1e-4, atol=1e-5)
    second = [jax.jvp(gradient(function), (a,), (a,))[1] for function in (kernel, updated)]
    np.testing.assert_allclose(second[0], second[1], rtol=1e-3, atol=1e-4)
