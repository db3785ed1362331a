"""Each builtin against SciPy, NumPy or `math`, and its derivatives against differences of these."""

import itertools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special as special

from tcjax.ir.builtins import BUILTINS as SIGNATURES
from tcjax.ir.builtins import argument_type, result_type
from tcjax.ir.types import SCALARS, is_complex, is_integral
from tcjax.lowering.builtins import BUILTINS, SAFE_ARGUMENT
from tests.agreement.compiling import quickly

Reference = Callable[..., np.ndarray]


def per_element(function: Callable[..., float]) -> Reference:
    """A function of `math` on arrays, NaN where it raises."""

    def guarded(*arguments: float) -> float:
        try:
            return function(*arguments)
        except ValueError:
            return math.nan

    return np.vectorize(guarded, otypes=[float])


def exponent(x: float) -> float:
    if x == 0 or not math.isfinite(x):
        return -math.inf if x == 0 else abs(x)
    return math.frexp(x)[1] - 1.0


def norm(*arguments: np.ndarray) -> np.ndarray:
    infinite = np.logical_or.reduce([np.isinf(argument) for argument in arguments])
    return np.where(infinite, np.inf, np.sqrt(sum(argument**2 for argument in arguments)))


def gelu(x: np.ndarray) -> np.ndarray:
    return np.where(x == -np.inf, 0, x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


UNARY: dict[str, Reference] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "conj": np.conj,
    "cos": np.cos,
    "cosh": np.cosh,
    "cospi": lambda x: np.cos(np.pi * np.fmod(x, 2)),
    "cyl_bessel_i0": special.i0,
    "cyl_bessel_i1": special.i1,
    "erf": special.erf,
    "erfc": special.erfc,
    "erfcinv": special.erfcinv,
    "erfcx": special.erfcx,
    "erfinv": special.erfinv,
    "exp": np.exp,
    "exp10": lambda x: np.power(10.0, x),
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fabs": np.abs,
    "floor": np.floor,
    "gelu": gelu,
    "imag": np.imag,
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "j0": special.j0,
    "j1": special.j1,
    "lgamma": per_element(lambda x: math.inf if x <= 0 and x == np.floor(x) else math.lgamma(x)),
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "logb": np.vectorize(exponent, otypes=[float]),
    "normcdf": special.ndtr,
    "normcdfinv": special.ndtri,
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "real": np.real,
    "relu": lambda x: np.maximum(x, 0),
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": special.expit,
    "sign": np.sign,
    "silu": lambda x: np.where(x == -np.inf, 0, x * special.expit(x)),
    "sin": np.sin,
    "sinh": np.sinh,
    "sinpi": lambda x: np.sin(np.pi * np.fmod(x, 2)),
    "softplus": lambda x: np.logaddexp(x, 0),
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "tgamma": special.gamma,
    "trunc": np.trunc,
    "y0": special.y0,
    "y1": special.y1,
}
BINARY: dict[str, Reference] = {
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "fdim": lambda x, y: np.where(x <= y, 0, x - y),
    "fdivide": np.divide,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmod": np.fmod,
    "logaddexp": np.logaddexp,
    "hypot": np.hypot,
    "pow": np.power,
    "remainder": per_element(math.remainder),
    "rhypot": lambda x, y: 1 / np.hypot(x, y),
}
MORE: dict[str, Reference] = {
    "fma": lambda x, y, z: x * y + z,
    "norm3d": norm,
    "norm4d": norm,
    "rnorm3d": lambda *arguments: 1 / norm(*arguments),
    "rnorm4d": lambda *arguments: 1 / norm(*arguments),
}
REFERENCES = UNARY | BINARY | MORE
# Not compared on the common grids: one depends on the type's last bit, the other takes integers.
APART = {"nextafter", "popcount"}

POSITIVE = np.concatenate(
    [np.linspace(0.01, 12, 181), [0.25, 0.5, 1, 1.5, 2, 2.5, 17.3, 30.5, 88, 90.5, 171, 1e3, 1e5]]
)
EXTREMES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
GRID = np.concatenate([POSITIVE, -POSITIVE, EXTREMES])
SMALL = np.array([1e-30, 1e-12, 1e-5, 0.003, 0.3, 0.7, 0.99, 1.0, 1.7, 1.999])
COARSE = np.concatenate([[0.7, 1, 1.5, 2, 2.5, 3, 7.25, 1e3], [-0.7, -1, -1.5, -2, -3, -7.25], EXTREMES])
# SciPy says NaN of an infinite argument.
INFINITE = {
    "cyl_bessel_i0": (np.inf, np.inf),
    "cyl_bessel_i1": (np.inf, -np.inf),
    "j0": (0, 0),
    "j1": (0, 0),
    "y0": (0, np.nan),
    "y1": (0, np.nan),
}
# With an absolute tolerance, since the value crosses zero or the reference cancels there.
ABSOLUTE = {"cospi", "gelu", "j0", "j1", "lgamma", "logaddexp", "sinpi", "y0", "y1"}


def grid(name: str) -> tuple[np.ndarray, ...]:
    """Points for every argument, as vectors of one length."""
    if name in UNARY:
        return (np.concatenate([SMALL, GRID]),)
    axis = COARSE if name in BINARY else np.array([0.0, -1.5, 2, 0.25, np.inf, np.nan])
    return tuple(np.array(list(itertools.product(axis, repeat=SIGNATURES[name].arity))).T)


def expected(name: str, points: tuple[np.ndarray, ...]) -> np.ndarray:
    with np.errstate(all="ignore"):
        values = np.asarray(REFERENCES[name](*points))
    if name in INFINITE:
        values[points[0] == np.inf], values[points[0] == -np.inf] = INFINITE[name]
    return values


def test_there_is_one_function_per_signature() -> None:
    assert set(BUILTINS) == set(SIGNATURES)
    assert set(REFERENCES) | APART == set(SIGNATURES)


# All builtins share one computation in the tests below: compiling them one by one would dominate the time.


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_agree_with_an_independent_library(dtype: str) -> None:
    points = {name: tuple(axis.astype(dtype) for axis in grid(name)) for name in REFERENCES}

    with jax.enable_x64(dtype == "float64"):
        results = jax.jit(lambda p: {name: BUILTINS[name](*p[name]) for name in p})(points)

    for name, result in results.items():
        values = expected(name, tuple(axis.astype("float64") for axis in points[name]))
        # Subnormal values may be flushed to zero.
        relative, absolute = (1e-5, 1e-36) if dtype == "float32" else (2e-13, 1e-307)
        if name in ABSOLUTE:
            absolute = 3e-6 if dtype == "float32" else 1e-14
        with np.errstate(over="ignore", under="ignore"):
            values = values.astype(result.dtype)
        np.testing.assert_allclose(result, values, rtol=relative, atol=absolute, err_msg=name)


def test_complex_values_agree_with_numpy() -> None:
    names = [name for name, signature in SIGNATURES.items() if signature.complex]
    points = np.array([0.3 + 0.4j, -1.2 + 0.7j, 2.5 - 1.5j, -0.6 - 0.8j, 0.25j, 1.75 + 0j], np.complex64)
    arguments = {name: (points, points[::-1])[: SIGNATURES[name].arity] for name in names}

    results = jax.jit(lambda p: {name: BUILTINS[name](*p[name]) for name in p})(arguments)

    for name in names:
        np.testing.assert_allclose(
            results[name], REFERENCES[name](*arguments[name]), rtol=1e-5, atol=1e-6, err_msg=name
        )


# Where derivatives are compared, away from jumps and kinks.
INSIDE: dict[str, list[float]] = (
    {name: [-0.7, -0.2, 0.4, 0.8] for name in ("acos", "asin", "atanh", "erfinv")}
    | {name: [0.4, 1.3, 3.7, 6.2] for name in ("log", "log10", "log2", "pow", "rsqrt", "sqrt", "y0", "y1")}
    | {"acosh": [1.3, 2.6, 6.2], "erfcinv": [0.25, 0.5, 1.3, 1.7], "erfcx": [-2.3, 0.4, 1.3, 6.2, 12, 30]}
    | {"log1p": [-0.65, 0.4, 3.7], "normcdfinv": [0.15, 0.4, 0.8], "tgamma": [-2.3, -0.65, 0.4, 1.3, 6.2]}
)
DIFFERENTIABLE = sorted(name for name in REFERENCES if SIGNATURES[name].result in ("float", "same", "real"))


def derivatives(name: str) -> Callable[[jax.Array], tuple[jax.Array, jax.Array]]:
    """The gradient and the Hessian at a vector of arguments."""
    gradient = jax.grad(lambda x: BUILTINS[name](*x))

    def both(point: jax.Array) -> tuple[jax.Array, jax.Array]:
        hessian, slope = jax.jacfwd(lambda x: (gradient(x),) * 2, has_aux=True)(point)
        return slope, hessian

    return both


def differences(name: str, points: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The reference's first and second derivatives along `direction`, from five values around each point."""
    step = 2e-3
    values = [REFERENCES[name](*(points + k * step * direction).T) for k in range(-2, 3)]
    first = np.tensordot([1, -8, 0, 8, -1], values, 1) / (12 * step)
    second = np.tensordot([-1, 16, -30, 16, -1], values, 1) / (12 * step**2)
    return first, second


def points_inside(name: str) -> np.ndarray:
    """One vector of arguments per row."""
    arity = SIGNATURES[name].arity
    axis = INSIDE.get(name, [-2.3, -0.54, 0.4, 1.3, 3.7, 6.3] if arity < 3 else [-2.3, 0.4, 1.3])
    points = np.array(list(itertools.product(axis, repeat=arity)))
    return points if arity == 1 else points[points[:, 0] != points[:, 1]]


def test_two_derivatives_agree_with_differences() -> None:
    points = {name: points_inside(name) for name in DIFFERENTIABLE}

    with jax.enable_x64(True), quickly():
        results = jax.jit(lambda p: {name: jax.vmap(derivatives(name))(p[name]) for name in p})(points)

    for name, (gradients, hessians) in results.items():
        arity = SIGNATURES[name].arity
        for along in [*np.eye(arity), np.array([1.0, -0.5, 0.25, 2.0])[:arity]]:
            first, second = differences(name, points[name], along)
            slope, curvature = np.asarray(gradients) @ along, np.asarray(hessians) @ along @ along
            np.testing.assert_allclose(slope, first, rtol=1e-7, atol=1e-9, err_msg=name)
            np.testing.assert_allclose(curvature, second, rtol=1e-6, atol=1e-7, err_msg=name)


def test_value_and_two_derivatives_are_finite_at_the_safe_arguments() -> None:
    def around(name: str) -> tuple[jax.Array, ...]:
        point = jnp.array(SAFE_ARGUMENT[name], "float32")
        return BUILTINS[name](*point), *derivatives(name)(point)

    names = [name for name in SIGNATURES if SIGNATURES[name].result not in ("bool", "int")]
    with quickly():
        results = jax.jit(lambda: {name: around(name) for name in names})()

    assert {name: len(point) for name, point in SAFE_ARGUMENT.items()} == {n: s.arity for n, s in SIGNATURES.items()}
    assert [name for name in names if not all(np.isfinite(result).all() for result in results[name])] == []


@pytest.mark.parametrize("scalar", SCALARS)
def test_results_have_the_type_that_the_signature_says(scalar: str) -> None:
    def accepted(name: str) -> bool:
        cast = argument_type(SIGNATURES[name], scalar)
        return is_integral(cast) if name == "popcount" else SIGNATURES[name].complex or not is_complex(cast)

    for name in filter(accepted, SIGNATURES):
        signature = SIGNATURES[name]
        cast = argument_type(signature, scalar)
        with jax.enable_x64(True):
            arguments = [jax.ShapeDtypeStruct((2,), cast)] * signature.arity
            result = jax.eval_shape(BUILTINS[name], *arguments)

        assert (name, result.shape, result.dtype) == (name, (2,), result_type(signature, cast))


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_sixteen_bit_floats_keep_their_digits(half: str) -> None:
    points = {name: [jnp.full(3, x, half) for x in SAFE_ARGUMENT[name]] for name in REFERENCES}

    with quickly():
        values = jax.jit(lambda p: {name: BUILTINS[name](*p[name]) for name in p})(points)

    for name in REFERENCES:
        exact = REFERENCES[name](*np.array([SAFE_ARGUMENT[name]]).T)
        np.testing.assert_allclose(values[name].astype("float32"), exact[[0] * 3], rtol=0.01, atol=0.002, err_msg=name)


@pytest.mark.parametrize("scalar", ["bool", "uint8", "int32"])
def test_integers_stay_integers(scalar: str) -> None:
    x = np.array([0, 1, 7, 200] if scalar != "int32" else [0, 1, -7, 200]).astype(scalar)

    results = {name: BUILTINS[name](jnp.asarray(x)) for name in ("abs", "sign", "relu", "real", "conj", "popcount")}

    wide = x.astype(int)
    np.testing.assert_array_equal(results["abs"], abs(wide))
    np.testing.assert_array_equal(results["sign"], np.sign(wide))
    np.testing.assert_array_equal(results["relu"], np.maximum(wide, 0))
    np.testing.assert_array_equal(results["real"], wide)
    np.testing.assert_array_equal(results["conj"], wide)
    np.testing.assert_array_equal(results["popcount"], [(int(v) & 0xFFFFFFFF).bit_count() for v in wide])
    assert {str(result.dtype) for result in results.values()} == {scalar}
    assert not BUILTINS["isnan"](jnp.asarray(x)).any() and BUILTINS["isfinite"](jnp.asarray(x)).all()


@pytest.mark.parametrize(("scalar", "digits"), [("float16", 10), ("bfloat16", 7), ("float32", 23), ("float64", 52)])
def test_nextafter_steps_by_one_unit_of_its_own_type(scalar: str, digits: int) -> None:
    with jax.enable_x64(True):
        one, two, zero = (jnp.asarray(x, scalar) for x in (1, 2, 0))
        up, down = BUILTINS["nextafter"](one, two), BUILTINS["nextafter"](one, zero)
        slopes = jax.grad(BUILTINS["nextafter"], (0, 1))(one, two)

    assert (float(up), float(down)) == (1 + 2.0**-digits, 1 - 2.0 ** -(digits + 1))
    assert [float(slope) for slope in slopes] == [1, 0]


def test_special_points_are_exact() -> None:
    whole = jnp.array([-3, -2, -1, 0, 1, 2, 1e6, 2.0**40], "float32")
    powers = np.ldexp(np.float32(1), np.arange(-20, 21))

    np.testing.assert_array_equal(BUILTINS["sinpi"](whole), 0)
    np.testing.assert_array_equal(BUILTINS["cospi"](whole[:7] + 0.5), 0)
    np.testing.assert_array_equal(BUILTINS["log2"](powers), np.arange(-20, 21))
    np.testing.assert_array_equal(BUILTINS["round"](jnp.array([0.5, -0.5, 2.5, -2.5, 0.49999997])), [1, -1, 3, -3, 0])


def test_a_remainder_is_exact_and_ties_go_to_the_even_quotient() -> None:
    x = np.array([5, 7, -5, 3e38, 2.9e38, 1e30, 1e-3, 2], "float32")
    y = np.array([2, 2, 2, 2e38, 2e38, 3, 7, np.inf], "float32")

    result = BUILTINS["remainder"](x, y)

    np.testing.assert_array_equal(result, [math.remainder(*map(float, pair)) for pair in zip(x, y, strict=True)])


def gradient_at(name: str, *point: float) -> list[float]:
    arguments = tuple(jnp.float32(x) for x in point)
    return [float(slope) for slope in jax.grad(BUILTINS[name], tuple(range(len(point))))(*arguments)]


def test_kinks_have_the_agreed_derivative() -> None:
    assert gradient_at("hypot", 0, 0) == [0, 0]
    assert gradient_at("norm3d", 0, 0, 0) == [0, 0, 0]
    assert gradient_at("relu", 0) == [0]
    assert gradient_at("fmax", 2, 2) == gradient_at("fmin", 2, 2) == [0.5, 0.5]
    assert gradient_at("fmax", math.nan, 2) == gradient_at("fmin", math.nan, 2) == [0, 1]
    assert gradient_at("fmax", 2, math.nan) == gradient_at("fmin", 2, math.nan) == [1, 0]


def test_roundings_have_derivative_zero_even_at_their_jumps() -> None:
    for name in ("ceil", "floor", "logb", "round", "sign", "trunc"):
        assert [gradient_at(name, x) for x in (-2, -0.5, 1, 2.5)] == [[0]] * 4, name


def test_a_power_is_differentiable_in_its_base_where_it_is_not_in_its_exponent() -> None:
    square, cube = jnp.float32(2), jnp.float32(3)

    assert jax.grad(BUILTINS["pow"])(jnp.float32(0), square) == 0
    assert jax.grad(jax.grad(BUILTINS["pow"]))(jnp.float32(0), square) == 2
    assert jax.grad(BUILTINS["pow"])(jnp.float32(-2), cube) == 12


def test_a_derivative_that_is_not_asked_for_does_not_spoil_the_others() -> None:
    slope = jax.jit(jax.grad(BUILTINS["fmod"]))(jnp.float32(3), jnp.float32(math.inf))

    assert slope == 1


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [("j0", 0, -0.5), ("j1", 0.5, 0), ("cyl_bessel_i0", 0, 0.5), ("cyl_bessel_i1", 0.5, 0)],
)
def test_bessel_functions_are_smooth_at_zero(name: str, first: float, second: float) -> None:
    gradient = jax.grad(BUILTINS[name])

    assert gradient(jnp.float32(0)) == pytest.approx(first, abs=1e-6)
    assert jax.grad(gradient)(jnp.float32(0)) == pytest.approx(second, abs=1e-6)


def test_far_derivatives_do_not_cancel() -> None:
    x = np.array([4, 6, 20, 1e3, 1e6], "float32")

    slopes = jax.vmap(jax.grad(BUILTINS["erfcx"]))(x)

    wide = x.astype("float64")
    asymptotic = -(1 - 1.5 / wide**2 + 15 / (4 * wide**4) - 105 / (8 * wide**6)) / (math.sqrt(math.pi) * wide**2)
    exact = np.where(wide < 10, 2 * wide * special.erfcx(wide) - 2 / math.sqrt(math.pi), asymptotic)
    np.testing.assert_allclose(slopes, exact, rtol=2e-5)


def test_arguments_broadcast_and_so_do_their_gradients() -> None:
    rows, scale = jnp.array([[3.0], [5.0]]), jnp.array([4.0, 12.0, 0.0])

    gradients = jax.grad(lambda x, y: BUILTINS["hypot"](x, y).sum(), (0, 1))(rows, scale)

    assert BUILTINS["hypot"](rows, scale).shape == (2, 3)
    np.testing.assert_allclose(gradients[0], [[3 / 5 + 3 / 153**0.5 + 1], [5 / 41**0.5 + 5 / 13 + 1]], rtol=1e-6)
    assert gradients[1].shape == (3,)
