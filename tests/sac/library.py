"""All functions of the library by name, and the casts."""

from .elementwise import BINARY, SCALAR_FUNCTIONS, UNARY
from .folds import FOLDS
from .structure import STRUCTURE

__all__ = ["BINARY", "CASTS", "FOLDS", "RULES", "SCALAR_FUNCTIONS", "UNARY"]

RULES = SCALAR_FUNCTIONS | FOLDS | STRUCTURE
CASTS = {"toi": "int32", "tof": "float32", "tod": "float64", "tob": "bool", "int": "int32", "float": "float32"} | {
    "double": "float64",
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{name: name for name in ("bool", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")},
}
