import math
from typing import Any

import numpy as np
import pytest

from tcjax import ir

from .build import number, scalar


def call(name: str, *arguments: float | complex, dtype: str = "float64") -> Any:
    values = tuple(number(a, dtype) for a in arguments)
    kind = ir.builtins.result_type(ir.builtins.BUILTINS[name], dtype)
    return scalar(ir.Call(name, values, kind))


def simpson(f, lo: float, hi: float, steps: int = 4000) -> float:
    x = np.linspace(lo, hi, steps + 1)
    y = f(x)
    return float((hi - lo) / steps / 3 * (y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum()))


def bessel_j(order: int, x: float) -> float:
    return simpson(lambda t: np.cos(order * t - x * np.sin(t)), 0, math.pi) / math.pi


def bessel_i(order: int, x: float) -> float:
    return simpson(lambda t: np.exp(x * np.cos(t)) * np.cos(order * t), 0, math.pi) / math.pi


# The second values below come from other formulas than the interpreter's, or from tables.
UNARY = {
    "acos": [(0.3, math.pi / 2 - math.asin(0.3))],
    "acosh": [(2.0, math.log(2 + math.sqrt(3)))],
    "asin": [(0.5, math.pi / 6)],
    "asinh": [(1.5, math.log(1.5 + math.sqrt(1 + 1.5**2)))],
    "atan": [(1.0, math.pi / 4)],
    "atanh": [(0.4, 0.5 * math.log(1.4 / 0.6))],
    "cbrt": [(27.0, 3.0), (-8.0, -2.0)],
    "ceil": [(1.2, 2.0), (-1.2, -1.0)],
    "cos": [(math.pi / 3, 0.5)],
    "cosh": [(0.7, (math.exp(0.7) + math.exp(-0.7)) / 2)],
    "cospi": [(1 / 3, 0.5), (0.5, 0.0), (1.0, -1.0), (1e15 + 0.5, 0.0), (-1.75, math.sqrt(0.5))],
    "cyl_bessel_i0": [(1.3, bessel_i(0, 1.3))],
    "cyl_bessel_i1": [(1.3, bessel_i(1, 1.3)), (-1.3, -bessel_i(1, 1.3))],
    "erf": [(0.5, 2 / math.sqrt(math.pi) * simpson(lambda t: np.exp(-t * t), 0, 0.5))],
    "erfc": [(0.5, 1 - 2 / math.sqrt(math.pi) * simpson(lambda t: np.exp(-t * t), 0, 0.5))],
    "erfcinv": [(math.erfc(0.8), 0.8), (math.erfc(-0.3), -0.3), (0.0, math.inf)],
    "erfcx": [
        (0.5, math.exp(0.25) * math.erfc(0.5)),
        (30.0, (1 - 1 / 1800 + 3 / 3240000 - 15 / 5.832e9) / (30 * math.sqrt(math.pi))),
    ],
    "erfinv": [(math.erf(0.8), 0.8), (1.0, math.inf)],
    "exp": [(1.0, math.e)],
    "exp10": [(-2.0, 0.01)],
    "exp2": [(0.5, math.sqrt(2))],
    "expm1": [(1e-10, 1e-10 + 0.5e-20)],
    "fabs": [(-1.5, 1.5)],
    "floor": [(1.8, 1.0), (-1.2, -2.0)],
    "j0": [(2.5, bessel_j(0, 2.5))],
    "j1": [(2.5, bessel_j(1, 2.5))],
    "lgamma": [(5.0, math.log(24)), (-0.5, math.log(2 * math.sqrt(math.pi))), (-1.0, math.inf), (-math.inf, math.inf)],
    "log": [(math.e, 1.0), (0.0, -math.inf), (-1.0, math.nan)],
    "log10": [(1000.0, 3.0)],
    "log1p": [(1e-10, 1e-10 - 0.5e-20)],
    "log2": [(8.0, 3.0)],
    "logb": [(8.0, 3.0), (0.3, -2.0), (-9.5, 3.0), (0.0, -math.inf), (-math.inf, math.inf), (5e-324, -1074.0)],
    "normcdf": [(0.0, 0.5), (1.0, 0.8413447460685429)],
    "normcdfinv": [(0.8413447460685429, 1.0), (0.5, 0.0)],
    "rcbrt": [(8.0, 0.5)],
    "round": [(0.5, 1.0), (-0.5, -1.0), (2.5, 3.0), (-2.4, -2.0), (0.49999999999999994, 0.0), (1e300, 1e300)],
    "rsqrt": [(4.0, 0.5), (0.0, math.inf)],
    "sin": [(math.pi / 6, 0.5)],
    "sinh": [(0.7, (math.exp(0.7) - math.exp(-0.7)) / 2)],
    "sinpi": [(1 / 6, 0.5), (1.0, 0.0), (1.5, -1.0), (-0.5, -1.0), (1e15 + 0.5, 1.0), (math.inf, math.nan)],
    "sqrt": [(2.25, 1.5), (-1.0, math.nan)],
    "tan": [(math.pi / 4, 1.0)],
    "tanh": [(0.7, (math.exp(1.4) - 1) / (math.exp(1.4) + 1))],
    "tgamma": [(5.0, 24.0), (0.5, math.sqrt(math.pi)), (-1.0, math.nan), (0.0, math.inf), (-0.0, -math.inf)],
    "trunc": [(1.8, 1.0), (-1.8, -1.0)],
    "y0": [(1.0, 0.08825696421567697), (0.0, -math.inf)],
    "y1": [(1.0, -0.7812128213002887)],
    "sigmoid": [(0.7, 1 / (1 + math.exp(-0.7))), (-1000.0, 0.0)],
    "softplus": [(0.7, math.log(1 + math.exp(0.7))), (1000.0, 1000.0), (-1000.0, 0.0)],
    "gelu": [(0.7, 0.35 * (1 + math.tanh(0.7978845608028654 * (0.7 + 0.044715 * 0.343))))],
    "silu": [(0.7, 0.7 / (1 + math.exp(-0.7)))],
    "abs": [(-1.5, 1.5)],
    "sign": [(-1.5, -1.0), (0.0, 0.0), (2.0, 1.0), (math.nan, math.nan)],
    "relu": [(-1.5, 0.0), (1.5, 1.5), (math.nan, math.nan)],
    "real": [(1.5, 1.5)],
    "imag": [(1.5, 0.0)],
    "conj": [(1.5, 1.5)],
}
SEVERAL = {
    "atan2": [((1.0, -1.0), 3 * math.pi / 4)],
    "copysign": [((2.0, -0.0), -2.0)],
    "fdim": [((3.0, 1.0), 2.0), ((1.0, 3.0), 0.0), ((1.0, math.nan), math.nan), ((math.inf, math.inf), 0.0)],
    "fdivide": [((3.0, 2.0), 1.5), ((1.0, 0.0), math.inf)],
    "fmax": [((3.0, 2.0), 3.0), ((math.nan, 2.0), 2.0)],
    "fmin": [((3.0, 2.0), 2.0), ((3.0, math.nan), 3.0)],
    "fmod": [((5.5, 2.0), 1.5), ((-5.5, 2.0), -1.5), ((5.5, -2.0), 1.5)],
    "hypot": [((3.0, 4.0), 5.0), ((3e200, 4e200), 5e200)],
    "logaddexp": [((0.0, 0.0), math.log(2)), ((-math.inf, -math.inf), -math.inf), ((1000.0, 0.0), 1000.0)],
    "nextafter": [((1.0, 2.0), 1 + 2**-52), ((1.0, 0.0), 1 - 2**-53)],
    "pow": [((2.0, -2.0), 0.25), ((-2.0, 3.0), -8.0), ((-2.0, 0.5), math.nan)],
    "remainder": [((5.0, 3.0), -1.0), ((5.0, 2.0), 1.0), ((3.0, 2.0), -1.0), ((1.0, 0.0), math.nan)],
    "rhypot": [((3.0, 4.0), 0.2)],
    "fma": [((2.0, 3.0, 4.0), 10.0), ((1 + 2**-30, 1 + 2**-30, -1 - 2**-29), 2**-60), ((math.inf, 0.0, 1.0), math.nan)],
    "norm3d": [((2.0, 3.0, 6.0), 7.0), ((2e200, 3e200, 6e200), 7e200)],
    "rnorm3d": [((2.0, 3.0, 6.0), 1 / 7)],
    "norm4d": [((1.0, 4.0, 4.0, 4.0), 7.0)],
    "rnorm4d": [((1.0, 4.0, 4.0, 4.0), 1 / 7), ((0.0, 0.0, 0.0, 0.0), math.inf)],
}
NOT_FLOATS = {"isnan", "isinf", "isfinite", "popcount"}
CASES = [(name, (x,), y) for name, pairs in UNARY.items() for x, y in pairs] + [
    (name, arguments, y) for name, pairs in SEVERAL.items() for arguments, y in pairs
]


def test_every_builtin_is_in_a_table_of_this_file() -> None:
    tested = UNARY.keys() | SEVERAL.keys() | NOT_FLOATS

    assert tested == ir.builtins.BUILTINS.keys()


@pytest.mark.parametrize(("name", "arguments", "expected"), CASES)
def test_a_builtin_has_the_value_of_an_independent_formula(
    name: str, arguments: tuple[float, ...], expected: float
) -> None:
    value = call(name, *arguments)

    np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("name", sorted((UNARY | SEVERAL).keys() - {"nextafter"}))
@pytest.mark.parametrize(("dtype", "unit"), [("float32", 2**-24), ("float16", 2**-11), ("bfloat16", 2**-8)])
def test_a_builtin_of_a_narrow_float_is_the_wide_one_rounded(name: str, dtype: str, unit: float) -> None:
    arguments = (1.5 if name == "acosh" else 0.5,) * ir.builtins.BUILTINS[name].arity

    value = call(name, *arguments, dtype=dtype)

    assert str(value.dtype) == dtype
    np.testing.assert_allclose(float(value), call(name, *arguments), rtol=unit)


@pytest.mark.parametrize(("dtype", "step"), [("float32", 2**-23), ("float16", 2**-10), ("bfloat16", 2**-7)])
def test_nextafter_moves_by_one_unit_of_its_own_type(dtype: str, step: float) -> None:
    value = call("nextafter", 1.0, 2.0, dtype=dtype)

    assert float(value) == 1 + step


def test_float_classes_are_bools() -> None:
    values = [call(name, x) for name in ("isnan", "isinf", "isfinite") for x in (math.nan, -math.inf, 1.0)]

    assert values == [True, False, False, False, True, False, False, False, True]
    assert all(isinstance(value, np.bool_) for value in values)


def test_float_classes_of_integers_are_decided() -> None:
    values = [call(name, 3, dtype="int32") for name in ("isnan", "isinf", "isfinite")]

    assert values == [False, False, True]


@pytest.mark.parametrize(
    ("value", "dtype", "bits"),
    [(0b1011, "int32", 3), (-1, "int8", 8), (-1, "int64", 64), (255, "uint8", 8), (True, "bool", 1), (0, "uint16", 0)],
)
def test_popcount_counts_the_bits_of_the_type(value: int, dtype: str, bits: int) -> None:
    assert call("popcount", value, dtype=dtype) == bits


@pytest.mark.parametrize(
    ("name", "value", "dtype", "expected"),
    [
        ("abs", -5, "int32", 5),
        ("abs", -128, "int8", -128),
        ("abs", 200, "uint8", 200),
        ("sign", -5, "int32", -1),
        ("sign", 5, "uint8", 1),
        ("sign", True, "bool", True),
        ("relu", -5, "int32", 0),
        ("relu", 5, "int16", 5),
    ],
)
def test_sign_functions_keep_the_type_of_integers(name: str, value: int, dtype: str, expected: int) -> None:
    result = call(name, value, dtype=dtype)

    assert (result, str(result.dtype)) == (expected, dtype)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("exp", math.exp(0.5) * complex(math.cos(1.2), math.sin(1.2))),
        ("log", complex(math.log(1.3), math.atan2(1.2, 0.5))),
        ("sqrt", math.sqrt(1.3) * complex(math.cos(math.atan2(1.2, 0.5) / 2), math.sin(math.atan2(1.2, 0.5) / 2))),
        ("sin", complex(math.sin(0.5) * math.cosh(1.2), math.cos(0.5) * math.sinh(1.2))),
        ("cosh", complex(math.cosh(0.5) * math.cos(1.2), math.sinh(0.5) * math.sin(1.2))),
        ("conj", complex(0.5, -1.2)),
    ],
)
def test_a_builtin_of_a_complex_number_is_complex(name: str, expected: complex) -> None:
    value = call(name, 0.5 + 1.2j, dtype="complex64")

    assert str(value.dtype) == "complex64"
    np.testing.assert_allclose(value, expected, rtol=1e-6)


def test_parts_of_a_complex_number_are_real() -> None:
    parts = [call(name, 3 - 4j, dtype="complex64") for name in ("real", "imag", "abs")]

    assert [(part, str(part.dtype)) for part in parts] == [(3, "float32"), (-4, "float32"), (5, "float32")]


def test_a_complex_power_is_an_exponential() -> None:
    value = call("pow", 1 + 2j, 0.5 - 1j, dtype="complex128")

    base = complex(math.log(math.sqrt(5)), math.atan2(2, 1)) * (0.5 - 1j)
    np.testing.assert_allclose(value, math.exp(base.real) * complex(math.cos(base.imag), math.sin(base.imag)))
