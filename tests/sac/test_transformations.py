"""Random SaC programs under JAX's transformations: mapped, differentiated and exported, against the reference.

Derivatives are taken in 64 bits, so that a difference quotient of the reference is a sharp measure.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tcjax
from tcjax import ir
from tcjax.syntax import sac
from tcjax.syntax.sac import tree
from tests.agreement.comparing import agree
from tests.agreement.compiling import whole
from tests.effort import examples, phases
from tests.sac.doubles import in_double
from tests.sac.random_functions import ProgramWriter
from tests.sac.reference import SacError, evaluate
from tests.sac.strategies import Case, case_of, names_in, programs, shapes

pytestmark = pytest.mark.usefixtures("quickly_compiled")

# Compiling takes most of the time, so that the default profile has few examples; a deep profile has more of all.
SOME = examples(30)
FEW = examples(15)

Arrays = Mapping[str, np.ndarray]


@st.composite
def smooth_programs(draw: st.DrawFn) -> Case:
    """A program of floats in 64 bits, its float arguments in general position."""
    writer = ProgramWriter(draw)
    result = writer.comprehension("float", draw(shapes(3)), 3)
    program = in_double(tree.Program(tuple(writer.functions), (), result))
    used = names_in(program)
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    arguments = {
        name: array + rng.uniform(-0.2, 0.2, array.shape) if array.dtype.kind == "f" else array
        for name, array in writer.arguments.items()
        if name in used
    }
    return case_of(program, {name: np.asarray(array) for name, array in arguments.items()})


def split(case: Case) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The arguments that may be traced, and those whose values decide shapes."""
    traced = {name: array for name, array in case.arguments.items() if name not in case.static}
    return traced, {name: array for name, array in case.arguments.items() if name in case.static}


# ---------------------------------------------------------------- maps


def rows(array: np.ndarray) -> np.ndarray:
    """Three arrays with the same elements in other places."""
    return np.stack([array, np.roll(array, 1), array[::-1] if array.ndim else array])


def check_map(case: Case, every: bool) -> None:
    """A map is a loop over the reference."""
    traced, static = split(case)
    if case.kind is not None or not traced:
        return
    chosen = set(traced) if every else {sorted(traced)[len(case.text) % len(traced)]}
    stacks = {name: rows(array) if name in chosen else array for name, array in traced.items()}
    try:
        expected = [
            evaluate(case.program, static | {n: a[k] if n in chosen else a for n, a in stacks.items()})
            for k in range(3)
        ]
    except SacError:
        # Other elements may decide other shapes.
        return
    kernel = tcjax.kernel(case.text, dialect="sac")

    found = jax.vmap(
        lambda arrays: kernel(**arrays, **static), ({name: 0 if name in chosen else None for name in stacks},)
    )(stacks)

    agree(found, np.stack([np.asarray(row) for row in expected]))


@settings(max_examples=SOME, phases=phases())
@given(programs())
def test_a_program_mapped_over_one_argument_is_a_loop_over_the_reference(case: Case) -> None:
    check_map(case, every=False)


@settings(max_examples=FEW, phases=phases())
@given(programs())
def test_a_program_mapped_over_all_arguments_is_a_loop_over_the_reference(case: Case) -> None:
    check_map(case, every=True)


@settings(max_examples=FEW, phases=phases())
@given(programs())
def test_the_interpreter_gives_the_values_of_the_reference_and_the_typed_program_prints_the_same(case: Case) -> None:
    if case.kind is not None:
        return
    rewritten = replace(case, program=sac.read(case.text))
    kernel, again = (tcjax.kernel(each.text, dialect="sac") for each in (case, rewritten))

    found = kernel.interpret(**case.arguments)

    assert case.expected is not None
    agree(found, case.expected)
    assert ir.show(kernel.ir(**case.arguments)) == ir.show(again.ir(**case.arguments))


# ---------------------------------------------------------------- derivatives


class Problem:
    """The weighted sum of a program's result as a function of its float arguments, compiled and by the reference."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.floats = {n: a for n, a in split(case)[0].items() if a.dtype.kind == "f" and a.size}
        self.rest = {n: a for n, a in case.arguments.items() if n not in self.floats}
        rng = np.random.default_rng(len(case.text))
        self.weights = rng.uniform(0.5, 1.5, np.shape(case.expected))
        self.way = {n: rng.uniform(-1, 1, a.shape) for n, a in self.floats.items()}
        kernel = tcjax.kernel(case.text, dialect="sac")
        self.compiled: Callable[[Any], jax.Array] = lambda arrays: jnp.sum(
            kernel(**{**arrays, **self.rest}) * self.weights
        )

    def along(self, step: float) -> float:
        """The reference, so far from the point."""
        moved = {n: np.asarray(a + step * self.way[n]) for n, a in self.floats.items()}
        result = evaluate(self.case.program, moved | self.rest)
        # Infinities of both signs make a NaN.
        with np.errstate(invalid="ignore"):
            return float(np.sum(result * self.weights))

    def slope(self) -> float | None:
        """The derivative in the direction `way`; None at a kink and where it is steep."""
        here, coarse = self.along(0.0), self.along(1e-5) - self.along(-1e-5)
        ahead, behind = self.along(1e-6) - here, here - self.along(-1e-6)
        fine = ahead + behind
        if not np.isfinite([here, coarse, fine]).all() or abs(here) > 1e4 or abs(fine / 2e-6) > 1e4:
            return None
        smooth = np.allclose([ahead * 1e6, behind * 1e6, coarse / 2e-5], fine / 2e-6, rtol=1e-2, atol=1e-2)
        return coarse / 2e-5 if smooth else None

    def curvature(self) -> float | None:
        """The second derivative in that direction; None where it cannot be told."""
        found = [(self.along(step) - 2 * self.along(0.0) + self.along(-step)) / step**2 for step in (1e-3, 2e-3, 1e-4)]
        return found[0] if np.allclose(found, found[0], rtol=1e-2, atol=1e-2) and abs(found[0]) < 1e4 else None


def problem(case: Case) -> Problem | None:
    """What there is to differentiate."""
    if case.kind is not None or not any(a.dtype.kind == "f" and a.size for a in case.arguments.values()):
        return None
    made = Problem(case)
    return made if made.floats else None


def dot(a: Arrays, b: Arrays) -> float:
    return sum(float(np.sum(np.asarray(a[name]) * np.asarray(b[name]))) for name in a)


def check_slope(case: Case) -> None:
    """Forward and backward derivatives are the reference's difference quotients, and agree with each other."""
    with jax.enable_x64(True):
        given = problem(case)
        if given is None:
            return
        slope = given.slope()
        if slope is None:
            return

        def derivatives(floats: Any, way: Any) -> tuple[Any, jax.Array]:
            return jax.grad(given.compiled)(floats), jax.linearize(given.compiled, floats)[1](way)

        gradient, tangent = whole(derivatives, case.text)(given.floats, given.way)

    for name, array in gradient.items():
        assert array.shape == given.floats[name].shape and array.dtype == np.float64
        assert np.isfinite(array).all(), f"by {name}"
    scale = max(1.0, abs(slope))
    np.testing.assert_allclose(float(tangent), slope, rtol=1e-5, atol=1e-5 * scale)
    np.testing.assert_allclose(dot(gradient, given.way), slope, rtol=1e-5, atol=1e-5 * scale)


@settings(max_examples=SOME, phases=phases())
@given(smooth_programs())
def test_derivatives_are_the_difference_quotients_of_the_reference(case: Case) -> None:
    check_slope(case)


@settings(max_examples=FEW, phases=phases())
@given(smooth_programs())
def test_a_second_derivative_is_the_second_difference_quotient_of_the_reference(case: Case) -> None:
    with jax.enable_x64(True):
        given = problem(case)
        if given is None or given.slope() is None:
            return
        curvature = given.curvature()
        if curvature is None:
            return

        _, turned = whole(lambda *line: jax.jvp(jax.grad(given.compiled), *line), case.text)(
            (given.floats,), (given.way,)
        )

    np.testing.assert_allclose(dot(turned, given.way), curvature, rtol=1e-3, atol=1e-3 * max(1.0, abs(curvature)))


@settings(max_examples=FEW, phases=phases())
@given(smooth_programs())
def test_a_program_backwards_is_the_transpose_of_it_forwards(case: Case) -> None:
    with jax.enable_x64(True):
        given = problem(case)
        if given is None:
            return
        kernel = tcjax.kernel(case.text, dialect="sac")

        def results(arrays: Any) -> Any:
            return kernel(**arrays, **given.rest)

        def both(floats: Any, way: Any) -> tuple[Any, Any, Any]:
            found, backwards = jax.vjp(results, floats)
            return jax.jvp(results, (floats,), (way,))[1], found, *backwards(jnp.asarray(given.weights))

        tangents, found, cotangents = whole(both, case.text)(given.floats, given.way)
        assert case.expected is not None
        agree(found, case.expected)

    if np.isfinite(tangents).all():
        forwards = float(np.sum(np.asarray(tangents) * given.weights))
        np.testing.assert_allclose(dot(cotangents, given.way), forwards, rtol=1e-9, atol=1e-9 * max(1, abs(forwards)))


def test_a_wrong_derivative_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of(sac.read("{ [i] -> a[i] * a[i] }"), {"a": np.array([1.0, 2.0])})
    slope = Problem.slope
    monkeypatch.setattr(Problem, "slope", lambda self: (slope(self) or 0) + 0.01)

    with pytest.raises(AssertionError):
        check_slope(case)


# ---------------------------------------------------------------- programs by hand

BLUR = """
float[m,n] blur(float[m,n] a, float[k] w) {
    return { [i,j] -> sum({ [s] -> a[i + s - k / 2, j] * w[s] }) | [k / 2, 0] <= [i,j] < [m - k / 2, n];
             iv -> a[iv] };
}
"""
A = np.linspace(-1, 1, 15, dtype="float32").reshape(5, 3)
W = np.array([0.25, 0.5, 0.25], "float32")


def blurred(a: np.ndarray) -> np.ndarray:
    result = a.copy()
    result[1:-1] = 0.25 * a[:-2] + 0.5 * a[1:-1] + 0.25 * a[2:]
    return result


def test_a_kernel_is_exported_and_called_again() -> None:
    exported = jax.export.export(jax.jit(tcjax.kernel(BLUR)))(A, W)

    again = jax.export.deserialize(exported.serialize())

    np.testing.assert_allclose(again.call(A, W), blurred(A), rtol=1e-5, atol=1e-6)


def test_a_gradient_is_exported() -> None:
    kernel = tcjax.kernel(BLUR)
    exported = jax.export.export(jax.jit(jax.grad(lambda a, w: jnp.sum(kernel(a, w) ** 2))), platforms=["cpu"])(A, W)

    found = jax.export.deserialize(exported.serialize()).call(A, W)

    np.testing.assert_allclose(found, jax.grad(lambda a, w: jnp.sum(kernel(a, w) ** 2))(A, W), rtol=1e-5, atol=1e-6)


def test_a_row_of_gradients_is_mapped_and_jitted() -> None:
    kernel = tcjax.kernel("sum({ iv -> a[iv] * a[iv] * a[iv] | . < iv < .; iv -> 0.0 * a[iv] })")
    batch = np.stack([A, -A, 2 * A])

    found = jax.jit(jax.vmap(jax.grad(kernel)))(batch)

    expected = np.zeros_like(batch)
    expected[:, 1:-1, 1:-1] = 3 * batch[:, 1:-1, 1:-1] ** 2
    np.testing.assert_allclose(found, expected, rtol=1e-5)


POINTS = np.array([-2.0, -0.5, 0.0, 0.5, 3.0], "float32")
DEAD = {
    "a choice": "{ [i] -> x[i] > 0 ? log(x[i]) : 0.0 }",
    "a shadowed partition": "{ [i] -> 0.0 | [i] < [3]; [i] -> log(x[i]) }",
    "a ragged fold": "{ [i] -> sum({ [j] -> sqrt(x[4 - j]) | [j] < [2 - i] }) | [i] < [3] }",
    "a fold of a length from data": "{ [i] -> sum({ [j] -> sqrt(x[4-j]) | [j] < [min(5, n[i])] }) | [i] < shape(n) }",
    "a choice in a fold": "sum({ [i] -> x[i] > 0 ? sqrt(x[i]) : x[i] })",
    "a fold's shadowed partition": "sum({ [i] -> 1.0 | [i] < [3]; [i] -> sqrt(x[i]) })",
    "nested choices": "{ [i] -> x[i] > 0 ? (x[i] > 1 ? log(log(x[i])) : sqrt(x[i])) : 0.0 }",
    "a condition before a selection": "{ [i] -> i > 0 && x[i] > 0 ? x[i-1] / x[i] : 1.0 | [i] < shape(x) }",
}


@pytest.mark.parametrize("name", DEAD)
def test_a_gradient_ignores_what_is_not_evaluated(name: str) -> None:
    text = DEAD[name]
    given: dict[str, Any] = {"n": np.array([1, 2, 0], "int32")} if "n[" in text else {}
    kernel = tcjax.kernel(text)
    program = sac.read(text)

    gradient = jax.grad(lambda x: jnp.sum(kernel(x=x, **given)))(POINTS)

    for place in np.ndindex(POINTS.shape):
        if POINTS[place] == 0:
            continue
        step = np.zeros(POINTS.shape)
        step[place] = 1e-6
        ends = [np.sum(evaluate(program, {"x": POINTS + sign * step, **given})) for sign in (1, -1)]
        np.testing.assert_allclose(gradient[place], (ends[0] - ends[1]) / 2e-6, rtol=1e-3, atol=1e-4)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize(
    "text",
    [
        "{ [i] -> reverse(a[i]) * 2 | [i] < [0] }",
        "sum({ [i] -> a[i] | [i] < [0] })",
        "maxval({ [i] -> a[i] | [i] < [0] })",
        "{ [i] -> mean(a[i]) | [i] < [0] }",
        "take([0], a) ++ take([0], a)",
    ],
)
def test_what_is_computed_nowhere_has_the_gradient_zero(text: str) -> None:
    kernel = tcjax.kernel(text)

    gradient = jax.grad(lambda a: jnp.sum(jnp.where(jnp.isfinite(kernel(a)), kernel(a), 0.0)))(A)

    np.testing.assert_array_equal(gradient, np.zeros(A.shape))


@pytest.mark.parametrize("bounds", ["[1] <= [i] < [2]", "[0] <= [i] < [2]", "[1] <= [i] < [3] step [3] width [1]"])
def test_lengths_of_folds_may_be_traced_however_many_values_the_index_has(bounds: str) -> None:
    kernel = tcjax.kernel(f"{{ [i] -> sum({{ [k] -> c[k] | [k] < [l[i]] }}) | {bounds} }}", dialect="sac")
    lengths, values = np.array([3, 1], np.int32), np.array([1.0, 2.0, 4.0, 8.0], np.float32)

    found = jax.jit(kernel)(values, lengths)

    written = [i for i in range(len(found)) if i == 1 or (i == 0 and "[0] <=" in bounds)]
    expected = [values[: lengths[i]].sum() if i in written else 0.0 for i in range(len(found))]
    np.testing.assert_array_equal(found, expected)
