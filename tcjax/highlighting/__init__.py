"""Colours for TC and SaC wherever Pygments is used; only Pygments imports this, through its entry points."""

from .lexers import SacLexer, TensorComprehensionLexer

__all__ = ["SacLexer", "TensorComprehensionLexer"]
