"""Symbolic hulls: the ends of a subscript while some of its variables run, as expressions of the others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, islice, product
from typing import Final

from ...symbolic import Facts
from ...symbolic.facts.trees import Binary, Const, Expr, Select, Var, walk
from .grids import Span
from .linear import Linear, at_least_zero, interval
from .needs import Need

# The number of bounds kept for one end.
_MOST: Final = 6

# Guards are used for expressions inside at most this many divisions, minima and maxima.
_DEEPEST: Final = 3

# A formula with more symbols than this is less readable than a table.
_LONGEST: Final = 120
_OPPOSITE: Final = {"min": "max", "max": "min"}


@dataclass(frozen=True, slots=True)
class Hull:
    """Each of `lows` is a lower, each of `highs` an upper bound of every value: the tightest ends are their extrema."""

    lows: tuple[Linear, ...]
    highs: tuple[Linear, ...]

    def __add__(self, other: "Hull") -> "Hull":
        return Hull(_sums(self.lows, other.lows), _sums(self.highs, other.highs))

    def __mul__(self, factor: int) -> "Hull":
        lows, highs = tuple(end * factor for end in self.lows), tuple(end * factor for end in self.highs)
        return Hull(lows, highs) if factor >= 0 else Hull(highs, lows)

    def low(self) -> Expr:
        return _extremum("max", [end.expr() for end in self.lows])

    def high(self) -> Expr:
        return _extremum("min", [end.expr() for end in self.highs])


class Hulls:
    """The hulls of the subscripts of one axis over the loops of a path."""

    def __init__(
        self, axis: int, needs: Sequence[Need], prefix: Sequence[str], spans: Mapping[str, Span], domain: Span
    ) -> None:
        self.prefix = frozenset(prefix)
        self.spans = spans
        self.domain = domain
        self.needs = needs
        self.axis = axis
        facts = Facts()
        for name in prefix:
            lo, hi = spans[name]
            facts = facts.define(name, lo, hi - 1)
        self.facts = facts

    def found(self, *, wraps: bool) -> list[Hull]:
        """One hull for each different subscript. Without `wraps`, remainders are assumed not to wrap around."""
        hulls: dict[str, Hull] = {}
        for need in self.needs:
            index = need.indices[self.axis]
            assert index is not None
            hull = _Need(self, need, wraps=wraps).hull(index)
            if hull is None:
                hull = Hull((Linear((), self.domain[0]),), (Linear((), self.domain[1] - 1),))
            ends = (sorted(str(end.expr()) for end in side) for side in (hull.lows, hull.highs))
            hulls.setdefault(str(list(ends)), hull)
        return list(hulls.values())

    def lows(self) -> Iterator[Expr]:
        """Candidates for the first index, simple ones first."""
        yield from self.ends(lambda hull: hull.lows, "max", "min", self.domain[0])

    def highs(self) -> Iterator[Expr]:
        """Candidates for the last index."""
        yield from self.ends(lambda hull: hull.highs, "min", "max", self.domain[1] - 1)

    def ends(self, which: Callable[[Hull], Sequence[Linear]], inside: str, across: str, edge: int) -> Iterator[Expr]:
        for wraps in (False, True):
            whole = self.found(wraps=wraps)
            parts = [[end.expr() for end in which(hull)] for hull in whole]
            for count in range(1, 1 + min(3, max(len(part) for part in parts))):
                for choice in combinations(range(max(len(part) for part in parts)), count):
                    kept = [[part[min(n, len(part) - 1)] for n in choice] for part in parts]
                    united = self.united([_extremum(inside, part) for part in kept], across)
                    yield united
                    yield _extremum(inside, [united, Const(edge)])
            united = self.united([_extremum(inside, part) for part in parts], across)
            yield united
            yield _extremum(inside, [united, Const(edge)])

    def united(self, ends: Sequence[Expr], across: str) -> Expr:
        """The extremum of ends, some of which differ only by constants."""
        kept: list[Linear] = []
        for end in map(Linear.of, ends):
            for place, other in enumerate(kept):
                difference = (end - other).constant
                if difference is not None:
                    if (difference < 0) == (across == "min"):
                        kept[place] = end
                    break
            else:
                kept.append(end)
        return _extremum(across, [end.expr() for end in kept])

    def extents(self) -> Iterator[Expr]:
        """Candidates for the extent: differences of ends, and minima of them."""
        for wraps in (False, True):
            whole = self.found(wraps=wraps)
            lows = [Linear.of(self.united([hull.low() for hull in whole], "min"))]
            highs = [Linear.of(self.united([hull.high() for hull in whole], "max"))]
            if len(whole) == 1:
                lows, highs = list(whole[0].lows), list(whole[0].highs)
            elif all(len(hull.lows) == len(whole[0].lows) and len(hull.highs) == len(whole[0].highs) for hull in whole):
                lows = [
                    Linear.of(self.united([e.expr() for e in ends], "min"))
                    for ends in zip(*(h.lows for h in whole), strict=True)
                ]
                highs = [
                    Linear.of(self.united([e.expr() for e in ends], "max"))
                    for ends in zip(*(h.highs for h in whole), strict=True)
                ]
            lows.append(Linear((), self.domain[0]))
            highs.append(Linear((), self.domain[1] - 1))
            sizes = list(dict.fromkeys(self.tidy((high - low + 1).expr()) for high, low in product(highs, lows)))
            least = min((size.value for size in sizes if isinstance(size, Const)), default=None)
            sizes = [size for size in sizes if not isinstance(size, Const) or size.value == least]
            # A constant reads best at the front: min(16, 20 - 16*co).
            sizes.sort(key=lambda size: not isinstance(size, Const))
            for count in range(1, 1 + min(3, len(sizes))):
                for choice in combinations(sizes[:_MOST], count):
                    yield _extremum("min", list(choice))
            yield _extremum("min", sizes)

    def tidy(self, expr: Expr) -> Expr:
        """With its divisions simplified; sums keep their order."""
        return Linear.of(expr).map(self.tidy_atom).expr()

    def tidy_atom(self, atom: Expr) -> Expr:
        if not isinstance(atom, Binary) or not atom.variables <= self.prefix:
            return atom
        if atom.op in ("//", "%", "tdiv", "tmod") and not _is_clamped(atom):
            simple = self.facts.simplify(atom)
            # ``fo*3 // 4`` reads better than the cheaper ``fo // -4 + fo``.
            return atom if "-" in str(simple) and "-" not in str(atom) else simple
        return Binary(atom.op, self.tidy(atom.left), self.tidy(atom.right))


def _is_clamped(expr: Expr) -> bool:
    """Whether minima, maxima or choices occur."""
    return any(
        isinstance(node, Select) or (isinstance(node, Binary) and node.op in ("min", "max")) for node in walk(expr)
    )


class _Need:
    """The hull of a subscript under the guards of its read."""

    def __init__(self, hulls: Hulls, need: Need, *, wraps: bool) -> None:
        self.hulls = hulls
        self.wraps = wraps
        self.free = lambda expr: bool(expr.variables - hulls.prefix)
        self.guards = [form for guard in need.guards for form in at_least_zero(guard) if self.free(guard)]
        self.depth = 0
        self.known: dict[tuple[Expr, bool], Hull | None] = {}

    def hull(self, expr: Expr) -> Hull | None:
        """None if a product of variables, or anything else that is not monotone, prevents it."""
        # A guard may contain an atom with the variable that it bounds.
        guarded = self.depth < _DEEPEST
        if (expr, guarded) not in self.known:
            self.depth += 1
            self.known[expr, guarded] = self.derived(Linear.of(expr), guarded=guarded)
            self.depth -= 1
        return self.known[expr, guarded]

    def derived(self, form: Linear, *, guarded: bool) -> Hull | None:
        ends = self.corner(form)
        if ends is None or any(_is_long(end.expr()) for end in (*ends.lows, *ends.highs)):
            return None
        if not guarded:
            return ends
        lows, highs = list(ends.lows), list(ends.highs)
        for guard in self.guards:
            for atom, weight in form.terms:
                slope = guard.weight(atom)
                if not slope or not self.free(atom) or weight % slope:
                    continue
                factor = -weight // slope
                # form + factor*guard no longer contains the atom, and bounds the form on one side.
                other = self.corner(form + guard * factor)
                if other is not None and factor > 0:
                    highs += other.highs
                elif other is not None:
                    lows += other.lows
        if any(_is_long(end.expr()) for end in (*lows, *highs)):
            return None
        return Hull(self.kept(lows, "max"), self.kept(highs, "min"))

    def kept(self, ends: Sequence[Linear], pick: str) -> tuple[Linear, ...]:
        """The ends without those dominated by others."""
        found: list[Linear] = []
        # Fewer ends are looser, never wrong.
        for end in islice(dict.fromkeys(part for whole in ends[:_MOST] for part in _parts(whole, pick)), 2 * _MOST):
            beaten = False
            for other in list(found):
                difference = interval((end - other).expr(), self.hulls.spans)
                if difference is None:
                    continue
                lo, hi = difference if pick == "max" else (-difference[1], -difference[0])
                if hi <= 0:
                    beaten = True
                elif lo >= 0:
                    found.remove(other)
            if not beaten:
                found.append(end)
        return tuple(found[:_MOST])

    def corner(self, form: Linear) -> Hull | None:
        """Every atom at its own ends."""
        base = Linear(tuple((atom, weight) for atom, weight in form.terms if not self.free(atom)), form.base)
        total = Hull((base,), (base,))
        for atom, weight in form.terms:
            if self.free(atom):
                ends = self.atom(atom)
                if ends is None:
                    return None
                total = total + ends * weight
        return total

    def atom(self, atom: Expr) -> Hull | None:
        match atom:
            case Var(name=name):
                lo, hi = self.hulls.spans[name]
                return Hull((Linear((), lo),), (Linear((), hi - 1),))
            case Binary(op="//" | "tdiv" as op, left=left, right=Const(value=value)) if value > 0:
                inner = self.hull(left)
                return None if inner is None else self.monotone(inner, lambda end: Binary(op, end, Const(value)))
            case Binary(op="%", left=left, right=Const(value=value)) if value > 0:
                inner = self.hull(left)
                return None if inner is None else self.remainder(inner, value)
            case Binary(op="min" | "max" as op, left=left, right=right):
                one, other = self.hull(left), self.hull(right)
                if one is None or other is None:
                    return None
                return Hull(
                    (self.tidy(Binary(op, one.low(), other.low())),), (self.tidy(Binary(op, one.high(), other.high())),)
                )
            case Select(then=then, otherwise=otherwise):
                one, other = self.hull(then), self.hull(otherwise)
                if one is None or other is None:
                    return None
                return Hull(
                    (self.tidy(Binary("min", one.low(), other.low())),),
                    (self.tidy(Binary("max", one.high(), other.high())),),
                )
            case _:
                return None

    def monotone(self, inner: Hull, change: Callable[[Expr], Expr]) -> Hull:
        return Hull(
            tuple(self.tidy(change(end.expr())) for end in inner.lows),
            tuple(self.tidy(change(end.expr())) for end in inner.highs),
        )

    def remainder(self, inner: Hull, divisor: int) -> Hull:
        """Exact if every value between the ends is taken, except at the ends of their union."""
        full = Hull((Linear((), 0),), (Linear((), divisor - 1),))
        span = [interval((high - low).expr(), self.hulls.spans) for high in inner.highs for low in inner.lows]
        least = min((ends[1] for ends in span if ends is not None), default=None)
        if least is None or least >= divisor:
            return full
        low = inner.low()
        first = self.tidy(low % divisor)
        lasts = tuple(first + self.tidy((high - Linear.of(low)).expr()) for high in inner.highs)
        if not self.wraps:
            return Hull((first,), lasts)
        if (first.constant is not None) and all(
            last.constant is not None and last.constant < divisor for last in lasts
        ):
            return Hull((first,), lasts)
        # Beyond the divisor it restarts at 0: then divisor - last is at most 0, else it is 1 or more.
        end = _extremum("min", [last.expr() for last in lasts])
        room = (Linear((), divisor) - Linear.of(end)) * divisor
        start = Binary("max", Const(0), Binary("min", first.expr(), room.expr()))
        return Hull((self.tidy(start),), (Linear((), divisor - 1), *lasts))

    def tidy(self, expr: Expr) -> Linear:
        return Linear.of(self.hulls.tidy(expr))


def _is_long(expr: Expr) -> bool:
    """Whether writing it out takes more than this many symbols; shared parts count each time."""
    pending, count = [expr], 0
    while pending and count <= _LONGEST:
        count += 1
        pending += pending.pop().children
    return count > _LONGEST


def _parts(end: Linear, pick: str) -> list[Linear]:
    """Ends whose extremum is `end`: adding a minimum gives the minimum of two sums."""
    for atom, weight in end.terms:
        if isinstance(atom, Binary) and atom.op == (pick if weight > 0 else _OPPOSITE[pick]):
            rest = end - Linear(((atom, weight),), 0)
            sides = (rest + Linear.of(side) * weight for side in (atom.left, atom.right))
            return [part for side in sides for part in _parts(side, pick)][:_MOST]
    return [end]


def _sums(left: Sequence[Linear], right: Sequence[Linear]) -> tuple[Linear, ...]:
    return tuple(dict.fromkeys(one + other for one in left for other in right))[:_MOST]


def _extremum(op: str, ends: Sequence[Expr]) -> Expr:
    kept = list(dict.fromkeys(ends))
    return reduce(lambda left, right: Binary(op, left, right), kept)


def bounding(
    axis: int, needs: Sequence[Need], prefix: Sequence[str], spans: Mapping[str, Span], domain: Span
) -> tuple[Expr, Expr, int]:
    """The first index, the extent and its largest value for a box that contains everything needed, not necessarily the
    smallest.
    """
    hulls = Hulls(axis, needs, prefix, spans, domain)
    found = hulls.found(wraps=True)
    low = hulls.united([hull.low() for hull in found], "min")
    high = hulls.united([hull.high() for hull in found], "max")
    ends = interval(low, spans)
    if ends is None or ends[0] < domain[0]:
        low = Binary("max", Const(domain[0]), low)
    ends = interval(high, spans)
    if ends is None or ends[1] >= domain[1]:
        high = Binary("min", Const(domain[1] - 1), high)
    size = _least(list(found[0].highs), list(found[0].lows), hulls) if len(found) == 1 else None
    extent = (Linear.of(high) - Linear.of(low) + 1).expr()
    most = interval(extent, spans)
    known = [value for value in (size, None if most is None else most[1], domain[1] - domain[0]) if value is not None]
    if most is None:
        bound = hulls.facts.bounds(extent)[1]
        known += [] if bound is None else [bound]
    return low, hulls.tidy(extent), max(0, min(known))


def _least(highs: Sequence[Linear], lows: Sequence[Linear], hulls: Hulls) -> int | None:
    sizes = [interval((high - low + 1).expr(), hulls.spans) for high in highs for low in lows]
    return min((size[1] for size in sizes if size is not None), default=None)
