"""Random well-typed expressions over the tensors and indices in scope; new parameters are declared as they are read."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod

from hypothesis import strategies as st

from .subscripts import Subscript, affine, ends, subscripts

# More points of a statement with its inline reductions than this make the interpreter slow.
MOST_POINTS = 240


@dataclass(frozen=True)
class Flavour:
    """Which programs to write.

    `smooth`: differentiable ones, of float tensors. `special`: arrays hold infinities and NaN, and only operations with
    well-defined results for them are used. `odd`: some arrays hold them and zeros of both signs, and operations are
    those whose result does not depend on the order. `ragged`: some statements and sums run between bounds that are
    data. `floats` and `integers` are the scalar types of new parameters.
    """

    smooth: bool = False
    special: bool = False
    odd: bool = False
    ragged: bool = False
    floats: tuple[str, ...] = ("float",)
    integers: tuple[str, ...] = ("int32",)


@dataclass(frozen=True)
class Variable:
    """A tensor that may be read: an input, or an output of an earlier statement."""

    name: str
    kind: str
    origin: tuple[int, ...]
    extents: tuple[int, ...]


@dataclass(frozen=True)
class Parameter:
    """An input; `fill` names the function of `arrays` that makes its values."""

    name: str
    scalar: str
    sizes: tuple[str, ...]
    extents: tuple[int, ...]
    fill: str

    def __str__(self) -> str:
        return f"{self.scalar}({', '.join(self.sizes)}) {self.name}"


@dataclass
class Expressions:
    """Writes expressions of a kind (bool, int, float or complex) with the indices of `box`."""

    draw: st.DrawFn
    flavour: Flavour
    parameters: list[Parameter] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    box: dict[str, tuple[int, int]] = field(default_factory=dict)
    lets: list[tuple[str, str]] = field(default_factory=list)
    # The kind of the last name: names belong to one statement.
    kind_of_let: dict[str, str] = field(default_factory=dict)
    brackets: int = 0
    # The statement's target, which it may read only at the element that it writes.
    written_now: str = ""

    # ------------------------------------------------------------ choices

    def pick(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def number(self, lo: int, hi: int) -> int:
        return self.draw(st.integers(lo, hi))

    def chance(self, percent: int) -> bool:
        return self.number(0, 99) >= 100 - percent

    @property
    def points(self) -> int:
        return prod(hi - lo for lo, hi in self.box.values())

    # ------------------------------------------------------------ values

    def value(self, kind: str, depth: int) -> str:
        """An expression of the kind, with at most `depth` nested operators."""
        match kind:
            case "bool":
                return self.condition(depth)
            case "int":
                return self.integer(depth)
            case "complex":
                return self.complex(depth)
            case _:
                return self.special(depth) if self.flavour.special else self.real(depth)

    def real(self, depth: int) -> str:
        if depth <= 0:
            return self.real_leaf()
        smooth = self.flavour.smooth
        forms = ["sum", "sum", "product", "product", "negative", "quotient", "builtin", "ternary", "ternary", "guarded"]
        forms += ["extremum", "inline", "inline", "scaled", "dead", "let"]
        if not smooth:
            forms += ["integer", "cast", "rounded"]
        if not smooth and not self.flavour.odd:
            # NumPy and XLA multiply infinite complex numbers in different ways.
            forms += ["complex"]
        if self.flavour.ragged:
            forms += ["inline"] * len(forms)
        match self.pick(*forms):
            case "sum":
                return f"{self.real(depth - 1)} {self.pick('+', '-')} {self.factor(depth - 1)}"
            case "product":
                return f"{self.factor(depth - 1)} * {self.factor(depth - 1)}"
            case "negative":
                return f"-{self.factor(depth - 1)}"
            case "quotient":
                below = self.real_leaf()
                return f"{self.factor(depth - 1)} / ({below} * {below} + 1.5)"
            case "builtin":
                return self.builtin(depth - 1)
            case "ternary":
                return f"({self.condition(1)} ? {self.real(depth - 1)} : {self.real(depth - 1)})"
            case "guarded":
                return self.guarded("float")
            case "extremum":
                return f"{self.pick('min', 'max')}({self.real(depth - 1)}, {self.real(depth - 1)})"
            case "inline":
                return self.inline_real(depth - 1)
            case "scaled":
                return f"{self.pick('0.5', '2.0', '-1.5', '3', '0.25')} * {self.factor(depth - 1)}"
            case "dead":
                return self.dead_branch()
            case "let":
                return self.let("float", depth - 1)
            case "integer":
                return f"{self.factor(depth - 1)} * {self.integer_leaf()}"
            case "cast":
                return f"{self.pick('float', 'half', 'float32')}({self.real(depth - 1)})"
            case "complex":
                return f"{self.pick('real', 'imag')}({self.complex(depth - 1)})"
            case _:
                return f"{self.pick('floor', 'ceil', 'trunc', 'round', 'sign', 'fabs', 'abs')}({self.real_leaf()})"

    def factor(self, depth: int) -> str:
        """A float expression that may be an operand of any operator."""
        return f"({self.real(depth)})" if depth > 0 else self.real_leaf()

    def real_leaf(self) -> str:
        form = self.number(0, 9)
        if form == 9:
            return self.pick("0.5", "1.0", "2.0", "1.25")
        if form == 8 and self.box:
            name = self.pick(*sorted(self.box))
            return self.pick(f"float({name})", f"0.5 * {name}" if self.brackets == 0 else f"(0.5 * {name})")
        if form == 7:
            return self.guarded("float")
        return self.read("float")

    def builtin(self, depth: int) -> str:
        inner = self.real(depth)
        leaf = self.real_leaf()
        return self.pick(
            f"tanh({inner})",
            f"sigmoid({inner})",
            f"sin({leaf})",
            f"cos({leaf})",
            f"exp(tanh({leaf}))",
            f"log({leaf} * {leaf} + 1.5)",
            f"sqrt({leaf} * {leaf} + 0.75)",
            f"relu({inner})",
            f"pow({leaf} * {leaf} + 0.5, 1.5)",
            f"rsqrt({leaf} * {leaf} + 1.0)",
            f"atan2({leaf}, 1.5)",
            f"fmax({inner}, {leaf})",
            f"softplus({leaf})",
            f"erf({leaf})",
            f"fma({leaf}, {leaf}, {inner})",
            f"hypot({leaf}, 1.0)",
        )

    def dead_branch(self) -> str:
        """A conditional whose other branch is infinite or NaN where it is not taken."""
        x = self.read("float")
        return self.pick(
            f"({x} > 0.0 ? log({x}) : 0.5)",
            f"({x} > 0.0 ? sqrt({x}) : {x})",
            f"({x} < 0.0 || {x} > 0.0 ? 1.0 / {x} : 2.0)",
            f"({x} <= 0.0 ? 0.25 : pow({x}, 0.5))",
            f"({x} < 100.0 ? {x} : exp({x} * 1000.0))",
            f"({x} > 0.0 ? {self.real_leaf()} * rsqrt({x}) : 1.0)",
        )

    def special(self, depth: int) -> str:
        """A float expression in which infinities and NaN mean the same however it is computed."""
        if depth <= 0:
            return self.read("float")
        match self.pick("min", "max", "ternary", "negative", "guarded", "inline", "ranked"):
            case "min" | "max" as name:
                return f"{name}({self.special(depth - 1)}, {self.special(depth - 1)})"
            case "ternary":
                return f"({self.condition(1)} ? {self.special(depth - 1)} : {self.special(depth - 1)})"
            case "negative":
                return f"-{self.read('float')}"
            case "guarded":
                return self.guarded("float")
            case "ranked":
                return self.ranked(self.pick("mink", "maxk"), "float")
            case _:
                with self.bracket() as head:
                    return f"{self.pick('min', 'max')}[{head}]({self.special(depth - 1)})"

    def integer(self, depth: int) -> str:
        if depth <= 0:
            return self.integer_leaf()
        match self.pick("sum", "product", "floor", "remainder", "ternary", "extremum", "bits", "inline", "cast", "let"):
            case "sum":
                return f"{self.integer(depth - 1)} {self.pick('+', '-')} ({self.integer(depth - 1)})"
            case "product":
                return f"({self.integer(depth - 1)}) * {self.integer_leaf()}"
            case "floor":
                return f"({self.integer(depth - 1)}) / {self.pick('2', '3', '-2')}"
            case "remainder":
                return f"({self.integer(depth - 1)}) % {self.pick('2', '3', '5', '-3')}"
            case "ternary":
                return f"({self.condition(1)} ? {self.integer(depth - 1)} : {self.integer(depth - 1)})"
            case "extremum":
                return f"{self.pick('min', 'max')}({self.integer(depth - 1)}, {self.integer(depth - 1)})"
            case "bits":
                return f"({self.integer(depth - 1)} {self.pick('&', '|', '^')} ({self.integer_leaf()}))"
            case "cast":
                kind, to = self.pick("bool", "float", "int"), self.pick("int32", "int8", "uint8", "int16")
                if kind == "float":
                    whole = not self.flavour.special and not self.flavour.odd
                    return f"{to}(fabs({self.read('float')}))" if whole else self.integer_leaf()
                return f"{to}({self.value(kind, depth - 1)})"
            case "let":
                return self.let("int", depth - 1)
            case _:
                return self.inline_integer(depth - 1)

    def integer_leaf(self) -> str:
        form = self.number(0, 9)
        if form >= 8 and self.sizes:
            return self.pick(*sorted(self.sizes))
        if form >= 6 and self.box:
            return self.pick(*sorted(self.box))
        if form == 5:
            return self.pick("1", "2", "3", "7")
        return self.read("int")

    def condition(self, depth: int) -> str:
        """A bool expression that does not depend on rounding."""
        if depth <= 0:
            return self.read("bool")
        compare = self.pick("<", "<=", ">", ">=", "!=", "==")
        match self.pick("index", "affine", "affine", "integer", "float", "bool", "and", "not", "inline"):
            case "index" if self.box:
                left = self.pick(*sorted(self.box))
                right = self.pick(*sorted(self.box), "1", "2")
                return f"{left} {compare} {right}"
            case "affine" if self.box:
                return self.half_space()
            case "index" | "affine" | "integer":
                return f"({self.integer(depth - 1)}) {compare} ({self.integer_leaf()})"
            case "float":
                compare = self.pick("<", ">")
                return f"{self.read('float')} {compare} {self.pick('0.125', '-0.6', self.read('float'))}"
            case "bool":
                return self.read("bool")
            case "and":
                return f"({self.condition(depth - 1)} {self.pick('&&', '||')} {self.condition(depth - 1)})"
            case "not":
                return f"!({self.condition(depth - 1)})"
            case _:
                with self.bracket() as head:
                    return f"{self.pick('any', 'all')}[{head}]({self.condition(depth - 1)})"

    def half_space(self) -> str:
        """A bound of one index, or of a pair."""
        one, other = self.pick(*sorted(self.box)), self.pick(*sorted(self.box))
        limit = self.number(0, 6)
        sizes = [name for name, extent in self.sizes.items() if extent <= 9]
        return self.pick(
            f"{one} < {limit}",
            f"{one} >= {limit // 2}",
            f"{one} - {other} >= {self.pick('0', '0', '-1', '1')}",
            f"{one} + {other} < {limit}",
            f"2 * {one} > {other}",
            f"{one} < {self.pick(*sizes)}" if sizes else f"{one} < 9",
            f"{one} + {other} <= {self.pick(*sizes)}" if sizes else f"{one} != {limit // 2}",
        )

    def complex(self, depth: int) -> str:
        if depth <= 0:
            return self.read("complex") if self.chance(80) else self.real_leaf()
        match self.pick("sum", "product", "ternary", "builtin", "inline"):
            case "sum":
                return f"{self.complex(depth - 1)} {self.pick('+', '-')} ({self.complex(depth - 1)})"
            case "product":
                return f"({self.complex(depth - 1)}) * ({self.complex(depth - 1)})"
            case "ternary":
                return f"({self.condition(1)} ? {self.complex(depth - 1)} : {self.complex(depth - 1)})"
            case "builtin":
                return f"{self.pick('conj', 'exp', 'sin')}({self.read('complex')})"
            case _:
                with self.bracket() as head:
                    return f"sum[{head}]({self.complex(depth - 1)})"

    def let(self, kind: str, depth: int) -> str:
        """A name of the statement's `where` clause; inside brackets, whose indices it could not use, the value.

        A name may be read several times, also inside brackets.
        """
        known = [name for name, _ in self.lets if self.kind_of_let.get(name) == kind]
        if known and self.chance(50):
            return self.pick(*known)
        text = self.value(kind, depth)
        if self.brackets or len(self.lets) > 1:
            return f"({text})"
        name = f"x{len(self.lets)}"
        self.lets.append((name, text))
        self.kind_of_let[name] = kind
        return self.pick(name, name, f"{name} * {name}") if kind == "float" else name

    # ------------------------------------------------------------ inline reductions

    @contextmanager
    def bracket(self, *, empty: bool = True) -> Iterator[str]:
        """The brackets of an inline reduction; its indices are in scope inside the `with`.

        With `empty` there may be no points, for some or for all elements.
        """
        before = dict(self.box)
        self.brackets += 1
        clauses = []
        for _ in range(int(self.pick("1", "1", "1", "2"))):
            name = f"r{len(self.box)}"
            room = max(1, MOST_POINTS // max(1, self.points))
            lo = int(self.pick("0", "0", "0", "1", "-1"))
            extent = int(self.pick("1", "2", "3", "4", "5", "0" if empty else "1"))
            self.box[name] = (lo, lo + min(room, extent))
            clauses.append(self.clause_of(name))
        head = ", ".join(clauses)
        if empty and self.chance(30):
            head += f" where {self.condition(1)}"
        yield head
        self.box = before
        self.brackets -= 1

    def clause_of(self, name: str) -> str:
        """The range of an index, its ends numbers or sums of a size and a number."""
        return f"{name} in {':'.join(map(self.end, self.box[name]))}"

    def end(self, value: int) -> str:
        if not self.sizes or not self.chance(20):
            return str(value)
        size = self.pick(*sorted(self.sizes))
        off = value - self.sizes[size]
        return f"{size} {'+' if off > 0 else '-'} {abs(off)}" if off else size

    def inline_real(self, depth: int) -> str:
        names = ["sum", "sum", "sum", "max", "min", "mean", "logsumexp", "prod"]
        if not self.flavour.smooth:
            names += ["mink", "maxk"]
        if self.flavour.ragged:
            names += ["ragged"] * 8
        match self.pick(*names):
            case "mink" | "maxk" as name:
                return self.ranked(name, "float")
            case "ragged":
                return self.ragged(depth)
            case "sum" | "prod" as name:
                with self.bracket() as head:
                    return f"{name}[{head}]({self.real(depth)})"
            case name:
                # Without points these are infinite or NaN, which arithmetic then propagates.
                with self.bracket(empty=not self.flavour.smooth and name in ("min", "max")) as head:
                    return f"{name}[{head}]({self.real(depth)})"

    def ragged(self, depth: int) -> str:
        """A sum over a row of an axis between pointers, which may be out of bounds."""
        extent = min(self.number(1, 5), MOST_POINTS // max(1, self.points))
        ends = self.row_ends(extent, list(self.box)) if extent > 0 else None
        if ends is None:
            return self.real_leaf()
        values = self.declare("float", (extent,)).name
        before, name = dict(self.box), f"r{len(self.box)}"
        self.box[name] = (0, extent)
        self.brackets += 1
        body = self.pick(f"{values}({name})", f"{values}({name}) * {self.factor(depth)}")
        self.box = before
        self.brackets -= 1
        return f"sum[{name} in {ends}]({body})"

    def row_ends(self, extent: int, indices: Iterable[str], *, exact: bool = False) -> str | None:
        """Bounds of a range for one of these indices that are data; None if none of them can number rows.

        `exact` ranges are whole rows.
        """
        rows = [name for name in sorted(indices) if self.box[name][0] >= 0]
        if not rows:
            return None
        row = self.pick(*rows)
        pointers = self.declare("pointers", (ends(self.box, row)[1] + 2,)).name
        first, last = f"{pointers}({row})", f"{pointers}({row}+1)"
        others = () if exact else (f"{first}:{extent}", f"0:{first}", f"{first}-1:{last}")
        return self.pick(*(f"{first}:{last}",) * 3, *others)

    def inline_integer(self, depth: int) -> str:
        kind = self.pick("int", "float")
        match self.pick("sum", "prod", "min", "max", "argmin", "argmax", "argmink", "argmaxk", "mink"):
            case "argmin" | "argmax" as name:
                with self.bracket() as head:
                    return f"{name}[{head}]({self.read(kind)})"
            case "argmink" | "argmaxk" as name:
                return self.ranked(name, kind)
            case "mink":
                return self.ranked("mink", "int")
            case name:
                with self.bracket() as head:
                    return f"{name}[{head}]({self.integer(depth)})"

    def ranked(self, name: str, kind: str) -> str:
        rank = self.pick(*sorted(self.box), "0", "1", "2") if self.box else "1"
        with self.bracket() as head:
            return f"{name}[{head}]({self.read(kind)}, {rank})"

    # ------------------------------------------------------------ reads

    def read(self, kind: str) -> str:
        """A read of a tensor: of one in scope where it fits, or of a new parameter."""
        candidates = [v for v in self.variables if v.kind == kind and v.name != self.written_now]
        if candidates and self.chance(55):
            chosen = candidates[self.number(0, len(candidates) - 1)]
            return self.read_of(chosen)
        rank = self.number(0, 9)
        return self.read_new(kind, (1, 2, 2, 1, 3, 1, 2, 2, 1, 0)[rank])

    def read_new(self, kind: str, rank: int) -> str:
        dimensions: list[Subscript | str] = []
        if rank > 1 and len(self.box) > 1 and self.chance(25):
            order = self.draw(st.permutations(sorted(self.box)))[: max(rank, 4)]
            dimensions += [affine([(-1 if self.chance(15) else 1, name)], self.box) for name in order]
            rank = 0
        for _ in range(rank):
            if kind != "positions" and self.chance(8):
                dimensions.append(self.gather())
            else:
                dimensions.append(self.draw(subscripts(self.box)))
        extents, shifted = [], []
        for dimension in dimensions:
            if isinstance(dimension, str):
                extents.append(self.number(1, 6))
                shifted.append(dimension)
                continue
            dimension = dimension.plus(max(0, -dimension.lo))
            extents.append(dimension.hi + 1 + int(self.pick("0", "0", "0", "1", "2")))
            shifted.append(dimension.text)
        if any(extent > 40 for extent in extents) or prod(extents) > 600:
            return self.scalar(kind)
        variable = self.declare(kind, tuple(extents))
        texts = []
        for number, (dimension, text) in enumerate(zip(dimensions, shifted, strict=True)):
            size = self.parameters[-1].sizes[number]
            bare = isinstance(dimension, Subscript) and dimension.text in self.box and dimension.lo >= 0
            if bare and not size.isdigit() and self.chance(12):
                text = f"{size} - 1 - {dimension.text}"  # type: ignore[union-attr]
            texts.append(text)
        return f"{variable.name}({', '.join(texts)})"

    def scalar(self, kind: str) -> str:
        return f"{self.declare(kind, ()).name}()"

    def gather(self) -> str:
        """A subscript that data decides."""
        inside = self.read_new("positions", self.number(0, 1) if not self.box else self.number(1, 2))
        return inside + self.pick("", "", " + 1", f" + {sorted(self.box)[0]}" if self.box else " - 1")

    def declare(self, kind: str, extents: tuple[int, ...]) -> Variable:
        """A new parameter; its sizes are numbers or names, some of them shared with other parameters."""
        name = "ABCDEFGHIJKLMNOPQRSTUVW"[len(self.parameters) % 23] + ("" if len(self.parameters) < 23 else "2")
        sizes = []
        for extent in extents:
            same = [size for size, known in self.sizes.items() if known == extent]
            if extent > 0 and self.chance(10):
                sizes.append(str(extent))
            elif same and self.chance(50):
                sizes.append(same[0])
            else:
                sizes.append(f"N{len(self.sizes)}")
                self.sizes[sizes[-1]] = extent
        scalar, fill = self._type_of(kind)
        self.parameters.append(Parameter(name, scalar, tuple(sizes), extents, fill))
        variable = Variable(name, "int" if kind in ("positions", "pointers") else kind, (0,) * len(extents), extents)
        self.variables.append(variable)
        return variable

    def _type_of(self, kind: str) -> tuple[str, str]:
        match kind:
            case "positions":
                return self.pick("int32", "int32", "uint8", "int16"), "positions"
            case "pointers":
                return self.pick("int32", "int32", "uint8", "int16"), self.pick("positions", "rising")
            case "int":
                return self.pick(*self.flavour.integers), "large" if self.flavour.odd and self.chance(50) else "exact"
            case "bool":
                return "bool", "exact"
            case "complex":
                return "complex64", "exact"
            case _:
                fill = "generic" if self.flavour.smooth else "special" if self.flavour.special else "exact"
                if self.flavour.odd and self.chance(60):
                    fill = "odd"
                return self.pick(*self.flavour.floats), fill

    def read_of(self, variable: Variable) -> str:
        """A read of a tensor in scope that is in bounds for all values of the indices."""
        texts = [self.fitting(o, e) for o, e in zip(variable.origin, variable.extents, strict=True)]
        if any(text is None for text in texts):
            return self.read_new(variable.kind, min(2, len(texts)))
        return f"{variable.name}({', '.join(map(str, texts))})"

    def fitting(self, origin: int, extent: int) -> str | None:
        """A subscript inside ``[origin, origin + extent)``, None where only an empty range would fit."""
        if extent == 0:
            empty = [index for index, (lo, hi) in self.box.items() if hi <= lo]
            return empty[0] if empty else None
        options: list[str] = [str(origin + self.number(0, extent - 1))]
        for index in sorted(self.box):
            lo, hi = ends(self.box, index)
            if hi - lo < extent:
                offset = (
                    min(max(0, origin - lo), origin + extent - 1 - hi)
                    if lo < origin
                    else (0 if hi < origin + extent else origin + extent - 1 - hi)
                )
                if lo + offset >= origin and hi + offset < origin + extent:
                    options += [affine([(1, index)], self.box).plus(offset).text] * 4
                    flipped = affine([(-1, index)], self.box)
                    options.append(flipped.plus(origin - flipped.lo).text)
            else:
                options.append(f"min(max({index}, {origin}), {origin + extent - 1})")
                if origin == 0:
                    options.append(f"{index} % {extent}")
        if self.chance(8):
            options.append(self.gather())
        return options[self.number(0, len(options) - 1)]

    def guarded(self, kind: str) -> str:
        """A read that is out of bounds where the condition around it is false."""
        names = sorted(self.box)
        if not names:
            return self.read(kind)
        terms = [(self.draw(st.sampled_from((1, 1, 2))), self.pick(*names))]
        if len(names) > 1 and self.chance(50):
            other = self.pick(*(name for name in names if name != terms[0][1]))
            terms.append((self.draw(st.sampled_from((1, -1))), other))
        subscript = affine(terms, self.box).plus(self.draw(st.integers(-2, 2)))
        extent = self.number(1, 5)
        variable = self.declare(kind, (extent,))
        size = self.parameters[-1].sizes[0]
        if self.chance(35):
            around = self.pick("0", "0", "3", *(("1.5", "-inf") if kind == "float" else ()))
            return f"pad({variable.name}({subscript.text}), {around})"
        lower, upper = f"{subscript.text} >= 0", f"{subscript.text} < {size}"
        otherwise = {"float": "0.0", "int": "0"}[kind] if self.chance(70) else self.value(kind, 0)
        read = f"{variable.name}({subscript.text})"
        if subscript.lo >= 0 and self.chance(70):
            return f"({upper} ? {read} : {otherwise})"
        return f"({lower} && {upper} ? {read} : {otherwise})"
