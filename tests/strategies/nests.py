"""Random reductions over spaces larger than the arrays they read, as loop nests compute them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from hypothesis import strategies as st

from .programs import Case, checked
from .random_expressions import Expressions, Flavour, Variable
from .subscripts import Subscript, affine, subscripts

# Empty and single extents, primes, and multiples of blocks.
OUTER = (1, 2, 3, 3, 4, 5, 7)
INNER = (1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19, 24, 33)
# More points of a statement, or elements of a parameter, than this make the interpreter slow.
MOST_POINTS = 900
MOST_ELEMENTS = 700
# A product of more values than this overflows its type.
MOST_FACTORS = 12

FLAVOURS = (
    *(Flavour(),) * 8,
    Flavour(special=True),
    Flavour(floats=("half", "float")),
    Flavour(floats=("bfloat16",)),
    Flavour(floats=("half",), integers=("int8", "uint8")),
    Flavour(integers=("uint8", "int8", "int16", "uint32")),
)

NAMED = ("min", "max", "any", "all", "mean", "logsumexp", "argmin", "argmax")
STATEMENTS = {"sum": "+", "prod": "*", **{name: name for name in NAMED}}
RANKED = ("mink", "maxk", "argmink", "argmaxk")
SMOOTH = ("sum", "sum", "sum", "prod", "min", "max", "mean", "logsumexp", "logsumexp", "mink", "maxk")


@st.composite
def nests(draw: st.DrawFn, flavour: Flavour | None = None) -> Case:
    """``O(i) min=! fabs(x(i) - y(u)) where u <= i``, an inline reduction, or one after another."""
    writer = Nests(draw, flavour or draw(st.sampled_from(FLAVOURS)))
    writer.reduction()
    if writer.chance(15):
        writer.following()
    return writer.case()


@dataclass
class Nests(Expressions):
    """Writes reductions; their free indices are `outer`, the others `inner`."""

    outer: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    statements: list[tuple[str, list[str], list[str]]] = field(default_factory=list)
    outputs: list[Variable] = field(default_factory=list)

    # ------------------------------------------------------------ statements

    def reduction(self) -> None:
        reducer = self.reducer()
        self.outer = list("ijh"[: int(self.pick("0", "1", "1", "1", "2", "2", "3"))])
        self.inner = list("uvw"[: int(self.pick("1", "1", "1", "2", "2", "3"))])
        for name in self.outer:
            self.index(name, OUTER)
        for name in self.inner:
            self.index(name, INNER, MOST_FACTORS if reducer == "prod" else 99)
        kind = self.kind(reducer)
        body = self.complete(self.body(reducer, kind), kind, reducer)
        guards = self.guards()
        if reducer in RANKED or self.chance(35):
            self.inline(reducer, kind, body, guards)
        else:
            operator = f"{STATEMENTS[reducer]}={self.pick('!', '!', '!', '') if reducer != 'sum' else '!'}"
            self.write(self.result(reducer, kind), operator, body, list(self.box), guards)

    def inline(self, reducer: str, kind: str, body: str, guards: list[str]) -> None:
        """The reduction inside a formula."""
        brackets = ", ".join(map(self.clause_of, self.inner)) + (f" where {', '.join(guards)}" if guards else "")
        if reducer in RANKED:
            rank = self.pick("r", "r", "0", "1", *self.outer)
            if rank == "r":
                self.outer.append("r")
                self.box["r"] = (0, self.number(1, 3))
            value = f"{reducer}[{brackets}]({body}, {rank})"
        else:
            value = f"{reducer}[{brackets}]({body})"
        result = self.result(reducer, kind)
        if result == "float" and not self.flavour.special:
            value = self.pick(value, value, f"{value} * 0.5", f"tanh({value})", f"({value}) + ({value})")
        for name in self.inner:
            del self.box[name]
        self.write(result, "=", value, self.outer, [])

    def following(self) -> None:
        """A reduction that reads the result of the previous one, over the same free indices."""
        before = self.outputs[-1]
        if before.kind != "float" or self.flavour.special:
            return
        self.inner = ["u"]
        self.box = {name: self.box[name] for name in self.outer}
        self.index("u", INNER)
        read = f"{before.name}({', '.join(self.outer)})" if self.outer else f"{before.name}()"
        body = self.pick("exp(min({0} - {1}, 1.0))", "({0} - {1}) * ({0} - {1})", "{0} * tanh({1})", "fabs({0} - {1})")
        factor = self.operand("float", [*self.some(self.outer), "u"])
        # An empty reduction's infinity would be combined with another.
        safe = f"min(max({read}, -4.0), 4.0)"
        self.write("float", self.pick("+=!", "max=!", "min=!"), body.format(factor, safe), list(self.box), [])

    def write(self, kind: str, operator: str, value: str, indices: Sequence[str], guards: list[str]) -> None:
        name = f"O{len(self.outputs)}"
        extents = tuple(self.box[index][1] - self.box[index][0] for index in self.outer)
        self.outputs.append(Variable(name, kind, tuple(self.box[index][0] for index in self.outer), extents))
        head = f"{name}({', '.join(self.outer)})" if self.outer else name
        formula = f"{head} {operator} {value}"
        used = [index for index in indices if any(_occurs(index, text) for text in (formula, *guards))]
        self.statements.append((formula, [self.clause_of(index) for index in used], guards))

    def case(self) -> Case:
        return checked(self.texts(), self.parameters, self.number(0, 2**16))

    def texts(self) -> Iterator[str]:
        """The program with some ranges left to inference, and with all ranges given."""
        returned = ", ".join(variable.name for variable in self.outputs)
        parameters = ", ".join(map(str, self.parameters))
        for percent in (50, 100):
            lines = []
            for formula, ranges, guards in self.statements:
                clauses = [clause for clause in ranges if self.chance(percent)] + guards
                lines.append(f"  {formula}" + (f" where {', '.join(clauses)}" if clauses else ""))
            yield f"def f({parameters}) -> ({returned}) {{\n" + "\n".join(lines) + "\n}\n"

    def index(self, name: str, extents: Sequence[int], most: int = 99) -> None:
        lo = int(self.pick("0", "0", "0", "0", "0", "0", "1", "2", "-1"))
        extent = 0 if self.chance(3) else min(most, self.draw(st.sampled_from(extents)))
        room = max(1, (MOST_POINTS if not self.flavour.smooth else MOST_POINTS // 2) // max(1, self.points))
        self.box[name] = (lo, lo + min(room, extent))

    # ------------------------------------------------------------ what is reduced

    def reducer(self) -> str:
        if self.flavour.smooth:
            return self.pick(*SMOOTH)
        if self.flavour.special:
            return self.pick("min", "max", "argmin", "argmax", *RANKED)
        return self.pick("sum", "sum", *STATEMENTS, *RANKED)

    def kind(self, reducer: str) -> str:
        """The kind of the values."""
        if reducer in ("any", "all"):
            return "bool"
        if self.flavour.smooth or self.flavour.special or reducer in ("mean", "logsumexp"):
            return "float"
        return self.pick("float", "float", "float", "int", "bool" if reducer in ("sum", "prod", "max") else "float")

    def result(self, reducer: str, kind: str) -> str:
        return "int" if reducer.startswith("arg") else kind

    def body(self, reducer: str, kind: str) -> str:
        if kind == "bool":
            return self.decision()
        if kind == "int":
            return self.whole()
        if self.flavour.special:
            return self.pick(self.special(1), self.operand("float", self.some(list(self.box))))
        if reducer == "prod":
            return self.pick(*self.apart(), self.operand("float", self.some(list(self.box))), self.exact(0))
        if reducer in ("min", "max") and self.flavour.smooth:
            return self.formula(1)
        if reducer.startswith("arg") or reducer in ("min", "max", *RANKED):
            return self.exact(1)
        return self.formula(int(self.pick("1", "1", "2")))

    def complete(self, body: str, kind: str, reducer: str) -> str:
        """The body with every index of the reduction in it."""
        unused = [name for name in self.inner if not _occurs(name, body)]
        if not unused:
            return body
        operator = {"bool": "&&", "int": "+"}.get(kind, "*" if reducer in ("sum", "mean") else "+")
        if self.flavour.special:
            return f"max({body}, {self.operand('float', unused)})"
        return f"({body}) {operator} {self.operand(kind, unused)}"

    def exact(self, depth: int) -> str:
        """A float expression that is exact, so that ties are ties in every evaluation."""
        left, right = self.apart()
        # A square of a difference of quarters has more digits than bfloat16.
        narrow = {"half", "bfloat16"} & set(self.flavour.floats)
        form = self.pick("difference", "absolute", "absolute", "sum", "square", "nested", "select", "index", "lesser")
        match form if depth > 0 else "difference":
            case "difference":
                return f"{left} - {right}"
            case "absolute":
                return f"{self.pick('fabs', 'abs')}({left} - {right})"
            case "sum":
                return f"{left} + {right}"
            case "square" if not narrow:
                return f"({left} - {right}) * ({left} - {right})"
            case "nested" if not narrow:
                with self.bracket() as head:
                    return f"sum[{head}]({self.pick('fabs', '-', '')}({self.exact(0)}))"
            case "select":
                return f"({self.decision()} ? {left} - {right} : {self.pick('7.0', right)})"
            case "index":
                return f"{left} + {self.pick('1', '0.5')} * {self.pick(*self.box)}"
            case _:
                return f"{self.pick('min', 'max')}({left}, {right})"

    def formula(self, depth: int) -> str:
        """A float expression of several operands, mostly along different indices."""
        left, right = self.apart()
        apart = f"({left} - {right})"
        forms = [
            "difference",
            "squared",
            "gauss",
            "gauss",
            "weighted",
            "curve",
            "product",
            "triple",
            "nested",
            "nested",
        ]
        forms += ["select", "select", "index", "random", "random", "absolute"]
        if not self.flavour.smooth:
            forms += ["cast", "read"]
        match self.pick(*forms):
            case "difference":
                return f"{left} {self.pick('+', '-')} {right}"
            case "squared":
                return f"{apart} * {apart}"
            case "gauss":
                return f"exp(-{apart} * {apart})"
            case "weighted":
                return f"exp(-fabs{apart}) * {self.operand('float', self.some(self.inner))}"
            case "absolute":
                return f"{self.pick('fabs', 'abs')}{apart}"
            case "curve":
                inner = f"{apart} * {apart}"
                return self.pick(
                    f"sqrt({inner} + 0.75)", f"log({inner} + 1.5)", f"tanh{apart}", f"1.0 / ({inner} + 1.0)"
                )
            case "product":
                return f"{left} * {right}"
            case "triple":
                return f"{left} * {right} * {self.operand('float', self.some(list(self.box)))}"
            case "nested" if depth > 0:
                with self.bracket(empty=False) as head:
                    name = self.pick("sum", "sum", "sum", "max", "logsumexp")
                    value = f"{name}[{head}]({self.formula(0)})"
                return self.pick(value, f"tanh({value})", f"exp(-fabs({value}))")
            case "select" if depth > 0:
                return f"({self.decision()} ? {self.formula(depth - 1)} : {self.formula(depth - 1)})"
            case "index":
                return f"{apart} * (0.125 * {self.pick(*self.box)})"
            case "random" if depth > 0:
                return f"({self.real(depth)}) + {left} * {right}"
            case "cast":
                return f"{self.pick('half', 'float', 'bfloat16')}({left}) * {right}"
            case "read":
                return f"{self.read('float')} * {left}"
            case _:
                return f"{left} * {right}"

    def whole(self) -> str:
        """An integer expression."""
        left, right = self.apart("int")
        return self.pick(
            f"{left} - {right}",
            f"{left} * {right}",
            f"({left} - {right}) * ({left} - {right})",
            f"({left} ^ {right})",
            f"({left} + {right}) % 3",
            f"max({left}, {right})",
            f"abs(int32({left}) - int32({right}))",
            f"({self.decision()} ? {left} : {right})",
            f"{left} + {self.pick(*self.box)}",
            self.integer(2),
        )

    def decision(self) -> str:
        """A bool expression of points of the space that does not depend on rounding."""
        one, other = self.pick(*(self.outer or self.inner)), self.pick(*self.inner)
        compare = self.pick("<", "<=", "==", "!=", ">")
        match self.pick("order", "order", "band", "parity", "mask", "same", "data", "random"):
            case "order" if one != other:
                return f"{other} {compare} {one}"
            case "band" if one != other:
                width = self.pick("0", "1", "3")
                return self.pick(
                    f"{other} - {one} <= {width} && {one} - {other} <= {width}", f"abs({one} - {other}) <= 2"
                )
            case "parity":
                return f"({one} + {other}) % {self.pick('2', '3')} == {self.pick('0', '1')}"
            case "mask":
                return self.operand("bool", sorted({one, other}))
            case "same":
                left, right = self.apart("int")
                return f"{left} {compare} {right}"
            case "data" if not self.flavour.special:
                left, right = self.apart()
                return f"{left} {self.pick('<', '>')} {right}"
            case _:
                return self.condition(1)

    def guards(self) -> list[str]:
        return [f"({self.decision()})" if self.chance(30) else self.decision() for _ in range(self.many())]

    def many(self) -> int:
        return int(self.pick("0", "0", "0", "0", "0", "1", "1", "1", "2"))

    def let(self, kind: str, depth: int) -> str:
        return f"({self.value(kind, depth)})"

    # ------------------------------------------------------------ reads

    def some(self, names: list[str]) -> list[str]:
        """A few of the names in any order, at least one if there is one."""
        if not names:
            return []
        return list(self.draw(st.permutations(names)))[: self.number(1, len(names))]

    def apart(self, kind: str = "float") -> tuple[str, str]:
        """A read along free indices and one along reduced ones: of one tensor, or of two."""
        shared = [name for name in self.box if name not in self.outer and name not in self.inner]
        left = [*self.some(self.outer or self.inner), *shared]
        right = [*self.some(self.inner), *shared]
        if len(left) == len(right) and self.chance(30) and all(self.box[name][0] >= 0 for name in (*left, *right)):
            extents = [max(self.box[one][1], self.box[other][1], 1) for one, other in zip(left, right, strict=True)]
            if prod(extents) <= MOST_ELEMENTS:
                name = self.declare(kind, tuple(extents)).name
                return f"{name}({', '.join(left)})", f"{name}({', '.join(right)})"
        return self.operand(kind, left), self.operand(kind, right)

    def operand(self, kind: str, names: Sequence[str]) -> str:
        """A read of a new parameter at these indices: unchanged, shifted, reversed, repeated, or looked up."""
        dimensions: list[Subscript | str] = []
        for name in names:
            match self.pick(*("bare",) * 9, "reversed", "moved", "any", "gather"):
                case "bare":
                    dimensions.append(affine([(1, name)], self.box))
                case "reversed":
                    dimensions.append(affine([(-1, name)], self.box))
                case "moved":
                    other = self.pick(*self.box)
                    terms = [(1, name)] if other == name else [(1, name), (1, other)]
                    dimensions.append(affine(terms, self.box).plus(self.number(0, 2)))
                case "any":
                    found = self.draw(subscripts({name: self.box[name]}))
                    dimensions.append(found if _occurs(name, found.text) else affine([(1, name)], self.box))
                case _:
                    inner = affine([(1, name)], self.box)
                    dimensions.append(self.lookup(inner.plus(max(0, -inner.lo))))
        if dimensions and self.chance(6):
            dimensions.append(dimensions[0])
        texts, extents = [], []
        for dimension in dimensions:
            if isinstance(dimension, str):
                texts.append(dimension)
                extents.append(self.number(1, 6))
                continue
            dimension = dimension.plus(max(0, -dimension.lo))
            texts.append(dimension.text)
            extents.append(dimension.hi + 1 + int(self.pick("0", "0", "0", "0", "1")))
        if prod(extents) > MOST_ELEMENTS:
            return self.operand(kind, names[:1]) if len(names) > 1 else self.scalar(kind)
        if not texts:
            return self.scalar(kind)
        return f"{self.declare(kind, tuple(extents)).name}({', '.join(texts)})"

    def lookup(self, at: Subscript) -> str:
        return f"{self.declare('positions', (at.hi + 1,)).name}({at.text})"


def _occurs(name: str, text: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None
