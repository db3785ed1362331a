"""Mistakes, where they are, and how they are shown."""

from .codes import Code, Kind
from .errors import CompileError, CompileWarning, render, show_place, show_warning, warn
from .source import NO_SOURCE, NOWHERE, Source, Span

__all__ = [
    "NOWHERE",
    "NO_SOURCE",
    "Code",
    "CompileError",
    "CompileWarning",
    "Kind",
    "Source",
    "Span",
    "render",
    "show_place",
    "show_warning",
    "warn",
]
