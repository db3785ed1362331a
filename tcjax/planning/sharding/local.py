"""A statement as one device sees it."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ... import ir
from ...keeping import cached_property
from ...symbolic import Affine, Box, IndexVar
from ...transforms import Known
from .blocks import NOTHING, Axes, Exchange, Fetch, Move, Part, Send, Start, Whole
from .formulas import CutFormula
from .layouts import Layouts, Span
from .lines import Line, Stretches, merged, over
from .margins import around
from .moves import moves

KINDS: Final = {Exchange: "halo", Whole: "all", Part: "part"}

# Most moves between devices for one view; if it needs more, devices gather the whole dimension.
MOST_MOVES = 8


@dataclass(slots=True)
class _View:
    """What some reads need along a dimension: the places ``lo:hi`` on the first device, `step` further on the next.

    They read some ranges of these, on the devices `takers`: others have no points.
    """

    axes: Axes
    step: int
    ranges: tuple[tuple[int, int], ...]
    takers: frozenset[int]
    stretches: Stretches
    fill: ir.Const | None

    @property
    def lo(self) -> int:
        return self.ranges[0][0]

    @property
    def hi(self) -> int:
        return self.ranges[-1][1]

    def joined(self, other: "_View") -> bool:
        """Merges another view into this one, if both agree about the elements at each place."""
        if (self.axes, self.step) != (other.axes, other.step):
            return False
        if self.fill != other.fill and self.fill is not None and other.fill is not None:
            return False
        both = merged(self.stretches, other.stretches)
        if both is None:
            return False
        self.ranges, self.stretches = _union(*self.ranges, *other.ranges), both
        self.takers |= other.takers
        self.fill = self.fill or other.fill
        return True

    def read(self, moves: Iterable[Move]) -> Iterator[Move]:
        """Of what moves between devices only what a device reads that has points."""
        for move in moves:
            pairs = tuple(pair for pair in move.pairs if pair[1] in self.takers)
            if move.is_local:
                yield move
            elif pairs:
                for lo, hi in self.ranges:
                    start, stop = max(lo - self.lo - move.place, 0), min(hi - self.lo - move.place, move.count)
                    if start < stop:
                        first = move.start + move.stride * start
                        yield Move(pairs, first, move.stride, stop - start, move.place + start)


def _union(*given: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """The ranges, in order, with those joined that overlap or meet."""
    found: list[tuple[int, int]] = []
    for lo, hi in sorted(given):
        if found and lo <= found[-1][1]:
            found[-1] = found[-1][0], max(hi, found[-1][1])
        else:
            found.append((lo, hi))
    return tuple(found)


@dataclass
class Local:
    """A statement over one device's blocks: it reads what was fetched, and adds the block's start to indices."""

    layouts: Layouts
    formula: CutFormula
    spans: Mapping[IndexVar, Span]
    box: Box
    # What other statements have fetched and is still valid; `taken` is the number of names in use.
    known: Mapping[Fetch | Send, str]
    taken: int
    fetches: dict[str, Fetch] = field(default_factory=dict)
    starts: dict[IndexVar, Start] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    origins: dict[str, tuple[int, ...]] = field(default_factory=dict)
    # By tensor, by the views along earlier dimensions (their identities), and by dimension.
    _views: dict[tuple[str, tuple[int, ...], int], list[_View]] = field(default_factory=dict)
    # By a view and one along an earlier dimension: the places, along that, of reads that leave the block in the view.
    _leaving: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    _is_complete: bool = False

    def statement(self, statement: ir.Define | ir.Accumulate) -> ir.Define | ir.Accumulate:
        """The statement over this device's values of the indices."""
        bound = frozenset[IndexVar]()
        if isinstance(statement.value, ir.Reduce):
            bound = self.spans.keys() & {*statement.value.indices}
            guard = ir.conjunction((*ir.conjuncts(statement.value.guard), *self._masks(bound)))
            statement = replace(statement, value=replace(statement.value, guard=guard))
        guards = (*ir.conjuncts(statement.domain.guard), *self._masks(self.spans.keys() - bound))
        statement = replace(statement, domain=ir.Domain((), ir.conjunction(guards)))
        # Reads of one tensor share a fetch, so visit all of them before naming the first.
        ir.rebuild_statement(statement, self.expr)
        self._is_complete = True
        self.starts.clear()
        return ir.rebuild_statement(statement, self.expr)

    def masks(self, indices: Collection[IndexVar]) -> tuple[ir.Expr, ...]:
        """Conditions that the indices, on one device, are in the program's ranges."""
        return tuple(map(self.expr, self._masks(indices)))

    def _masks(self, indices: Collection[IndexVar]) -> Iterator[ir.Expr]:
        for index, span in self.spans.items():
            if span.is_masked and index in indices:
                lo, hi = self.formula.box[index]
                yield from ir.within(ir.Index(index), ir.Const(lo, "int32"), ir.Const(hi, "int32"))

    def start(self, index: IndexVar) -> ir.Access:
        """How many values of an index come before the device's block."""
        start = self._start(index)
        self.shapes[start.name], self.origins[start.name] = (), ()
        return ir.Access(ir.Tensor(start.name, "int32", ()), ())

    def expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Index(variable, dtype) if variable in self.spans:
                return ir.Binary("+", expr, self.start(variable), dtype, span=expr.span)
            case ir.Select(condition, ir.Access() as read, ir.Const() as fill):
                kept = [part for part in ir.conjuncts(condition) if not self._asks_whether_there(part, read)]
                if len(kept) < len(ir.conjuncts(condition)):
                    value = self._access(read, fill)
                    test = ir.conjunction([self.expr(part) for part in kept])
                    return value if test is None else replace(expr, condition=test, then=value)
                return ir.rebuild(expr, self.expr)
            case ir.Access():
                return self._access(expr, None)
            case _:
                return ir.rebuild(expr, self.expr)

    def _asks_whether_there(self, condition: ir.Expr, read: ir.Access) -> bool:
        """Whether a condition only says that a subscript along a cut dimension is in bounds: ``0 <= i - 1``."""
        name = read.tensor.name
        for dimension, subscript in enumerate(read.indices):
            if self.formula.line(name, dimension, subscript, filled=True) is None or not self._is_cut(name, dimension):
                continue
            first, extent = self.formula.bound.origins[name][dimension], self.formula.bound.shapes[name][dimension]
            match condition:
                case ir.Binary("<=", ir.Const(value), right) if value == first and ir.affine_of(right) == subscript:
                    return True
                case ir.Binary("<", left, ir.Const(value)) if value == first + extent:
                    if ir.affine_of(left) == subscript:
                        return True
                case _:
                    continue
        return False

    def _is_cut(self, name: str, dimension: int) -> bool:
        return bool(self.layouts.held[name][dimension])

    @cached_property
    def _facts(self) -> Known:
        return Known.over(self.box)

    def _start(self, index: IndexVar) -> Start:
        if index not in self.starts:
            span = self.spans[index]
            # No program can contain this name.
            self.starts[index] = Start(f"{'.'.join(span.axes)}.start{span.block}", span.axes, span.block)
        return self.starts[index]

    def _access(self, read: ir.Access, fill: ir.Const | None) -> ir.Access:
        """The read, from what the device holds or fetches; out of bounds of a cut dimension it is `fill`."""
        tensor, name = read.tensor, read.tensor.name
        shape = list(self.layouts.extents(name))
        firsts = self.layouts.bound.origins[name]
        origin = list(self.layouts.origin(name))
        subscripts: list[Affine] = []
        views: list[tuple[_View, tuple[int, int]]] = []
        halos: list[tuple[int, _View]] = []
        parts: list[tuple[int, _View]] = []
        for dimension, subscript in enumerate(read.indices):
            has = self.layouts.held[tensor.name][dimension]
            whole = self.layouts.bound.shapes[tensor.name][dimension]
            filled = fill is not None and bool(has)
            found = self._line(tensor.name, dimension, subscript, filled=filled)
            ends = None if found is None else self._facts.bounds(found[1].place)
            if found is not None and ends is not None:
                key = tensor.name, tuple(id(view) for view, _ in views), dimension
                places = ends[0], ends[1] + 1
                view = self._view(key, found, places, fill if filled else None)
                if not self._stays(found[1], tensor.name, dimension):
                    for other, inside in views:
                        lo, hi = self._leaving.get((id(view), id(other)), inside)
                        self._leaving[id(view), id(other)] = min(lo, inside[0]), max(hi, inside[1])
                views.append((view, places))
                before, first = name, firsts[dimension]
                name, is_all = self._fetched(tensor.name, name, dimension, view, halos)
                if is_all:
                    parts.append((dimension, view))
                elif name != before:
                    halos.append((dimension, view))
                if is_all or name != before:
                    shape[dimension] = view.hi - view.lo
                    origin[dimension] = first + view.lo
                subscripts.append(found[1].place + first)
                continue
            if has:
                name = self._all(tensor.name, name, dimension)
                shape[dimension], origin[dimension] = whole, firsts[dimension]
            if self.formula.cut_in(subscript):
                # Data chooses the element.
                subscripts.append(Affine.of(ir.Data(self.expr(ir.integer(subscript)))))
            else:
                subscripts.append(ir.rebuild_subscript(subscript, self.expr))
        # Devices must exchange equal slices of the other dimensions, so each takes its own part afterwards.
        for dimension, view in parts:
            name = self._part(name, dimension, view)
        if name == tensor.name:
            # A read of the target keeps its name.
            return replace(read, indices=tuple(subscripts))
        self.shapes[name], self.origins[name] = tuple(shape), tuple(origin)
        return replace(read, tensor=replace(tensor, name=name), indices=tuple(subscripts))

    def _view(
        self,
        key: tuple[str, tuple[int, ...], int],
        found: tuple[Axes, Line],
        places: tuple[int, int],
        fill: ir.Const | None,
    ) -> "_View":
        """The view that serves a read of these places along a dimension, shared with other reads."""
        axes, line = found
        (index,) = self.formula.cut_in(line.place)
        step = line.weight * self.spans[index].block
        views = self._views.setdefault(key, [])
        takers = self.layouts.takers(self.formula.box[index], self.spans[index])
        new = _View(axes, step, (places,), takers, line.stretches, fill)
        for view in views:
            if view.joined(new):
                return view
        assert not self._is_complete, "all reads were seen"
        views.append(new)
        return new

    def _fetched(
        self, tensor: str, name: str, dimension: int, view: _View, halos: Iterable[tuple[int, _View]]
    ) -> tuple[str, bool]:
        """The name of what holds a view of a tensor or of a fetch, and whether that is the whole dimension.

        If the device's own block suffices, the name does not change. `halos` are views along earlier dimensions that
        are fetched in the same way.
        """
        count, has = view.hi - view.lo, self.layouts.held[tensor][dimension]
        if has == view.axes:
            block, parts = self.layouts.blocks[tensor][dimension], self.layouts.parts(has)
            margin, goes_round = self.layouts.margin(tensor, dimension), has in self.layouts.round
            every = moves(view.stretches, view.lo, view.step, count, block, parts, margin, goes_round=goes_round)
            found = tuple(view.read(every))
            moved = sum(not move.is_local for move in found)
            if moved <= MOST_MOVES or any(margin):
                only = found[0] if len(found) == 1 else None
                own = only is not None and only.is_local and len(only.pairs) == parts and only.stride == 1
                same = only is not None and only.count == count and only.start == view.lo + margin[0]
                if own and same and (count == block or any(margin)):
                    return name, False
                inside = tuple(self._inside(view, halos))
                exchange = Exchange("", name, dimension, has, count, found, view.fill or NOTHING, inside)
                return self._named(name, exchange), False
        return self._all(tensor, name, dimension) if has else name, True

    def _part(self, name: str, dimension: int, view: _View) -> str:
        """The name of the device's view of a dimension that it holds completely."""
        count, parts = view.hi - view.lo, self.layouts.parts(view.axes)
        fill = view.fill or NOTHING
        part = Part("", name, dimension, view.axes, parts, view.lo, view.step, count, (), fill)
        return self._named(name, replace(part, stretches=tuple(over(view.stretches, *part.places))))

    def _line(self, name: str, dimension: int, subscript: Affine, *, filled: bool) -> tuple[Axes, Line] | None:
        """The line of a subscript, extended over the device's margin."""
        found = self.formula.line(name, dimension, subscript, filled=filled)
        if found is None:
            return None
        (index,) = self.formula.cut_in(found[1].place)
        if not self.spans[index].goes_round or not any(self.spans[index].margin):
            return found
        every = around(found[1], self.formula.box, index)
        assert every is not None, "an index goes round where each place has one element"
        return found[0], every

    def _stays(self, line: Line, tensor: str, dimension: int) -> bool:
        """Whether a read stays within the device's block and margin along a dimension."""
        block, (before, behind) = self.layouts.blocks[tensor][dimension], self.layouts.margin(tensor, dimension)
        ends = self._facts.bounds(line.place)
        (index,) = self.formula.cut_in(line.place)
        step = line.weight * self.spans[index].block
        if step != block or ends is None or not -before <= ends[0] <= ends[1] < block + behind:
            return False
        last = ends[1] + step * (self.layouts.parts(self.spans[index].axes) - 1)
        return all(part.is_place for part in over(line.stretches, ends[0], last + 1))

    def _inside(self, view: _View, halos: Iterable[tuple[int, _View]]) -> Iterator[tuple[int, int, int]]:
        """For earlier dimensions with a halo, the part that is read where reads leave the block in this view."""
        for dimension, halo in halos:
            lo, hi = self._leaving.get((id(view), id(halo)), (halo.lo, halo.hi))
            if (lo, hi) != (halo.lo, halo.hi):
                yield dimension, lo - halo.lo, hi - halo.lo

    def _all(self, tensor: str, name: str, dimension: int) -> str:
        assert not any(self.layouts.margin(tensor, dimension)), "every read of a tensor with margins is a view"
        has, whole = self.layouts.held[tensor][dimension], self.layouts.bound.shapes[tensor][dimension]
        cut = {axis for axes in self.formula.cut.values() for axis in axes}
        moved = self.layouts.parts(has) * self.layouts.blocks[tensor][dimension]
        return self._named(name, Whole("", name, dimension, has, whole, moved, is_shared=not {*has} <= cut))

    def _named(self, name: str, fetch: Fetch) -> str:
        """The name of a fetch; equal fetches share one."""
        if not self._is_complete:
            return name
        if fetch in self.known:
            return self.known[fetch]
        for old, own in self.fetches.items():
            if replace(own, name="") == fetch:
                return old
        # No program can contain this name.
        new = f"{name}.{KINDS[type(fetch)]}{len(self.fetches) + self.taken}"
        self.fetches[new] = replace(fetch, name=new)
        return new
