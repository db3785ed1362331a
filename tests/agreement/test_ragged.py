"""Ragged ranges: rows of an axis between pointers, which may rise, fall, or be out of bounds."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tcjax

from ..effort import examples, phases

# Enough rows and positions for a table of rows to pay off.
ROWS, POSITIONS = 70, 90
SIZES = {"R1": ROWS + 1, "E": POSITIONS, "C": 11, "D": 3}
HEADER = "def f(float(E) s, float(E,D) V, int32(E) col, float(C) x, int32(R1) ptr)"

ROW = "p in ptr(i):ptr(i+1)"
PROGRAMS = {
    "sparse product": f"(y) {{ y(i) +=! s(p) * x(col(p)) where {ROW} }}",
    "inline": "(y) { y(i) = 2.0 * sum[p in ptr(i):ptr(i+1)](s(p) * x(col(p))) + 1.0 }",
    "features": f"(y) {{ y(i,d) +=! s(p) * V(p,d) where {ROW} }}",
    "largest": f"(y) {{ y(i) max=! s(p) where {ROW} }}",
    "smallest of features": f"(y) {{ y(d,i) min=! V(p,d) where {ROW} }}",
    "product": f"(y) {{ y(i) *=! s(p) where {ROW} }}",
    "mean": "(y) { y(i) = mean[p in ptr(i):ptr(i+1)](s(p)) }",
    "logsumexp": f"(y) {{ y(i) logsumexp=! s(p) where {ROW} }}",
    "any": f"(y) {{ y(i) any=! s(p) > 1.0 where {ROW} }}",
    "position": f"(y) {{ y(i) argmax=! s(p) where {ROW} }}",
    "all rows": f"(y) {{ y +=! s(p) * i where {ROW} }}",
    "goes on": f"(y) {{ y(i) = 1.0 where i in 0:ptr.0-1 y(i) += s(p) where {ROW} }}",
    "softmax": f"""(w) {{
        m(i) max=! s(p) where {ROW}
        z(i) +=! exp(s(p) - m(i)) where {ROW}
        w(p) +=! exp(s(p) - m(i)) / z(i) where {ROW} }}""",
    "attention": f"""(o) {{
        q(i,d) = x(d) * (1.0 + i) where d in 0:V.1, i in 0:ptr.0-1
        a(p) +=! q(i,d) * V(p,d) where {ROW}
        l(i) logsumexp=! a(p) where {ROW}
        o(i,d) +=! exp(a(p) - l(i)) * V(p,d) where {ROW} }}""",
    "shifted": "(y) { y(i) +=! s(p) where p in ptr(i+1):ptr(i+2) }",
    "a guard beside": f"(y) {{ y(i) +=! s(p) where {ROW}, col(p) > 3 }}",
    "prefixes": "(y) { y(i) +=! s(p) where p in 0:ptr(i) }",
    "the same pointer": "(y) { y(i) +=! s(p) where p in ptr(i):ptr(i)+3 }",
}
# Positions in a row have no table, nor do ranges between other bounds; products have one if there are more rows.
WITH_TABLES = [n for n in PROGRAMS if n not in ("position", "prefixes", "the same pointer", "product")]


def pointers(kind: str, seed: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(seed)
    match kind:
        case "whole":
            inner = np.sort(random.integers(0, POSITIONS + 1, ROWS - 1))
            return np.array([0, *inner, POSITIONS], np.int32)
        case "partial":
            return np.sort(random.integers(5, POSITIONS - 5, ROWS + 1)).astype(np.int32)
        case "outside":
            return np.sort(random.integers(-20, POSITIONS + 20, ROWS + 1)).astype(np.int32)
        case "empty":
            return np.full(ROWS + 1, random.integers(-3, POSITIONS + 3), np.int32)
        case _:
            return random.integers(-5, POSITIONS + 5, ROWS + 1).astype(np.int32)


KINDS = ("whole", "partial", "outside", "empty", "disordered")


def arrays(kind: str, seed: int) -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng(seed)
    s, V, x = (random.normal(size=shape).astype(np.float32) for shape in (POSITIONS, (POSITIONS, 3), 11))
    return [s, V, random.integers(0, 11, POSITIONS).astype(np.int32), x, pointers(kind, seed)]


def kernel(name: str) -> tcjax.Kernel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        return tcjax.kernel(f"{HEADER} -> {PROGRAMS[name]}")


@settings(max_examples=examples(30), phases=phases())
@given(st.sampled_from(sorted(PROGRAMS)), st.sampled_from(KINDS), st.integers(0, 1000))
def test_a_compiled_kernel_computes_what_the_interpreter_says(name: str, kind: str, seed: int) -> None:
    given = arrays(kind, seed)

    found, meant = kernel(name)(*given), kernel(name).interpret(*given)

    np.testing.assert_allclose(found, meant, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize("name", WITH_TABLES)
def test_a_table_of_rows_is_used_where_pointers_are_in_order(name: str) -> None:
    rows, positions = 3000, 20_000
    shapes = {"s": (positions,), "V": (positions, 3), "col": (positions,), "x": (11,), "ptr": (rows + 1,)}
    types = {name: "int32" if name in ("col", "ptr") else "float32" for name in shapes}

    plan = str(kernel(name).plan(*(jax.ShapeDtypeStruct(shapes[n], types[n]) for n in shapes)))

    assert "ptr.rows" in plan and "where ptr is in order" in plan


def test_no_table_is_made_that_nobody_reads() -> None:
    assert "ptr." not in str(kernel("position").plan(*arrays("whole", 0)))


@pytest.mark.parametrize("name", ["sparse product", "softmax", "attention", "largest", "logsumexp", "all rows"])
@pytest.mark.parametrize("kind", ["partial", "outside", "disordered"])
def test_gradients_are_those_of_every_row_written_out(name: str, kind: str) -> None:
    given = arrays(kind, 3)
    program = kernel(name)
    cotangent = jnp.asarray(np.random.default_rng(1).normal(size=np.shape(program(*given))).astype(np.float32))

    def loss(s: Any, V: Any, x: Any) -> Any:
        result = program(s, V, given[2], x, given[4])
        return jnp.sum(jnp.where(jnp.isfinite(result), result, 0.0) * cotangent)

    def by_hand(s: Any, V: Any, x: Any) -> Any:
        result = DENSE[name](s, V, given[2], x, given[4])
        return jnp.sum(jnp.where(jnp.isfinite(result), result, 0.0) * cotangent)

    for found, meant in zip(
        jax.grad(loss, (0, 1, 2))(given[0], given[1], given[3]),
        jax.grad(by_hand, (0, 1, 2))(given[0], given[1], given[3]),
        strict=True,
    ):
        np.testing.assert_allclose(found, meant, rtol=2e-3, atol=2e-4)


def _inside(ptr: Any) -> Any:
    p = np.arange(POSITIONS)
    return (ptr[:-1, None] <= p) & (p < ptr[1:, None])


def _softmax(s: Any, V: Any, col: Any, x: Any, ptr: Any) -> Any:
    inside = _inside(ptr)
    some = inside.any(1)
    m = jax.lax.stop_gradient(jnp.where(some, jnp.max(jnp.where(inside, s, -jnp.inf), 1), 0.0))
    e = jnp.where(inside, jnp.exp(jnp.where(inside, s - m[:, None], 0.0)), 0.0)
    z = jnp.where(some, e.sum(1), 1.0)
    return (e / z[:, None]).sum(0)


def _attention(s: Any, V: Any, col: Any, x: Any, ptr: Any) -> Any:
    inside = _inside(ptr)
    q = x[None, :3] * (1.0 + np.arange(ROWS, dtype=np.float32))[:, None]
    # A position in several rows has the sum of their scores.
    a = jnp.where(inside, q @ V.T, 0.0).sum(0)
    share = jnp.where(inside, a - _logsumexp(a, V, col, x, ptr)[:, None], 0.0)
    return jnp.where(inside, jnp.exp(share), 0.0) @ V


def _logsumexp(s: Any, V: Any, col: Any, x: Any, ptr: Any) -> Any:
    inside = _inside(ptr)
    some = inside.any(1)
    shift = jnp.where(some, jax.lax.stop_gradient(jnp.max(jnp.where(inside, s, -jnp.inf), 1)), 0.0)
    total = jnp.where(inside, jnp.exp(jnp.where(inside, s - shift[:, None], 0.0)), 0.0).sum(1)
    return jnp.where(some, jnp.log(jnp.where(some, total, 1.0)) + shift, 0.0)


DENSE = {
    "sparse product": lambda s, V, col, x, ptr: jnp.where(_inside(ptr), s * x[col], 0.0).sum(1),
    "largest": lambda s, V, col, x, ptr: jnp.max(jnp.where(_inside(ptr), s, -jnp.inf), 1),
    "all rows": lambda s, V, col, x, ptr: jnp.where(_inside(ptr), s * np.arange(ROWS)[:, None], 0.0).sum(),
    "logsumexp": _logsumexp,
    "softmax": _softmax,
    "attention": _attention,
}


def test_what_no_row_holds_has_no_part_in_a_derivative_even_where_it_would_be_infinite() -> None:
    given = arrays("partial", 0)
    given[0][:5] = 1e4
    given[0][-5:] = 1e4
    program = kernel("softmax")

    found = jax.grad(lambda s: jnp.sum(program(s, *given[1:]) ** 2))(given[0])

    assert np.isfinite(found).all()
    assert (found[:5] == 0).all() and (found[-5:] == 0).all()


def test_it_runs_under_jit_and_over_batches_of_values_and_of_pointers() -> None:
    first, second = arrays("whole", 0), arrays("disordered", 1)
    program = kernel("sparse product")
    stacked = [np.stack(pair) for pair in zip(first, second, strict=True)]

    found = jax.jit(jax.vmap(program))(*stacked)

    np.testing.assert_allclose(found, [program.interpret(*first), program.interpret(*second)], rtol=1e-4, atol=1e-5)


def test_the_adjoint_is_a_program_of_its_own() -> None:
    given = arrays("partial", 2)
    program = kernel("sparse product")
    cotangent = np.linspace(-1, 1, ROWS).astype(np.float32)

    d_s, d_x = program.adjoint(wrt=("s", "x"))(*given, cotangent)

    s, V, col, x, ptr = given
    meant = jax.vjp(lambda s, x: DENSE["sparse product"](s, V, col, x, ptr), s, x)[1](jnp.asarray(cotangent))
    np.testing.assert_allclose(d_s, meant[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(d_x, meant[1], rtol=1e-4, atol=1e-4)


def test_the_second_derivative_is_right_too() -> None:
    given = arrays("partial", 2)
    program = kernel("softmax")

    def loss(compute: Any) -> Any:
        return lambda s: jnp.sum(compute(s, *given[1:]) ** 2)

    found = jax.grad(lambda s: jnp.sum(jax.grad(loss(program))(s) ** 2))(given[0])

    meant = jax.grad(lambda s: jnp.sum(jax.grad(loss(_softmax))(s) ** 2))(given[0])
    np.testing.assert_allclose(found, meant, rtol=1e-3, atol=1e-5)


def test_sizes_may_be_symbols_when_it_is_exported() -> None:
    program = tcjax.kernel(f"def f(float(E) s, int32(R1) ptr) -> (y) {{ y(i) +=! s(p) where {ROW} }}")
    exported = program.export("float32[E]", "int32[R1]")
    s, ptr = np.arange(9, dtype=np.float32), np.array([0, 4, 4, 8], np.int32)

    np.testing.assert_allclose(exported.call(s, ptr), [6.0, 0.0, 22.0])


def test_an_equals_sign_writes_each_position_from_its_row() -> None:
    program = tcjax.kernel(f"def f(float(E) s, float(R) a, int32(R1) ptr) -> (w) {{ w(p) = s(p) * a(i) where {ROW} }}")
    random = np.random.default_rng(0)
    s, a = random.normal(size=POSITIONS).astype(np.float32), random.normal(size=ROWS).astype(np.float32)
    ptr = pointers("partial", 1)

    found = program(s, a, ptr)

    row = np.searchsorted(ptr, np.arange(POSITIONS), side="right") - 1
    meant = np.where((row >= 0) & (row < ROWS), s * a[np.clip(row, 0, ROWS - 1)], 0.0)
    np.testing.assert_allclose(found, meant, rtol=1e-6)
    assert "ptr.rows" in str(program.plan(s, a, ptr))


def test_an_equals_sign_over_rows_needs_a_new_tensor() -> None:
    with pytest.raises(tcjax.CompileError, match=r"`w` is defined already") as caught:
        tcjax.kernel(f"def f(float(E) s, int32(R1) ptr) -> (w) {{ w(p) = s(p) w(p) = s(p) * i where {ROW} }}")

    assert caught.value.code == "TC0703"


def test_the_python_notation_has_ranges_of_reads() -> None:
    @tcjax.kernel
    def rows(v: "float(E)", ptr: "int32(R1)"):
        for p in range(ptr[i], ptr[i + 1]):
            y[i] += v[p]
        z[i] = max[p in range(ptr[i], ptr[i + 1])](v[p])
        return y, z

    text = tcjax.kernel(
        f"def rows(float(E) v, int32(R1) ptr) -> (y, z) {{ y(i) +=! v(p) where {ROW}  z(i) = max[{ROW}](v(p)) }}"
    )

    assert rows.to("tc") == text.to("tc")
    assert text.to("python") == rows.to("python")


def test_a_range_may_have_one_end_of_data() -> None:
    program = tcjax.kernel("def f(float(B,T) A, int32(B) n) -> (y) { y(b) +=! A(b,t) where t in 1:n(b) }")
    A, n = np.arange(12, dtype=np.float32).reshape(3, 4), np.array([0, 3, 9], np.int32)

    np.testing.assert_allclose(program(A, n), [0.0, 5 + 6, 9 + 10 + 11])


def test_sac_has_no_word_for_it() -> None:
    with pytest.raises(tcjax.CompileError, match="SaC cannot say a range whose ends read tensors"):
        kernel("sparse product").to("sac")


def test_an_empty_row_is_zero_whatever_infinite_number_stands_in_front() -> None:
    program = tcjax.kernel(
        "def f(float(E) s, int16(N) first) -> (y) { y(i) = sum[p in first(i):2](s(p) * min[q in 1:1](s(q))) }"
    )

    found = program(np.array([1, 2], np.float32), np.array([2, 0, 2], np.int16))

    np.testing.assert_array_equal(found, [0.0, np.inf, 0.0])
