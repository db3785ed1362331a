"""How the tensors that a stream reads lie in memory while it runs."""

from dataclasses import dataclass, replace

from .. import ir
from ..symbolic import IndexVar, Size
from .nests import Nest, Operand


@dataclass(frozen=True, slots=True)
class Layout:
    """`name` is `tensor` with its dimensions in `order`."""

    name: str
    tensor: str
    order: tuple[int, ...]


def laid_out(nest: Nest, loop: IndexVar, minor: IndexVar | None) -> tuple[Nest, tuple[Layout, ...]]:
    """The nest with the dimension that walks along `minor` last in every tensor, so that vectors are read whole.

    A tensor that is read along different indices in different places becomes one for each.
    """
    known = {operand.name: operand for operand in nest.operands}
    layouts: dict[tuple[str, int | None, int | None], Layout] = {}

    def layout(access: ir.Access) -> Layout:
        name = access.tensor.name
        key = name, _place(access, loop), _place(access, minor)
        if key not in layouts:
            others = sum(1 for tensor, *_ in layouts if tensor == name)
            last = len(access.indices) if key[2] is None else key[2]
            order = tuple(sorted(range(len(access.indices)), key=lambda place: (place == last, place)))
            # No program has a name like this.
            layouts[key] = Layout(f"{name}.{others}" if others else name, name, order)
        return layouts[key]

    def visit(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, visit)
        if not isinstance(expr, ir.Access) or expr.tensor.name not in known:
            return expr
        found = layout(expr)
        shape = tuple(Size.of(known[found.tensor].shape[place]) for place in found.order)
        tensor = replace(expr.tensor, name=found.name, shape=shape)
        return replace(expr, tensor=tensor, indices=tuple(expr.indices[place] for place in found.order))

    if ir.looks_up(nest.reduce):
        # A subscript is a place of its own, where tensors keep their names.
        return nest, tuple(Layout(o.name, o.name, tuple(range(len(o.shape)))) for o in nest.operands)
    reduce = visit(nest.reduce)
    assert isinstance(reduce, ir.Reduce)
    found = tuple(layouts.values())
    return replace(nest, reduce=reduce, operands=tuple(_operand(known[one.tensor], one) for one in found)), found


def _operand(operand: Operand, layout: Layout) -> Operand:
    shape = tuple(operand.shape[place] for place in layout.order)
    return replace(operand, name=layout.name, shape=shape, origin=tuple(operand.origin[p] for p in layout.order))


def _place(access: ir.Access, index: IndexVar | None) -> int | None:
    """The dimension that an index walks along, if it is one."""
    places = [place for place, subscript in enumerate(access.indices) if index in subscript.variables]
    return places[0] if len(places) == 1 else None
