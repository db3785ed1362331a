"""Annotations of parameters and results as types: TC's strings, jaxtyping, or nothing."""

import ast as python
from collections.abc import Mapping

from ...diagnostics import Code, CompileError
from .. import ast
from .refusals import not_in_notation
from .script import Script
from .types import JAXTYPING, SCALARS, parse_type, tensor_type

# Annotations that say nothing about the type: `mypy --strict` asks for one.
_ARRAYS = frozenset({"Any", "Array", "ArrayLike", "ndarray"})


def read_annotation(node: python.expr | None, script: Script, scope: Mapping[str, object]) -> ast.TensorType | None:
    """The type that an annotation declares, or None. Raises `CompileError` (TC0105, TC0301 and those of `types`)."""
    match node:
        case None | python.Constant(value=None):
            return None
        case python.Constant(value=str() as text):
            quoted = _quoted(text) if "[" in text else None
            return parse_type(text, script.span(node)) if quoted is None else _jaxtyping(quoted, node, script)
        case python.Subscript():
            return _jaxtyping(node, node, script)
        case python.Name(id=name) | python.Attribute(attr=name) if name in _ARRAYS:
            return None
        case python.Name(id=name) if isinstance(text := scope.get(name), str):
            return parse_type(text, script.span(node))
        case python.Name(id=name) | python.Attribute(attr=name) if name in SCALARS:
            return ast.TensorType(SCALARS[name], (), span=script.span(node))
        case _:
            raise _unknown(node, script)


def read_results(node: python.expr | None, script: Script, scope: Mapping[str, object]) -> list[ast.TensorType | None]:
    """The types that a return annotation declares, one for each result; empty without an annotation."""
    match node:
        case None | python.Constant(value=None):
            return []
        case (
            python.Tuple(elts=parts)
            | python.Subscript(value=python.Name(id="tuple" | "Tuple"), slice=python.Tuple(elts=parts))
        ):
            return [read_annotation(part, script, scope) for part in parts]
        case _:
            return [read_annotation(node, script, scope)]


def _quoted(text: str) -> python.Subscript | None:
    try:
        node = python.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return node if isinstance(node, python.Subscript) else None


def _jaxtyping(node: python.Subscript, place: python.expr, script: Script) -> ast.TensorType:
    match node:
        case python.Subscript(
            value=python.Name(id=name) | python.Attribute(attr=name),
            slice=python.Tuple(elts=[_, python.Constant(value=str() as dimensions)]),
        ):
            span = script.span(place)
            if name not in JAXTYPING:
                raise CompileError(
                    Code.WRONG_TYPE, f"`{name}` is not one scalar type", span, help="write `Float32`, `Int32` or `Bool`"
                )
            return tensor_type(JAXTYPING[name], dimensions.split(), span)
        case _:
            raise _unknown(place, script)


def _unknown(node: python.expr, script: Script) -> CompileError:
    return not_in_notation(
        "this annotation is not a tensor's type",
        node,
        script,
        help='write `"float(M,K)"` or `Float32[Array, "M K"]`, or leave it out',
    )
