"""What notebooks show of kernels, explanations and plans: HTML and SVG, from data alone."""

from .explanations import show_explanation
from .kernels import show_kernel
from .pictures import Picture, StatementPicture, draw

__all__ = ["Picture", "StatementPicture", "draw", "show_explanation", "show_kernel"]
