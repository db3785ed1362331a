"""The tree of the SaC notation: array expressions, comprehensions, functions.

An array language has other nodes than index notation, so it has its own tree; both become one typed IR. Equality
ignores the place of a node, so ``read(write(tree)) == tree`` is a law.
"""

from dataclasses import dataclass

from ..ast import Node

# ---------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Number(Node):
    """``3``, ``2.5``, ``1e-3``, ``true``; with a suffix, ``2f`` or ``1d``, `scalar` is the type that it names.

    `scalar` is a canonical type name (``float32``, not ``float``), None if the literal takes its neighbour's type.
    """

    value: bool | int | float
    scalar: str | None = None


@dataclass(frozen=True, slots=True)
class Name(Node):
    """``a``, ``i``, ``iv``: an argument, a let, an index or an index vector."""

    id: str


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``-e``, ``+e``, ``!e``, ``~e``."""

    operator: str
    operand: "Expr"


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """``a op b`` with op one of ``|| && | ^ & == != < <= > >= ++ ++^ << >> + - * / %``."""

    operator: str
    left: "Expr"
    right: "Expr"


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """``c ? a : b``."""

    condition: "Expr"
    then: "Expr"
    otherwise: "Expr"


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``f(a, b)``: a function of the library, of the text, or of ``fns``."""

    function: str
    arguments: "tuple[Expr, ...]"


@dataclass(frozen=True, slots=True)
class Vector(Node):
    """``[a, b, c]``: cells of one shape, stacked; ``[]`` is the empty vector of ints."""

    elements: "tuple[Expr, ...]"


@dataclass(frozen=True, slots=True)
class Dot(Node):
    """``.``, one axis, or ``...`` (`many`), any number of axes; in patterns and selections."""

    many: bool = False


@dataclass(frozen=True, slots=True)
class Select(Node):
    """``array[e1, e2]``; one element may be a whole index vector. ``a[[i, .]]`` reads as ``a[i, .]``."""

    array: "Expr"
    index: "tuple[Expr | Dot, ...]"


# ---------------------------------------------------------------- comprehensions


@dataclass(frozen=True, slots=True)
class IndexVector(Node):
    """``iv``: one name for the whole index, of any length."""

    name: str


@dataclass(frozen=True, slots=True)
class IndexPattern(Node):
    """``[i, ., ..., k]``: `elements` are names and dots, at most one of them ``...``; each name once."""

    elements: tuple[str | Dot, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The named components, in order."""
        return tuple(element for element in self.elements if isinstance(element, str))


@dataclass(frozen=True, slots=True)
class Bound(Node):
    """One side of a generator: an int vector or ``.``; `strict` for ``<`` instead of ``<=``."""

    value: "Expr | Dot"
    strict: bool


@dataclass(frozen=True, slots=True)
class Generator(Node):
    """``lower <= index < upper step s width w``; each part may be missing, but not both bounds. No width without a
    step.
    """

    lower: Bound | None
    upper: Bound | None
    step: "Expr | None" = None
    width: "Expr | None" = None


@dataclass(frozen=True, slots=True)
class Partition(Node):
    """``index -> body | generator``."""

    index: IndexVector | IndexPattern
    body: "Expr"
    generator: Generator | None = None


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """``{ partition; partition }``: the first one that covers an element defines it, the last one fixes the shape."""

    partitions: tuple[Partition, ...]


Expr = Number | Name | Unary | Binary | Conditional | Call | Vector | Select | Comprehension


# ---------------------------------------------------------------- functions


@dataclass(frozen=True, slots=True)
class Axis(Node):
    """One axis of a type pattern: ``.`` (None), an extent ``3``, or a name ``m`` that is bound to the extent."""

    extent: str | int | None = None


@dataclass(frozen=True, slots=True)
class Axes(Node):
    """Several axes of a type pattern: ``*``, ``+``, ``2:shp``, ``d:shp``, ``d>0:shp``.

    `count` is a number, or a name that is bound to it, or None; `least` the smallest number allowed (1 for ``+``, 3 for
    ``d>2:shp``); `name` is bound to the vector of extents, None for ``*`` and ``+``.
    """

    count: str | int | None = None
    least: int = 0
    name: str | None = None


@dataclass(frozen=True, slots=True)
class TypePattern(Node):
    """``float[m, k]``, ``int``: a canonical scalar type and its axes."""

    scalar: str
    axes: tuple[Axis | Axes, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """``float[m, k] A``."""

    name: str
    type: TypePattern


@dataclass(frozen=True, slots=True)
class Let(Node):
    """``name = e;``; several names take the results of a call, or of a comprehension whose body is one."""

    names: tuple[str, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Function(Node):
    """``results name(parameters) | guards { lets return e; }``; several results are returned as ``return (a, b);``."""

    name: str
    results: tuple[TypePattern, ...]
    parameters: tuple[Parameter, ...]
    guards: tuple[Expr, ...]
    lets: tuple[Let, ...]
    returns: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Program(Node):
    """Functions, lets, and the final expression; None in a text of functions only."""

    functions: tuple[Function, ...]
    lets: tuple[Let, ...]
    result: Expr | None
