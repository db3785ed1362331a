"""The partial derivatives of the builtins, with JAX's conventions where a function has none: ``abs'(0) = 1``."""

import math
from collections.abc import Callable, Mapping
from typing import Final

from ... import ir
from .arithmetic import call, choose, compare, constant, minus, negative, over, plus, power, times

Expr = ir.Expr
# The derivative by each argument, from the call's value and its arguments; None where it is zero.
Partials = Callable[..., tuple[Expr | None, ...]]


def partials(node: ir.Call) -> tuple[Expr | None, ...] | None:
    """The derivative by each argument, None where it is zero; None for a function whose derivative has no name."""
    rule = _PARTIALS.get(node.function)
    return None if rule is None else rule(node, *node.arguments)


def power_partials(node: Expr, base: Expr, exponent: Expr) -> tuple[Expr, Expr]:
    """Of ``base ** exponent``; zero where the exponent is 0, and by the exponent of a power of 0 that is not 0."""
    zero = compare("==", exponent, _like(exponent, 0))
    one = _like(exponent, 1)
    if isinstance(exponent, ir.Const):
        lower = constant(exponent.value - 1, exponent.dtype)
        by_base = _like(base, 0) if exponent.value == 0 else times(exponent, power(base, lower))
    else:
        lowered = power(base, choose(zero, one, minus(exponent, one)))
        by_base = choose(zero, _like(base, 0), times(exponent, lowered))
    safe = choose(compare("==", base, _like(base, 0)), _like(base, 1), base)
    return by_base, times(node, call("log", safe))


def extremum_partials(operator: str, left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Of ``min`` and ``max``: equal arguments share."""
    wins = ">" if operator == "max" else "<"
    half, none = _like(left, 0.5), _like(left, 0)
    tie = choose(compare("==", left, right), half, none)
    first = choose(compare(wins, left, right), _like(left, 1), tie)
    second = choose(compare(wins, right, left), _like(left, 1), tie)
    return first, second


def remainder_partial(left: Expr, right: Expr) -> Expr:
    """Of ``left % right`` by its second argument."""
    return negative(call("floor", over(left, right)))


def _like(expr: Expr, value: float) -> ir.Const:
    return constant(value, expr.dtype)


def _none(node: Expr, *arguments: Expr) -> tuple[None, ...]:
    return (None,) * len(arguments)


def _unary(rule: Callable[[Expr, Expr], Expr]) -> Partials:
    return lambda node, x: (rule(node, x),)


def _square(x: Expr) -> Expr:
    return times(x, x)


def _one_minus_square(x: Expr) -> Expr:
    return minus(_like(x, 1), _square(x))


def _scaled(factor: float, x: Expr) -> Expr:
    return times(_like(x, factor), x)


def _reciprocal(x: Expr) -> Expr:
    return over(_like(x, 1), x)


def _step(x: Expr) -> Expr:
    return choose(compare(">", x, _like(x, 0)), _like(x, 1), _like(x, 0))


def _sign(x: Expr) -> Expr:
    return choose(compare(">=", x, _like(x, 0)), _like(x, 1), _like(x, -1))


def _silu(x: Expr) -> Expr:
    chance = call("sigmoid", x)
    finite = ir.Binary("max", x, _like(x, -1000), x.dtype)
    return times(chance, plus(_like(x, 1), times(finite, minus(_like(x, 1), chance))))


def _gelu(x: Expr) -> Expr:
    """Of the approximation by tanh; ``(1 + tanh(a)) / 2`` is ``sigmoid(2*a)``."""
    inner = ir.Binary("min", ir.Binary("max", x, _like(x, -20), x.dtype), _like(x, 20), x.dtype)
    scale = 2 * math.sqrt(2 / math.pi)
    angle = times(_like(x, scale), plus(inner, times(_like(x, 0.044715), times(inner, _square(inner)))))
    slope = times(_like(x, scale), plus(_like(x, 1), times(_like(x, 3 * 0.044715), _square(inner))))
    chance = call("sigmoid", angle)
    rest = times(times(inner, minus(_like(x, 1), chance)), slope)
    return times(chance, plus(_like(x, 1), rest))


def _over_argument(order: str) -> Callable[[Expr, Expr], Expr]:
    """Of the Bessel functions of order 1: ``f0(x) - f1(x)/x``, which is ``f0(x) / 2`` at 0."""

    def rule(node: Expr, x: Expr) -> Expr:
        at_zero = compare("==", x, _like(x, 0))
        safe = choose(at_zero, _like(x, 1), x)
        quotient = choose(at_zero, _like(x, 0.5), over(node, safe))
        return minus(call(order, x), quotient)

    return rule


def _atan2(node: Expr, y: Expr, x: Expr) -> tuple[Expr, Expr]:
    size = plus(_square(x), _square(y))
    return over(x, size), negative(over(y, size))


def _copysign(node: Expr, x: Expr, y: Expr) -> tuple[Expr | None, ...]:
    return times(call("sign", x), call("copysign", _like(x, 1), y)), None


def _fdim(node: Expr, x: Expr, y: Expr) -> tuple[Expr | None, ...]:
    below = compare("<=", x, y)
    return choose(below, _like(x, 0), _like(x, 1)), choose(below, _like(x, 0), _like(x, -1))


def _extremum(operator: str) -> Partials:
    """Of ``fmin`` and ``fmax``: the other argument where one is NaN."""

    def rule(node: Expr, x: Expr, y: Expr) -> tuple[Expr | None, ...]:
        first, second = extremum_partials(operator, x, y)
        one = _like(x, 1)
        return choose(call("isnan", y), one, first), choose(call("isnan", x), one, second)

    return rule


def _shares(node: Expr, *arguments: Expr) -> tuple[Expr | None, ...]:
    nothing = compare("==", node, _like(node, -math.inf))
    return tuple([choose(nothing, _like(x, 0), call("exp", minus(x, node))) for x in arguments])


def _with_quotient(node: Expr, x: Expr, y: Expr) -> tuple[Expr | None, ...]:
    return _like(x, 1), negative(call("round", over(minus(x, node), y)))


def _norm(node: Expr, *arguments: Expr) -> tuple[Expr | None, ...]:
    origin = compare("==", node, _like(node, 0))
    safe = choose(origin, _like(node, 1), node)
    return tuple([choose(origin, _like(node, 0), over(x, safe)) for x in arguments])


def _reciprocal_norm(node: Expr, *arguments: Expr) -> tuple[Expr | None, ...]:
    return tuple([negative(times(times(times(x, node), node), node)) for x in arguments])


def _divide(node: Expr, x: Expr, y: Expr) -> tuple[Expr | None, ...]:
    return _reciprocal(y), negative(over(over(x, y), y))


_PARTIALS: Final[Mapping[str, Partials]] = {
    "abs": _unary(lambda _, x: _sign(x)),
    "acos": _unary(lambda _, x: negative(call("rsqrt", _one_minus_square(x)))),
    "acosh": _unary(lambda _, x: call("rsqrt", times(minus(x, _like(x, 1)), plus(x, _like(x, 1))))),
    "asin": _unary(lambda _, x: call("rsqrt", _one_minus_square(x))),
    "asinh": _unary(lambda _, x: call("rsqrt", plus(_square(x), _like(x, 1)))),
    "atan": _unary(lambda _, x: _reciprocal(plus(_like(x, 1), _square(x)))),
    "atan2": _atan2,
    "atanh": _unary(lambda _, x: _reciprocal(_one_minus_square(x))),
    "cbrt": _unary(lambda root, x: over(_like(x, 1 / 3), _square(root))),
    "ceil": _none,
    "copysign": _copysign,
    "cos": _unary(lambda _, x: negative(call("sin", x))),
    "cosh": _unary(lambda _, x: call("sinh", x)),
    "cospi": _unary(lambda _, x: _scaled(-math.pi, call("sinpi", x))),
    "cyl_bessel_i0": _unary(lambda _, x: call("cyl_bessel_i1", x)),
    "cyl_bessel_i1": _unary(_over_argument("cyl_bessel_i0")),
    "erf": _unary(lambda _, x: _scaled(2 / math.sqrt(math.pi), call("exp", negative(_square(x))))),
    "erfc": _unary(lambda _, x: _scaled(-2 / math.sqrt(math.pi), call("exp", negative(_square(x))))),
    "erfcinv": _unary(lambda root, x: _scaled(-math.sqrt(math.pi) / 2, call("exp", _square(root)))),
    "erfcx": _unary(lambda value, x: minus(_scaled(2, times(x, value)), _like(x, 2 / math.sqrt(math.pi)))),
    "erfinv": _unary(lambda root, x: _scaled(math.sqrt(math.pi) / 2, call("exp", _square(root)))),
    "exp": _unary(lambda value, x: value),
    "exp10": _unary(lambda value, x: _scaled(math.log(10), value)),
    "exp2": _unary(lambda value, x: _scaled(math.log(2), value)),
    "expm1": _unary(lambda _, x: call("exp", x)),
    "fabs": _unary(lambda _, x: _sign(x)),
    "fdim": _fdim,
    "fdivide": _divide,
    "floor": _none,
    "fma": lambda _, x, y, z: (y, x, _like(z, 1)),
    "fmax": _extremum("max"),
    "fmin": _extremum("min"),
    "fmod": _with_quotient,
    "gelu": _unary(lambda _, x: _gelu(x)),
    "hypot": _norm,
    "isfinite": _none,
    "isinf": _none,
    "isnan": _none,
    "j0": _unary(lambda _, x: negative(call("j1", x))),
    "j1": _unary(_over_argument("j0")),
    "log": _unary(lambda _, x: _reciprocal(x)),
    "logaddexp": _shares,
    "log10": _unary(lambda _, x: over(_like(x, 1 / math.log(10)), x)),
    "log1p": _unary(lambda _, x: _reciprocal(plus(_like(x, 1), x))),
    "log2": _unary(lambda _, x: over(_like(x, 1 / math.log(2)), x)),
    "logb": _none,
    "nextafter": lambda _, x, y: (_like(x, 1), None),
    "norm3d": _norm,
    "norm4d": _norm,
    "normcdf": _unary(lambda _, x: _scaled(1 / math.sqrt(2 * math.pi), call("exp", _scaled(-0.5, _square(x))))),
    "normcdfinv": _unary(lambda root, x: _scaled(math.sqrt(2 * math.pi), call("exp", _scaled(0.5, _square(root))))),
    "popcount": _none,
    "pow": lambda node, x, y: power_partials(node, x, y),
    "rcbrt": _unary(lambda root, x: _scaled(-1 / 3, _square(_square(root)))),
    "relu": _unary(lambda _, x: _step(x)),
    "remainder": _with_quotient,
    "rhypot": _reciprocal_norm,
    "rnorm3d": _reciprocal_norm,
    "rnorm4d": _reciprocal_norm,
    "round": _none,
    "rsqrt": _unary(lambda root, x: _scaled(-0.5, over(root, x))),
    "sigmoid": _unary(lambda chance, x: times(chance, minus(_like(x, 1), chance))),
    "sign": _none,
    "silu": _unary(lambda _, x: _silu(x)),
    "sin": _unary(lambda _, x: call("cos", x)),
    "sinh": _unary(lambda _, x: call("cosh", x)),
    "sinpi": _unary(lambda _, x: _scaled(math.pi, call("cospi", x))),
    "softplus": _unary(lambda _, x: call("sigmoid", x)),
    "sqrt": _unary(lambda root, x: over(_like(x, 0.5), root)),
    "tan": _unary(lambda value, x: plus(_like(x, 1), _square(value))),
    "tanh": _unary(lambda value, x: _one_minus_square(value)),
    "trunc": _none,
    "y0": _unary(lambda _, x: negative(call("y1", x))),
    "y1": _unary(lambda value, x: minus(call("y0", x), over(value, x))),
}
