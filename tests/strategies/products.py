"""Random sums of products: contractions, convolutions and pools, which have special lowerings."""

from dataclasses import dataclass
from math import prod

from hypothesis import strategies as st

from .programs import Case, checked
from .random_expressions import Expressions, Flavour
from .subscripts import Subscript, affine

FLAVOURS = (*(Flavour(),) * 5, Flavour(floats=("half",)), Flavour(floats=("bfloat16", "float")))
KINDS = ("float", "float", "float", "float", "int", "complex")


@st.composite
def products(draw: st.DrawFn, flavour: Flavour | None = None) -> Case:
    """``O(n,m,h) +=! A(n, 2*h + k) * B(m, k) * ... where ...``, sometimes with another reduction."""
    writer = Products(draw, flavour or draw(st.sampled_from(FLAVOURS)))
    return writer.product()


@dataclass
class Products(Expressions):
    """Writes one statement."""

    def product(self) -> Case:
        self.box = {name: self.range_of() for name in "nmhw"[: self.number(1, 4)]}
        outputs = list(self.box)
        self.box |= {name: self.range_of() for name in "cuv"[: self.number(1, 3)]}
        while self.flavour.smooth and prod(hi - lo for lo, hi in self.box.values()) > 200:
            self.box[max(self.box, key=lambda name: self.box[name][1])] = (0, 2)
        kind = "float" if self.flavour.smooth else self.pick(*KINDS)
        operator = self.pick("+=!", "+=!", "+=!", "+=!", "+=", "max=!", "min=!", "mean=!", "*=!")
        if kind == "complex" or (kind == "int" and operator == "mean=!"):
            operator = "+=!"
        guards: list[str] = []
        value = self.term(kind, guards, 1 if operator in ("max=!", "min=!", "*=!") else self.number(1, 4))
        if self.chance(20):
            value = f"{value} {self.pick('+', '-')} {self.term(kind, guards, self.number(1, 2))}"
        # Every index of the reduction must occur.
        unused = [name for name in self.box if name not in outputs and name not in value]
        if unused:
            value = f"({value}) * {self.factor_of(kind, unused, None)}"
        guards += self.masks(outputs)
        order = self.draw(st.permutations(outputs))
        clauses = list(map(self.clause_of, self.box))
        kept = [clause for clause in clauses if self.chance(50)]
        head = f"  O({', '.join(order)}) {operator} {value}"
        signature = f"def f({', '.join(map(str, self.parameters))}) -> (O) {{\n"
        texts = (
            signature + head + (" where " + ", ".join(some) if some else "") + "\n}\n"
            for some in (kept + guards, clauses + guards)
        )
        return checked(texts, self.parameters, self.number(0, 2**16))

    def range_of(self) -> tuple[int, int]:
        lo = int(self.pick("0", "0", "0", "0", "0", "1", "-1"))
        return lo, lo + int(self.pick("1", "2", "2", "3", "3", "4", "5", "6"))

    def masks(self, outputs: list[str]) -> list[str]:
        reduced = self.pick(*(name for name in self.box if name not in outputs))
        match self.pick("none", "none", "none", "none", "order", "data", "both"):
            case "order":
                return [f"{reduced} {self.pick('<=', '<', '!=')} {self.pick(*outputs)}"]
            case "data":
                return [f"{self.declare_over('bool', [reduced])}"]
            case "both":
                return [f"{self.declare_over('bool', [self.pick(*outputs), reduced])}"]
            case _:
                return []

    def term(self, kind: str, guards: list[str], factors: int) -> str:
        texts = []
        for _ in range(factors):
            count = self.number(1, min(4, len(self.box)))
            texts.append(self.factor_of(kind, list(self.draw(st.permutations(list(self.box))))[:count], guards))
        if self.chance(15):
            texts.append(self.pick("0.5", "2") if kind == "float" else "2")
        if kind == "float" and self.chance(10):
            texts.append(f"tanh({self.factor_of(kind, [self.pick(*self.box)], guards)})")
        return " * ".join(texts)

    def factor_of(self, kind: str, names: list[str], guards: list[str] | None) -> str:
        """A read at all of these indices, some of them sliding along another."""
        dimensions: list[Subscript] = []
        names = list(names)
        while names:
            name = names.pop()
            if names and self.chance(40):
                step, dilation = int(self.pick("1", "1", "2", "-1")), int(self.pick("1", "1", "2", "-1"))
                dimensions.append(affine([(step, name), (dilation, names.pop())], self.box))
            else:
                dimensions.append(affine([(int(self.pick("1", "1", "1", "1", "2", "-1")), name)], self.box))
        if self.chance(6):
            dimensions.append(dimensions[0])
        return self.declared(kind, dimensions, guards)

    def declare_over(self, kind: str, names: list[str]) -> str:
        return self.declared(kind, [affine([(1, name)], self.box) for name in names], None)

    def declared(self, kind: str, dimensions: list[Subscript], guards: list[str] | None) -> str:
        """A read of a new parameter; with `guards`, sometimes out of range, with a guard against that."""
        shifted, extents, outside = [], [], []
        for subscript in dimensions:
            subscript = subscript.plus(max(0, -subscript.lo))
            extent = subscript.hi + 1 + int(self.pick("0", "0", "0", "1"))
            if guards is not None and self.chance(12):
                subscript = subscript.plus(self.number(-1, 1))
                outside.append(subscript)
            shifted.append(subscript)
            extents.append(extent)
        if prod(extents) > 2000:
            return f"{self.declare(kind, ()).name}()"
        variable = self.declare(kind, tuple(extents))
        sizes = self.parameters[-1].sizes
        for subscript in outside:
            size = sizes[shifted.index(subscript)]
            assert guards is not None
            guards += [f"{subscript.text} >= 0", f"{subscript.text} < {size}"]
        return f"{variable.name}({', '.join(subscript.text for subscript in shifted)})"
