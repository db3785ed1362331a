"""`explain(..., compiled=True)`: XLA's own figures, equal to those of the same function written by hand."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import tcjax

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
LAYER = """
def layer(float(B,I) x, float(H,I) W, float(H) bias) -> (y, h) {
    h(b,n) +=! x(b,i) * W(n,i)
    y(b,n) = h(b,n) + bias(n)
}"""


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def layer(x: jax.Array, W: jax.Array, bias: jax.Array) -> tuple[jax.Array, jax.Array]:
    h = x @ W.T
    return h + bias, h


def by_hand(function: Callable[..., Any], *arguments: Any) -> dict[str, int]:
    """XLA's figures for a function."""
    compiled = jax.jit(function).lower(*arguments).compile()
    memory, cost = compiled.memory_analysis(), compiled.cost_analysis()
    assert memory is not None and cost is not None
    return {
        "temporary_bytes": memory.temp_size_in_bytes,
        "operations": int(cost.get("flops", 0)),
        "bytes": int(cost["bytes accessed"]),
    }


def backwards(function: Callable[..., Any], *arguments: Any) -> dict[str, int]:
    """XLA's figures for its reverse mode with respect to all arguments."""
    results = jax.eval_shape(function, *arguments)
    return by_hand(lambda given, weights: jax.vjp(function, *given)[1](weights), arguments, results)


PRODUCTS: dict[str, tuple[tcjax.Kernel, Callable[..., Any], tuple[Any, ...]]] = {
    "index notation": (tcjax.kernel(MM), jnp.matmul, (floats(64, 32), floats(32, 16))),
    "arrays": (tcjax.kernel(MM), jnp.matmul, (jnp.ones((64, 32)), jnp.ones((32, 16)))),
    "SaC": (
        tcjax.kernel("{ [i,j] -> sum({ [k] -> a[i,k] * b[k,j] }) }"),
        jnp.matmul,
        (floats(64, 32), floats(32, 16)),
    ),
    "several results": (tcjax.kernel(LAYER), layer, (floats(32, 64), floats(16, 64), floats(16))),
    "checked": (tcjax.kernel(MM, checked=True), jnp.matmul, (floats(64, 32), floats(32, 16))),
    "elements": (tcjax.kernel("O(i) = x(i) * x(i) + y(i)"), lambda x, y: x * x + y, (floats(100), floats(100))),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_figures_are_those_of_the_function_by_hand(name: str) -> None:
    kernel, function, arguments = PRODUCTS[name]

    compiled = kernel.explain(*arguments, compiled=True).to_dict()["compiled"]

    assert compiled == {"forward": by_hand(function, *arguments), "vjp": backwards(function, *arguments)}


def test_on_a_mesh_they_are_those_of_the_sharded_kernel() -> None:
    kernel = tcjax.kernel(MM).sharded(jax.make_mesh((1,), ("data",)), {"m": "data"})
    arguments = floats(64, 32), floats(32, 16)

    compiled = kernel.explain(*arguments, compiled=True).to_dict()["compiled"]

    both = {"forward": by_hand(kernel, *arguments), "vjp": backwards(kernel, *arguments)}
    assert compiled == {**both, "collectives": []}


def test_a_python_kernel_tells_them_too() -> None:
    @tcjax.kernel
    def mm(A, B):  # type: ignore[no-untyped-def]
        """C(m,n) +=! A(m,k) * B(k,n)"""

    arguments = floats(64, 32), floats(32, 16)

    compiled = mm.explain(*arguments, compiled=True).to_dict()["compiled"]

    assert compiled["forward"] == by_hand(jnp.matmul, *arguments)


def test_a_value_that_decides_a_shape_is_known() -> None:
    kernel = tcjax.kernel("{ [i] -> a[i] * a[i] | [0] <= [i] < [n] }")

    compiled = kernel.explain(jnp.ones(8), 5, compiled=True).to_dict()["compiled"]

    assert compiled["forward"]["operations"] == 5
    assert compiled["vjp"] == backwards(lambda a: (part := a[:5]) * part, jnp.ones(8))


@pytest.mark.filterwarnings("ignore::tcjax.CompileWarning")
def test_an_initial_value_is_an_argument_and_no_parameter() -> None:
    kernel = tcjax.kernel("def add(float(N) x) -> (o) { o(i) += x(i) * x(i) }")

    compiled = kernel.explain(floats(64), o=floats(64), compiled=True).to_dict()["compiled"]

    assert compiled["forward"] == by_hand(lambda x, o: o + x * x, floats(64), floats(64))
    assert compiled["vjp"] == backwards(lambda x: x * x, floats(64))


def test_without_a_derivative_the_reason_stands_in_its_place() -> None:
    explained = tcjax.kernel("O(i) = x(i) + 1").explain(jnp.arange(4), compiled=True)

    compiled = explained.to_dict()["compiled"]
    assert compiled["forward"] == by_hand(lambda x: x + 1, jnp.arange(4))
    assert (compiled["vjp"], compiled["no_vjp"]) == (None, "no parameter is a float")
    assert str(explained).endswith("\ncompiled vjp: none: no parameter is a float")
    assert "compiled by XLA" in explained._repr_html_()


def test_integers_are_held_while_floats_are_differentiated() -> None:
    kernel = tcjax.kernel("def take(float(N) x, int32(M) at) -> (o) { o(m) = x(at(m)) }")

    compiled = kernel.explain(floats(8), jnp.arange(5), compiled=True).to_dict()["compiled"]

    assert compiled["vjp"]["bytes"] > 0


def test_nothing_is_compiled_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    from tcjax.runtime import compiled

    monkeypatch.setattr(compiled, "figures", lambda *given: pytest.fail("compiled"))

    explained = tcjax.kernel(MM).explain(floats(8, 8), floats(8, 8))

    assert "compiled" not in explained.to_dict()
    assert "(by XLA)" not in str(explained) and "compiled by XLA" not in explained._repr_html_()


def test_the_text_tells_estimates_and_figures_apart() -> None:
    explained = tcjax.kernel(MM).explain(floats(64, 32), floats(32, 16), compiled=True)

    *_, total, forward, vjp = str(explained).splitlines()
    assert total.startswith("total: 65.5 k operations") and total.endswith("(estimates)")
    assert forward == "compiled: 65.5 k operations, 14 KiB moved, 0 B temporary (by XLA)"
    assert vjp.startswith("compiled vjp: 131 k operations") and vjp.endswith("by all float parameters (by XLA)")


def test_the_page_tells_them_apart() -> None:
    page = tcjax.kernel(MM).explain(floats(64, 32), floats(32, 16), compiled=True)._repr_html_()

    assert "(estimates)" in page and "compiled by XLA" in page


@pytest.mark.parametrize("given", [1, "yes", None])
def test_what_is_no_flag_is_refused(given: Any) -> None:
    with pytest.raises(tcjax.CompileError, match="compiled is True or False") as raised:
        tcjax.kernel(MM).explain(floats(8, 8), floats(8, 8), compiled=given)

    assert raised.value.code == "TC0308"


def test_an_argument_of_that_name_goes_by_position() -> None:
    kernel = tcjax.kernel("def f(float(N) compiled) -> (o) { o(i) = compiled(i) * 2.0 }")

    explained = kernel.explain(floats(8), compiled=True).to_dict()

    assert explained["compiled"]["forward"]["operations"] == 8


def test_symbolic_and_wrong_shapes_are_refused_as_ever() -> None:
    with pytest.raises(tcjax.CompileError) as raised:
        tcjax.kernel(MM).explain(floats(8, 7), floats(8, 8), compiled=True)

    assert raised.value.kind == "shape"


@pytest.mark.filterwarnings("ignore::tcjax.CompileWarning")
def test_on_a_mesh_an_initial_value_lies_with_the_result() -> None:
    kernel = tcjax.kernel("def f(float(N,M) A) -> (C) { C(n) += A(n,m) }")
    sharded = kernel.sharded(jax.make_mesh((1,), ("data",)), {"n": "data"})

    compiled = sharded.explain(floats(64, 8), C=floats(64), compiled=True).to_dict()["compiled"]

    assert compiled["vjp"] == backwards(lambda A: A.sum(1), floats(64, 8))
