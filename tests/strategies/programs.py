"""Random well-typed TC programs and arrays for them."""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import tcjax
from tcjax.diagnostics import CompileError, CompileWarning

from . import arrays
from .random_expressions import MOST_POINTS, Expressions, Flavour, Parameter, Variable
from .subscripts import affine, ends

# Empty and single extents, and some that no unrolling or tile divides.
EXTENTS = (1, 2, 3, 3, 4, 5, 7)


@dataclass(frozen=True, eq=False)
class Case:
    """A program, its arguments by name, and the initial values of outputs that it accumulates into."""

    text: str
    arguments: Mapping[str, np.ndarray]
    initial: Mapping[str, np.ndarray] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def kernel(self) -> tcjax.Kernel:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompileWarning)
            return tcjax.load(self.text, **self.options)["f"]

    def infer(self) -> None:
        """Infers the ranges; rejects, in this one place, random arrays that do not fit together."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompileWarning)
            self.kernel.ranges(**self.arguments, **self.initial)

    def __repr__(self) -> str:
        shapes = [f"{name}: {a.dtype}{list(a.shape)}" for name, a in (self.arguments | self.initial).items()]
        options = [f"{name}={value!r}" for name, value in self.options.items()]
        return f"{self.text}  with {', '.join(shapes + options)}"


def checked(texts: Iterable[str], parameters: Sequence[Parameter], seed: int) -> Case:
    """The first of the texts that the ranges accept, else the last; with arrays for the parameters."""
    arguments = {p.name: getattr(arrays, p.fill)(p.extents, p.scalar, seed + n) for n, p in enumerate(parameters)}
    case = None
    for text in texts:
        case = Case(text, arguments)
        try:
            case.infer()
        except CompileError:
            continue
        return case
    assert case is not None
    return case


FLAVOURS = (
    *(Flavour(),) * 6,
    Flavour(special=True),
    Flavour(floats=("half", "float")),
    Flavour(floats=("bfloat16",)),
    Flavour(integers=("uint8", "int8")),
    Flavour(integers=("int16", "uint16", "int32")),
    Flavour(floats=("half",), integers=("int8",)),
    Flavour(integers=("uint32", "uint8")),
)


@st.composite
def programs(draw: st.DrawFn, flavour: Flavour | None = None) -> Case:
    """Well-typed programs of one to three statements whose every read is in range."""
    writer = Statements(draw, flavour or draw(st.sampled_from(FLAVOURS)))
    for _ in range(draw(st.sampled_from((1, 1, 2, 2, 3)))):
        if draw(st.sampled_from((False, False, True))):
            writer.parts()
        else:
            writer.statement()
    return writer.case()


@st.composite
def chains(draw: st.DrawFn, flavour: Flavour | None = None) -> Case:
    """Programs of two to four statements whose tensors are temporaries, except the last and those with a type."""
    writer = Statements(draw, flavour or draw(st.sampled_from(FLAVOURS)), chained=True)
    for _ in range(draw(st.sampled_from((2, 2, 3, 4)))):
        if draw(st.sampled_from((False, False, False, True))):
            writer.parts()
        else:
            writer.statement()
    return writer.case()


@dataclass
class Statements(Expressions):
    """Writes statements, each as its formula and its clauses; `chained`, most read what others write."""

    chained: bool = False
    written: list[tuple[str, list[str], list[str]]] = field(default_factory=list)
    outputs: dict[str, Variable] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)

    def statement(self) -> None:
        self.box, self.lets, self.written_now = {}, [], ""
        if self.outputs and self.chance(45):
            self.update()
        elif self.chance(5) and self.flavour.floats == ("float",) and not self.flavour.special:
            self.call()
        else:
            self.definition()

    # ------------------------------------------------------------ new tensors

    def parts(self) -> None:
        """A tensor that several statements of simple values fill or overwrite, one box after the other."""
        self.box, self.lets, self.written_now = {}, [], ""
        operator = self.pick("=", "=", "=", self.operator(), "+=!", "min=!", "max=!")
        self.definition(operator if operator in self.operators() else "=", plain=self.chance(80))
        target = self.outputs[list(self.outputs)[-1]]
        for _ in range(int(self.pick("1", "1", "2", "3"))):
            self.box, self.lets = {}, []
            operator = self.pick("=", "=", "min=!", "max=!", self.operator())
            self.update(target, operator if self.chance(80) else None, plain=self.chance(80))

    def definition(self, operator: str | None = None, *, plain: bool = False) -> None:
        name = f"O{len(self.outputs)}"
        operator = operator or self.operator()
        kind, body = self.kinds(operator)
        form = self.pick(*("plain",) * 5, "shifted", "diagonal", "strided", "computed", "floor")
        if form == "computed" and operator not in SCATTERS:
            form = "plain"
        if form == "diagonal" and operator != "=":
            form = "plain"
        if form == "computed":
            left, origin, extents = self.scatter()
            wide = any("64" in scalar or scalar == "double" for scalar in self.flavour.floats + self.flavour.integers)
            real, whole, complex_ = ("double", "int64", "complex128") if wide else ("float", "int32", "complex64")
            scalar = {"float": real, "int": whole, "bool": "bool", "complex": complex_}[kind]
            self.annotations[name] = f"{scalar}({', '.join(map(str, extents))}) {name}"
        else:
            left, origin, extents = self.floors(operator) if form == "floor" else self.left_side(form)
        self.formula(Variable(name, kind, origin, extents), left, operator, body, plain=plain)

    def left_side(self, form: str) -> tuple[list[str], tuple[int, ...], tuple[int, ...]]:
        left, origin, extents = [], [], []
        rank = int(self.pick("1", "2", "1", "2", "3", "0", "1", "2", "4"))
        for _ in range(rank):
            if form == "shifted" and self.chance(30):
                value = self.number(0, 2)
                left.append(str(value))
                origin.append(value)
                extents.append(1)
                continue
            index = "ijklmn"[len(self.box)]
            self.index(index)
            lo, hi = self.box[index]
            if form == "shifted" and hi > lo:
                flipped = self.chance(30)
                subscript = affine([(-1 if flipped else 1, index)], self.box).plus(self.number(-1, 3))
                left.append(subscript.text)
                origin.append(subscript.lo)
                extents.append(subscript.hi - subscript.lo + 1)
                form = "plain"
            elif form == "strided" and hi > lo:
                width = self.number(1, 2)
                inner = "ijklmn"[len(self.box)]
                self.box[inner] = (0, width)
                subscript = affine([(2, index), (1, inner)] if width > 1 else [(2, index)], self.box)
                if width == 1:
                    del self.box[inner]
                left.append(subscript.text)
                origin.append(subscript.lo)
                extents.append(subscript.hi - subscript.lo + 1)
                form = "plain"
            elif form == "diagonal":
                left += [index, index]
                origin += [lo, lo]
                extents += [hi - lo, hi - lo]
                form = "plain"
            else:
                left.append(index)
                origin.append(lo)
                extents.append(hi - lo)
        return left, tuple(origin), tuple(extents)

    def floors(self, operator: str) -> tuple[list[str], tuple[int, ...], tuple[int, ...]]:
        """A quotient and a remainder of an index, or only one of them if several points may share an element."""
        self.index("i")
        lo, hi = ends(self.box, "i")
        by = self.number(2, 3)
        quotient, remainder = (lo // by, hi // by - lo // by + 1), (0, by)
        if hi - lo + 1 < by:
            # Less than a period: the written part starts later.
            return ["i"], (lo,), (self.box["i"][1] - lo,)
        both = [(f"i / {by}", quotient), (f"i % {by}", remainder)]
        kept = both if operator == "=" or self.chance(30) else [both[self.number(0, 1)]]
        return [text for text, _ in kept], tuple(o for _, (o, _) in kept), tuple(e for _, (_, e) in kept)

    def scatter(self) -> tuple[list[str], tuple[int, ...], tuple[int, ...]]:
        """A left side that data computes: its tensor is annotated, so it starts at 0."""
        self.index("i")
        if self.chance(40):
            self.index("j")
        left, extents = [self.gather()], [self.number(1, 6)]
        while "%" in left[0]:
            # Of ``(6*i + j) % 3`` the index i cancels out: an error.
            left = [self.gather()]
        if self.chance(40):
            last = sorted(self.box)[-1]
            lo, hi = self.box[last]
            if lo >= 0:
                left.append(last)
                extents.append(max(hi, 1))
        return left, (0,) * len(left), tuple(extents)

    def index(self, name: str) -> None:
        lo = int(self.pick("0", "0", "0", "0", "0", "1", "2", "-1"))
        extent = 0 if self.chance(4) else self.draw(st.sampled_from(EXTENTS))
        room = max(1, MOST_POINTS // max(1, self.points))
        self.box[name] = (lo, lo + min(room, extent))

    # ------------------------------------------------------------ updates and calls

    def update(self, target: Variable | None = None, operator: str | None = None, *, plain: bool = False) -> None:
        """A statement that writes (a part of) an output again."""
        target = target or self.outputs[self.pick(*self.outputs)]
        self.written_now = target.name
        operators = [o for o in self.operators() if self.kinds(o, target.kind) is not None]
        operator = operator if operator in operators else self.pick(*operators)
        left = [self.box_along(origin, extent) for origin, extent in zip(target.origin, target.extents, strict=True)]
        body = self.kinds(operator, target.kind)
        assert body is not None
        self.formula(target, left, operator, body[1], plain=plain)

    def box_along(self, origin: int, extent: int) -> str:
        """A left subscript that covers part of a dimension: one element, all, some at one end, some in reverse."""
        if self.chance(10) and extent > 0:
            return str(origin + self.number(0, extent - 1))
        index = "ijklmn"[len(self.box)]
        first = self.number(0, extent // 2) if self.chance(60) else 0
        count = extent - first if self.chance(40) else self.number(0, extent - first)
        start = origin + first
        if count and self.chance(12):
            # From the last to the first.
            self.box[index] = (0, count)
            return affine([(-1, index)], self.box).plus(start + count - 1).text
        if count > 1 and self.chance(10):
            self.box[index] = (0, (count + 1) // 2)
            return affine([(2, index)], self.box).plus(start).text
        shift = self.number(-1, 1) if self.chance(15) else 0
        self.box[index] = (start - shift, start - shift + count)
        return affine([(1, index)], self.box).plus(shift).text if count else index

    def call(self) -> None:
        """A tensor through another definition."""
        variable = self.declare("float", (self.number(1, 4), self.number(1, 4)))
        name = f"O{len(self.outputs)}"
        callee = self.pick("g", "h")
        self.called.add(callee)
        extents = variable.extents if callee == "g" else variable.extents[:1]
        self.outputs[name] = Variable(name, "float", (0,) * len(extents), extents)
        self.variables.append(self.outputs[name])
        self.written.append((f"{name} = {callee}({variable.name})", [], []))

    # ------------------------------------------------------------ formulas

    def read(self, kind: str) -> str:
        named = [name for name, v in self.outputs.items() if v.kind == kind and name != self.written_now]
        if self.chained and named and self.chance(70):
            return self.read_of(self.outputs[self.pick(*named)])
        return super().read(kind)

    def operators(self) -> list[str]:
        if self.flavour.special:
            return ["=", "min=", "max=", "min=!", "max=!", "argmin=!", "argmax=!", "argmin=", "any=!", "all=!"]
        if self.flavour.smooth:
            smooth = "= = = +=! +=! +=! += *=! min=! max=! max= mean=! logsumexp=! logsumexp= *= mean="
            return smooth.split()
        arithmetic = "= = = = +=! +=! +=! += *=! *= min=! max=! min= max= logsumexp=! logsumexp= mean=! mean="
        return f"{arithmetic} any=! any= all=! all= argmin=! argmax=! argmin= argmax=".split()

    def operator(self) -> str:
        return self.pick(*self.operators())

    def kinds(self, operator: str, target: str | None = None) -> tuple[str, str] | None:
        """The kinds of the target and of the right side; None if the operator cannot write such a target."""
        name = operator.rstrip("!=")
        if name in ("any", "all"):
            return ("bool", "bool") if target in (None, "bool") else None
        if name in ("argmin", "argmax"):
            return ("int", "position") if target in (None, "int") else None
        if name in ("mean", "logsumexp"):
            return ("float", "float") if target in (None, "float") else None
        if target is None:
            options = (
                ["float"] if self.flavour.smooth or self.flavour.special else ["float"] * 5 + ["int", "int", "bool"]
            )
            target = self.pick(
                *options, *(["complex"] if "x" in options or (name in ("+", "") and len(options) > 1) else [])
            )
        if target == "complex" and name not in ("", "+", "*"):
            return None
        return target, target

    def formula(self, target: Variable, left: list[str], operator: str, body: str, *, plain: bool = False) -> None:
        """The statement; a `plain` one has no guard, and a value of one or two operands."""
        reduces = operator != "="
        given = list(self.box)
        if reduces:
            for name in "uvw"[: int(self.pick("1", "1", "2", "0"))]:
                self.index(name)
        depth = int(self.pick("1", "2", "1", "2", "3"))
        lower_of: dict[str, str] = {}
        triangular = [n for n in self.box if n not in given and self.box[n][0] == 0 and self.box[n][1] > 0]
        outer = [n for n in given if self.box[n][0] >= 0 and n in left]
        if triangular and outer and self.chance(15):
            n, o = triangular[0], outer[0]
            lo, hi = self.box[o]
            if hi > lo and self.points // (self.box[n][1] or 1) * hi <= 2 * MOST_POINTS:
                self.box[n] = (0, hi)
                lower_of[n] = o
        ragged = self.ragged_index(given, left, lower_of, target, reduces)
        guards = [] if plain or not self.box else [self.condition(1) for _ in range(int(self.pick(*"000000112")))]
        if body == "position":
            kind = self.pick("float", "float", "int")
            value = (
                self.read(kind) if self.chance(80) else (self.integer(1) if kind == "int" else self.guarded("float"))
            )
        elif plain and body != "bool":
            value = self.plain(body)
        elif operator.startswith("*") and body == "float":
            value = self.real(min(depth, 1))
        else:
            value = self.value(body, depth)
        rows = None
        if ragged:
            extent = self.box[ragged][1]
            others = [name for name in self.box if name != ragged] if reduces else ["u"]
            rows = self.row_ends(extent, others, exact=not reduces)
            read = self.declare("float" if body == "position" else body, (extent,)).name
            value = self.beside(f"{read}({ragged})", body, value)
        if operator == "=" and target.name in self.outputs and not plain and self.chance(25):
            value = self.updated(
                f"{target.name}({', '.join(left)})" if left else f"{target.name}()", target.kind, value
            )
        # Expressions in which the statement's indices must occur.
        words = set(re.findall(r"\w+", " ".join((value, *left, *guards, rows or ""))))
        used = []
        for name, text in reversed(self.lets):
            if name in words:
                used.append((name, text))
                words |= set(re.findall(r"\w+", text))
        self.lets = used[::-1]
        missing = [name for name in self.box if name not in words]
        clauses = [
            f"{name} in 0:{lower_of[name]} + 1" if name in lower_of else self.clause_of(name)
            for name in self.box
            if name not in missing and not (rows and name == ragged)
        ]
        others = [f"{ragged} in {rows}"] if rows else []
        others += [f"{name} = {text}" for name, text in self.lets] + guards
        if self.chance(4) and not missing:
            others.append(f"exists {self.read('float')}")
        head = f"{target.name}({', '.join(left)})" if left else target.name
        self.written.append((f"{head} {operator} {value}", clauses, others))
        if target.name not in self.outputs:
            self.outputs[target.name] = target
            self.variables.append(target)

    def ragged_index(
        self, given: list[str], left: list[str], triangular: Mapping[str, str], target: Variable, reduces: bool
    ) -> str:
        """An index of the statement, from 0 on, whose range data will split into rows; often none for other flavours.

        Without a reduction it is an index of a new tensor, and its row another index, which is not on the left.
        """
        if not self.flavour.ragged or self.chance(40):
            return ""
        if reduces:
            free = [name for name in self.box if name not in given and name not in triangular]
        else:
            free = [name for name in left if self.box.get(name, (1, 1))[0] == 0]
            free = [] if target.name in self.outputs or len(free) < len(left) else free
        free = [name for name in free if self.box[name][1] > self.box[name][0]]
        if not free:
            return ""
        name = self.pick(*free)
        lo, hi = self.box[name]
        self.box[name] = (0, hi - lo)
        if not reduces:
            self.index("u")
            self.box["u"] = (0, max(1, self.box["u"][1] - self.box["u"][0]))
        return name

    def beside(self, read: str, body: str, value: str) -> str:
        """A value that contains a read."""
        match body:
            case "bool":
                return f"({read} {self.pick('&&', '||')} ({value}))"
            case "position":
                return read
            case "float" if self.flavour.special:
                return f"max({read}, {value})"
            case _:
                return f"{read} {self.pick('*', '+')} ({value})"

    def plain(self, kind: str) -> str:
        """A value of one or two reads."""
        one = self.read(kind)
        if self.flavour.special:
            return one
        numbers = ("0.5", "-1.5", "2.0") if kind == "float" else ("2", "3")
        return self.pick(
            one,
            f"{one} {self.pick('+', '-', '*')} {self.read(kind)}",
            f"{self.pick(*numbers)} * {one}",
            f"{one} + {self.pick(*sorted(self.box), '1')}",
            f"{self.pick(*numbers)}",
            f"max({one}, {self.read(kind)})" if kind != "complex" else one,
        )

    def updated(self, old: str, kind: str, value: str) -> str:
        """The written element combined with a new value."""
        match kind:
            case "bool":
                return f"({old} {self.pick('&&', '||')} ({value}))"
            case "float" if self.flavour.special:
                return f"max({old}, {value})"
            case "int" | "float" | "complex":
                return self.pick(f"{old} + ({value})", f"({self.condition(0)} ? {old} : {value})")
            case _:
                raise AssertionError(kind)

    # ------------------------------------------------------------ the whole

    def case(self) -> Case:
        seed = self.number(0, 2**16)
        arguments = {
            p.name: getattr(arrays, p.fill)(p.extents, p.scalar, seed + n) for n, p in enumerate(self.parameters)
        }
        dropped = (
            {(n, c) for n, (_, clauses, _) in enumerate(self.written) for c in clauses if self.chance(50)}
            if self.chance(60)
            else set()
        )
        for case in (Case(self.text(dropped), arguments), Case(self.text(set()), arguments)):
            try:
                started = self.with_initial(case, seed)
                started.infer()
                return started
            except CompileError:
                continue
        # Any read at a split index may narrow its hull.
        assume(not self.flavour.ragged)
        return Case(self.text(set()), arguments)

    def with_initial(self, case: Case, seed: int) -> Case:
        """The case with initial values for some of the outputs that accumulate."""
        function = case.kernel.ir(*case.arguments.values())
        initial = {}
        for tensor in function.initial:
            if self.draw(st.booleans()):
                extents = self.outputs[tensor.name].extents
                fill = arrays.generic if self.flavour.smooth else arrays.exact
                initial[tensor.name] = fill(extents, tensor.dtype, seed + 100 + len(initial))
        return Case(case.text, case.arguments, initial)

    def text(self, dropped: set[tuple[int, str]]) -> str:
        body = []
        for number, (formula, clauses, others) in enumerate(self.written):
            kept = [clause for clause in clauses if (number, clause) not in dropped] + others
            body.append(f"  {formula}" + (f" where {', '.join(kept)}" if kept else ""))
        kept = list(self.outputs)[-1:] if self.chained else list(self.outputs)
        returns = [
            self.annotations.get(name, name) for name in self.outputs if name in kept or name in self.annotations
        ]
        parameters = ", ".join(map(str, self.parameters))
        head = f"def f({parameters}) -> ({', '.join(returns)}) {{\n"
        return "".join(CALLEES[name] for name in sorted(self.called)) + head + "\n".join(body) + "\n}\n"


SCATTERS = ("+=!", "+=", "min=!", "max=!", "min=", "max=", "*=!", "any=!", "all=!", "mean=!", "logsumexp=!", "argmin=!")
CALLEES = {
    "g": "def g(float(P,Q) X) -> (Y) {\n  Y(p,q) = X(p,q) * 2.0 + q\n}\n",
    "h": "def h(float(P,Q) X) -> (Z) {\n  Y(p) +=! X(p,q)\n  Z(p) = Y(p) + X(p,0)\n}\n",
}
