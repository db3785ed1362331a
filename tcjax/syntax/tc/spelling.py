"""How TC text spells types and operators, and the words that cannot be names."""

from typing import Final

# The spellings of types, and their canonical names. (`ir.types` has the same table: rooms do not share it.)
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
    "half": "float16",
    "byte": "uint8",
    "int": "int32",
}

# The names TC's own texts use; every other type prints under its canonical name.
PRINTED_TYPES: Final = {"float32": "float", "float64": "double"}

OPERATORS: Final[dict[str, str]] = {"and": "&&", "or": "||", "not": "!", "=<": "<="}

KEYWORDS: Final = frozenset(
    (
        *("def", "where", "in", "exists", "min", "max", "bool", "float", "double", "float16", "float32", "float64"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
)
