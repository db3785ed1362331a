"""Mistakes, their places, and how they are shown."""

from . import phrases
from .callers import ShownToCallers
from .codes import Code, Kind
from .errors import CompileError, CompileWarning, DataError, render, show_place, silenced, warn
from .pages import explanation, title
from .source import NO_SOURCE, NOWHERE, Source, Span

__all__ = [
    "NOWHERE",
    "NO_SOURCE",
    "Code",
    "CompileError",
    "CompileWarning",
    "DataError",
    "Kind",
    "ShownToCallers",
    "Source",
    "Span",
    "explanation",
    "phrases",
    "render",
    "show_place",
    "silenced",
    "title",
    "warn",
]
