"""The role of each dimension of a parameter in its program: summed over, kept, a window, or a batch."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import product

from .. import ir
from ..symbolic import Affine, IndexVar


class Role(Enum):
    """How a program uses a dimension of a parameter.

    * BATCH: kept, and an input of the same product runs along it too, or it is indexed by data.
    * WINDOW: summed over, and added to a kept index of an input: ``kh`` in ``x(h+kh) * w(kh)``.
    * IN: summed over.
    * OUT: kept.
    """

    BATCH = "batch"
    WINDOW = "window"
    IN = "in"
    OUT = "out"


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of a parameter: its role, and the name of its index if the subscript is a bare index."""

    role: Role
    index: str | None


@dataclass(frozen=True, slots=True)
class _Read:
    access: ir.Access
    reduced: frozenset[IndexVar]


# The factors of one product.
_Term = tuple[_Read, ...]

# Products of sums are expanded up to this many terms.
_MOST_TERMS = 64


def dimensions(function: ir.Function, name: str, learned: frozenset[str]) -> tuple[Dimension, ...]:
    """The role of each dimension of the parameter `name`; `learned` are the names of all learned parameters.

    If there are several reads, the first one that sums over the dimension decides, else the first.
    """
    tensor = next(parameter for parameter in function.parameters if parameter.name == name)
    found = list(_uses(function, name, learned))
    return tuple(_joined([use[number] for use in found]) for number in range(tensor.rank))


def _joined(uses: list[Dimension]) -> Dimension:
    summed = [use for use in uses if use.role in (Role.IN, Role.WINDOW)]
    return (summed or uses or [Dimension(Role.OUT, None)])[0]


def _uses(function: ir.Function, name: str, learned: frozenset[str]) -> Iterator[tuple[Dimension, ...]]:
    for statement in function.statements:
        match statement:
            case ir.Define(value=value):
                terms = _terms(value, frozenset())
            case ir.Accumulate(value=value, reduction=reduction):
                terms = _terms(value, frozenset(reduction))
            case ir.Invoke(_, callee, arguments):
                inner = [p.name for p, a in zip(callee.parameters, arguments, strict=True) if a.name in learned]
                for parameter, argument in zip(callee.parameters, arguments, strict=True):
                    if argument.name == name:
                        yield from _uses(callee, parameter.name, frozenset(inner))
                continue
            case ir.ApplyForeign():
                continue
        for term in terms:
            for read in term:
                if read.access.tensor.name == name:
                    others = [other for other in term if other.access.tensor.name not in learned]
                    yield tuple(_dimension(subscript, read, others) for subscript in read.access.indices)


def _dimension(subscript: Affine, read: _Read, others: list[_Read]) -> Dimension:
    index = subscript.bare
    name = None if index is None else index.name
    if subscript.is_data:
        return Dimension(Role.BATCH, name)
    kept = subscript.variables - read.reduced
    if not kept and subscript.variables:
        slides = any(
            subscript.variables & s.variables and s.variables - other.reduced
            for other in others
            for s in other.access.indices
        )
        return Dimension(Role.WINDOW if slides else Role.IN, name)
    shared = any(kept & s.variables for other in others for s in other.access.indices)
    return Dimension(Role.BATCH if shared else Role.OUT, name)


def _terms(expr: ir.Expr, reduced: frozenset[IndexVar]) -> list[_Term]:
    """The reads of an expression, grouped by the product in which they occur."""
    match expr:
        case ir.Access():
            return [(_Read(expr, reduced),)]
        case ir.Reduce(indices=indices, body=body):
            return _terms(body, reduced | frozenset(indices))
        case ir.Binary("*" | "/", left, right):
            return _products(_terms(left, reduced), _terms(right, reduced))
        case ir.Select(_, then, otherwise):
            return [*_terms(then, reduced), *_terms(otherwise, reduced)]
        case _:
            return [term for child in ir.children(expr) for term in _terms(child, reduced)]


def _products(left: list[_Term], right: list[_Term]) -> list[_Term]:
    if not left or not right:
        return left or right
    if len(left) * len(right) > _MOST_TERMS:
        return [tuple(read for term in (*left, *right) for read in term)]
    return [(*a, *b) for a, b in product(left, right)]
