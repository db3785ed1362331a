"""HTML, MathML and SVG from plain data: elements that escape their texts, one style, tables and pictures."""

from .blocks import Cell, bar, block, code, details, figure, formula, table, title
from .elements import Element, element
from .planes import Axis, Layer, Plane, Rectangle, Span, plane_svg
from .sheets import beside, standalone
from .text import plane_text
from .works import Work, work_svg

__all__ = [
    "Axis",
    "Cell",
    "Element",
    "Layer",
    "Plane",
    "Rectangle",
    "Span",
    "Work",
    "bar",
    "beside",
    "block",
    "code",
    "details",
    "element",
    "figure",
    "formula",
    "plane_svg",
    "plane_text",
    "standalone",
    "table",
    "title",
    "work_svg",
]
