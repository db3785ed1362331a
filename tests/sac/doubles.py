"""Programs in 64 bits: for difference quotients of the reference."""

from dataclasses import replace
from typing import Any

from tcjax.syntax.sac import tree

from .strategies import children


def in_double(node: Any) -> Any:
    """The program with every float a double."""
    if isinstance(node, tuple):
        return tuple(in_double(child) for child in node)
    if not isinstance(node, tree.Node):
        return node
    match node:
        case tree.Call("tof", arguments):
            return tree.Call("tod", in_double(arguments))
        case tree.TypePattern() if node.scalar == "float32":
            node = replace(node, scalar="float64")
        case _:
            pass
    return replace(node, **{str(field): in_double(child) for field, child in children(node)})
