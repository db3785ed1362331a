"""Selections: ``a[iv]``, ``a[i, j]``, ``a[., j, ...]``."""

from collections.abc import Sequence
from dataclasses import replace

from ...diagnostics import Code, CompileError, Span
from ...symbolic import Affine
from ...syntax.sac import tree
from ..literals import Value, settled
from ..subscripts import affine, with_caches
from .arrays import Array, Place
from .draft import Draft
from .elementwise import part
from .reading import element
from .statics import outside, require_int


def select(array: Array, index: Sequence[Array | tree.Dot], spans: Sequence[Span], span: Span, draft: Draft) -> Array:
    """The part of an array at an index. Raises `CompileError`: TC0507 for an index longer than the number of axes."""
    components = _components(index, spans, draft)
    single = sum(1 for c in components if not (isinstance(c, tree.Dot) and c.many))
    if single > array.rank:
        raise CompileError(
            Code.INDEX_TOO_LONG,
            f"this index has {single} components, the array {array.rank} {'axis' if array.rank == 1 else 'axes'}",
            span,
            help="select with at most one component for each axis",
        )
    axes = _axes(components, array.rank)
    kept = [axis for axis, component in enumerate(axes) if component is None]
    shape = tuple(array.shape[axis] for axis in kept)
    scalars = [component for component in axes if component is not None]
    free = array.free.union(*(component.free for component in scalars))
    if not draft.instances:
        _check_inside(array, axes, span, draft)
    whole = _spelt_out(array, axes, draft)
    if whole is not None:
        return replace(whole, free=free)

    def read(place: Place) -> Value:
        inner = iter(place)
        full = tuple(next(inner) if component is None else subscript(component, draft) for component in axes)
        return element(array, full, draft, span)

    names = tuple(array.names[axis] for axis in kept) if len(array.names) == array.rank else ()
    return Array(array.kind, shape, read, free, names=names)


def _check_inside(array: Array, axes: Sequence[Array | None], span: Span, draft: Draft) -> None:
    """Raises `CompileError` (TC0706) for a selection that is always executed, and is outside."""
    for component, extent in zip(axes, draft.numbers(array.shape), strict=True):
        if component is not None and not component.free:
            at = subscript(component, draft)
            if not at.terms and not 0 <= draft.number(at.base) < extent:
                raise outside(
                    array.keep or (array.tensor.name if array.tensor else "the array"),
                    draft.number(at.base),
                    extent,
                    span,
                )


def subscript(component: Array, draft: Draft) -> Affine:
    """An int scalar as a subscript."""
    return with_caches(affine(settled(element(component, (), draft))))


def _components(index: Sequence[Array | tree.Dot], spans: Sequence[Span], draft: Draft) -> list[Array | tree.Dot]:
    """The index, one int scalar or dot per position in it."""
    if len(index) == 1 and isinstance(index[0], Array) and index[0].rank == 1:
        vector = index[0]
        require_int(vector, "an index", spans[0])
        return [part(vector, number, draft) for number in range(draft.number(vector.shape[0]))]
    for component, span in zip(index, spans, strict=True):
        if isinstance(component, tree.Dot):
            continue
        require_int(component, "an index", span)
        if component.rank:
            raise CompileError(
                Code.WRONG_TYPE,
                f"an index vector in a scalar context: this component of the index has {component.rank} "
                f"{'axis' if component.rank == 1 else 'axes'}",
                span,
                help="select with the vector alone, `a[iv]`, or join vectors first: `a[[0] ++ iv]`",
            )
    return list(index)


def _axes(components: list[Array | tree.Dot], rank: int) -> list[Array | None]:
    """For each axis the component that selects from it; None if the axis is kept."""
    single = sum(1 for c in components if not (isinstance(c, tree.Dot) and c.many))
    axes: list[Array | None] = []
    for component in components:
        if isinstance(component, Array):
            axes.append(component)
        elif component.many:
            axes += [None] * (rank - single)
        else:
            axes.append(None)
    return axes + [None] * (rank - len(axes))


def _spelt_out(array: Array, axes: Sequence[Array | None], draft: Draft) -> Array | None:
    """A part that was written out, such as a component of an index vector; None if it must be read."""
    if array.cells is None or array.tensor is not None or not axes or axes[0] is None:
        return None
    if axes[0].free:
        return None
    at = subscript(axes[0], draft)
    if at.terms:
        return None
    position = draft.number(at.base)
    if not 0 <= position < len(array.cells):
        return None
    cell = array.cells[position]
    if all(component is None for component in axes[1:]):
        return cell
    return None
