"""A kernel as a page of a notebook: its formula, its ranges, its text."""

from .. import ranges
from ..markup import Element, block, code, details, element, formula, title
from ..typesetting import mathml, typeset
from .ranges import symbolic_table


def show_kernel(name: str, text: str, found: ranges.SymbolicRanges | None) -> str:
    """HTML without scripts; only the text where the program depends on arguments (None)."""
    if found is None:
        said = element("p", "What it is in index notation depends on its arguments.", class_="faint")
        return str(block(title(name), code(text), said))
    function = found.function
    parts: list[Element] = [title(name, _signature(found)), formula(mathml(typeset(function)))]
    parts += [symbolic_table(found), details("the program", code(text))]
    return str(block(*parts))


def _signature(found: ranges.SymbolicRanges) -> str:
    function = found.function
    parameters = ", ".join(f"{t.name}: {t.dtype}[{', '.join(map(str, t.shape))}]" for t in function.parameters)
    returns = ", ".join(t.name for t in function.returns)
    return f"({parameters}) → {returns}"
