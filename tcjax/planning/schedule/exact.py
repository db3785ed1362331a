"""Regions as exact integer sets (islpy): only the points that are read count as needed, not their bounding box."""

from collections.abc import Mapping, Sequence
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ... import ranges
from ...diagnostics import Code, CompileError
from ...symbolic.facts.trees import And, Binary, Compare, Const, Expr, Not, Or, Select, Var
from .boxes import NeededBox, infer_box, nothing, whole
from .cells import MOST_POINTS
from .counting import Counts, Table, tabulate
from .formulas import constant, fitted
from .grids import Grid, Span
from .linear import Linear
from .needs import Need
from .regions import Placed, Region, domain_of, finished, needs_among, region_of
from .roots import qualified
from .stages import Stages, consumers_of, prefix_of

if TYPE_CHECKING:
    import islpy

# isl counts points one by one.
_MOST_COUNTED: Final = 200_000
_ADD: Final = "pip install 'tcjax[exact]'"


def infer_exactly(stages: Stages, bound: ranges.Bound) -> dict[str, Region]:
    """The region of every stage, in order, with each stage computed only at the points that are needed."""
    return {name: region_of(placed) for name, placed in place_exactly(stages, bound).items()}


def place_exactly(stages: Stages, bound: ranges.Bound) -> dict[str, Placed]:
    """Every stage with the box of the points that are needed, in order; producers are needed only at the points these
    read.

    Raises `CompileError`: TC0308 without islpy, TC0801 for a subscript that integer sets cannot express, ``i*j``.
    """
    placed: dict[str, Placed] = {}
    sets: dict[str, Any] = {}
    isl = _islpy()
    for stage in reversed(list(stages.values())):
        domain = domain_of(stage, bound)
        readers = consumers_of(stage, stages)
        if stage.fixed or not readers or any(reader.is_call for reader in readers):
            placed[stage.name] = finished(stage, (), whole(domain), domain, {}, bound)
            continue
        prefix = tuple(qualified(*place) for place in prefix_of(stage, stages))
        around = [placed[reader.name] for reader in readers]
        needs, spans = needs_among(around, stage.target.name, domain, bound)
        box = infer_box(needs, prefix, spans, domain)
        restricted = any(reader.name in sets for reader in readers)
        if box.counts.instances and (restricted or box.counts.total_box != box.counts.total_exact):
            parts: list[Any] = []
            for at in around:
                writer = _Writer(isl, stage.name, spans)
                for need in needs_among([at], stage.target.name, domain, bound)[0]:
                    parts.append(writer.need(need, prefix, domain, at, sets.get(at.stage.name)))
            needed = reduce(lambda one, other: one.union(other), parts).coalesce()
            sets[stage.name] = needed
            if restricted:
                box = _box(isl, needed, prefix, spans, domain)
        placed[stage.name] = finished(stage, prefix, box, domain, spans, bound)
    return {name: placed[name] for name in stages}


def _islpy() -> Any:
    try:
        import islpy
    except ImportError:
        raise CompileError(
            Code.BAD_OPTION, "exact=True needs the package islpy, which is not installed", help=_ADD
        ) from None
    return islpy


class _Writer:
    """Writes needs as isl maps, in isl's notation."""

    def __init__(self, isl: Any, stage: str, spans: Mapping[str, Span]) -> None:
        self.isl = isl
        self.stage = stage
        self.spans = spans
        self.short: dict[str, str] = {}
        # The meaning of the variables w0, w1, .., one for each choice between two values.
        self.chosen: list[str] = []

    def name(self, name: str) -> str:
        return self.short.setdefault(name, f"v{len(self.short)}")

    def need(self, need: Need, prefix: Sequence[str], domain: Sequence[Span], reader: Placed, points: Any) -> Any:
        """The map from the prefix to the elements that one read takes."""
        indices = [index for index in need.indices if index is not None]
        used = frozenset().union(
            *(expr.variables for expr in (*indices, *need.guards)), *(e.variables for e in reader.values.values())
        )
        inner = sorted((used | frozenset(reader.prefix)) - set(prefix))
        conditions = [
            f"{self.spans[name][0]} <= {self.name(name)} < {self.spans[name][1]}" for name in (*prefix, *inner)
        ]
        conditions += map(self.condition, need.guards)
        targets = list(map(self.integer, indices))
        statement = reader.stage.statement
        own = [*map(self.name, reader.prefix)]
        own += [self.integer(reader.values[index.bare]) for index in statement.indices]  # type: ignore[union-attr]
        held = " and ".join([*conditions, *self.chosen]) or "true"
        inputs = ", ".join([*map(self.name, (*prefix, *inner)), *(f"w{n}" for n in range(len(self.chosen)))])
        found = self.isl.Map(f"{{ [{inputs}] -> [{', '.join(targets)}] : {held} }}")
        if points is not None:
            # The reader is computed only at those of its points that are needed.
            at = self.isl.Map(f"{{ [{inputs}] -> [{', '.join(own)}] : {held} }}")
            found = found.intersect_domain(at.intersect_range(points.wrap().flatten()).domain())
        axes = [f"a{axis}" for axis in range(len(domain))]
        inside = " and ".join(f"{lo} <= {axis} < {hi}" for axis, (lo, hi) in zip(axes, domain, strict=True)) or "true"
        found = found.intersect_range(self.isl.Set(f"{{ [{', '.join(axes)}] : {inside} }}"))
        return found.project_out(self.isl.dim_type.in_, len(prefix), len(inner) + len(self.chosen))

    def integer(self, expr: Expr) -> str:
        form = Linear.of(expr)
        terms = [f"{weight}*{self.atom(atom)}" for atom, weight in form.terms]
        return " + ".join([*terms, str(form.base)]).replace("+ -", "- ")

    def atom(self, expr: Expr) -> str:
        match expr:
            case Var(name=name):
                return self.name(name)
            case Binary(op="//", left=left, right=Const(value=value)) if value > 0:
                return f"floor(({self.integer(left)})/{value})"
            case Binary(op="//", left=left, right=Const(value=value)) if value < 0:
                return f"floor(({self.integer(Const(0) - left)})/{-value})"
            case Binary(op="%", left=left, right=Const(value=value)) if value > 0:
                return f"(({self.integer(left)}) mod {value})"
            case Binary(op="min" | "max" as op, left=left, right=right):
                return f"{op}({self.integer(left)}, {self.integer(right)})"
            case Select(condition=condition, then=then, otherwise=otherwise):
                test, first, second = self.condition(condition), self.integer(then), self.integer(otherwise)
                name = f"w{len(self.chosen)}"
                self.chosen.append(f"(({test} and {name} = {first}) or ((not {test}) and {name} = {second}))")
                return name
            case _:
                raise CompileError(
                    Code.BAD_SCHEDULE,
                    f"exact=True cannot say which elements of `{self.stage}` the subscript `{expr}` takes",
                    help="leave out exact=True: regions are exact boxes then, too",
                )

    def condition(self, expr: Expr) -> str:
        match expr:
            case Compare(op=op, left=left, right=right):
                sign = {"==": "="}.get(op, op)
                return f"({self.integer(left)} {sign} {self.integer(right)})"
            case And(parts=parts):
                return f"({' and '.join(map(self.condition, parts)) or 'true'})"
            case Or(parts=parts):
                return f"({' or '.join(map(self.condition, parts)) or 'false'})"
            case Not(operand=operand):
                return f"(not {self.condition(operand)})"
            case _:
                raise AssertionError(expr)


def _box(
    isl: Any, needed: Any, prefix: tuple[str, ...], spans: Mapping[str, Span], domain: Sequence[Span]
) -> NeededBox:
    """The hull of a map from a prefix to points, per point of the prefix, and the counts."""
    if bool(needed.is_empty()):
        return nothing(domain)
    rank = len(domain)
    around = isl.dim_type.in_
    names = [Var(name) for name in prefix]
    lows: list[Expr] = []
    sizes: list[Expr] = []
    extents: list[int] = []
    tables: list[Table] = []
    grid = Grid.over(prefix, spans)
    for axis in range(rank):
        first, last = needed.dim_min(axis), needed.dim_max(axis)
        extents.append(last.sub(first).max_val().to_python() + 1)
        low, high = _choice(first, names, around), _choice(last, names, around)
        size = (high - low) + 1
        if grid.size <= MOST_POINTS:
            live = np.asarray(grid.spread(grid.evaluate(_holds(needed.domain(), names, isl.dim_type.set))))
            table = Table(
                grid,
                np.where(live, grid.spread(grid.evaluate(low)), 0),
                np.where(live, grid.spread(grid.evaluate(size)), 0),
                live,
            )
            tables.append(table)
            low = constant(table.low, live) or fitted(grid, table.low, live, ()) or low
            size = constant(table.extent, live) or fitted(grid, table.extent, live, ()) or size
        lows.append(low)
        sizes.append(size)
    tabulated = len(tables) == rank
    if grid.size * prod(extents) <= _MOST_COUNTED:
        boxes = _boxes(isl, needed, len(prefix), rank).wrap()
        distinct = _count(boxes.unwrap().range())
        counts = Counts(_count(needed.domain()), _count(boxes), _count(needed.wrap()), distinct, (1,) * rank)
    else:
        found = tabulate(lows, sizes, prefix, spans)
        instances = grid.size
        total = instances * prod(extents)
        most = min(total, prod(hi - lo for lo, hi in domain))
        counts = found[1] if found is not None else Counts(instances, total, None, most, (1,) * rank)
    return NeededBox(tuple(lows), tuple(sizes), tuple(extents), counts, tuple(tables) if tabulated else ())


def _boxes(isl: Any, needed: Any, inputs: int, rank: int) -> Any:
    """The map from the prefix to all points of the hull."""
    ins = ", ".join(f"p{n}" for n in range(inputs))
    outs = ", ".join(f"x{n}" for n in range(rank))
    total = isl.Map(f"{{ [{ins}] -> [{outs}] }}").intersect_domain(needed.domain())
    for axis in range(rank):
        own = needed.project_out(isl.dim_type.out, axis + 1, rank - axis - 1).project_out(isl.dim_type.out, 0, axis)
        between = own.apply_range(isl.Map("{ [a] -> [x] : x >= a }"))
        between = between.intersect(own.apply_range(isl.Map("{ [a] -> [x] : x <= a }")))
        total = total.intersect(between.apply_range(isl.Map(f"{{ [a] -> [{outs}] : x{axis} = a }}")))
    return total


def _count(points: "islpy.Set") -> int:
    return int(points.count_val().to_python())  # type: ignore[attr-defined]


def _choice(values: Any, names: Sequence[Expr], around: Any) -> Expr:
    """A piecewise affine function of isl as an expression."""
    pieces = [(_holds(where, names, None), _affine(affine, names, around)) for where, affine in values.get_pieces()]
    total = pieces[-1][1]
    for where, value in reversed(pieces[:-1]):
        total = value if value == total else Select(where, value, total)
    return total


def _affine(affine: Any, names: Sequence[Expr], around: Any) -> Expr:
    from islpy import dim_type

    common = affine.get_denominator_val()
    scale = int(common.to_python())

    def weight(kind: Any, place: int) -> int:
        return int(affine.get_coefficient_val(kind, place).mul(common).to_python())

    form = Linear((), int(affine.get_constant_val().mul(common).to_python()))
    for place, name in enumerate(names):
        form = form + Linear.of(name) * weight(around, place)
    for place in range(affine.dim(dim_type.div)):
        times = weight(dim_type.div, place)
        if times:
            form = form + Linear.of(_affine(affine.get_div(place), names, around)) * times
    return form.expr() if scale == 1 else form.expr() // scale


def _holds(points: Any, names: Sequence[Expr], _: Any) -> Expr:
    """The condition that a point is in an isl set."""
    from islpy import dim_type

    parts: list[Expr] = []
    for basic in points.compute_divs().get_basic_sets():
        conditions: list[Expr] = []
        for constraint in basic.get_constraints():
            value = _affine(constraint.get_aff(), names, dim_type.in_)
            conditions.append(Compare("==" if constraint.is_equality() else ">=", value, Const(0)))
        parts.append(And(tuple(conditions)))
    return parts[0] if len(parts) == 1 else Or(tuple(parts))
