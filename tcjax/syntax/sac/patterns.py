"""Index patterns, and the index that a generator repeats between its bounds."""

from ...diagnostics import Code, CompileError, Span
from ..lexing import Token
from ..pieces import Piece, nodes
from . import tree

Index = tree.IndexVector | tree.IndexPattern


def index_pattern(components: list[Piece | Token], span: Span) -> tree.IndexPattern:
    """The pattern of names and dots; raises TC0108 for a second ``...`` and for a repeated name."""
    with_one_gap([component for component in components if isinstance(component, Piece)], "a pattern")
    names: set[str] = set()
    for component in components:
        if isinstance(component, Token):
            if component.text in names:
                raise CompileError(
                    Code.BAD_PATTERN,
                    f"`{component.text}` appears twice in this pattern",
                    component.span,
                    help=f"each axis has a name of its own; a diagonal is `{{ [{component.text}] -> "
                    f"a[{component.text}, {component.text}] }}`",
                )
            names.add(component.text)
    elements = tuple(c.text if isinstance(c, Token) else c.node for c in components)
    return tree.IndexPattern(elements, span=span)


def with_one_gap(elements: list[Piece], place: str) -> None:
    """Raises TC0108 at a second ``...`` among `elements`, the parts of `place`."""
    gaps = [element for element in elements if isinstance(element.node, tree.Dot) and element.node.many]
    if len(gaps) > 1:
        raise CompileError(
            Code.BAD_PATTERN,
            f"{place} holds at most one `...`",
            gaps[1].first.span,
            help="write a `.` for each axis that one of them stands for",
        )


def generator(index: Piece, written: Piece) -> tree.Generator:
    """The bounds around the index; raises TC0110 if the index between them is not the partition's.

    In a single relation, the side that is not the index is the bound: ``iv < a`` bounds above, ``a <= iv`` below.
    """
    limits, stride = written.node
    if len(limits) == 3:
        left, relation, right = limits
        if _is(index.node, left):
            lower, upper = None, _bound(relation, right)
        elif _is(index.node, right):
            lower, upper = _bound(relation, left), None
        else:
            raise _bit_or(left) or _other_index(index.node, left if _shares(index.node, left) else right)
    else:
        left, below, middle, above, right = limits
        # A pattern without names is `[]`, which may also be its own bound.
        if _names(index.node) and _is(index.node, left):
            raise CompileError(
                Code.OTHER_INDEX,
                f"`{_shown(index.node)}` is left of both bounds",
                left.first.span_to(left.last),
                help=f"the index goes between its bounds: `lower <= {_shown(index.node)} < upper`",
            )
        if not _is(index.node, middle):
            raise _bit_or(left) or _other_index(index.node, middle)
        lower, upper = _bound(below, left), _bound(above, right)
    step, width = (*nodes(stride), None, None)[:2]
    return tree.Generator(lower, upper, step, width, span=written.first.span_to(written.last))


def is_index(index: Index, value: "tree.Expr | tree.Dot") -> bool:
    """Whether a bound written like this, without parentheses, is taken for the index."""
    match index, value:
        case tree.IndexVector(name), tree.Name(id):
            return name == id
        case tree.IndexPattern(), tree.Vector(elements):
            return elements == tuple(map(tree.Name, index.names))
        case _:
            return False


def _is(index: Index, limit: Piece) -> bool:
    return limit.first.type != "LPAR" and is_index(index, limit.node)


def _bound(relation: Token, limit: Piece) -> tree.Bound:
    return tree.Bound(limit.node, relation.text == "<", span=limit.first.span_to(limit.last))


def _bit_or(limit: Piece) -> CompileError | None:
    """The error for ``{ iv -> a | b | iv < c }``."""
    if isinstance(limit.node, tree.Binary) and limit.node.operator == "|" and limit.first.type != "LPAR":
        return CompileError(
            Code.OTHER_INDEX,
            "the first `|` of a body begins the generator, and this is none",
            limit.first.span_to(limit.last),
            help="write a bit-or in a body in parentheses: `(a | b)`",
        )
    return None


def _other_index(index: Index, limit: Piece) -> CompileError:
    shown = _shown(index)
    dots = isinstance(index, tree.IndexPattern) and len(index.names) < len(index.elements)
    return CompileError(
        Code.OTHER_INDEX,
        f"the bounds of this partition are bounds of `{shown}`, and this is something else",
        limit.first.span_to(limit.last),
        help=f"write `{shown}` between the bounds"
        + (": the names of the pattern in their order, without its dots" if dots else ", as left of the `->`")
        + f": `lower <= {shown} < upper`",
    )


def _shares(index: Index, limit: Piece) -> bool:
    """Whether a limit looks like an index: a name, or a list of names including some of the pattern's."""
    match limit.node:
        case tree.Name(id):
            return id in _names(index)
        case tree.Vector(elements):
            return any(isinstance(element, tree.Name) and element.id in _names(index) for element in elements)
        case _:
            return False


def _names(index: Index) -> tuple[str, ...]:
    return (index.name,) if isinstance(index, tree.IndexVector) else index.names


def _shown(index: Index) -> str:
    return index.name if isinstance(index, tree.IndexVector) else f"[{', '.join(index.names)}]"
