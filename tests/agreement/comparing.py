"""The compiled kernel against the interpreter."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.export
import numpy as np

from tcjax import interpreter
from tests.strategies.programs import Case

from .compiling import quickly, thoroughly, whole

# Tolerance relative to the largest magnitude: the interpreter adds in order, XLA in any order, and XLA keeps 16-bit
# intermediate results in 32 bits.
TOLERANCE = {
    "float64": 1e-12,
    "complex128": 1e-12,
    "float32": 3e-5,
    "complex64": 3e-5,
    "float16": 1e-2,
    "bfloat16": 6e-2,
}


def agree(found: Any, expected: Any, *, loosest: str = "float32") -> None:
    """Asserts equal structure, shapes and types, and values equal up to rounding."""
    assert isinstance(found, tuple) == isinstance(expected, tuple)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else ((found, expected),)
    for number, (result, reference) in enumerate(pairs):
        result = np.asarray(result)
        reference = reference.astype(jax.dtypes.canonicalize_dtype(reference.dtype))
        assert result.shape == reference.shape, f"result {number} has shape {result.shape}, not {reference.shape}"
        assert result.dtype == reference.dtype, f"result {number} is {result.dtype}, not {reference.dtype}"
        close(result, reference, f"result {number}", loosest)


def close(found: np.ndarray, expected: np.ndarray, what: str, loosest: str = "float32") -> None:
    if expected.dtype == bool or expected.dtype.kind in "iu":
        np.testing.assert_array_equal(found, expected, what)
        return
    tolerance = max(TOLERANCE[str(expected.dtype)], TOLERANCE[loosest])
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    found, expected = found.astype(wide), expected.astype(wide)
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(1.0, float(finite.max(initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def loosest_of(case: Case) -> str:
    """The coarsest float type that occurs in the program."""
    names = {str(array.dtype) for array in case.arguments.values()}
    if "bfloat16" in names:
        return "bfloat16"
    if "float16" in names or "half(" in case.text:
        return "float16"
    single = names & {"float32", "complex64"} or "float" in case.text or "complex64" in case.text
    return "float32" if single else "float64"


def values(case: Case) -> None:
    """The kernel called directly."""
    expected = case.kernel.interpret(*case.arguments.values(), **case.initial)
    found = case.kernel(*case.arguments.values(), **case.initial)

    agree(found, expected, loosest=loosest_of(case))


# Stands for an infinity.
BEYOND = 1e30


def odd(case: Case) -> None:
    """The kernel on arrays with infinities and NaN.

    A constant factor may be moved out of a sum: ``inf*2 - inf*1`` is NaN, but ``inf * (2 - 1)`` is not. So where the
    interpreter has NaN the kernel may have another value, if float64 gives that value with very large numbers for
    infinities. Where the kernel has NaN, the interpreter must have it.
    """
    expected = case.kernel.interpret(*case.arguments.values(), **case.initial)
    found = case.kernel(*case.arguments.values(), **case.initial)
    several = isinstance(expected, tuple)
    expected = expected if several else (expected,)
    pairs = list(zip(expected, map(np.asarray, found if several else (found,)), strict=True))
    if any((np.isnan(e) & ~np.isnan(f)).any() for e, f in pairs if e.dtype.kind not in "biu" and e.shape == f.shape):
        expected = tuple(_of_beyond(*pair, limit) for pair, limit in zip(pairs, _beyond(case), strict=True))
    agree(found, expected if several else expected[0], loosest=loosest_of(case))


def _beyond(case: Case) -> tuple[np.ndarray, ...]:
    """The interpreter's results with very large numbers for infinities, in float64."""
    bound = interpreter.in_float64(case.kernel.plan(*case.arguments.values(), **case.initial).bound)

    def large(array: np.ndarray) -> np.ndarray:
        return array if array.dtype.kind in "biu" else np.clip(array.astype(np.float64), -BEYOND, BEYOND)

    arguments = {name: large(array) for name, array in case.arguments.items()}
    return interpreter.interpret(bound, arguments, {name: large(array) for name, array in case.initial.items()})


def _of_beyond(expected: np.ndarray, found: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """The expected values, with the found values where these are limits of the expected NaN."""
    if expected.dtype.kind in "biu" or expected.shape != found.shape:
        return expected
    wide = found.astype(np.float64)
    near = np.isclose(wide, limit, rtol=1e-2, atol=1e-3)
    infinite = np.isinf(wide) & (np.abs(limit) > BEYOND**0.5) & (np.sign(wide) == np.sign(limit))
    return np.where(np.isnan(expected) & (near | infinite), found, expected)


def jitted(case: Case) -> None:
    """The kernel inside a larger jitted function."""
    expected = case.kernel.interpret(*case.arguments.values(), **case.initial)
    found = jax.jit(lambda *arrays, **initial: case.kernel(*arrays, **initial))(
        *case.arguments.values(), **case.initial
    )

    agree(found, expected, loosest=loosest_of(case))


def exported(case: Case) -> None:
    """The kernel that another process would receive."""
    expected = case.kernel.interpret(*case.arguments.values(), **case.initial)
    exported = case.kernel.export(*case.arguments.values(), **case.initial)
    found = jax.export.deserialize(exported.serialize()).call(*case.arguments.values(), **case.initial)

    agree(found, expected, loosest=loosest_of(case))


def vmapped(case: Case) -> None:
    """The kernel mapped over one argument or all, along the first axis or the last: a loop over the interpreter."""
    arrays = list(case.arguments.values())
    if not arrays:
        return
    # What is mapped is chosen by the text, so that examples are reproducible.
    last, one = divmod(len(case.text), len(arrays) + 1)
    axis = -(last % 2)
    mapped = [one in (number, len(arrays)) for number in range(len(arrays))]
    rows = [[way(a) if moves else a for a, moves in zip(arrays, mapped, strict=True)] for way in _WAYS]
    columns = zip(arrays, zip(*rows, strict=True), mapped, strict=True)
    stacks = [np.stack(column, axis) if moves else array for array, column, moves in columns]
    places = [axis if moves else None for moves in mapped]
    expected = [case.kernel.interpret(*row, **case.initial) for row in rows]
    found = jax.vmap(lambda *given: case.kernel(*given, **case.initial), in_axes=places)(*stacks)

    if isinstance(expected[0], tuple):
        agree(found, tuple(np.stack(parts) for parts in zip(*expected, strict=True)), loosest=loosest_of(case))
    else:
        agree(found, np.stack(expected), loosest=loosest_of(case))


# Three rows of a batch: an argument, its elements moved by one, and its rows backwards.
_WAYS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda array: array,
    lambda array: np.roll(array, 1),
    lambda array: array[::-1] if array.ndim else array,
)


def moving(case: Case, most: int = 24) -> str | None:
    """The float argument or initial value to differentiate with respect to; None without one of a testable size."""
    everything = {**case.arguments, **case.initial}
    names = [n for n, a in everything.items() if a.dtype.kind == "f" and 0 < a.size <= most]
    return names[len(case.text) % len(names)] if names else None


def gradient_of(case: Case, name: str) -> tuple[Any, list[np.ndarray | None]]:
    """A function of the argument, the sum of the results times fixed cotangents; and these cotangents."""
    everything = {**case.arguments, **case.initial}
    shapes = jax.eval_shape(case.kernel, *case.arguments.values(), **case.initial)
    rng = np.random.default_rng(len(case.text))
    parts = shapes if isinstance(shapes, tuple) else (shapes,)
    cotangents = [rng.uniform(0.5, 1.5, p.shape) if np.issubdtype(p.dtype, np.floating) else None for p in parts]

    def objective(value: jax.Array) -> jax.Array:
        given = {**everything, name: value}
        results = case.kernel(**given)
        pairs = zip(results if isinstance(results, tuple) else (results,), cotangents, strict=True)
        return sum((jax.numpy.sum(r * d.astype(r.dtype)) for r, d in pairs if d is not None), jax.numpy.zeros(()))

    return objective, cotangents


def differences_of(case: Case, name: str, cotangents: Sequence[np.ndarray | None], moved: np.ndarray) -> np.ndarray:
    bound = case.kernel.plan(*case.arguments.values(), **case.initial).bound
    arrays, initial = dict(case.arguments), dict(case.initial)
    (initial if name in initial else arrays)[name] = moved
    return interpreter.differences(bound, arrays, name, cotangents, initial=initial)


def grads(case: Case) -> str | None:
    """The gradient with respect to one argument, by central differences in float64."""
    name = moving(case)
    if name is None:
        return "no argument"
    objective, cotangents = gradient_of(case, name)
    at = {**case.arguments, **case.initial}[name]
    expected = differences_of(case, name, cotangents, at)
    found = _gradient(objective, at, case.text)
    assert found.dtype == at.dtype
    if not np.isfinite(expected).all() or np.abs(expected).max() > 1e4:
        return "steep"
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=5e-4 * scale, err_msg=f"by {name}")
    return None


def _gradient(objective: Callable[[jax.Array], jax.Array], at: np.ndarray, text: str) -> np.ndarray:
    """The gradient, compiled without optimisation unless that gives NaN.

    Without optimisations XLA:CPU rounds ``a + b*c`` once in one loop and twice in another. A maximum of these may then
    equal none of them, and JAX's derivative is NaN, also for ``jnp.max``.
    """
    with quickly():
        found = np.asarray(whole(jax.grad(objective), text)(at))
    if np.isfinite(found).all():
        return found
    with thoroughly():
        return np.asarray(jax.jit(jax.grad(objective))(at))


def second(case: Case) -> str | None:
    """A directional derivative of the gradient: a difference of differences."""
    name = moving(case, 8)
    if name is None:
        return "no argument"
    objective, cotangents = gradient_of(case, name)
    at = {**case.arguments, **case.initial}[name]
    at64 = at.astype(np.float64)
    way = np.random.default_rng(7).uniform(0.5, 1.5, at.shape).astype(at.dtype)

    def quotient(step: float) -> np.ndarray:
        ahead = differences_of(case, name, cotangents, at64 + step * way)
        behind = differences_of(case, name, cotangents, at64 - step * way)
        return (ahead - behind) / (2 * step)

    def derivative(at: jax.Array, way: jax.Array) -> tuple[jax.Array, jax.Array]:
        return objective(at), jax.jvp(jax.grad(objective), (at,), (way,))[1]

    expected, coarser = quotient(1e-3), quotient(2e-3)
    if not np.allclose(expected, coarser, rtol=0.1, atol=0.1):
        return "kink"
    with quickly():
        value, found = whole(derivative, case.text)(at, way)
    # A difference of differences of large results is noise.
    if abs(float(value)) > 1e3:
        return "large"
    if not np.isfinite(expected).all() or np.abs(expected).max() > 1e3:
        return "steep"
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=2e-3 * scale, err_msg=f"by {name}")
    return None
