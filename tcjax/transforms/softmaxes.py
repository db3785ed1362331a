"""A softmax written with a logarithm: ``exp(x - logsumexp(x))`` becomes ``exp(x - m) / sum(exp(x - m))``.

The quotient has one exponential per element, the other form two and a logarithm. `m` is the maximum, on which no result
depends, or the nearest finite number: then every element equals that of the logarithm, including rows with infinities.
XLA computes maximum, differences and exponentials in one kernel if nothing comes between them. So where each row is
summed, the maximum is used as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from .. import ir
from ..ir import Reducer
from ..symbolic import Affine, IndexVar
from .definitions import Formula
from .inlining import Renaming, Step, is_large
from .peaks import points
from .substitution import substitute_expr

# The types in which exponents are combined.
_TYPES: Final = ("float32", "float64")


def normalisers(statement: Formula) -> Iterator[str]:
    """The tensors that are subtracted in exponents and may be logarithms of sums."""
    for node in _outside_reductions(statement.value):
        if isinstance(node, ir.Call) and node.function == "exp":
            for negative, term in ir.terms(node.arguments[0]):
                if negative and ir.free_indices(term) < ir.free_indices(node):
                    yield from (access.tensor.name for access in ir.accesses(term))


def as_quotients(step: Step) -> Step | None:
    """The step with quotients in place of exponentials of values relative to the logarithm of their sum.

    None if there are none. In a sum, only factors are rewritten, and only if it covers whole rows: one with an infinity
    is NaN then. For parts of rows the logarithm stays.
    """
    reduces = frozenset[IndexVar]()
    if isinstance(step.statement, ir.Accumulate) and step.statement.reduction:
        if step.statement.reducer is not Reducer.SUM or step.statement.domain.guard is not None:
            return None
        reduces = frozenset(step.statement.reduction)
    rewriter = _Rewriter(dict(step.box), reduces, frozenset(ir.factors(step.statement.value)))
    value = rewriter.expr(step.statement.value, frozenset(ir.conjuncts(step.statement.domain.guard)))
    statement = replace(step.statement, value=value)
    if statement == step.statement or is_large(statement):
        return None
    bound, inside = ir.bound_indices(value), ir.bound_indices(step.statement.value)
    box = {index: span for index, span in rewriter.box.items() if index in bound or index not in inside}
    return replace(step, statement=statement, box=box)


def _outside_reductions(expr: ir.Expr) -> Iterator[ir.Expr]:
    if not isinstance(expr, ir.Reduce):
        yield expr
        for part in ir.children(expr):
            yield from _outside_reductions(part)


@dataclass(slots=True)
class _Rewriter:
    """One statement, the product of `factors` summed over what it `reduces`; `box` gains the indices of copies."""

    box: dict[IndexVar, tuple[int, int]]
    reduces: frozenset[IndexVar]
    factors: frozenset[ir.Expr]
    known: dict[ir.Reduce, tuple[ir.Expr, ir.Expr]] = field(default_factory=dict)

    def expr(self, expr: ir.Expr, conditions: frozenset[ir.Expr]) -> ir.Expr:
        """The expression where the conditions hold; reductions are unchanged."""
        match expr:
            case ir.Reduce():
                return expr
            case ir.Select(condition, then, otherwise):
                inside = conditions.union(ir.conjuncts(condition))
                return replace(expr, then=self.expr(then, inside), otherwise=self.expr(otherwise, conditions))
            case ir.Call("exp", (argument,), dtype) if dtype in _TYPES:
                found = self.quotient(expr, ir.terms(argument), conditions)
                if found is not None:
                    return found
            case _:
                pass
        return ir.rebuild(expr, lambda part: self.expr(part, conditions))

    def quotient(self, call: ir.Call, found: list[ir.Term], conditions: frozenset[ir.Expr]) -> ir.Expr | None:
        """The exponential of these terms as a quotient; None if it is not one."""
        for number, (negative, term) in enumerate(found):
            others = found[:number] + found[number + 1 :]
            row = ir.free_indices(call) - ir.free_indices(term)
            if not negative or not others or (self.reduces and not (call in self.factors and row <= self.reduces)):
                continue
            match term:
                case ir.Reduce(Reducer.LOGSUMEXP, body=body) if self.is_one_of(term, body, others, conditions):
                    shift, total = self.parts(term)
                    return self.divided(call, [*others, (True, shift)], total)
                case ir.Call("log", (ir.Reduce(Reducer.SUM, body=ir.Call("exp", (inner,))) as total,)):
                    if self.is_relative(total, inner) and self.is_one_of(total, inner, others, conditions):
                        return self.divided(call, others, total)
                case _:
                    continue
        return None

    def divided(self, call: ir.Call, exponent: list[ir.Term], total: ir.Expr) -> ir.Expr:
        return ir.Binary("/", replace(call, arguments=(ir.summed(exponent, call.dtype),)), total, call.dtype)

    def parts(self, given: ir.Reduce) -> tuple[ir.Expr, ir.Expr]:
        """The value to subtract from each exponent, and the sum of the resulting exponentials.

        Next to an infinity the other exponentials of a row are zero, so the subtracted value is made finite. A summed
        row is NaN either way.
        """
        if given not in self.known:
            dtype = given.dtype
            shift = self.renamed(replace(given, reducer=Reducer.MAX, fixed=True))
            shift = shift if self.reduces else _finite(shift)
            exponent = ir.Binary("-", given.body, self.renamed(shift), dtype)
            body = ir.Call("exp", (exponent,), dtype)
            self.known[given] = shift, self.renamed(replace(given, reducer=Reducer.SUM, body=body))
        return self.known[given]

    def renamed(self, expr: ir.Expr) -> ir.Expr:
        return Renaming(self.box, dict(self.box)).renamed(expr)

    def is_relative(self, total: ir.Reduce, exponent: ir.Expr) -> bool:
        """Whether exponents are relative to their maximum: then no exponential overflows, and one is 1."""
        found = ir.terms(exponent)
        for number, (negative, term) in enumerate(found):
            if negative and isinstance(term, ir.Reduce) and term.reducer is Reducer.MAX and term.guard is None:
                others = found[:number] + found[number + 1 :]
                if total.guard is None and self.is_one_of(total, term.body, others, frozenset(), term):
                    return True
        return False

    def is_one_of(
        self,
        total: ir.Reduce,
        body: ir.Expr,
        value: list[ir.Term],
        conditions: frozenset[ir.Expr],
        over: ir.Reduce | None = None,
    ) -> bool:
        """Whether the value is the body of the reduction at one of its points."""
        reduce = over or total
        if len({reduce.dtype, reduce.accumulate, body.dtype}) > 1:
            return False
        for point in points(reduce.indices, body, value, self.box, lambda old, new: self.box[old] == self.box[new]):
            values = {old: Affine.of(new) for old, new in point.items()}
            if reduce.guard is None or conditions.issuperset(ir.conjuncts(substitute_expr(reduce.guard, values))):
                return True
        return False


def _finite(value: ir.Expr) -> ir.Expr:
    """The value, or the nearest finite number."""
    most, dtype = ir.types.LARGEST[value.dtype], value.dtype
    least = ir.Binary("min", value, ir.Const(most, dtype), dtype)
    return ir.Binary("max", least, ir.Const(-most, dtype), dtype)
