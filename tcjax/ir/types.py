"""Scalar types by their canonical names, and which one two of them join to."""

from typing import Final

FLOATS: Final = ("float16", "bfloat16", "float32", "float64")
# Summed in float32.
HALVES: Final = ("float16", "bfloat16")
COMPLEX: Final = ("complex64", "complex128")
SIGNED: Final = ("int8", "int16", "int32", "int64")
UNSIGNED: Final = ("uint8", "uint16", "uint32", "uint64")
SCALARS: Final = ("bool", *UNSIGNED, *SIGNED, *FLOATS, *COMPLEX)

# The spellings that a program may use for them.
SPELLINGS: Final = {name: name for name in SCALARS} | {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "byte": "uint8",
    "int": "int32",
}

BITS: Final = {
    "bool": 1,
    "bfloat16": 16,
    **{name: int("".join(c for c in name if c.isdigit())) for name in SCALARS if name not in ("bool", "bfloat16")},
}

# The largest number of each floating-point type.
LARGEST: Final = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}


def is_float(scalar: str) -> bool:
    return scalar in FLOATS


def is_complex(scalar: str) -> bool:
    return scalar in COMPLEX


def is_integral(scalar: str) -> bool:
    """Whether a value of this type can be a subscript; a bool cannot."""
    return scalar in SIGNED or scalar in UNSIGNED


def join(a: str, b: str) -> str:
    """The type of ``a op b``: TC's promotion (spec of the original's `match_types`), extended to halves and complex.

    Integers of different signedness, or a bool and an integer, give the signed integer of the larger width.
    """
    if a == b:
        return a
    if is_complex(a) or is_complex(b):
        wide = any(BITS[t] > (64 if is_complex(t) else 32) and not is_integral(t) for t in (a, b))
        return "complex128" if wide else "complex64"
    if is_float(a) and is_float(b):
        # float16 and bfloat16 hold different values: only float32 holds both.
        return "float32" if BITS[a] == BITS[b] else max(a, b, key=BITS.__getitem__)
    if is_float(a) or is_float(b):
        return a if is_float(a) else b
    if a in UNSIGNED and b in UNSIGNED:
        return max(a, b, key=BITS.__getitem__)
    if {a, b} <= {"bool", *UNSIGNED}:
        return b if a == "bool" else a
    return f"int{max(BITS[a], BITS[b])}"


def accumulator(scalar: str) -> str:
    """The type in which sums and products of this type are accumulated by default."""
    if scalar in HALVES:
        return "float32"
    if scalar in ("int8", "int16"):
        return "int32"
    if scalar in ("uint8", "uint16"):
        return "uint32"
    return scalar


def narrow(scalar: str) -> str:
    """The type that represents it while JAX's x64 mode is off."""
    return {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}.get(scalar, scalar)


def width(scalar: str) -> int:
    """The bytes of one element while JAX's x64 mode is off."""
    return max(1, BITS[narrow(scalar)] // 8)
