"""Run-time errors of a statement and their conditions: data-dependent subscripts and targets, divisors, slopes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from .. import ir
from ..diagnostics import Span
from ..ir.integers import integer
from ..ir.printer import show_expr
from ..ranges import Bound
from ..symbolic import IndexVar

# Functions with an infinite slope, where the chain rule gives no answer: at zeros of (one of) these expressions.
_STEEP: Final = ("sqrt", "cbrt", "pow", "**", "hypot", "rhypot", "norm3d", "norm4d", "atan2")
_ON_INTEGERS: Final = ("/", "//", "%", "quot", "rem")

Kind = Literal["outside", "division", "nan", "slope", "meeting"]
# Parts of a sentence: an index stands for its value, None for the offending value.
Words = tuple[str | IndexVar | None, ...]


@dataclass(frozen=True, slots=True)
class Path:
    """The indices around an expression, and the conditions under which it is evaluated."""

    indices: tuple[IndexVar, ...]
    guards: tuple[ir.Expr, ...] = ()
    slopes: bool = False

    def where(self, guard: ir.Expr | None) -> "Path":
        return self if guard is None else replace(self, guards=(*self.guards, guard))


@dataclass(frozen=True, slots=True)
class Finding:
    """An error where `wrong` holds on a path; `value` is the offending value."""

    kind: Kind
    words: Words
    path: Path
    wrong: ir.Expr
    value: ir.Expr
    span: Span


def findings(statement: ir.Define | ir.Accumulate, bound: Bound, *, slopes: bool) -> Iterator[Finding]:
    """Every possible run-time error of a statement, inner expressions first."""
    reduced = statement.reduction if isinstance(statement, ir.Accumulate) else ()
    outer = Path(tuple(dict.fromkeys((*statement.domain.loops, *ir.left_indices(statement), *reduced))), slopes=slopes)
    path = outer.where(statement.domain.guard)
    if statement.domain.guard is not None:
        yield from _inside(statement.domain.guard, outer, bound)
    yield from _inside(statement.value, path, bound)
    access = ir.Access(statement.target, statement.indices, span=statement.span)
    yield from _subscripts(access, path, bound, "writes")


def _inside(expr: ir.Expr, path: Path, bound: Bound) -> Iterator[Finding]:
    match expr:
        case ir.Access():
            yield from _subscripts(expr, path, bound, "reads")
        case ir.Select(condition, then, otherwise):
            yield from _inside(condition, path, bound)
            yield from _inside(then, path.where(condition), bound)
            yield from _inside(otherwise, path.where(_not(condition)), bound)
        case ir.Binary("&&", left, right):
            yield from _inside(left, path, bound)
            yield from _inside(right, path.where(left), bound)
        case ir.Binary("||", left, right):
            yield from _inside(left, path, bound)
            yield from _inside(right, path.where(_not(left)), bound)
        case ir.Reduce(indices=indices, guard=guard, body=body, rank=rank):
            inner = replace(path, indices=(*path.indices, *indices))
            if guard is not None:
                yield from _inside(guard, inner, bound)
            yield from _inside(body, inner.where(guard), bound)
            if rank is not None:
                yield from _inside(rank, path, bound)
        case ir.Binary(operator, left, right) if operator in _ON_INTEGERS and ir.types.is_integral(expr.dtype):
            yield from _inside(left, path, bound)
            yield from _inside(right, path, bound)
            if not isinstance(right, ir.Const) or right.value == 0:
                zero = ir.Binary("==", right, ir.Const(0, right.dtype), "bool")
                words = (f"this divides by zero: {show_expr(right)} is 0",)
                yield Finding("division", words, path, zero, ir.Const(0, "int32"), expr.span)
        case _:
            for child in ir.children(expr):
                yield from _inside(child, path, bound)
            if path.slopes and (steep := _steep(expr)) is not None:
                yield Finding("slope", (f"{show_expr(expr)} is steep",), path, steep, ir.Const(0, "int32"), expr.span)


def _steep(expr: ir.Expr) -> ir.Expr | None:
    """The condition under which the slope of a function is infinite, or None."""
    match expr:
        case ir.Call(function, arguments) if function in _STEEP:
            zeros = arguments[:1] if function == "pow" else arguments
        case ir.Binary("**", base):
            zeros = (base,)
        case _:
            return None
    return ir.conjunction(ir.Binary("==", zero, ir.Const(0, zero.dtype), "bool") for zero in zeros)


def _subscripts(access: ir.Access, path: Path, bound: Bound, verb: str) -> Iterator[Finding]:
    """A finding for each data-dependent subscript, after those of the subexpressions it depends on."""
    name = access.tensor.name
    for d, affine in enumerate(access.indices):
        if not affine.is_data:
            continue
        for atom in ir.data_atoms(affine):
            yield from _inside(atom.expr, path, bound)
        extent, first = bound.shapes[name][d], bound.origins[name][d]
        value = integer(affine)
        low = ir.Binary("<", value, ir.Const(first, "int32"), "bool")
        high = ir.Binary(">=", value, ir.Const(first + extent, "int32"), "bool")
        shown = listed([None if n == d else index.bare or str(index) for n, index in enumerate(access.indices)])
        noun = "row" if d == 0 and len(access.indices) <= 2 else "element"
        owner = name if noun == "row" else f"dimension {d} of {name}"
        start = f", numbered from {first}" if first else ""
        room = f"{owner} has {extent} {noun}{'' if extent == 1 else 's'}{start}"
        words = (f"this {verb} {name}[", *shown, f"]; {room}")
        yield Finding("outside", words, path, ir.Binary("||", low, high, "bool"), value, access.span)


def listed(parts: Sequence[str | IndexVar | None]) -> Words:
    return tuple(word for n, part in enumerate(parts) for word in ((", ", part) if n else (part,)))


def _not(condition: ir.Expr) -> ir.Expr:
    return ir.Unary("!", condition, "bool")
