"""Registered reductions: what they compute, in which order, and how they differentiate."""

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tcjax
from tcjax import CompileError
from tcjax.planning import monoids as planning
from tests.agreement.compiling import thoroughly
from tests.effort import examples

pytestmark = pytest.mark.usefixtures("quickly_compiled")

Array = np.ndarray[Any, Any]


def affine(first: Any, second: Any) -> Any:
    """Composition of ``x -> a*x + b``, in order."""
    return first[0] * second[0], first[1] * second[0] + second[1]


def product(a: Any, b: Any) -> Any:
    """The product of two matrices of two rows, as four components."""
    return (
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
    )


def welford(a: Any, b: Any) -> Any:
    """Count, mean and sum of squared deviations of two samples combined (Chan, Golub and LeVeque)."""
    count = a[0] + b[0]
    share = b[0] / jnp.maximum(count, 1.0)
    apart = b[1] - a[1]
    return count, a[1] + apart * share, a[2] + b[2] + apart * apart * a[0] * share


def register() -> None:
    """The reductions of these tests."""
    tcjax.monoid("total", lambda a, b: a + b, 0.0)
    tcjax.monoid("counted", lambda a, b: a + b, 0)
    tcjax.monoid("smooth", jnp.logaddexp, -jnp.inf)
    tcjax.monoid("xor", lambda a, b: a ^ b, 0)
    tcjax.monoid("odd", lambda a, b: a != b, False)
    tcjax.monoid("squares", lambda a, b: a + b, 0.0, inject=lambda x: x * x)
    tcjax.monoid("norm", lambda a, b: a + b, 0.0, inject=lambda x: x * x, finish=lambda s: s**0.5)
    tcjax.monoid("line", affine, (1.0, 0.0), commutative=False, inject=lambda x: (x, x + 1), finish=lambda s: s[1])
    tcjax.monoid(
        "turns",
        product,
        (1.0, 0.0, 0.0, 1.0),
        commutative=False,
        inject=lambda x: (1.0, x, x * 0.5, 1.0),
        finish=lambda s: s[1],
    )
    tcjax.monoid("last", lambda a, b: jnp.where(jnp.isnan(b), a, b), float("nan"), commutative=False)
    tcjax.monoid(
        "variance",
        welford,
        (0.0, 0.0, 0.0),
        inject=lambda x: (1.0, x, 0.0),
        finish=lambda s: s[2] / jnp.maximum(s[0], 1.0),
    )


register()

NAMES = ("total", "smooth", "squares", "norm", "line", "turns", "last", "variance")


def reference(name: str, values: Array, start: float | None = None) -> float:
    """The reduction of a vector in float64, without tcjax."""
    values = values.astype(np.float64)
    match name:
        case "total":
            return float(np.sum(values)) + (start or 0.0)
        case "smooth":
            old = () if start is None else (start,)
            return float(np.logaddexp.reduce([*old, *values])) if len(values) + len(old) else -np.inf
        case "squares":
            return float(np.sum(values**2)) + (start or 0.0)
        case "norm":
            return float(np.hypot(np.sqrt(np.sum(values**2)), start or 0.0))
        case "line":
            old = () if start is None else (start,)
            return float(functools.reduce(lambda x, a: a * x + (a + 1), [*old, *values], 0.0))
        case "turns":
            matrices = [np.array([[1, x], [x / 2, 1]]) for x in (*(() if start is None else (start,)), *values)]
            return float(functools.reduce(np.matmul, matrices, np.eye(2))[0, 1])
        case "last":
            both = [*(() if start is None else (start,)), *values]
            return float(both[-1]) if both else float("nan")
        case "variance":
            both = np.array([*(() if start is None else (start,)), *values])
            return float(np.var(both)) if len(both) else 0.0
        case _:
            raise AssertionError(name)


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, shape).astype(np.float32)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every reduction runs in blocks of a few points."""
    monkeypatch.setattr(planning, "SMALL_SPACE", 1)
    monkeypatch.setattr(planning, "MOST_GROWTH", 0)
    monkeypatch.setattr(planning, "BLOCK", 8)
    monkeypatch.setattr(planning, "LANES", 6)
    yield


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 16, 21])
def test_a_statement_reduces_in_order(name: str, count: int) -> None:
    values = numbers(3, count)
    kernel = tcjax.kernel(f"O(i) {name}=! A(i, k)")

    found = kernel(values)

    wanted = [reference(name, row) for row in values]
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(kernel.interpret(values), wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_exported_with_symbols_for_sizes(name: str) -> None:
    exported = tcjax.kernel(
        f"def f(float(N,M) A) -> (O) {{ O(i) {name}=! 2.0 * A(i,k) where k in 0:M, k <= i }}"
    ).export()

    for rows, columns in ((4, 5), (5, 3)):
        values = numbers(rows, columns)
        wanted = [reference(name, 2.0 * row[: i + 1]) for i, row in enumerate(values)]
        np.testing.assert_allclose(exported.call(values), wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_an_inline_reduction_skips_the_points_that_its_guard_excludes(name: str) -> None:
    values = numbers(6, 6)
    kernel = tcjax.kernel(f"O(i) = {name}[k where k < i](2.0 * A(i, k))")

    found = kernel(values)

    wanted = [reference(name, 2.0 * row[:i]) for i, row in enumerate(values)]
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(kernel.interpret(values), wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (13, 11)])
@pytest.mark.usefixtures("small_blocks")
def test_several_indices_are_row_major_block_by_block(name: str, shape: tuple[int, int]) -> None:
    rows, columns = shape
    values, scales = numbers(2, rows, columns), numbers(rows, seed=1)
    kernel = tcjax.kernel(f"O(i) = {name}[k, l](A(i, k, l) * b(k))")

    found = kernel(values, scales)

    wanted = [reference(name, (part * scales[:, None]).ravel()) for part in values]
    assert "blocks" in str(kernel.explain(values, scales)) or shape == (1, 1)
    np.testing.assert_allclose(found, wanted, rtol=5e-5, atol=5e-5)
    np.testing.assert_allclose(kernel.interpret(values, scales), wanted, rtol=5e-5, atol=5e-5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [5, 16, 23])
@pytest.mark.usefixtures("small_blocks")
def test_reductions_inside_are_computed_block_by_block(name: str, count: int) -> None:
    x, y = numbers(3, 2), numbers(count, 2, seed=1)
    kernel = tcjax.kernel(f"O(i) = {name}[j](sum[d](x(i, d) * y(j, d)) * 0.5)")

    found, gradient = kernel(x, y), jax.grad(lambda x, y: jnp.sum(kernel(x, y)), 1)(x, y)

    wanted = [reference(name, 0.5 * (y @ row)) for row in x]
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)
    slopes = sum(differences(name, 0.5 * (y @ row))[:, None] * 0.5 * row for row in x)
    np.testing.assert_allclose(gradient, slopes, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize(
    ("statement", "shape"),
    [
        ("O() = line[k in 0:24](A(k / 6, k % 6))", (4, 6)),
        ("O(i) = line[k in 0:2, l in 0:6](A(i, 6*k + l))", (3, 12)),
        ("O(i, n) = line[k in 0:5](A(n, i + k) * 0.5)", (2, 13)),
        ("O(i, n) = line[k in 0:5 where i+k-2 >= 0, i+k-2 < A.1](A(n, i + k - 2) * 0.5) where i in 0:13", (2, 13)),
        ("O() = line[k](A(k, k) * 0.5)", (7, 7)),
        ("O(i) = line[k in 2:9](A(i, 0) * 0.1 * k)", (7, 1)),
        ("O(i) = line[k in 2:9](A(i, 0))", (7, 1)),
        ("O(i) = line[k in i:K](A(i, k) * 0.3)", (7, 7)),
        ("O(j) line=! A(i, j) * 0.3 where i in 1:12", (13, 3)),
        ("O(j) = A(0, j) > 0.0 ? line[i](A(i, j)) : 2.0 * norm[i](A(i, j))", (13, 3)),
        ("O() = norm[j](line[i](A(i, j)))", (13, 5)),
        ("O(i) = norm[j](A(i, j) * line[k where k <= i](A(k, j)))", (6, 5)),
    ],
)
def test_steps_read_what_the_whole_reads(
    statement: str, shape: tuple[int, int], lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = numbers(*shape)
    text = f"def f(float(N, K) A) -> (O) {{ {statement} }}"
    whole = tcjax.kernel(text)
    gradient = jax.jit(jax.grad(lambda a: jnp.sum(whole(a))))(values)
    for name, value in (("SMALL_SPACE", 1), ("MOST_GROWTH", 0), ("BLOCK", lanes), ("LANES", lanes)):
        monkeypatch.setattr(planning, name, value)

    kernel = tcjax.kernel(text)

    found = jax.jit(jax.grad(lambda a: jnp.sum(kernel(a))))(values)
    np.testing.assert_allclose(kernel(values), whole.interpret(values), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found, gradient, rtol=1e-3, atol=1e-4)


def test_a_large_space_is_not_stored() -> None:
    x, y = numbers(2048), numbers(4096, seed=1)
    kernel = tcjax.kernel("O(i) = line[j](exp(-(x(i) - y(j)) * (x(i) - y(j))) * 0.5)")

    found = kernel(x, y)

    wanted = [reference("line", 0.5 * np.exp(-((x[i] - y.astype(np.float64)) ** 2))) for i in (0, 1000, 2047)]
    np.testing.assert_allclose(np.asarray(found)[[0, 1000, 2047]], wanted, rtol=1e-4)
    with thoroughly():
        memory = jax.jit(kernel).lower(x, y).compile().memory_analysis()
    assert memory is None or memory.temp_size_in_bytes < 2048 * 4096 * 4 / 4


@pytest.mark.parametrize("name", NAMES)
def test_a_statement_goes_on_from_what_is_there(name: str) -> None:
    values, start = numbers(3, 5), np.float32([0.5, 0.25, 0.75])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = tcjax.kernel(f"def f(float(N, K) A) -> (O) {{ O(i) {name}= A(i, k) }}")

    found, fresh = kernel(values, O=start), kernel(values)

    wanted = [reference(name, row, float(old)) for row, old in zip(values, start, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(kernel.interpret(values, O=start), wanted, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(fresh, [reference(name, row) for row in values], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_an_element_without_points_keeps_its_value(name: str) -> None:
    values = numbers(4, 5)
    text = f"def f(float(N, K) A) -> (O) {{ O(i) = A(i, 0) * A(i, 0) O(i) {name}= A(i, k) where k in 0:5, i > 1 }}"
    kernel = tcjax.kernel(text)

    found = np.asarray(kernel(values))

    np.testing.assert_allclose(found[:2], values[:2, 0] ** 2, rtol=1e-6)
    np.testing.assert_allclose(
        found[2:], [reference(name, row, float(row[0] ** 2)) for row in values[2:]], rtol=2e-5, atol=2e-5
    )
    np.testing.assert_allclose(kernel.interpret(values), found, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("restart", ["=!", "="])
def test_elements_that_meet_in_a_target_keep_their_order(name: str, restart: str) -> None:
    values, to = numbers(9, 2), np.int32([1, 0, 1, 3, -1, 1, 4, 9, 3])
    text = f"def f(float(N, K) A, int32(N) J) -> (float(5) H) {{ H(J(n)) {name}{restart} A(n, k) }}"
    start = np.float32([0.5, 0.25, 0.75, 0.5, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = tcjax.kernel(text)
    keywords = {} if restart == "=!" else {"H": start}

    found = kernel(values, to, **keywords)

    wanted = []
    for cell in range(5):
        met = values[to == cell].ravel()
        old = None if restart == "=!" else float(start[cell])
        wanted.append(old if old is not None and not len(met) else reference(name, met, old))
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(kernel.interpret(values, to, **keywords), wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_floors_keep_the_order(name: str) -> None:
    values = numbers(12)
    halves = tcjax.kernel(f"def f(float(N) A) -> (float(6) O) {{ O(i / 2) {name}=! A(i) }}")
    inline = tcjax.kernel(f"def f(float(3, 4) A) -> (O) {{ O() = {name}[k in 0:12](A(k / 4, k % 4)) }}")

    np.testing.assert_allclose(
        halves(values), [reference(name, pair) for pair in values.reshape(6, 2)], rtol=2e-5, atol=2e-5
    )
    np.testing.assert_allclose(inline(values.reshape(3, 4)), reference(name, values), rtol=2e-5, atol=2e-5)


def test_types_follow_the_identity() -> None:
    ints = np.int32([[1, 2, 7], [3, 3, 1]])

    assert tcjax.kernel("O(i) total=! A(i, k)")(ints).dtype == np.float32
    assert tcjax.kernel("O(i) counted=! A(i, k)")(ints).tolist() == [10, 7]
    assert tcjax.kernel("O(i) xor=! A(i, k)")(ints).tolist() == [1 ^ 2 ^ 7, 1]
    assert tcjax.kernel("O(i) odd=! A(i, k) > 2")(ints).tolist() == [True, False]
    assert tcjax.kernel("O(i) counted=! A(i, k)")(ints.astype(np.int8)).dtype == np.int8
    half = np.ones((2, 4096), np.float16)
    assert tcjax.kernel("O(i) total=! A(i, k)")(half).tolist() == [4096.0, 4096.0]


def test_a_fixed_component_keeps_its_type() -> None:
    tcjax.monoid(
        "place",
        lambda a, b: (jnp.where(b[1] > a[1], b[0], a[0]), jnp.maximum(a[1], b[1])),
        (np.int32(-1), -np.inf),
        commutative=False,
        inject=lambda x: (x.astype(jnp.int32) if hasattr(x, "astype") else int(x), x),
    )
    values = numbers(3, 8) * 100

    found = tcjax.kernel("O(i) place=! A(i, k)")(values)

    assert found.dtype == np.int32
    assert found.tolist() == np.trunc(values.max(1)).astype(int).tolist()


def test_variance_is_stable_where_the_sum_of_squares_is_not() -> None:
    values = (10000.0 + numbers(2, 4001)).astype(np.float32)
    wanted = values.astype(np.float64).var(axis=1)

    found = tcjax.kernel("V(i) variance=! A(i, k)")(values)
    naive = tcjax.kernel("V(i) = mean[k](A(i,k) * A(i,k)) - mean[k](A(i,k)) * mean[k](A(i,k))")(values)

    np.testing.assert_allclose(found, wanted, rtol=1e-3)
    assert np.max(np.abs(np.asarray(naive) - wanted) / wanted) > 1


# ---------------------------------------------------------------- notations


def test_the_python_notation_has_it() -> None:
    @tcjax.kernel
    def lines(A: "float(N, K)") -> None:
        O[i]: "line=!" = A[i, k]  # noqa: F722
        P[i] = line[k, k <= i](A[i, k])
        return O, P

    values = numbers(3, 4)

    whole, part = lines(values)

    np.testing.assert_allclose(whole, [reference("line", row) for row in values], rtol=1e-5)
    np.testing.assert_allclose(part, [reference("line", row[: i + 1]) for i, row in enumerate(values)], rtol=1e-5)


def test_sac_folds_with_it() -> None:
    values = numbers(3, 4)

    found = tcjax.kernel("{ [i] -> line({ [k] -> a[i, k] }) }")(values)
    every = tcjax.kernel("line(a)", dialect="sac")(values)

    np.testing.assert_allclose(found, [reference("line", row) for row in values], rtol=1e-5)
    np.testing.assert_allclose(every, reference("line", values.ravel()), rtol=1e-5)


def test_it_is_written_and_read_again() -> None:
    kernel = tcjax.kernel("O(i) line=! A(i, k) where k in 0:3")
    values = numbers(2, 5)

    again = tcjax.kernel(kernel.to("tc"))

    assert "line=!" in str(again)
    np.testing.assert_array_equal(again(values), kernel(values))
    with pytest.raises(CompileError, match="SaC cannot say"):
        kernel.to("sac", values)


# ---------------------------------------------------------------- derivatives


def differences(name: str, values: Array) -> Array:
    """The gradient by central differences in float64."""
    found = np.zeros(values.size)
    flat = values.astype(np.float64).ravel()
    for place in range(values.size):
        ends = [flat.copy(), flat.copy()]
        ends[0][place] += 1e-5
        ends[1][place] -= 1e-5
        found[place] = (reference(name, ends[0]) - reference(name, ends[1])) / 2e-5
    return found.reshape(values.shape)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_gradients_are_those_of_differences(name: str, count: int) -> None:
    values = numbers(count)
    kernel = tcjax.kernel(f"O() {name}=! A(k)")

    reverse, forward = jax.jit(lambda a: (jax.grad(kernel)(a), jax.jacfwd(kernel)(a)))(values)

    wanted = differences(name, values)
    np.testing.assert_allclose(reverse, wanted, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(forward, wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("small_blocks")
def test_gradients_of_blocks_are_those_of_differences(name: str) -> None:
    values = numbers(23)
    kernel = tcjax.kernel(f"O() = {name}[k](A(k) * A(k))")
    whole = np.asarray(jax.grad(kernel)(values))

    wanted = differences(name, values**2) * 2 * values
    np.testing.assert_allclose(whole, wanted, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(jax.jacfwd(kernel)(values), wanted, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", NAMES)
def test_skipped_points_have_no_derivative(name: str) -> None:
    values = np.abs(numbers(4, 4)) + 0.5
    values[np.triu_indices(4, 1)] = 0.0
    kernel = tcjax.kernel(f"O(i) = {name}[k where k <= i](log(A(i, k)))")

    found = np.asarray(jax.grad(lambda a: jnp.sum(kernel(a)))(values))

    assert np.all(np.isfinite(found))
    assert np.all(found[np.triu_indices(4, 1)] == 0)


def test_a_branch_that_is_not_taken_has_no_derivative() -> None:
    values = numbers(3, 4)
    values[1] = 0.0
    text = "def f(float(N, K) A) -> (O) { O(i) = A(i, 0) != 0.0 ? norm[k](A(i, k)) : 7.0 }"
    kernel = tcjax.kernel(text)

    found = np.asarray(jax.grad(lambda a: jnp.sum(kernel(a)))(values))

    lengths = np.sqrt(np.sum(values**2, axis=1, keepdims=True))
    np.testing.assert_allclose(kernel(values), np.where(values[:, 0] != 0, lengths[:, 0], 7.0), rtol=1e-6)
    np.testing.assert_allclose(found, np.where(lengths > 0, values / np.maximum(lengths, 1e-9), 0), rtol=1e-5)


@pytest.mark.parametrize("name", ["line", "variance", "smooth"])
def test_transformations_compose(name: str) -> None:
    values = numbers(3, 6)
    kernel = tcjax.kernel(f"O(i) {name}=! A(i, k)")

    mapped = jax.vmap(lambda row: kernel(row[None])[0])(values)
    gradients = jax.vmap(jax.grad(lambda row: kernel(row[None])[0]))(values)
    hessian = jax.jit(jax.hessian(lambda row: kernel(row[None])[0]))(values[0])

    np.testing.assert_allclose(mapped, kernel(values), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradients, jax.grad(lambda a: jnp.sum(kernel(a)))(values), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(hessian, np.asarray(hessian).T, rtol=1e-4, atol=1e-5)


def test_reverse_mode_of_many_points_keeps_little() -> None:
    x, y = numbers(1024), numbers(8192, seed=1)
    kernel = tcjax.kernel("O(i) = smooth[j](-(x(i) - y(j)) * (x(i) - y(j)))")

    with thoroughly():
        gradient = jax.jit(jax.grad(lambda x, y: jnp.sum(kernel(x, y)), (0, 1))).lower(x, y).compile()

    dx, _ = gradient(x, y)
    apart = x[:, None].astype(np.float64) - y
    weights = np.exp(-(apart**2) - np.logaddexp.reduce(-(apart**2), axis=1)[:, None])
    np.testing.assert_allclose(dx, (-2 * apart * weights).sum(1), rtol=1e-3, atol=1e-4)
    memory = gradient.memory_analysis()
    assert memory is None or memory.temp_size_in_bytes < 1024 * 8192 * 4 / 2


# ---------------------------------------------------------------- laws


@settings(max_examples=examples(15), deadline=None)
@given(
    st.sampled_from(NAMES),
    st.tuples(*[st.integers(1, 4)] * 3),
    st.permutations("jkl"),
    st.sampled_from(["", " where k >= 1", " where j + k + l != 2"]),
    st.booleans(),
    st.integers(0, 1000),
)
def test_compiled_and_interpreted_agree(
    name: str, shape: tuple[int, ...], order: list[str], guard: str, blocks: bool, seed: int
) -> None:
    values = numbers(2, *shape, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        if blocks:
            patch.setattr(planning, "SMALL_SPACE", 1)
            patch.setattr(planning, "MOST_GROWTH", 0)
            patch.setattr(planning, "BLOCK", 4)
            patch.setattr(planning, "LANES", 1 + seed % 9)
        kernel = tcjax.kernel(f"O(i) = {name}[{', '.join(order)}{guard}](A(i, j, k, l) * 0.75 + 0.125)")

        found = np.asarray(kernel(values))

    np.testing.assert_allclose(found, kernel.interpret(values), rtol=1e-4, atol=1e-4)


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("sum", jnp.add, 0.0), "TC0203"),
        (("exp", jnp.add, 0.0), "TC0203"),
        (("where", jnp.add, 0.0), "TC0203"),
        (("float", jnp.add, 0.0), "TC0203"),
        (("lambda", jnp.add, 0.0), "TC0203"),
        (("a b", jnp.add, 0.0), "TC0310"),
        ((3, jnp.add, 0.0), "TC0310"),
        (("", jnp.add, 0.0), "TC0310"),
        (("mistake", "add", 0.0), "TC0310"),
        (("mistake", jnp.add, 1.0), "TC0310"),
        (("mistake", jnp.add, "0"), "TC0310"),
        (("mistake", jnp.add, None), "TC0310"),
        (("mistake", jnp.add, ()), "TC0310"),
        (("mistake", jnp.add, [[0.0]]), "TC0310"),
        (("mistake", jnp.add, np.zeros(2)), "TC0310"),
        (("mistake", jnp.subtract, 0.0), "TC0310"),
        (("mistake", lambda a, b: a, 0.0), "TC0310"),
        (("mistake", lambda a: a, 0.0), "TC0310"),
        (("mistake", lambda a, b: 1 / 0, 0.0), "TC0310"),
        (("mistake", lambda a, b: (a, b), 0.0), "TC0310"),
        (("mistake", lambda a, b: jnp.sum(a + b), 0.0), "TC0310"),
        (("mistake", lambda a, b: (a + b)[None], 0.0), "TC0310"),
        (("mistake", lambda a, b: (a + b).astype(jnp.bfloat16), 0.0), "TC0310"),
        (("mistake", lambda a, b: a < b, 0.0), "TC0310"),
        (("mistake", lambda a, b: "ab", 0.0), "TC0310"),
        (("mistake", lambda a, b: None, 0.0), "TC0310"),
        (("mistake", lambda a, b: (a[0] + b[0],), (0.0, 0.0)), "TC0310"),
        (("mistake", lambda a, b: a[0] + b[0], (0.0, 0.0)), "TC0310"),
        (("mistake", lambda a, b: (a + b) / 2, 0.0), "TC0310"),
    ],
)
def test_what_is_no_monoid_is_refused(arguments: tuple[Any, ...], code: str) -> None:
    with pytest.raises(CompileError) as caught:
        tcjax.monoid(*arguments)

    assert caught.value.code == code
    assert caught.value.help


def test_an_order_that_matters_has_to_be_said() -> None:
    inject: Callable[..., Any] = lambda x: (x, x + 1)  # noqa: E731

    with pytest.raises(CompileError, match="not commutative"):
        tcjax.monoid("mistake", affine, (1.0, 0.0), inject=inject, finish=lambda s: s[1])


def test_the_trap_of_two_empty_samples_is_found() -> None:
    def careless(a: Any, b: Any) -> Any:
        count = a[0] + b[0]
        return count, (a[0] * a[1] + b[0] * b[1]) / count

    with pytest.raises(CompileError, match="identity"):
        tcjax.monoid("mistake", careless, (0.0, 0.0), inject=lambda x: (1.0, x), finish=lambda s: s[1])


def test_types_that_a_function_does_not_bear_are_reported_at_the_call() -> None:
    with pytest.raises(CompileError) as caught:
        tcjax.kernel("O(i) xor=! A(i, k)")(numbers(2, 3))

    assert caught.value.code == "TC0310"
    assert "xor" in str(caught.value)


def test_an_unknown_reduction_lists_what_is_registered() -> None:
    with pytest.raises(CompileError, match="TC0205"):
        tcjax.kernel("O(i) nothere=! A(i, k)")
    with pytest.raises(CompileError) as caught:
        tcjax.kernel("O(i) = varianc[k](A(i, k))")
    assert "variance" in caught.value.help


def test_a_name_registered_again_means_the_new_one_for_new_kernels() -> None:
    tcjax.monoid("changing", lambda a, b: a + b, 0.0)
    before = tcjax.kernel("def f(float(N) A) -> (O) { O() changing=! A(k) }")
    tcjax.monoid("changing", jnp.maximum, -jnp.inf)
    after = tcjax.kernel("def f(float(N) A) -> (O) { O() changing=! A(k) }")
    values = np.float32([1, 2, 3])

    assert (float(before(values)), float(after(values))) == (6.0, 3.0)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", ["turns", "variance"])
def test_numbers_of_python_have_the_components_type_whatever_x64_says(name: str, dtype: str) -> None:
    x = np.linspace(0.25, 1.0, 4).astype(dtype)

    with jax.enable_x64(True):
        register()
        kernel = tcjax.kernel(f"O() {name}=! x(i)")
        found, expected = kernel(x), kernel.interpret(x)

    assert found.dtype == expected.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=4e-3 if dtype == "float16" else 1e-6)


def test_horner_of_float32_numbers_under_x64() -> None:
    with jax.enable_x64(True):
        tcjax.monoid(
            "horner_at_two",
            lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]),
            (1.0, 0.0),
            commutative=False,
            inject=lambda coefficient: (2.0, coefficient),
            finish=lambda state: state[1],
        )
        found = tcjax.kernel("def f(float(K) c) -> (p) { p() horner_at_two=! c(k) }")(np.float32([1, 0, 3, 5]))

    assert found == 19 and found.dtype == "float32"
