"""Random calls of functions that the text defines, with type patterns, guards and recursion."""

from dataclasses import dataclass, field

from tcjax.syntax import sac
from tcjax.syntax.sac import tree

from .random_comprehensions import ComprehensionWriter
from .random_expressions import Expr, Shape, call, vector

# T stands for a type and f for a name.
SAME = [
    "T[*] f(T[d:s] x) { return { iv -> x[iv] + x[iv] | iv < s }; }",
    "T[*] f(T[*] x) { y = x * x; return y - x; }",
    "T[d:s] f(T[d:s] x) | d >= 0 { return { iv -> x[iv] | iv < .; iv -> x[iv] * 2 | iv < s }; }",
    "T[*] f(T[*] x) { return dim(x) == 0 ? x + 1 : { [i] -> f(x[i]) }; }",
]
TURNED = [
    "T[m,n] f(T[n,m] x) { return { [i,j] -> x[j,i] }; }",
    "T[*] f(T[n,m] x) | n >= 0, m >= 0 { y = transpose(x); return { [i] -> y[i] | [i] < [m] }; }",
]
TOTAL = [
    "T f(T[*] x) { return sum(x); }",
    "T f(T[*] x) { return dim(x) == 0 ? x : sum({ [i] -> f(x[i]) }); }",
    "T f(T[d:s] x) { return sum({ iv -> x[iv] * x[iv] | iv < s }); }",
]
CELL = "T[*] f(T[o:p, i:q] x, int[o] at) { return x[at]; }"


@dataclass
class ProgramWriter(ComprehensionWriter):
    """A writer that defines functions as it calls them."""

    functions: list[tree.Function] = field(default_factory=list)

    def expr(self, kind: str, shape: Shape, depth: int) -> Expr:
        if depth > 0 and kind != "bool" and len(self.functions) < 2 and self.chance(6):
            return self.application(kind, shape, depth)
        return super().expr(kind, shape, depth)

    def application(self, kind: str, shape: Shape, depth: int) -> Expr:
        """A function of the text that gives this shape, applied."""
        if not self.dead and self.chance(25) and len(shape) < 4:
            array = self.argument(kind, (2, *shape))
            return call(self.defined(CELL, kind), array, vector([self.number(0, 1)]))
        if not shape and self.chance(60):
            over = tuple(self.number(0, 2) for _ in range(self.number(0, 2)))
            return call(self.defined(self.pick(TOTAL), kind), self.expr(kind, over, depth - 1))
        if len(shape) == 2 and self.chance(50):
            return call(self.defined(self.pick(TURNED), kind), self.expr(kind, shape[::-1], depth - 1))
        return call(self.defined(self.pick(SAME), kind), self.expr(kind, shape, depth - 1))

    def defined(self, template: str, kind: str) -> str:
        """The name of a new function made after the template."""
        name = self.fresh("f")
        text = template.replace("T", kind).replace(" f(", f" {name}(").replace("-> f(", f"-> {name}(")
        self.functions += sac.read(text).functions
        return name
