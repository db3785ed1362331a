"""The planner's knowledge while it plans one statement."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from .. import ir
from ..symbolic import Affine, Box, Facts, IndexVar, Size
from ..transforms.factors import masked
from .data.nests import LoopSchedule, Nest, Operand
from .data.nodes import Apply, Axes, Fill, Node
from .data.preferences import Preferences
from .data.price import Price
from .data.views import Viewed

# Mantissa bits of the types in which constants are combined, and exponents far from the limits.
_DIGITS: Final = {"float32": 24, "float64": 53}
_EXPONENTS: Final = 120

# The logical index of the first element in each dimension: for a tensor computed piece by piece in a loop, it moves.
Origins = Mapping[str, tuple[int | Affine, ...]]
# A reduction, the steps that it depends on, and whether it is inside of terms.
Planned = tuple[ir.Reduce, frozenset[IndexVar], bool]
# The assumed value of an unknown size when orders are compared.
TYPICAL: Final = 1 << 10


@dataclass(frozen=True, slots=True)
class Rival:
    """The next best computation of what `chosen` computes, and by how much it is `dearer`."""

    chosen: Node
    node: Node
    dearer: Price


@dataclass(frozen=True, slots=True)
class Scope:
    """Ranges of the indices, extents and origins of the tensors, the order of axes, and which indices are unrolled.

    What `is_term` is computed inside of terms that are written out, whether or not it depends on their steps. The steps
    of `loops` run around everything: of operands only what one step reads is there.
    With `nests`, reductions whose space is large become loop nests; `form` is how they run if someone chose it.
    `live` is true where an enclosing ternary or guard lets the expression count (None: everywhere), which is where all
    of `counts` hold. `views` are the tensors that are views of others. `facts` hold at every point that is computed,
    whether it counts or not. What was chosen by price has its rival among the `rivals`, by the identity of its node,
    and `planned` has the reductions that were planned before, with their scopes.

    With symbolic sizes, the box contains sizes, and `sizes` gives the value of each, which replaces numbers in nodes:
    it can be computed with, but not always compared (None: sizes are numbers).
    """

    box: Box
    shapes: Mapping[str, tuple[int, ...]]
    origins: Origins
    order: Mapping[IndexVar, int]
    unrolled: frozenset[IndexVar] = frozenset()
    is_term: bool = False
    loops: frozenset[IndexVar] = frozenset()
    live: Node | None = None
    counts: frozenset[ir.Expr] = frozenset()
    views: Mapping[str, Viewed] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    nests: Preferences | None = None
    form: LoopSchedule | None = None
    sizes: Callable[[Size], int] | None = None
    rivals: dict[int, Rival] = field(default_factory=dict, compare=False)
    planned: "dict[Planned, list[tuple[Scope, Node]]]" = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if self.facts.ranges is not self.box:
            object.__setattr__(self, "facts", Facts.over(self.box))

    def number(self, size: Size | int) -> int:
        """The value of a size."""
        if self.sizes is not None:
            return self.sizes(Size.of(size))
        number = size if isinstance(size, int) else size.constant
        assert number is not None, "sizes are numbers by now"
        return number

    def extent(self, index: IndexVar) -> int:
        lo, hi = self.box[index]
        return max(0, hi - lo) if self.sizes is None else self.number(hi - lo)

    def points(self, indices: Iterable[IndexVar]) -> int:
        """The number of points in the box of these indices; an estimate if sizes are symbolic."""
        count = 1
        for index in indices:
            extent = self.extent(index)
            count *= extent if isinstance(extent, int) else TYPICAL
        return count

    def sorted(self, indices: Iterable[IndexVar]) -> Axes:
        """Distinct indices in the order of the statement: left side first, reductions last (minor)."""
        return tuple(sorted(set(indices), key=lambda index: (self.order.get(index, len(self.order)), str(index))))

    def bounds(self, affine: Affine) -> tuple[int, int] | None:
        """The least and the greatest value of a subscript over the box; None if it depends on data or symbols."""
        return self.facts.values(affine) if self.sizes is None else None

    def is_like(self, other: "Scope") -> bool:
        """Whether another scope contains the same knowledge, apart from its steps."""
        return (
            self.box is other.box
            and self.facts is other.facts
            and self.live is other.live
            and self.counts == other.counts
            and self.order is other.order
            and (self.shapes is other.shapes and self.origins is other.origins and self.views is other.views)
            and (self.nests is other.nests and self.form is other.form and self.sizes is other.sizes)
        )

    def unrolling(self, indices: Iterable[IndexVar]) -> "Scope":
        return replace(self, unrolled=self.unrolled | frozenset(indices), is_term=True)

    def binding(self, indices: Iterable[IndexVar]) -> "Scope":
        """The scope of a reduction over these indices, which are its own, whatever is unrolled around it."""
        inside = self.unrolled.difference(indices)
        return self if len(inside) == len(self.unrolled) else replace(self, unrolled=inside)

    def where(self, live: Node, condition: ir.Expr) -> "Scope":
        """The scope of an expression that is used only where `live` holds, which is the condition."""
        both = live if self.live is None else self.apply("&&", (self.live, live), "bool")
        return replace(self, live=both, counts=self.counts.union(ir.conjuncts(condition)))

    def with_index(self, index: IndexVar, lo: int, hi: int, beside: IndexVar) -> "Scope":
        """The scope with one more index, which takes the place of `beside` in the order of axes."""
        order = {**self.order, index: self.order.get(beside, len(self.order))}
        facts = self.facts.with_ranges({index: (lo, hi)})
        return replace(self, box=facts.ranges, order=order, facts=facts)

    def apply(self, operator: str, arguments: tuple[Node, ...], dtype: str) -> Apply:
        axes = self.sorted(axis for argument in arguments for axis in argument.axes)
        return Apply(operator, arguments, dtype=dtype, axes=axes)

    def scaled(self, operator: str, arguments: tuple[Node, Node], dtype: str) -> Node:
        """``*`` or ``/``; consecutive scalings by constants are merged, or dropped, if that is exact."""
        node = self.apply(operator, arguments, dtype)
        outer = scale_of(node)
        inner = None if outer is None else scale_of(outer[1])
        if outer is None or inner is None or outer[1].dtype != dtype:
            return node
        scale, rest = outer[0] * inner[0], inner[1]
        if scale == 1:
            return rest
        return self.apply("*", (rest, fill(float(scale), dtype)), dtype) if _is_exact(scale, dtype) else node

    def cast(self, node: Node, dtype: str) -> Node:
        if node.dtype == dtype:
            return node
        return self.apply("cast", (node,), dtype)


def fill(value: bool | int | float | complex, dtype: str) -> Fill:
    return Fill(value, dtype=dtype)


def scale_of(node: Node) -> tuple[Fraction, Node] | None:
    """The constant that scales a product or a quotient of floats, and the scaled value, which has the same type."""
    match node:
        case Apply("*", (first, second)) if node.dtype in _DIGITS:
            pairs = ((first, second), (second, first))
        case Apply("/", (dividend, divisor)) if node.dtype in _DIGITS:
            number = _number(divisor)
            return None if not number or dividend.dtype != node.dtype else (1 / number, dividend)
        case _:
            return None
    found = ((_number(scale), rest) for scale, rest in pairs)
    return next(((number, rest) for number, rest in found if number and rest.dtype == node.dtype), None)


def _number(node: Node) -> Fraction | None:
    """The value of a constant, if it is finite."""
    match node:
        case Apply("cast", (Fill(int() as value),)) if not isinstance(value, bool):
            number = Fraction(value)
        case Fill(int() | float() as value) if math.isfinite(value):
            number = Fraction(value)
        case _:
            return None
    return number if _is_exact(number, node.dtype) else None


def _is_exact(number: Fraction, dtype: str) -> bool:
    """Whether a normal number of this type has the value."""
    if not number:
        return True
    mantissa = abs(number.numerator)
    places = (mantissa // (mantissa & -mantissa)).bit_length()
    size = number.numerator.bit_length() - number.denominator.bit_length()
    is_binary = number.denominator & (number.denominator - 1) == 0
    return is_binary and places <= _DIGITS.get(dtype, 0) and abs(size) < _EXPONENTS


def masked_by(guard: ir.Expr | None, body: ir.Expr, reducer: ir.Reducer | ir.Monoid, accumulate: str) -> ir.Expr:
    """The body where the guard holds, elsewhere the neutral element in the type `accumulate`."""
    nothing = reducer.empty(body.dtype)
    if guard is not None and nothing != reducer.empty(accumulate):
        # The smallest number of one integer type is not the smallest of another.
        body, nothing = ir.Cast(body, accumulate), reducer.empty(accumulate)
    return masked(guard, body, nothing)


def scope_of(operands: Iterable[Operand], order: Iterable[IndexVar], box: Box, steps: Iterable[IndexVar] = ()) -> Scope:
    """The scope of a reader of these operands: axes have this order, and those of `steps` in the box are steps."""
    operands = tuple(operands)
    unrolled = frozenset(step for step in steps if step in box)
    return Scope(
        box,
        {o.name: o.shape for o in operands},
        {o.name: o.origin for o in operands},
        {index: number for number, index in enumerate(dict.fromkeys((*order, *box)))},
        unrolled=unrolled,
        is_term=bool(unrolled),
        loops=unrolled,
    )


def plain_scope(nest: Nest) -> Scope:
    """The scope of a nest on its own: it plans no further nests."""
    return scope_of(nest.operands, (*nest.axes, *nest.reduce.indices), nest.ranges)
