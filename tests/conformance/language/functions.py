"""The functions of numbers."""

import numpy as np
from scipy import special

from ..program import Program, below

# Each function of one number, the points at which it is tested, and the reference.
_WHOLE = [-2.5, -1.5, -0.5, -0.2, 0.0, 0.3, 0.5, 1.5, 2.5, 3.7]

_INSIDE = [-0.9, -0.4, 0.0, 0.3, 0.8]

_POSITIVE = [0.1, 0.7, 1.0, 2.3, 6.5]


def _round(x: np.ndarray) -> np.ndarray:
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def functions(name: str, points: list[float], table: dict[str, object]) -> Program:
    """One program that returns each function of `points`."""
    body = " ".join(f"r_{each}(i) = {each}(x(i))" for each in table)
    results = ", ".join(f"r_{each}" for each in table)
    return Program(
        name,
        f"def f(float(N) x) -> ({results}) {{ {body} }}",
        [np.array(points, "f")],
        lambda x: tuple(formula(x) for formula in table.values()),  # type: ignore[operator]
        tolerance=2e-4,
    )


FUNCTIONS = [
    functions(
        "everywhere",
        _WHOLE,
        {
            "asinh": np.arcsinh,
            "atan": np.arctan,
            "cbrt": np.cbrt,
            "ceil": np.ceil,
            "cos": np.cos,
            "cosh": np.cosh,
            "cospi": lambda x: np.cos(np.pi * x),
            "cyl_bessel_i0": special.i0,
            "cyl_bessel_i1": special.i1,
            "erf": special.erf,
            "erfc": special.erfc,
            "erfcx": special.erfcx,
            "exp": np.exp,
            "exp10": lambda x: 10**x,
            "exp2": np.exp2,
            "expm1": np.expm1,
            "fabs": np.abs,
            "floor": np.floor,
            "j0": special.j0,
            "j1": special.j1,
            "normcdf": special.ndtr,
            "round": _round,
            "sin": np.sin,
            "sinh": np.sinh,
            "sinpi": lambda x: np.sin(np.pi * x),
            "tan": np.tan,
            "tanh": np.tanh,
            "trunc": np.trunc,
            "abs": np.abs,
            "sign": np.sign,
            "relu": lambda x: np.maximum(x, 0),
            "sigmoid": special.expit,
            "softplus": lambda x: np.log1p(np.exp(x)),
            "silu": lambda x: x * special.expit(x),
        },
    ),
    functions(
        "between minus one and one",
        _INSIDE,
        {
            "acos": np.arccos,
            "asin": np.arcsin,
            "atanh": np.arctanh,
            "erfinv": special.erfinv,
            "log1p": np.log1p,
        },
    ),
    functions(
        "for positive numbers",
        _POSITIVE,
        {
            "lgamma": special.gammaln,
            "log": np.log,
            "log10": np.log10,
            "log2": np.log2,
            "logb": lambda x: np.floor(np.log2(x)),
            "rcbrt": lambda x: 1 / np.cbrt(x),
            "rsqrt": lambda x: 1 / np.sqrt(x),
            "sqrt": np.sqrt,
            "tgamma": special.gamma,
            "y0": special.y0,
            "y1": special.y1,
        },
    ),
    functions("from one on", [1.0, 1.5, 4.0], {"acosh": np.arccosh, "lgamma": special.gammaln}),
    functions(
        "for probabilities",
        [0.05, 0.4, 0.5, 0.9],
        {"normcdfinv": special.ndtri, "erfcinv": special.erfcinv},
    ),
    Program(
        "of two numbers",
        "def f(float(N) x, float(N) y) -> (a, b, c, d, e, g, h, k, l, m) { a(i) = atan2(x(i), y(i))"
        " b(i) = copysign(x(i), y(i))  c(i) = fdim(x(i), y(i))  d(i) = fdivide(x(i), y(i))  e(i) = fmax(x(i), y(i))"
        " g(i) = fmin(x(i), y(i))  h(i) = fmod(x(i), y(i))  k(i) = hypot(x(i), y(i))  l(i) = remainder(x(i), y(i))"
        " m(i) = rhypot(x(i), y(i)) }",
        [np.array([2.5, -2.5, 7.0, -1.0, 0.5], "f"), np.array([1.0, 1.5, -2.0, -3.0, 4.0], "f")],
        lambda x, y: (
            np.arctan2(x, y),
            np.copysign(x, y),
            np.maximum(x - y, 0),
            x / y,
            np.maximum(x, y),
            np.minimum(x, y),
            np.fmod(x, y),
            np.hypot(x, y),
            x - y * np.round(x / y),
            1 / np.hypot(x, y),
        ),
    ),
    Program(
        "powers",
        "def f(float(N) x, float(N) y) -> (p, q) { p(i) = pow(fabs(x(i)), y(i))  q(i) = pow(x(i), 3) }",
        [(5,), (5,)],
        lambda x, y: (np.abs(x) ** y, x**3),
        tolerance=1e-4,
    ),
    Program(
        "of three and four numbers",
        "def f(float(N) x, float(N) y, float(N) z) -> (a, b, c, d, e) { a(i) = fma(x(i), y(i), z(i))"
        " b(i) = norm3d(x(i), y(i), z(i))  c(i) = rnorm3d(x(i), y(i), z(i))"
        " d(i) = norm4d(x(i), y(i), z(i), 1)  e(i) = rnorm4d(x(i), y(i), z(i), 2.0) }",
        [(4,), (4,), (4,)],
        lambda x, y, z: (
            x * y + z,
            np.sqrt(x * x + y * y + z * z),
            1 / np.sqrt(x * x + y * y + z * z),
            np.sqrt(x * x + y * y + z * z + 1),
            1 / np.sqrt(x * x + y * y + z * z + 4),
        ),
    ),
    Program(
        "the next number",
        "def f(float(N,N) A, float(N,N) B, float(N) C) -> (O) {"
        " O(i,j) = nextafter(C(i), exp(A(i,j))) + log(fabs(B(j,i))) }",
        [(3, 3), (3, 3), (3,)],
        lambda a, b, c: c[:, None] + np.log(np.abs(b.T)),
    ),
    Program(
        "inside one another",
        "def f(float(M) I) -> (O) { O +=! log(fabs(tanh(I(i)))) }",
        [(4,)],
        lambda i: np.log(np.abs(np.tanh(i))).sum(),
    ),
    Program(
        "tests of numbers",
        "def f(float(N) x) -> (a, b, c) { a(i) = isnan(x(i))  b(i) = isinf(x(i))  c(i) = isfinite(x(i)) }",
        [np.array([1, np.nan, np.inf, -np.inf], "f")],
        lambda x: (np.isnan(x), np.isinf(x), np.isfinite(x)),
        "bool",
    ),
    Program(
        "bits set",
        "def f(uint8(N) x, uint8(N) y) -> (a) { a +=! int32(popcount(x(i) ^ y(i))) }",
        [below(256, 9, dtype="uint8"), below(256, 9, dtype="uint8", seed=1)],
        lambda x, y: sum(bin(v).count("1") for v in (x ^ y)),
        "int32",
    ),
]
