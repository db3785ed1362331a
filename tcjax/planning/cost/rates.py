"""The time of one operation on one element."""

from typing import Final

from ... import ir
from ..data.machine import CHEAP, MOST_PRODUCTS, Machine

# Functions with vectorised code in XLA, and those built from them.
QUICK_CALLS: Final = frozenset(
    ["exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "tanh", "sigmoid", "silu", "cbrt", "erf", "gelu"]
) | frozenset(["sinh", "cosh", "softplus"])
ROOTS: Final = frozenset(["sqrt", "rsqrt", "fdivide", "hypot", "rhypot", "norm3d", "norm4d"])
DIVISIONS: Final = frozenset(["/", "//", "%", "quot", "rem", "share"])
# Integer division, which vector units do not have.
INTEGER_DIVISION: Final = 4


def slower(dtype: str, machine: Machine) -> float:
    """The slowdown of vector operations relative to 32-bit types."""
    bits = ir.types.BITS[dtype]
    if bits == 16 and ir.types.is_float(dtype):
        return machine.half
    if bits <= 8:
        return machine.bytewise
    return machine.wide ** max(0, (bits // 32).bit_length() - 1)


def operator_time(operator: str, dtype: str, machine: Machine) -> float:
    """The time of an operator per point."""
    slow = slower(dtype, machine)
    if operator in DIVISIONS:
        return machine.division * slow * (INTEGER_DIVISION if ir.types.is_integral(dtype) else 1)
    if operator == "stop":
        return 0.0
    return machine.element * slow


def power_time(exponent: float | None, machine: Machine) -> float:
    """The time of a power: products for a small integer, plus a root for a half."""
    if exponent is None or 2 * exponent != int(2 * exponent) or abs(exponent) > MOST_PRODUCTS:
        return machine.slow_call
    whole = int(abs(exponent))
    products = machine.element * max(1, whole.bit_length()) + (machine.division if exponent < 0 < whole else 0)
    return products if whole == abs(exponent) else products + 2 * machine.division


def call_time(function: str, machine: Machine) -> float:
    """The time of a function per point."""
    if function in CHEAP:
        return machine.element
    if function in ROOTS:
        return machine.division
    return machine.call if function in QUICK_CALLS else machine.slow_call
