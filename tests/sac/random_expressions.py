"""Random expressions of a wanted type and shape, over the arguments and indices in scope."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod

import numpy as np
from hypothesis import strategies as st

from tcjax.syntax.sac import tree

Shape = tuple[int, ...]
Expr = tree.Expr
SCALARS = {"int": "int32", "float": "float32", "bool": "bool"}

# More instances than this make the reference slow.
MOST_POINTS = 400


def number(value: bool | int | float) -> Expr:
    """A literal; a negative one is written with a minus."""
    if not isinstance(value, bool) and value < 0:
        return tree.Unary("-", tree.Number(-value))
    return tree.Number(value)


def vector(values: Sequence[int]) -> Expr:
    return tree.Vector(tuple(number(value) for value in values))


def plus(left: Expr, offset: int) -> Expr:
    if not offset:
        return left
    return tree.Binary("+" if offset > 0 else "-", left, tree.Number(abs(offset)))


def call(name: str, *arguments: Expr) -> Expr:
    return tree.Call(name, arguments)


@dataclass(frozen=True)
class Index:
    """An index in scope: a scalar, or a vector; `ranges` hold the values that it takes where its body runs.

    `limits`: an array that is read at the bare index must be at least so long, because its bounds are inferred; None
    where the index may not stand alone in a selection at all.
    """

    name: str
    vector: bool
    ranges: tuple[tuple[int, int], ...]
    limits: tuple[int, ...] | None

    def bare(self, extents: Sequence[int]) -> bool:
        return self.limits is not None and all(e >= limit for e, limit in zip(extents, self.limits, strict=True))


@dataclass
class Writer:
    """Writes expressions; every argument that it invents is remembered with its elements."""

    draw: st.DrawFn
    arguments: dict[str, np.ndarray] = field(default_factory=dict)
    arrays: dict[str, tuple[str, Shape]] = field(default_factory=dict)
    indices: tuple[Index, ...] = ()
    points: int = 1
    dead: bool = False
    names: int = 0

    # ------------------------------------------------------------ choices

    def pick(self, options: Sequence):
        return self.draw(st.sampled_from(options))

    def number(self, lo: int, hi: int) -> int:
        return self.draw(st.integers(lo, hi))

    def chance(self, percent: int) -> bool:
        return self.number(0, 99) < percent

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    @contextmanager
    def inside(self, indices: Sequence[Index], points: int, dead: bool) -> Iterator[None]:
        """Within the body of a partition."""
        before = self.indices, self.points, self.dead
        self.indices = (*self.indices, *indices)
        self.points *= max(points, 1)
        self.dead |= dead
        yield
        self.indices, self.points, self.dead = before

    # ------------------------------------------------------------ arguments

    def argument(self, kind: str, shape: Shape, values: np.ndarray | None = None, readable: bool = True) -> Expr:
        """An argument of that type and shape, an old one where there is one."""
        fits = [name for name, what in self.arrays.items() if what == (kind, shape)]
        if values is None and fits and self.chance(60):
            return tree.Name(self.pick(fits))
        name = self.fresh("abc"[len(self.arguments) % 3])
        if values is None:
            rng = np.random.default_rng(self.number(0, 99))
            values = {
                "int": rng.integers(-3, 6, shape),
                "float": rng.integers(-8, 9, shape) / 4,
                "bool": rng.integers(0, 2, shape),
            }[kind]
        self.arguments[name] = np.asarray(values).astype(SCALARS[kind])
        if readable:
            self.arrays[name] = (kind, shape)
        return tree.Name(name)

    def demanded(self, values: Sequence[int]) -> Expr:
        """An int vector that decides a shape: a literal, an argument of its own, or from the shape of something."""
        known = [name for name, (_, shape) in self.arrays.items() if shape[: len(values)] == tuple(values)]
        if known and values and self.chance(30):
            name = self.pick(known)
            whole = call("shape", tree.Name(name))
            return whole if len(self.arrays[name][1]) == len(values) else call("take", vector([len(values)]), whole)
        if values and self.chance(12):
            static = self.argument("int", (), np.asarray(values[0]), readable=False)
            return tree.Vector((static, *(number(value) for value in values[1:])))
        return vector(values)

    # ------------------------------------------------------------ expressions

    def expr(self, kind: str, shape: Shape, depth: int) -> Expr:
        """Any expression of that type and shape."""
        if depth <= 0 or (not self.dead and 0 in shape and self.chance(40)):
            return self.leaf(kind, shape)
        options: list[Callable[[str, Shape, int], Expr]] = [self.elementwise, self.elementwise, self.conditional]
        if self.points * prod(shape) <= MOST_POINTS and len(shape) <= 4:
            options += [self.comprehension] * 4
        if shape:
            options += [self.structure] * 3
            if 1 <= shape[0] <= 3:
                options.append(self.stacked)
        else:
            options += [self.fold] * 2
        return self.pick(options)(kind, shape, depth)

    def leaf(self, kind: str, shape: Shape) -> Expr:
        if self.chance(65):
            found = self.read(kind, shape)
            if found is not None:
                return found
        if not shape:
            scalars = [index for index in self.indices if not index.vector]
            if kind == "int" and scalars and self.chance(50):
                return tree.Name(self.pick(scalars).name)
            if self.chance(50):
                return self.literal(kind)
        elif self.chance(20):
            return call("genarray", self.demanded(shape), self.literal(kind))
        return self.argument(kind, shape)

    def literal(self, kind: str) -> Expr:
        if kind == "bool":
            return tree.Number(self.chance(50))
        return number(self.number(-3, 5) if kind == "int" else self.number(-8, 8) / 4)

    def elementwise(self, kind: str, shape: Shape, depth: int) -> Expr:
        left, right = shape, shape
        if shape and self.chance(50):
            left, right = self.pick([(shape, ()), ((), shape)])
        if kind == "bool":
            if self.chance(40):
                operator = self.pick(["&", "|", "^"])
                return tree.Binary(operator, self.expr("bool", left, depth - 1), self.expr("bool", right, depth - 1))
            operator = self.pick(["==", "!=", "<", "<=", ">", ">="])
            if self.chance(30):
                return tree.Binary(operator, self.leaf("float", left), self.leaf("float", right))
            return tree.Binary(operator, self.expr("int", left, depth - 1), self.expr("int", right, depth - 1))
        match self.number(0, 9):
            case 0:
                return tree.Unary("-", self.expr(kind, shape, depth - 1))
            case 1:
                return call(self.pick(["abs", "sign", "relu"]), self.expr(kind, shape, depth - 1))
            case 2:
                name = self.pick(["min", "max"])
                return call(name, self.expr(kind, left, depth - 1), self.expr(kind, right, depth - 1))
            case 3 if kind == "int":
                divisor = number(self.pick([-3, -2, 2, 3, 5]))
                value = self.expr("int", shape, depth - 1)
                return call("mod", value, divisor) if self.chance(30) else tree.Binary(self.pick("/%"), value, divisor)
            case 3:
                return tree.Binary("/", self.expr("float", shape, depth - 1), number(self.pick([2, 4.0, -2.0])))
            case 4 if kind == "int":
                return call("toi", self.leaf("float", shape))
            case 4:
                return call("tof", self.expr("int", shape, depth - 1))
            case 5 if kind == "float":
                return call(self.pick(["exp", "tanh", "sigmoid"]), self.leaf("float", shape))
            case _:
                operator = self.pick("+-*")
                return tree.Binary(operator, self.expr(kind, left, depth - 1), self.expr(kind, right, depth - 1))

    def conditional(self, kind: str, shape: Shape, depth: int) -> Expr:
        if self.chance(30):
            branches = [shape if self.chance(60) else () for _ in range(2)]
            condition = self.expr("bool", shape, depth - 1)
            return call("where", condition, *(self.expr(kind, branch, depth - 1) for branch in branches))
        if self.chance(20):
            # Decided by a rank: nobody looks at the other branch.
            array = self.leaf("int", self.pick([(), (2,), (2, 2)]))
            unused = self.expr(kind, self.pick([(), (3,)]), 0)
            rank = tree.Binary(">=", call("dim", array), tree.Number(0))
            return tree.Conditional(rank, self.expr(kind, shape, depth - 1), unused)
        condition = self.expr("bool", (), depth - 1)
        if self.chance(25):
            condition = tree.Binary(self.pick(["&&", "||"]), condition, self.expr("bool", (), depth - 1))
        return tree.Conditional(condition, self.expr(kind, shape, depth - 1), self.expr(kind, shape, depth - 1))

    def stacked(self, kind: str, shape: Shape, depth: int) -> Expr:
        return tree.Vector(tuple(self.expr(kind, shape[1:], depth - 1) for _ in range(shape[0])))

    def fold(self, kind: str, shape: Shape, depth: int) -> Expr:
        folds = {"int": ["sum", "minval", "maxval", "prod"], "float": ["sum", "sum", "minval", "maxval"]}
        name = self.pick(folds.get(kind, ["any", "all"]))
        if kind == "int" and self.chance(10):
            return call(self.pick(["argmin", "argmax"]), self.expr("int", (self.number(1, 3),), depth - 1))
        if self.chance(40):
            return call(name, self.ragged(kind, depth))
        over = tuple(self.pick([0, 1, 2, 2, 3]) for _ in range(self.number(0, 2)))
        return call(name, self.expr(kind, over, depth - 1))

    # ------------------------------------------------------------ selections

    def read(self, kind: str, shape: Shape) -> Expr | None:
        """A selection with cells of that shape, from an array that is there or a new one; None where none fits."""
        old = [
            (name, len(whole) - len(shape))
            for name, (its, whole) in self.arrays.items()
            if its == kind and 1 <= len(whole) - len(shape) <= 3 and whole[len(whole) - len(shape) :] == shape
        ]
        if old and self.chance(50):
            name, count = self.pick(old)
            extents = self.arrays[name][1][:count]
            if not self.dead and 0 in extents:
                return None
            return self.selection(tree.Name(name), extents, len(self.arrays[name][1]))
        vectors = [index for index in self.indices if index.vector]
        if vectors and self.chance(60):
            extents = tuple(max(hi, 0) + self.number(0, 1) for _, hi in self.pick(vectors).ranges)
        else:
            ranges = [pair for index in self.indices for pair in index.ranges] or [(0, 2)]
            extents = tuple(max(self.pick(ranges)[1], 1) + self.number(0, 1) for _ in range(self.number(1, 2)))
        if len(extents) + len(shape) > 4 or prod(extents) * prod(shape) > 200 or not (self.dead or all(extents)):
            return None
        if len(shape) and self.chance(25):
            return self.dotted(kind, shape, extents)
        return self.selection(self.argument(kind, extents + shape), extents, len(extents + shape))

    def selection(self, array: Expr, extents: Shape, rank: int) -> Expr:
        """``array[..]`` at a place inside of the leading extents."""
        whole = self.vector_for(array, extents, rank)
        if whole is not None and self.chance(75):
            return tree.Select(array, (whole,))
        components = tuple(self.component(extent) for extent in extents)
        if len(components) == 2 and self.chance(20):
            return tree.Select(tree.Select(array, components[:1]), components[1:])
        return tree.Select(array, components)

    def dotted(self, kind: str, shape: Shape, extents: Shape) -> Expr:
        """A selection that keeps axes before or between the selected ones."""
        first = self.number(1, len(shape))
        array = self.argument(kind, shape[:first] + extents + shape[first:])
        components = tuple(self.component(extent) for extent in extents)
        if first == len(shape) and self.chance(50):
            return tree.Select(array, (tree.Dot(many=True), *components))
        dots = (tree.Dot(),) * first
        trailing = (tree.Dot(many=True),) if self.chance(20) else ()
        return tree.Select(array, dots + components + trailing)

    def component(self, extent: int) -> Expr:
        """A scalar index inside of ``[0, extent)``, wherever the body runs."""
        options: list[Expr] = []
        for index in self.indices:
            for position, (lo, hi) in enumerate(index.ranges):
                name = tree.Name(index.name)
                variable = tree.Select(name, (tree.Number(position),)) if index.vector else name
                if self.dead and not index.vector and not index.bare((extent,)):
                    options.append(plus(variable, 7))
                elif self.dead or (lo >= 0 and hi <= extent):
                    bare = index.vector or index.bare((extent,))
                    if bare or hi < extent:
                        options.append(variable if bare else plus(variable, 1))
                    options.append(tree.Binary("-", number(extent - 1), variable))
                if not self.dead and hi - lo <= extent:
                    offset = self.number(-lo, extent - hi)
                    if offset:
                        options += [plus(variable, offset)] * 2
                if extent > 0:
                    options.append(call("mod", plus(variable, self.number(-2, 2)), number(extent)))
        if not options or self.chance(12):
            if extent > 0 and self.chance(30):
                # Data decide: clamped into the array.
                return self.argument("int", (), np.asarray(self.number(-3, extent + 2)), readable=False)
            return number(self.number(0, max(extent - 1, 0)))
        return self.pick(options)

    def vector_for(self, array: Expr, extents: Shape, rank: int) -> Expr | None:
        """An index vector inside of the extents, made of one in scope."""
        options: list[Expr] = []
        for index in self.indices:
            name = tree.Name(index.name)
            length = len(index.ranges)
            if not index.vector or length > len(extents):
                continue
            rest = tree.Vector(tuple(self.component(extent) for extent in extents[length:]))
            lead, fits = extents[:length], list(zip(index.ranges, extents, strict=False))
            inside = self.dead or all(lo >= 0 and hi <= extent for (lo, hi), extent in fits)
            made: list[Expr] = []
            if inside and (length < len(extents) or index.bare(lead)):
                made += [name] * 3
            if inside and length == rank:
                made.append(tree.Binary("-", plus(call("shape", array), -1), name))
            turned = list(zip(index.ranges, reversed(lead), strict=True))
            if length and all(lo >= 0 and hi <= extent for (lo, hi), extent in turned):
                made.append(call("reverse", name))
            if all(hi - lo <= extent for (lo, hi), extent in fits):
                offsets = [self.number(-lo, extent - hi) for (lo, hi), extent in fits]
                if any(offsets):
                    made.append(tree.Binary("+", name, vector(offsets)))
                if length == 1 and offsets[0]:
                    made.append(plus(name, offsets[0]))
            options += [tree.Binary("++", each, rest) if length < len(extents) else each for each in made]
        return self.pick(options) if options else None

    # ------------------------------------------------------------ written by the writers that build on this one

    def comprehension(self, kind: str, shape: Shape, depth: int) -> Expr:
        raise NotImplementedError

    def ragged(self, kind: str, depth: int) -> Expr:
        raise NotImplementedError

    def structure(self, kind: str, shape: Shape, depth: int) -> Expr:
        raise NotImplementedError
