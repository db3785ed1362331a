"""How SaC text spells types and number suffixes, and the words that cannot be names."""

from typing import Final

# The spellings of types, and their canonical names.
TYPES: Final[dict[str, str]] = {
    **{
        name: name
        for name in (
            *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
            *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
        )
    },
    "float": "float32",
    "double": "float64",
    "int": "int32",
}

# SaC's own names; every other type prints under its canonical name.
PRINTED_TYPES: Final = {"float32": "float", "float64": "double", "int32": "int"}

# `2f`, `4l`: the type named by a number's suffix.
SUFFIXES: Final[dict[str, str]] = {
    "b": "int8",
    "s": "int16",
    "i": "int32",
    "l": "int64",
    "ll": "int64",
    "ub": "uint8",
    "us": "uint16",
    "u": "uint32",
    "ui": "uint32",
    "ul": "uint64",
    "ull": "uint64",
    "f": "float32",
    "d": "float64",
}
PRINTED_SUFFIXES: Final = {scalar: suffix for suffix, scalar in SUFFIXES.items() if suffix not in ("ll", "u", "ull")}

KEYWORDS: Final = frozenset((*TYPES, "true", "false", "return"))
