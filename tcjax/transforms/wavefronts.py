"""Two nested loops as one over diagonals: the points of a diagonal need only earlier ones, and are computed at once.

With ``D(i-1,j)``, ``D(i,j-1)`` and ``D(i-1,j-1)`` read for ``D(i,j)``, all points with the same ``s = i + j`` form a
step. The tensors that the loops write, and those read at both indices, are skewed first: ``D(i,j)`` is stored at
``D~(s,i)``, so that a step is one row of every tensor. A diagonal also has points outside the loops' ranges, which are
masked.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from .. import ir, ranges
from ..symbolic import Affine, Box, IndexVar, Size
from ..symbolic.affine import Atom
from .definitions import constant
from .guards import guard_ranges
from .recurrences import Segment, copied
from .specialize import specialize
from .substitution import substitute_expr

# On diagonals further from the loops' order most points would be outside their ranges.
MOST_WEIGHT: Final = 4

# A dimension and a range along it.
Rows = tuple[int, tuple[int, int]]
# Statements with the ranges of their indices.
Written = Sequence[tuple[ir.Define, Box]]


@dataclass(frozen=True, slots=True)
class Diagonals:
    """Which step computes each point of two loops: the one with the number ``weights[0]*i + weights[1]*j``.

    `indices` are those of the loops, `box` their ranges, `needs` the distances at which a point needs others.
    """

    indices: tuple[IndexVar, IndexVar]
    box: tuple[tuple[int, int], tuple[int, int]]
    weights: tuple[int, int]
    needs: tuple[tuple[int, int], ...]

    def number(self, one: int, two: int) -> int:
        """The number of the step that computes a point."""
        return self.weights[0] * one + self.weights[1] * two


@dataclass(frozen=True, slots=True)
class Wavefront:
    """Two loops as a program with one, and which of its steps computes which point."""

    bound: ranges.Bound
    diagonals: Diagonals


def wavefront(segment: Segment, held: Mapping[str, Rows], begun: Mapping[str, Written]) -> Wavefront | None:
    """A segment with two nested loops as a program with one loop over diagonals; None where they have none.

    Of the arguments in `held`, only a range of rows along a dimension exists. Tensors that the loops update may have
    `begun` with statements, which each step recomputes where it needs them.
    """
    loops = _nested(segment)
    if loops is None:
        return None
    try:
        return _Skewing(segment, *loops, held, begun).found()
    except _Unfit:
        return None


class _Unfit(Exception):
    """The loops have no diagonals."""


def _nested(segment: Segment) -> tuple[ir.Loop, ir.Loop] | None:
    """The loop of a segment and the one inside it, if there are no others."""
    outer, function = segment.loop, segment.bound.function
    assert outer is not None
    inside = [loop for loop in function.loops if outer.first <= loop.first and loop.last <= outer.last]
    inside = [loop for loop in inside if loop is not outer]
    if len(inside) != 1 or outer not in function.around(inside[0].first)[:-1]:
        return None
    return (outer, inside[0]) if abs(outer.step) == abs(inside[0].step) == 1 else None


@dataclass(frozen=True, slots=True)
class _Plane:
    """The dimensions of a tensor that move with the loops, one each, and how far ahead they are."""

    dimensions: tuple[int, int]
    ahead: tuple[int, int]


class _Skewing:
    """A loop nest, and its program over diagonals so far."""

    def __init__(
        self,
        segment: Segment,
        outer: ir.Loop,
        inner: ir.Loop,
        held: Mapping[str, Rows],
        begun: Mapping[str, Written],
    ) -> None:
        self.held, self.begun = held, begun
        self.segment, self.bound, self.outer = segment, segment.bound, outer
        self.numbers = range(outer.first, outer.last)
        self.indices, self.signs = (outer.index, inner.index), (outer.step, inner.step)
        self.inner = inner
        # The ranges of both loops for each statement, and for all of them.
        self.spans = {n: self.bound.boxes[n] for n in self.numbers if inner.holds(n)}
        self.box: Box = {index: self.bound.boxes[inner.first][index] for index in self.indices}
        self.content = {tensor.name for tensor in segment.arguments}
        # The tensors written in the plane of the loops, and those private to each point.
        self.planes: dict[str, _Plane] = {}
        self.own: set[str] = set()
        # Those of them written by the statements so far.
        self.done: set[str] = set()
        self.skewed: dict[tuple[str, tuple[int, int]], ir.Tensor] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.origins: dict[str, tuple[int, ...]] = {}
        self.before: list[tuple[ir.Define, Box]] = []

    def found(self) -> Wavefront:
        """The program over diagonals."""
        if any(high - low < 2 for low, high in self.box.values()):
            raise _Unfit
        plain = {number: self.plain(number) for number in self.numbers}
        for number in self.spans:
            self.place(plain[number], self.bound.boxes[number])
        run = [s if n in self.spans else self.sunk(n, s) for n, s in plain.items()]
        results = {tensor.name for tensor in self.segment.results}
        if not self.own.isdisjoint(results | self.content):
            raise _Unfit
        needs = self.needs(run)
        self.weights = self.order(needs)
        # Along a diagonal one index is free; the other one follows, as its weight is 1.
        extents = [high - low for low, high in self.box.values()]
        free = 1 if self.weights[1] != 1 or (self.weights[0] == 1 and extents[1] < extents[0]) else 0
        self.free, self.follows = free, 1 - free
        along = self.along(*map(Affine.of, self.indices))
        self.step = IndexVar(str(along), meaning=along)
        self.width = self.box[self.indices[free]]
        self.steps = self.diagonals(self.box.values())
        if self.is_skewed:
            self.widen()
        self.solved = {self.indices[self.follows]: self.solve(Affine.of(self.indices[free]))}
        inside = [self.statement(number, statement) for number, statement in zip(self.numbers, run, strict=True)]
        after = [self.back(tensor) for tensor in self.segment.results if self.is_skewed]
        return Wavefront(self.program(inside, after), self.told(needs))

    def told(self, needs: Iterable[tuple[int, int]]) -> Diagonals:
        """The steps in the values of the indices."""
        one, two = self.indices
        up, right = self.signs
        weights = self.weights[0] * up, self.weights[1] * right
        places = tuple(sorted((d * up, e * right) for d, e in needs))
        return Diagonals((one, two), (self.box[one], self.box[two]), weights, places)

    def plain(self, number: int) -> ir.Define:
        """A statement with numbers for sizes, guards for ranges with varying ends, and its accumulation as part of the
        value.
        """
        statement = self.bound.function.statements[number]
        assert isinstance(statement, (ir.Define, ir.Accumulate)), "elaboration lets no calls into loops"
        plain = guard_ranges(specialize(statement, self.bound.sizes))
        if isinstance(plain, ir.Define):
            return plain
        target, reducer, guard, value = plain.target, plain.reducer, plain.domain.guard, plain.value
        if plain.reduction or plain.restart:
            guard, reduction = None, (plain.reduction, (), plain.domain.guard, value, None, plain.accumulate)
            value = ir.Reduce(reducer, *reduction, target.dtype)
        if not plain.restart:
            operator = reducer.operator if isinstance(reducer, ir.Reducer) else None
            if operator is None or plain.accumulate != target.dtype:
                raise _Unfit
            value = ir.Binary(operator, ir.Access(target, plain.indices), value, target.dtype)
        return ir.Define(target, plain.indices, value, replace(plain.domain, guard=guard), span=plain.span)

    # ---------------------------------------------------------------- dependences

    def place(self, statement: ir.Define, box: Box) -> None:
        """Where a statement writes: in the plane of the loops, or in a tensor private to each point."""
        name = statement.target.name
        plane = self.plane(statement.indices)
        if plane is not None:
            if name in self.own or self.planes.setdefault(name, plane) != plane:
                raise _Unfit
            return
        moving = frozenset[IndexVar]().union(*(s.variables for s in statement.indices)) & {*self.indices}
        if moving or name in self.planes:
            raise _Unfit
        if name not in self.own and not self.fills(statement, box):
            raise _Unfit
        self.own.add(name)

    def sunk(self, number: int, statement: ir.Define) -> ir.Define:
        """A statement next to the inner loop as one inside it, at one value of its index before or after its range.

        ``D(i,0) = D(i-1,0)`` becomes ``D(i,j) = D(i-1,j)`` at 0.
        """
        own, (low, high) = self.inner.index, self.bound.boxes[self.inner.first][self.inner.index]
        plane = self.planes.get(statement.target.name)
        place = None if plane is None else statement.indices[plane.dimensions[1]].constant
        if plane is None or place is None:
            raise _Unfit
        at = place - plane.ahead[1]
        is_first = (number < self.inner.first) == (self.inner.step > 0)
        if at >= low if is_first else at < high:
            raise _Unfit

        def moved(access: ir.Access) -> ir.Access:
            known = self.planes.get(access.tensor.name)
            d = None if known is None else known.dimensions[1]
            indices = (
                s if n != d or s.constant is None else Affine.of(own) + (s.constant - at)
                for n, s in enumerate(access.indices)
            )
            return replace(access, indices=tuple(indices))

        def inside(expr: ir.Expr) -> ir.Expr:
            found = ir.rebuild(expr, inside)
            return moved(found) if isinstance(found, ir.Access) else found

        self.spans[number] = {**self.bound.boxes[number], own: (at, at + 1)}
        self.box = {**self.box, own: _hull(self.box[own], (at, at + 1))}
        guard = statement.domain.guard
        domain = replace(statement.domain, guard=None if guard is None else inside(guard))
        left = moved(ir.Access(statement.target, statement.indices)).indices
        sunk = replace(statement, indices=left, value=inside(statement.value), domain=domain)
        self.place(sunk, self.spans[number])
        return sunk

    def plane(self, subscripts: Iterable[Affine]) -> _Plane | None:
        """The dimensions that move with one loop each, at constant distances, if no others move."""
        moving = {d: s for d, s in enumerate(subscripts) if s.variables & {*self.indices}}
        found: list[tuple[int, int]] = []
        for index in self.indices:
            at = [(d, (s - index).constant) for d, s in moving.items() if index in s.variables]
            if len(at) != 1 or at[0][1] is None:
                return None
            found.append((at[0][0], at[0][1]))
        (one, first), (two, second) = found
        return None if len(moving) != 2 else _Plane((one, two), (first, second))

    def fills(self, statement: ir.Define, box: Box) -> bool:
        """Whether a statement overwrites its whole target."""
        name, left = statement.target.name, [subscript.bare for subscript in statement.indices]
        if statement.domain.guard is not None or len({*left}) < len(left):
            return False
        if any(access.tensor.name == name for access in ir.accesses_of(statement)):
            return False
        places = zip(left, self.bound.shapes[name], self.bound.origins[name], strict=True)
        return all(i is not None and box[i] == (low, low + extent) for i, extent, low in places)

    def needs(self, run: Iterable[ir.Define]) -> set[tuple[int, int]]:
        """The distances at which a point needs what these loops have written before it."""
        distances = {self.distance(access) for statement in run for access in ir.accesses_of(statement)}
        return {d for d in distances if d is not None and d < (0, 0)}

    def order(self, before: Collection[tuple[int, int]]) -> tuple[int, int]:
        """The weights of the loops in the number of a diagonal: the least with which it only needs earlier ones."""
        rows, columns = (high - low for low, high in self.box.values())
        straight = ((1, 0), (0, 1)) if rows <= columns else ((0, 1), (1, 0))
        for weights in (*straight, *((w, 1) for w in range(1, MOST_WEIGHT + 1))):
            if all(weights[0] * one + weights[1] * two < 0 for one, two in before):
                return weights
        raise _Unfit

    def distance(self, access: ir.Access) -> tuple[int, int] | None:
        """How many steps of each loop after a point the element that it reads is written, if these loops write it."""
        written = self.planes.get(access.tensor.name)
        if written is None:
            return None
        read = self.plane(access.indices)
        if read is None or read.dimensions != written.dimensions:
            raise _Unfit
        one, two = ((r - w) * sign for r, w, sign in zip(read.ahead, written.ahead, self.signs, strict=True))
        return one, two

    # ---------------------------------------------------------------- the program

    @property
    def is_skewed(self) -> bool:
        """Whether a diagonal is neither a row nor a column."""
        return 0 not in self.weights

    def along(self, one: Affine, two: Affine) -> Affine:
        """The number of the diagonal through a point or an element with these coordinates."""
        (a, b), (up, right) = self.weights, self.signs
        return one.scale(a * up) + two.scale(b * right)

    def solve(self, free: Affine) -> Affine:
        """The other coordinate of a point on a diagonal."""
        weight, sign = self.weights[self.free], self.signs[self.free]
        return (Affine.of(self.step) - free.scale(weight * sign)).scale(self.signs[self.follows])

    def statement(self, number: int, statement: ir.Define) -> tuple[ir.Define, Box]:
        """A statement at all points of a diagonal; masked points keep their old elements."""
        free, other = self.indices[self.free], self.indices[self.follows]
        box = {index: ends for index, ends in self.bound.boxes[number].items() if index != other}
        box |= {self.step: self.steps, free: self.width}
        name, guard = statement.target.name, statement.domain.guard
        conditions = [*self.inside(self.spans[number]), *ir.conjuncts(None if guard is None else self.expr(guard))]
        value, condition = self.expr(statement.value), ir.conjunction(conditions)
        if name in self.own:
            target = self.widened(name)
            left = (Affine.of(free), *map(self.affine, statement.indices))
        else:
            target, left = self.written(name), self.moved(self.planes[name], statement.indices)
        domain = ir.Domain(loops=(self.step,))
        if not self.is_skewed:
            domain = replace(domain, guard=condition)
        elif condition is not None:
            value = ir.Select(condition, value, self.otherwise(statement), target.dtype)
        self.done.add(name)
        return replace(statement, target=target, indices=left, value=value, domain=domain), box

    def inside(self, span: Box) -> Iterator[ir.Expr]:
        """The conditions that a point of a diagonal is in the ranges of both loops."""
        known = {self.indices[self.free]: self.width}
        known |= {} if self.is_skewed else {self.indices[self.follows]: self.box[self.indices[self.follows]]}
        for index in self.indices:
            if known.get(index) != span[index]:
                low, high = (ir.Const(end, "int32") for end in span[index])
                yield from ir.within(ir.integer(self.solved.get(index, Affine.of(index))), low, high)

    def otherwise(self, statement: ir.Define) -> ir.Expr:
        """The value of an element where a statement is masked."""
        target = statement.target
        if target.name in self.done or (target.name in self.planes and target.name in self.content):
            return self.expr(ir.Access(target, statement.indices))
        return constant(0, target.dtype)

    def diagonals(self, ends: Iterable[tuple[int, int]]) -> tuple[int, int]:
        """The range of diagonal numbers of a box."""
        low = high = 0
        for (first, end), weight, sign in zip(ends, self.weights, self.signs, strict=True):
            one, two = sorted((weight * sign * first, weight * sign * (end - 1)))
            low, high = low + one, high + two
        return low, high + 1

    def expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Access():
                return self.access(expr)
            case ir.Index(variable) if variable in self.solved:
                return ir.integer(self.solved[variable])
            case _:
                return ir.rebuild(expr, self.expr)

    def affine(self, affine: Affine) -> Affine:
        return affine.rewrite(self.atom)

    def atom(self, atom: Atom) -> "Affine | Atom":
        if isinstance(atom, ir.Data):
            return ir.Data(self.expr(atom.expr))
        return self.solved.get(atom, atom) if isinstance(atom, IndexVar) else atom

    def access(self, access: ir.Access) -> ir.Expr:
        name = access.tensor.name
        if name in self.own:
            free = Affine.of(self.indices[self.free])
            return replace(access, tensor=self.widened(name), indices=(free, *map(self.affine, access.indices)))
        plane = self.plane(access.indices)
        distance = self.distance(access)
        if distance is not None:
            assert plane is not None
            # Elements written later, or not yet, have their values from before the loops.
            is_before = distance > (0, 0) or (distance == (0, 0) and self.is_skewed and name not in self.done)
            if is_before and name not in self.content:
                if distance > (0, 0):
                    raise _Unfit
                return constant(0, access.dtype)
            if is_before and name in self.begun:
                return self.expr(self.computed(access))
            tensor = self.read(name, plane.dimensions) if is_before else self.written(name)
            return replace(access, tensor=tensor, indices=self.moved(plane, access.indices, is_before))
        if plane is None or not self.is_skewed:
            tensor = self.sized(name, access.dtype)
            return replace(access, tensor=tensor, indices=tuple(map(self.affine, access.indices)))
        tensor = self.read(name, plane.dimensions)
        return replace(access, tensor=tensor, indices=self.moved(plane, access.indices))

    def computed(self, access: ir.Access) -> ir.Expr:
        """The value of an element before the loops, recomputed from the statements that wrote it."""
        dtype = access.dtype
        found: ir.Expr = constant(0, dtype)
        for statement, box in self.begun[access.tensor.name]:
            values: dict[IndexVar, Affine] = {}
            conditions: list[ir.Expr] = []
            for left, own in zip(statement.indices, access.indices, strict=True):
                if left.bare is None:
                    conditions.append(ir.Binary("==", ir.integer(own), ir.integer(left), "bool"))
                else:
                    values[left.bare] = own
                    conditions += ir.within(ir.integer(own), *(ir.Const(end, "int32") for end in box[left.bare]))
            conditions += (substitute_expr(each, values) for each in ir.conjuncts(statement.domain.guard))
            condition = ir.conjunction(conditions)
            assert condition is not None
            found = ir.Select(condition, substitute_expr(statement.value, values), found, dtype)
        return found

    def moved(self, plane: _Plane, subscripts: Iterable[Affine], apart: bool = False) -> tuple[Affine, ...]:
        """The subscripts of an element in the skewed tensor: its diagonal, and all others but one."""
        if not self.is_skewed and not apart:
            return tuple(map(self.affine, subscripts))
        rest = (self.affine(s) for d, s in enumerate(subscripts) if d != plane.dimensions[self.follows])
        return (Affine.of(self.step) + self.ahead(plane), *rest)

    def ahead(self, plane: _Plane) -> int:
        """By how many diagonals an element is ahead of the point."""
        return sum(w * sign * a for w, sign, a in zip(self.weights, self.signs, plane.ahead, strict=True))

    # ---------------------------------------------------------------- tensors

    def widen(self) -> None:
        """Extends the written tensors to every diagonal, completely: then no step needs earlier values."""
        for name, plane in self.planes.items():
            shape, origin = self.bound.shapes[name], self.bound.origins[name]
            places = zip(plane.dimensions, plane.ahead, strict=True)
            ends = [(origin[d] - ahead, origin[d] + shape[d] - ahead) for d, ahead in places]
            self.width = _hull(self.width, ends[self.free])
            self.steps = _hull(self.steps, self.diagonals(ends))

    def sized(self, name: str, dtype: str) -> ir.Tensor:
        """A tensor, unchanged."""
        shape = self.bound.shapes[name]
        self.shapes[name], self.origins[name] = shape, self.bound.origins[name]
        return ir.Tensor(name, dtype, tuple(map(Size.of, shape)))

    def given(self, name: str) -> ir.Tensor:
        """A tensor before the loops; of those that they write, perhaps not all rows."""
        if name not in self.planes:
            return self.sized(name, self.dtype(name))
        shape, origin = self.bound.shapes[name], self.bound.origins[name]
        if name in self.held:
            d, (first, end) = self.held[name]
            shape = (*shape[:d], end - first, *shape[d + 1 :])
            origin = (*origin[:d], origin[d] + first, *origin[d + 1 :])
        source = ir.whole(self.sized(name, self.dtype(name)))
        return self.named(f"{name}{ir.MARK}before", source, shape, origin)

    def named(self, name: str, source: ir.Source, shape: tuple[int, ...], origin: tuple[int, ...]) -> ir.Tensor:
        self.shapes[name], self.origins[name] = shape, origin
        return ir.Tensor(name, source.tensor.dtype, tuple(map(Size.of, shape)), source)

    def dtype(self, name: str) -> str:
        function = self.bound.function
        tensors = (*function.parameters, *(t for s in function.statements for t in ir.targets(s)))
        return next(tensor.dtype for tensor in tensors if tensor.name == name)

    def widened(self, name: str) -> ir.Tensor:
        """A tensor private to each point, for all points of a diagonal."""
        low, high = self.width
        shape, origin = self.bound.shapes[name], self.bound.origins[name]
        own = ir.whole(ir.Tensor(name, self.dtype(name), tuple(map(Size.of, shape))))
        source = replace(own, indices=(self.indices[self.free], *own.indices))
        return self.named(name, source, (high - low, *shape), (low, *origin))

    def place_of(self, name: str, dimensions: tuple[int, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shape and the first element of a skewed tensor."""
        shape, origin = self.bound.shapes[name], self.bound.origins[name]
        low, high = self.diagonals([(origin[d], origin[d] + max(1, shape[d])) for d in dimensions])
        rest = [d for d in range(len(shape)) if d != dimensions[self.follows]]
        return (high - low, *(shape[d] for d in rest)), (low, *(origin[d] for d in rest))

    def written(self, name: str) -> ir.Tensor:
        """A tensor that the loops write: skewed, with a row for each step."""
        if not self.is_skewed:
            if name not in self.shapes and name in self.content:
                old = self.given(name)
                place = self.shapes[old.name], self.origins[old.name]
                self.before.append(copied(self.sized(name, old.dtype), old, *place))
            return self.sized(name, self.dtype(name))
        plane = self.planes[name]
        shape, origin = (list(each) for each in self.place_of(name, plane.dimensions))
        ends = [(0, self.steps, self.ahead(plane))]
        free, gone = plane.dimensions[self.free], plane.dimensions[self.follows]
        ends.append((1 + free - (gone < free), self.width, plane.ahead[self.free]))
        for d, (low, high), ahead in ends:
            shape[d], origin[d] = high - low, low + ahead
        source = self.skewed_from(ir.Tensor(name, self.dtype(name), tuple(map(Size.of, shape))), plane.dimensions)
        return self.named(f"{name}{ir.MARK}", source, tuple(shape), tuple(origin))

    def skewed_from(self, tensor: ir.Tensor, dimensions: tuple[int, int]) -> ir.Source:
        """Where the elements of a skewed tensor, one diagonal per row, are in the original."""
        whole, gone = ir.whole(tensor), dimensions[self.follows]
        other = self.solve(Affine.of(whole.indices[dimensions[self.free]]))
        own = (self.step, *(index for d, index in enumerate(whole.indices) if d != gone))
        return replace(
            whole,
            indices=own,
            subscripts=tuple(other if d == gone else each for d, each in enumerate(whole.subscripts)),
        )

    def read(self, name: str, dimensions: tuple[int, int]) -> ir.Tensor:
        """A tensor before the loops, skewed."""
        key = name, dimensions
        if key not in self.skewed:
            known = sum(other == name for other, _ in self.skewed)
            self.skewed[key] = self.skew(name, f"{name}{ir.MARK}{self.step}{known or ''}", dimensions)
        return self.skewed[key]

    def skew(self, name: str, new: str, dimensions: tuple[int, int]) -> ir.Tensor:
        """A new tensor with the contents from before the loops, one diagonal per row."""
        shape, origin = self.place_of(name, dimensions)
        given = self.given(name)
        source = self.skewed_from(given, dimensions)
        tensor = self.named(new, source, shape, origin)
        extents, lows = self.shapes[given.name], self.origins[given.name]
        gone = dimensions[self.follows]
        ends = (ir.Const(end, "int32") for end in (lows[gone], lows[gone] + extents[gone]))
        guard = ir.conjunction(ir.within(ir.integer(source.subscripts[gone]), *ends))
        counters = ir.counters(len(lows))
        box = {index: (low, low + n) for index, low, n in zip(counters, lows, extents, strict=True)}
        del box[counters[gone]]
        box[self.step] = origin[0], origin[0] + shape[0]
        left, value = tuple(map(Affine.of, source.indices)), ir.Access(given, source.subscripts)
        self.before.append((ir.Define(tensor, left, value, ir.Domain(guard=guard)), box))
        return tensor

    def back(self, tensor: ir.Tensor) -> tuple[ir.Define, Box]:
        """A result of the loops, copied back from the skewed tensor."""
        shape, origin = self.bound.shapes[tensor.name], self.bound.origins[tensor.name]
        counters = ir.counters(len(shape))
        indices = list(map(Affine.of, counters))
        dimensions = self.planes[tensor.name].dimensions
        diagonal = self.along(*(indices[d] for d in dimensions))
        rest = (index for d, index in enumerate(indices) if d != dimensions[self.follows])
        read = ir.Access(self.written(tensor.name), (diagonal, *rest))
        places = zip(counters, shape, origin, strict=True)
        box = {index: (low, low + extent) for index, extent, low in places}
        return ir.Define(self.sized(tensor.name, tensor.dtype), tuple(indices), read), box

    def program(self, inside: list[tuple[ir.Define, Box]], after: list[tuple[ir.Define, Box]]) -> ranges.Bound:
        """The skewing copies, the loop over diagonals, and the results."""
        everything = (*self.before, *inside, *after)
        first = len(self.before)
        function = ir.Function(
            f"{self.bound.function.name}_{self.step}",
            tuple(self.given(tensor.name) for tensor in self.segment.arguments),
            tuple(self.sized(tensor.name, tensor.dtype) for tensor in self.segment.results),
            tuple(statement for statement, _ in everything),
            loops=(ir.Loop(self.step, 1, first, first + len(inside), span=self.outer.span),),
            span=self.outer.span,
        )
        known = self.bound.reasons
        reasons = (*({} for _ in self.before), *(known[n] for n in self.numbers), *({} for _ in after))
        boxes = tuple(box for _, box in everything)
        return ranges.Bound(
            function, {}, boxes, self.origins, self.shapes, {}, reasons, self.bound.assumptions, is_part=True
        )


def begun(segment: Segment, name: str, known: Collection[str]) -> Written | None:
    """The statements with which a run without loops writes a tensor, if they are as cheap to compute elsewhere.

    They read only numbers and tensors `known` there.
    """
    bound, found = segment.bound, list[tuple[ir.Define, Box]]()
    for statement, box in zip(bound.function.statements, bound.boxes, strict=True):
        if any(tensor.name == name for tensor in ir.tensors_read(statement)):
            return None
        if all(tensor.name != name for tensor in ir.targets(statement)):
            continue
        if not isinstance(statement, ir.Define):
            return None
        plain = guard_ranges(specialize(statement, bound.sizes))
        left = [subscript.bare for subscript in plain.indices if subscript.constant is None]
        nodes = list(ir.nodes_of(plain))
        if None in left or len({*left}) < len(left) or any(isinstance(n, (ir.Reduce, ir.Foreign)) for n in nodes):
            return None
        if any(isinstance(n, ir.Access) and (n.indices or n.tensor.name not in known) for n in nodes):
            return None
        found.append((plain, box))
    return found or None


def _hull(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return min(one[0], other[0]), max(one[1], other[1])
