"""Functions of one or a few scalars: their arities, and how their types follow from those of their arguments."""

from dataclasses import dataclass
from typing import Final, Literal

from .types import FLOATS, is_complex, is_float, join


@dataclass(frozen=True, slots=True)
class Builtin:
    """`result` says how the type follows from the arguments' joined type:

    ``float``: the joined type if it is a float (or complex, where `complex` allows), else float32; ``same``: the
    joined type; ``bool``: bool.
    """

    arity: int
    result: Literal["float", "same", "bool", "real", "int"] = "float"
    complex: bool = False


_UNARY = """acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv erfcx
erfinv exp exp10 exp2 expm1 fabs floor j0 j1 lgamma log log10 log1p log2 logb normcdf normcdfinv rcbrt round rsqrt sin
sinh sinpi sqrt tan tanh tgamma trunc y0 y1 sigmoid softplus gelu silu"""
_BINARY = "atan2 copysign fdim fdivide fmax fmin fmod hypot logaddexp nextafter pow remainder rhypot"
_COMPLEX = "exp log sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh pow expm1 log1p"

BUILTINS: Final[dict[str, Builtin]] = (
    {name: Builtin(1, complex=name in _COMPLEX.split()) for name in _UNARY.split()}
    | {name: Builtin(2, complex=name in _COMPLEX.split()) for name in _BINARY.split()}
    | {name: Builtin(3) for name in ("fma", "norm3d", "rnorm3d")}
    | {name: Builtin(4) for name in ("norm4d", "rnorm4d")}
    | {
        "abs": Builtin(1, "real", complex=True),
        "sign": Builtin(1, "same"),
        "relu": Builtin(1, "same"),
        "isnan": Builtin(1, "bool", complex=True),
        "isinf": Builtin(1, "bool", complex=True),
        "isfinite": Builtin(1, "bool", complex=True),
        "popcount": Builtin(1, "int"),
        "real": Builtin(1, "real", complex=True),
        "imag": Builtin(1, "real", complex=True),
        "conj": Builtin(1, "same", complex=True),
    }
)


def argument_type(builtin: Builtin, joined: str) -> str:
    """The type to which every argument is cast, given the arguments' joined type."""
    if builtin.result in ("float",) and not (is_float(joined) or is_complex(joined)):
        return join(joined, "float32")
    return joined


def result_type(builtin: Builtin, argument: str) -> str:
    """The type of the call, given the type its arguments were cast to."""
    match builtin.result:
        case "bool":
            return "bool"
        case "real":
            return {"complex64": "float32", "complex128": "float64"}.get(argument, argument)
        case _:
            return argument


__all__ = ["BUILTINS", "FLOATS", "Builtin", "argument_type", "result_type"]
