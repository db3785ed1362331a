"""Functions and types of NumPy, JAX and `math` that have another name here."""

from typing import Final

from .types import CANONICAL

# The libraries' names for functions that TC names differently.
NAMES: Final = {
    "maximum": "max",
    "minimum": "min",
    "absolute": "abs",
    "power": "pow",
    "float_power": "pow",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "bitwise_count": "popcount",
    "conjugate": "conj",
    "gamma": "tgamma",
    "gammaln": "lgamma",
    "i0": "cyl_bessel_i0",
    "logistic": "sigmoid",
    "ndtr": "normcdf",
    "ndtri": "normcdfinv",
    "swish": "silu",
}
OPERATORS: Final = {
    "divide": "truediv",
    "true_divide": "truediv",
    "floor_divide": "//",
    "mod": "%",
    "logical_and": "&&",
    "logical_or": "||",
}

# Functions that allocate an array to be filled.
ALLOCATING: Final = frozenset(
    ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "arange", "eye")
)

# NumPy's names: its `byte` is signed.
SCALARS: Final = {name: name for name in CANONICAL} | {
    "bool_": "bool",
    "byte": "int8",
    "ubyte": "uint8",
    "half": "float16",
    "single": "float32",
    "double": "float64",
}
