"""Errors in the options of a layer."""

from typing import Any

from ..diagnostics import Code, CompileError, phrases


def not_an_option(name: str, value: Any, help: str) -> CompileError:
    """The error (TC0308) for an invalid value of the option `name` of a layer."""
    return CompileError(Code.BAD_OPTION, f"{name}={phrases.value(value)} is not an option", help=help)
