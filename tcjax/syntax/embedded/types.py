"""The types in annotations: TC's strings, and jaxtyping's dimensions."""

import re
from collections.abc import Sequence
from typing import Final

from ...diagnostics import Code, CompileError, Span
from .. import ast

_INTEGERS: Final = tuple(f"{kind}{bits}" for kind in ("uint", "int") for bits in (8, 16, 32, 64))
CANONICAL: Final = ("bool", *_INTEGERS, "float16", "bfloat16", "float32", "float64", "complex64", "complex128")

SCALARS: Final = {name: name for name in CANONICAL} | {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "byte": "uint8",
    "int": "int32",
}

# jaxtyping's `Float` means any float; a declared type here is a single type.
JAXTYPING: Final = {
    "Float": "float32",
    "Int": "int32",
    "UInt": "uint32",
    "Bool": "bool",
    "Complex": "complex64",
    "BFloat16": "bfloat16",
    **{f"Float{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"Complex{bits}": f"complex{bits}" for bits in (64, 128)},
    **{f"Int{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}

# Words that TC text cannot use as names: its keywords, but not its newer types (`int`, `half`, `complex64`, ...).
_KEYWORD_TYPES: Final = ("bool", *_INTEGERS, "float16", "float32", "float64", "float", "double")
RESERVED: Final = frozenset({"min", "max", "where", "def", "in", "exists", *_KEYWORD_TYPES})

_TYPE: Final = re.compile(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*")


def parse_type(text: str, span: Span) -> ast.TensorType:
    """``float(M, 3)`` as a type. Raises `CompileError` (TC0101, TC0301, TC0107, TC0203)."""
    found = _TYPE.fullmatch(text)
    if found is None:
        raise CompileError(Code.UNEXPECTED_TOKEN, f"`{text}` is not a type", span, help='write `"float(M,K)"`')
    scalar, dimensions = found[1], (found[2] or "").strip()
    if scalar not in SCALARS:
        known = ", ".join(SCALARS)
        raise CompileError(Code.WRONG_TYPE, f"`{scalar}` is not a scalar type", span, help=f"write one of {known}")
    words = [word.strip() for word in dimensions.split(",")] if dimensions else []
    return tensor_type(SCALARS[scalar], words, span)


def tensor_type(scalar: str, words: Sequence[str], span: Span) -> ast.TensorType:
    """The type with these dimensions; if the first is ``...``, any number of dimensions precede the rest."""
    batch = list(words[:1]) == ["..."]
    return ast.TensorType(scalar, tuple(parse_dimension(word, span) for word in words[batch:]), batch, span=span)


def parse_dimension(word: str, span: Span) -> str | int:
    """``M`` or ``3``: a size's name, or an extent."""
    if word.isascii() and word.isdigit():
        if len(word) > 18:
            raise CompileError(Code.BAD_NUMBER, "this extent is too large", span, help="write one below 2**31")
        return int(word)
    if not word.isidentifier():
        raise CompileError(
            Code.NOT_IN_THE_NOTATION,
            f"`{word}` is not a dimension",
            span,
            help="a dimension is the name of a size or a number; leave the annotation out where it is neither",
        )
    if word in RESERVED:
        raise reserved(word, span)
    return word


def reserved(name: str, span: Span) -> CompileError:
    return CompileError(
        Code.RESERVED_NAME,
        f"`{name}` is a word of the notation and cannot name anything",
        span,
        help=f"choose another name, `{name}_` for example",
    )
