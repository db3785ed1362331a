"""What notebooks show of kernels, explanations and plans: HTML and SVG, from data alone."""

from .explanations import show_explanation
from .kernels import show_kernel
from .pictures import KINDS, Picture, StatementPicture, draw
from .subjects import Kind, Mesh, Subject

__all__ = [
    "KINDS",
    "Kind",
    "Mesh",
    "Picture",
    "StatementPicture",
    "Subject",
    "draw",
    "show_explanation",
    "show_kernel",
]
