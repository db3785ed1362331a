"""Translates the patterns of einops to statements of index notation."""

from .lexing import Token


def pattern(tokens: list[Token]) -> str:
    """What to write for ``b h w c -> b (h w) c``, with the pattern's names."""
    general = "a text is a program, not a pattern of einops: name the indices, `B(b,h,w,c) = A(b,c,h,w)`"
    arrow = next((at for at, token in enumerate(tokens) if token.type == "ARROW"), None)
    if arrow is None:
        return general
    left, right = _axes(tokens[:arrow]), _axes(tokens[arrow + 1 : -1])
    if left is None or right is None:
        return general
    names = [name for axis in left for name in axis]
    if any(len(axis) > 1 for axis in left) or len(set(names)) < len(names) or len(right) > 8:
        return general
    written = ", ".join(_place(axis, {name: at for at, name in enumerate(names)}) for axis in right)
    dropped = any(name not in {n for axis in right for n in axis} for name in names)
    if {name for axis in right for name in axis} - set(names):
        return general
    operator = "max=!" if dropped else "="
    reduces = " (or `+=!` for a sum)" if dropped else ""
    return f"a text is a program, not a pattern of einops: `B({written}) {operator} A({', '.join(names)})`{reduces}"


def _place(axis: list[str], dimensions: dict[str, int]) -> str:
    """The subscript of an axis of the result: ``h * A.2 + w`` for ``(h w)``."""
    place = axis[0]
    for name in axis[1:]:
        scaled = f"({place})" if "+" in place else place
        place = f"{scaled} * A.{dimensions.get(name, 0)} + {name}"
    return place


def _axes(tokens: list[Token]) -> list[list[str]] | None:
    """The axes of one side, each as its names; None if it is not a pattern."""
    axes: list[list[str]] = []
    inside = False
    for token in tokens:
        match token.type:
            case "LPAR" if not inside:
                inside = True
                axes.append([])
            case "RPAR" if inside and axes[-1]:
                inside = False
            case "NAME" if inside:
                axes[-1].append(token.text)
            case "NAME":
                axes.append([token.text])
            case _:
                return None
    return axes if axes and not inside else None
