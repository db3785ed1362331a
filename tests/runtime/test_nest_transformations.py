"""Every transformation of JAX gives the same for a nest as for the same formula in jnp."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tests.agreement.formulas import FORMULAS, Formula
from tests.agreement.nesting import nesting

pytestmark = pytest.mark.usefixtures("quickly_compiled")

Function = Callable[..., Any]
Transformation = Callable[[Function, tuple[Any, ...], tuple[int, ...]], Any]


def total(function: Function) -> Function:
    """The sum of the results, with a different weight for each element."""

    def weighed(*arrays: Any) -> jax.Array:
        result = function(*arrays)
        return jnp.sum(result * jnp.cos(jnp.arange(result.size, dtype="float32")).reshape(result.shape))

    return weighed


def along(function: Function, arrays: tuple[Any, ...], floats: tuple[int, ...]) -> Function:
    """The function of the float arguments alone."""

    def moved(*given: Any) -> Any:
        everything = list(arrays)
        for number, array in zip(floats, given, strict=True):
            everything[number] = array
        return function(*everything)

    return moved


def _ways(given: tuple[Any, ...], turn: float = 1.0) -> tuple[jax.Array, ...]:
    return tuple(jnp.sin(turn * jnp.arange(a.size, dtype="float32") + n).reshape(a.shape) for n, a in enumerate(given))


def _stacks(given: tuple[Any, ...]) -> tuple[jax.Array, ...]:
    return tuple(jnp.stack([a, 0.5 * a, a + 0.25 * way]) for a, way in zip(given, _ways(given), strict=True))


def gradient(f: Function, given: Any) -> Any:
    return jax.grad(total(f), argnums=tuple(range(len(given))))(*given)


def gradient_by_the_last(f: Function, given: Any) -> Any:
    return jax.value_and_grad(total(f), argnums=len(given) - 1)(*given)


def forward(f: Function, given: Any) -> Any:
    return jax.jvp(f, given, _ways(given))


def forward_jacobian(f: Function, given: Any) -> Any:
    return jax.jacfwd(f)(*given)


def reverse_jacobian(f: Function, given: Any) -> Any:
    return jax.jacrev(f, argnums=len(given) - 1)(*given)


def hessian(f: Function, given: Any) -> Any:
    return jax.hessian(total(f))(*given)


def mixed_hessian(f: Function, given: Any) -> Any:
    return jax.jacrev(jax.grad(total(f)), argnums=len(given) - 1)(*given)


def forward_of_reverse(f: Function, given: Any) -> Any:
    return jax.jvp(lambda *a: gradient(f, a), given, _ways(given))


def reverse_of_forward(f: Function, given: Any) -> Any:
    return gradient(lambda *a: jax.jvp(f, a, _ways(given))[1], given)


def forward_of_forward(f: Function, given: Any) -> Any:
    return jax.jvp(lambda *a: jax.jvp(f, a, _ways(given)), given, _ways(given, 2.0))


def reverse_of_reverse(f: Function, given: Any) -> Any:
    return jax.grad(lambda *a: sum(jnp.vdot(g, w) for g, w in zip(gradient(f, a), _ways(given), strict=True)))(*given)


def third(f: Function, given: Any) -> Any:
    return jax.jvp(lambda *a: forward_of_reverse(f, a)[1][0], given, _ways(given, 3.0))[1]


def batch(f: Function, given: Any) -> Any:
    return jax.vmap(f)(*_stacks(given))


def batch_of_one_argument(f: Function, given: Any) -> Any:
    stack = jnp.moveaxis(_stacks(given)[-1], 0, -1)
    return jax.vmap(f, in_axes=(*(None,) * (len(given) - 1), stack.ndim - 1), out_axes=-1)(*given[:-1], stack)


def batch_of_batch(f: Function, given: Any) -> Any:
    inner = jax.vmap(f, in_axes=(0, *(None,) * (len(given) - 1)))
    outer = jax.vmap(inner, in_axes=(None if len(given) > 1 else 0, *(0,) * (len(given) - 1)))
    stacks = _stacks(given)
    return outer(stacks[0] if len(given) > 1 else jnp.stack([stacks[0], -stacks[0]]), *stacks[1:])


def batch_of_gradient(f: Function, given: Any) -> Any:
    return jax.vmap(lambda *a: gradient(f, a))(*_stacks(given))


def gradient_of_batch(f: Function, given: Any) -> Any:
    return gradient(jax.vmap(f), _stacks(given))


def batch_of_hessian(f: Function, given: Any) -> Any:
    return jax.vmap(lambda *a: jax.hessian(total(f))(*a))(*_stacks(given))


def linearized(f: Function, given: Any) -> Any:
    value, push = jax.linearize(f, *given)
    return value, push(*_ways(given)), push(*_ways(given, 2.0))


def transposed(f: Function, given: Any) -> Any:
    value, push = jax.linearize(f, *given)
    return jax.linear_transpose(push, *given)(jnp.cos(value))


def checkpointed(f: Function, given: Any) -> Any:
    return gradient(jax.checkpoint(f), given)


def scanned(f: Function, given: Any) -> Any:
    def step(carry: jax.Array, a: Any) -> tuple[jax.Array, Any]:
        result = f(carry, *a)
        return carry * 0.5 + jnp.mean(jnp.tanh(result)), result

    return jax.lax.scan(step, given[0], tuple(_stacks(given[1:])), length=3)


def gradient_of_scan(f: Function, given: Any) -> Any:
    return gradient(lambda *a: scanned(f, a)[1], given)


def looped(f: Function, given: Any) -> Any:
    step = lambda _, a: a * 0.5 + jnp.mean(jnp.tanh(f(a, *given[1:])))  # noqa: E731
    return jax.jvp(lambda a: jax.lax.fori_loop(0, 2, step, a), given[:1], _ways(given[:1]))


def conditional(f: Function, given: Any) -> Any:
    return gradient(lambda *a: jax.lax.cond(a[0].sum() > -1e9, f, lambda *b: 0.0 * f(*b), *a), given)


def mapped(f: Function, given: Any) -> Any:
    return jax.lax.map(lambda a: f(*a), _stacks(given))


def custom(f: Function, given: Any) -> Any:
    """Inside a function with a custom derivative."""

    @jax.custom_vjp
    def clipped(*a: Any) -> Any:
        return f(*a)

    def ahead(*a: Any) -> Any:
        return jax.vjp(f, *a)

    clipped.defvjp(ahead, lambda pull, d: tuple(jnp.clip(g, -0.5, 0.5) for g in pull(d)))
    return gradient(clipped, given)


def empty_batch(f: Function, given: Any) -> Any:
    return jax.vmap(f)(*(jnp.zeros((0, *a.shape), a.dtype) for a in given))


TRANSFORMATIONS: tuple[Callable[[Function, Any], Any], ...] = (
    gradient,
    gradient_by_the_last,
    forward,
    forward_jacobian,
    reverse_jacobian,
    hessian,
    mixed_hessian,
    forward_of_reverse,
    reverse_of_forward,
    forward_of_forward,
    reverse_of_reverse,
    third,
    batch,
    batch_of_one_argument,
    batch_of_batch,
    batch_of_gradient,
    gradient_of_batch,
    batch_of_hessian,
    linearized,
    transposed,
    checkpointed,
    scanned,
    gradient_of_scan,
    looped,
    conditional,
    mapped,
    custom,
    empty_batch,
)
PAIRS = [
    pytest.param(formula, transformation, id=f"{transformation.__name__} of {name}")
    for transformation in TRANSFORMATIONS
    for name, formula in FORMULAS.items()
]


def near(found: Any, expected: Any, tolerance: float = 2e-4) -> None:
    """Asserts equal structure, shapes and types, and values equal up to rounding."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.shape == other.shape and one.dtype == other.dtype
        scale = max(1.0, float(np.abs(other[np.isfinite(other)]).max(initial=0.0)))
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize(("formula", "transformation"), PAIRS)
def test_a_transformation_of_a_nest_is_that_of_jnp(
    formula: Formula, transformation: Callable[[Function, Any], Any]
) -> None:
    arrays = formula.arrays()
    given = tuple(jnp.asarray(arrays[n]) for n in formula.floats)
    expected = jax.jit(lambda *a: transformation(along(formula.jnp, arrays, formula.floats), a))(*given)

    with nesting(rows=3, unroll=2):
        kernel = formula.fresh()
        found = jax.jit(lambda *a: transformation(along(kernel, arrays, formula.floats), a))(*given)

    near(found, expected)


@pytest.mark.parametrize("name", ["a kernel sum", "a shortest path", "three nearest"])
def test_without_jit_the_derivatives_are_the_same(name: str) -> None:
    formula = FORMULAS[name]
    given = tuple(map(jnp.asarray, formula.arrays()))

    with nesting(rows=2, unroll=2):
        found = gradient(formula.fresh(), given)

    near(found, gradient(formula.jnp, given))


def test_whole_numbers_have_float0_cotangents() -> None:
    formula = FORMULAS["a looked-up sum"]
    arrays = tuple(map(jnp.asarray, formula.arrays()))

    with nesting(rows=3):
        result, pull = jax.vjp(formula.fresh(), *arrays)
        found = pull(jnp.ones_like(result))

    assert found[1].dtype == jax.dtypes.float0 and found[1].shape == arrays[1].shape
    expected = jax.vjp(formula.jnp, *arrays)[1](jnp.ones_like(result))
    near((found[0], found[2]), (expected[0], expected[2]))


def test_whole_numbers_have_float0_tangents() -> None:
    formula = FORMULAS["a looked-up sum"]
    arrays = tuple(map(jnp.asarray, formula.arrays()))
    tangents = (arrays[0], np.zeros(arrays[1].shape, jax.dtypes.float0), arrays[2])

    with nesting(rows=3):
        found = jax.jvp(formula.fresh(), arrays, tangents)

    near(found, jax.jvp(formula.jnp, arrays, tangents))


def test_positions_have_no_derivative() -> None:
    formula = Formula("O(i) argmin=! fabs(x(i) - y(j))", lambda x, y: jnp.abs(x[:, None] - y).argmin(1), ((5,), (9,)))
    x, y = map(jnp.asarray, formula.arrays())

    with nesting(rows=2):
        kernel = formula.fresh()
        result, tangent = jax.jvp(lambda x: kernel(x, y), (x,), (x,))
        slope = jax.grad(lambda x: (kernel(x, y) * x).sum())(x)

    assert tangent.dtype == jax.dtypes.float0
    np.testing.assert_array_equal(result, formula.jnp(x, y))
    np.testing.assert_array_equal(slope, result.astype("float32"))


def test_an_output_without_a_cotangent_takes_no_part() -> None:
    text = """def f(float(N) x, float(M) y) -> (O, P, Q) {
      O(i) min=! x(i) + y(j)
      P(i) +=! exp(x(i) * y(j))
      Q(i) argmax=! x(i) - y(j)
    }"""
    formula = Formula(text, lambda x, y: jnp.exp(x[:, None] * y).sum(1), ((5,), (9,)))
    x, y = map(jnp.asarray, formula.arrays())

    with nesting(rows=2):
        kernel = formula.fresh()
        found = jax.grad(lambda x, y: kernel(x, y)[1].sum(), (0, 1))(x, y)

    near(found, jax.grad(lambda x, y: formula.jnp(x, y).sum(), (0, 1))(x, y))


def test_an_argument_that_is_passed_twice_has_both_derivatives() -> None:
    formula = FORMULAS["a sum of distances"]
    x = jnp.asarray(formula.arrays()[1])

    with nesting(rows=4):
        kernel = formula.fresh()
        found = jax.hessian(lambda x: total(kernel)(x, x, jnp.exp(x)))(x)

    near(found, jax.hessian(lambda x: total(formula.jnp)(x, x, jnp.exp(x)))(x))


def test_a_donated_argument_is_used_up() -> None:
    kernel_text = (
        "def f(float(N,K) A, float(K,N) B, float(N,N) C) -> (C2) { C2(i,j) = min(C(i,j), min[k](A(i,k) + B(k,j))) }"
    )
    formula = Formula(
        kernel_text,
        lambda a, b, c: jnp.minimum(c, jnp.min(a[:, :, None] + b[None], axis=1)),
        ((5, 7), (7, 5), (5, 5)),
    )
    arrays = tuple(map(jnp.asarray, formula.arrays()))
    expected = formula.jnp(*arrays)

    with nesting(rows=3):
        found = jax.jit(formula.fresh(), donate_argnums=2)(*arrays)

    near(found, expected)
    assert arrays[2].is_deleted() and not arrays[0].is_deleted()


def test_an_initial_value_has_a_derivative_and_may_be_donated() -> None:
    formula = Formula(
        "def f(float(N,K) A, float(K,M) B) -> (C) { C(i,j) min= A(i,k) + B(k,j) }",
        lambda a, b, c: jnp.minimum(c, jnp.min(a[:, :, None] + b[None], axis=1)),
        ((5, 7), (7, 4), (5, 4)),
    )
    a, b, c = map(jnp.asarray, formula.arrays())
    c = c - 1

    with nesting(rows=3):
        with warnings.catch_warnings():
            # Without an initial value it starts from infinity, which gives a warning.
            warnings.simplefilter("ignore", tcjax.CompileWarning)
            kernel = formula.fresh()
        slopes = gradient(lambda a, b, c: kernel(a, b, C=c), (a, b, c))
        near(slopes, gradient(formula.jnp, (a, b, c)))
        expected = formula.jnp(a, b, c)
        near(jax.jit(lambda a, b, c: kernel(a, b, C=c), donate_argnums=2)(a, b, c), expected)

    assert c.is_deleted()


def test_a_python_function_inside_of_a_nest_has_two_derivatives() -> None:
    x, y = jnp.linspace(0.1, 1.0, 5), jnp.linspace(-1.0, 1.0, 7)

    def plain(x: jax.Array, y: jax.Array) -> jax.Array:
        return (jnp.tanh(x[:, None] * y) ** 2).sum(1)

    with nesting():
        kernel = tcjax.kernel("O(i) = sum[j](square(x(i) * y(j)))", fns={"square": lambda a: jnp.tanh(a) ** 2})
        assert "loop nest" in str(kernel.plan(x, y))
        for derivative in (jax.grad, jax.hessian):
            found = derivative(lambda x: jnp.sin(kernel(x, y)).sum())(x)
            wanted = derivative(lambda x: jnp.sin(plain(x, y)).sum())(x)
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
