"""Mistakes in what a layer is made with."""

from typing import Any

from ..diagnostics import Code, CompileError, phrases


def not_an_option(name: str, value: Any, help: str) -> CompileError:
    """The error (TC0308) for a value that the option `name` of a layer cannot have."""
    return CompileError(Code.BAD_OPTION, f"{name}={phrases.value(value)} is not an option", help=help)
