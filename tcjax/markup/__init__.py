"""HTML, MathML and SVG from plain data: elements that escape their texts, one style, tables and pictures."""

from .blocks import Cell, bar, block, code, details, document, figure, formula, table, title
from .charts import Bar, Limit, bars_svg
from .elements import Element, element
from .planes import Arrows, Axis, Label, Layer, Plane, Rectangle, Span, cell, plane_svg
from .rooflines import Roof, Work, roofline_svg
from .sheets import beside, standalone
from .text import plane_text

__all__ = [
    "Arrows",
    "Axis",
    "Bar",
    "Cell",
    "Element",
    "Label",
    "Layer",
    "Limit",
    "Plane",
    "Rectangle",
    "Roof",
    "Span",
    "Work",
    "bar",
    "bars_svg",
    "beside",
    "block",
    "cell",
    "code",
    "details",
    "document",
    "element",
    "figure",
    "formula",
    "plane_svg",
    "plane_text",
    "roofline_svg",
    "standalone",
    "table",
    "title",
]
