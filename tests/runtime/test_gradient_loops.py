"""What `explain` shows of a gradient is what runs: the loops that the primitive requests when it is lowered."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import tcjax
from tcjax import ir
from tcjax.lowering import primitive
from tcjax.planning.data.groups import Blocks, Extrema
from tcjax.planning.data.nests import LoopSchedule

ATTENTION = """def attention(float(T,D) Q, float(T,D) K, float(T,E) V) -> (O) {
    m(q)   = max[k](sum[d](Q(q,d) * K(k,d)))
    z(q)   = sum[k](exp(sum[d](Q(q,d) * K(k,d)) - m(q)))
    O(q,e) = sum[k](exp(sum[d](Q(q,d) * K(k,d)) - m(q)) * V(k,e)) / z(q)
}"""
KERNEL_SUM = """def smooth(float(N,D) x, float(M,D) y, float(M) b) -> (O) {
    O(i) +=! sqrt(1.0 + sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))) * b(j)
}"""
# The text, the shapes of its arguments, and whether its gradient loops.
PROGRAMS: dict[str, tuple[str, list[tuple[int, ...]], bool]] = {
    "a product of matrices": ("C(m,n) +=! A(m,k) * B(k,n)", [(64, 48), (48, 32)], False),
    "a min-plus product": ("C(m,n) min=! A(m,k) + B(k,n)", [(512, 384), (384, 256)], True),
    "attention": (ATTENTION, [(4096, 64), (4096, 64), (4096, 64)], True),
    "a kernel sum": (KERNEL_SUM, [(4096, 3), (4096, 3), (4096,)], True),
    "a gather": ("O(t,d) = A(I(t),d) * A(I(t),d)", [(64, 3), (128,)], False),
}


def shapes(name: str) -> list[jax.ShapeDtypeStruct]:
    text, given, _ = PROGRAMS[name]
    types = ["int32" if "I(t)" in text and number else "float32" for number in range(len(given))]
    return [jax.ShapeDtypeStruct(shape, jnp.dtype(dtype)) for shape, dtype in zip(given, types, strict=True)]


def pulled(kernel: Callable[..., Any], smooth: list[int]) -> Callable[..., Any]:
    def run(cotangent: jax.Array, *arrays: jax.Array) -> Any:
        def result(*moving: jax.Array) -> jax.Array:
            given = dict(enumerate(arrays)) | dict(zip(smooth, moving, strict=True))
            return kernel(*given.values())

        return jax.vjp(result, *(arrays[number] for number in smooth))[1](cotangent)

    return run


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_loops_of_a_gradient_are_those_that_are_lowered(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = shapes(name)
    kernel = tcjax.kernel(PROGRAMS[name][0])
    smooth = [number for number, array in enumerate(given) if array.dtype == jnp.float32]
    lowered: list[tuple[Any, ...]] = []
    usual = primitive.plan_loops

    def plan(group: Any, form: LoopSchedule | Blocks, backend: Any, platform: str) -> Any:
        if platform == "cpu":
            reductions = tuple(ir.show_expr(nest.reduce) for nest in group.results)
            blocks = group.form if isinstance(group, Extrema) else form
            rows = blocks.rows if isinstance(blocks, LoopSchedule) else blocks.width
            lowered.append((reductions, str(form.loop), rows))
        return usual(group, form, backend, platform)

    explained = kernel.explain(*given)
    loops = explained.to_dict()["gradient_loops"]
    monkeypatch.setattr(primitive, "plan_loops", plan)
    jax.jit(pulled(kernel, smooth)).lower(jax.eval_shape(kernel, *given), *given)

    assert {(tuple(loop["reductions"]), loop["loop"], loop["rows"]) for loop in loops} == set(lowered)
    assert bool(loops) == PROGRAMS[name][2]
    assert str(explained).count("\ngradient loop") == len(loops)
    assert all(reduction in str(explained) for loop in loops for reduction in loop["reductions"])


def test_a_loop_that_only_ties_need_is_rare() -> None:
    loops = tcjax.kernel(PROGRAMS["a min-plus product"][0]).explain(*shapes("a min-plus product")).to_dict()

    assert [loop["rare"] for loop in loops["gradient_loops"]] == [False, True, True]
    assert len(loops["gradient_loops"][0]["reductions"]) == 3, "the value, its place, and how many points have it"
