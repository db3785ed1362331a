"""Points of a domain: all points of a small one, some of a large one, computed by generated code."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from .coding import Code, compiled
from .polynomials import (
    LARGEST,
    All,
    Any,
    Atom,
    Choice,
    Floor,
    Formula,
    Least,
    Poly,
    Sealed,
    Sign,
    Symbol,
    Trunc,
    polynomials,
)
from .spans import Span
from .trees import Expr, tdiv, tmod

if TYPE_CHECKING:
    from .knowledge import Knowledge

MOST_POINTS = 2500
FAR = 10**9 + 7
_MOST_SAMPLES = 48
_MOST_NAMES = 40
_HEAVIEST = 2000
_FEW = 50
_DEEPEST = 25


class Values(NamedTuple):
    """The values of a polynomial over all points of a domain; `total` is 0 if there are none.

    Without `exact`, some points outside the domain were included.
    """

    least: int
    greatest: int
    spacing: int
    total: int
    exact: bool


class _Loops(NamedTuple):
    """The ranges to enumerate, the facts to filter by, and whether these are all facts."""

    ranges: list[tuple[str, Span]]
    filters: list[Formula]
    exact: bool


def every_value(known: Knowledge, p: Poly) -> Values | None:
    """The values of `p` over the whole domain, or None if that is too large."""
    key = ("values", p)
    if key not in known.memo:
        known.memo[key] = _every_value(known, p)
    return known.memo[key]  # type: ignore[return-value]


def _every_value(known: Knowledge, p: Poly) -> Values | None:
    if not _is_shallow(p):
        return None
    loops = _loops(known, p.names)
    if loops is None:
        return None
    code = Code()
    return _run(loops, code, f"v = {code.poly(p)}")


def holds_everywhere(known: Knowledge, formula: Formula) -> bool | None:
    """Whether `formula` holds on the whole domain, or None if that is too large."""
    polys = polynomials(formula)
    if not all(map(_is_shallow, polys)):
        return None
    loops = _loops(known, frozenset().union(*(p.names for p in polys)))
    if loops is None:
        return None
    code = Code()
    values = _run(loops, code, f"v = 1 if {code.formula(formula)} else 0")
    if values.total == 0 or values.least == 1:
        return True
    return False if values.exact else None


def _connected(known: Knowledge, names: frozenset[str]) -> tuple[frozenset[str], list[Formula]]:
    """`names` and all names that facts relate to them, with these facts."""
    pool: list[tuple[frozenset[str], Formula]] = _filters(known)
    chosen: list[Formula] = []
    grown = True
    while grown:
        grown = False
        for entry in list(pool):
            if not entry[0].isdisjoint(names):
                names = names | entry[0]
                chosen.append(entry[1])
                pool = [other for other in pool if other is not entry]
                grown = True
    return names, chosen


def _filters(known: Knowledge) -> list[tuple[frozenset[str], Formula]]:
    found = known.memo.get("filters")
    if found is None:
        found = []
        for formula in (*known.facts, *known.clauses):
            polys = polynomials(formula)
            if all(map(_is_shallow, polys)):
                found.append((frozenset().union(*(poly.names for poly in polys)), formula))
        known.memo["filters"] = found
    return found  # type: ignore[return-value]


def _loops(known: Knowledge, names: frozenset[str]) -> _Loops | None:
    """The ranges to enumerate and the facts to filter by; None if there are too many points."""
    count = 1
    for name in names:
        lo, hi = known.span_of(name)
        if lo is None or hi is None:
            return None
        count *= hi - lo + 1
        if count > MOST_POINTS:
            return None
    closure, filters = _connected(known, names)
    exact = True
    for name in sorted(closure - names):
        lo, hi = known.span_of(name)
        if lo is None or hi is None or count * (hi - lo + 1) > MOST_POINTS:
            # A larger domain is sound: facts about names that cannot be enumerated are ignored.
            exact = False
            filters = [f for f in filters if all(name not in poly.names for poly in polynomials(f))]
        else:
            names = names | {name}
            count *= hi - lo + 1
    return _Loops([(name, known.span_of(name)) for name in sorted(names)], filters, exact)


def few_values(known: Knowledge, expr: Expr) -> list[int] | None:
    """Every value of `expr` if the domain has few points, computed without a normal form; None otherwise."""
    names = sorted(expr.variables)
    if known.impossible or len(names) > 4:
        return None
    symbols = frozenset().union(*(known.symbol(name).names for name in names))
    key = ("few", symbols)
    if key not in known.memo:
        known.memo[key] = _few_points(known, symbols)
    found = known.memo[key]
    if found is None:
        return None
    values = []
    for point in found:  # type: ignore[attr-defined]
        try:
            values.append(expr.evaluate({name: value(known.symbol(name), point) for name in names}))
        except ZeroDivisionError:
            continue
    return values


def _few_points(known: Knowledge, symbols: frozenset[str]) -> list[dict[str, int]] | None:
    loops = _loops(known, symbols)
    if loops is None or not loops.exact:
        return None
    count = 1
    for _, (lo, hi) in loops.ranges:
        assert lo is not None and hi is not None
        count *= hi - lo + 1
    if count > _FEW:
        return None
    found = []
    for values in product(*(range(lo, hi + 1) for _, (lo, hi) in loops.ranges)):  # type: ignore[arg-type, operator]
        point = dict(zip((name for name, _ in loops.ranges), values, strict=True))
        try:
            if all(truth(formula, point) for formula in loops.filters):
                found.append(point)
        except ZeroDivisionError:
            continue
    return found


def _run(loops: _Loops, code: Code, body: str) -> Values:
    ranges = loops.ranges
    lines = ["def run():", " lo = hi = first = None; g = n = 0"]
    indent = 1
    bound: set[str] = set()
    left = list(loops.filters)
    for name, (lo, hi) in ranges:
        assert lo is not None and hi is not None
        lines.append(f"{' ' * indent}for {code.name(name)} in range({lo:#x}, {hi + 1:#x}):")
        indent += 1
        bound.add(name)
        for formula in list(left):
            polys = polynomials(formula)
            if all(poly.names <= bound for poly in polys) and not any(_divides(poly) for poly in polys):
                left.remove(formula)
                lines.append(f"{' ' * indent}if not {code.formula(formula)}: continue")
    pad = " " * indent
    lines.append(f"{pad}try:")
    for formula in left:
        lines.append(f"{pad} if not {code.formula(formula)}: {'continue' if ranges else 'return lo, hi, g, n'}")
    lines.append(f"{pad} {body}")
    lines.append(f"{pad}except ZeroDivisionError: {'continue' if ranges else 'return lo, hi, g, n'}")
    lines += [
        f"{pad}n += 1",
        f"{pad}if lo is None: lo = hi = first = v",
        f"{pad}else:",
        f"{pad} if v < lo: lo = v",
        f"{pad} elif v > hi: hi = v",
        f"{pad} g = gcd(g, v - first)",
        " return lo, hi, g, n",
    ]
    lo, hi, spacing, count = compiled("\n".join(lines))()
    return Values(lo or 0, hi or 0, spacing, count, loops.exact)


def _divides(poly: Poly) -> bool:
    return any(
        isinstance(atom, Sealed) or (isinstance(atom, Floor | Trunc) and atom.denominator.value is None)
        for atom in poly.deep_atoms(choices=True)
    )


def _is_shallow(poly: Poly) -> bool:
    return poly.height <= _DEEPEST and poly.weight <= 2 * LARGEST


def samples(known: Knowledge, names: frozenset[str]) -> list[dict[str, int]]:
    """A few points of the domain, for the symbols `names` and those related to them."""
    if len(names) > _MOST_NAMES:
        return []
    closure, filters = _connected(known, names)
    key = ("samples", closure)
    if key not in known.memo:
        known.memo[key] = _samples(known, sorted(closure), filters)
    return known.memo[key]  # type: ignore[return-value]


def _samples(known: Knowledge, names: list[str], filters: list[Formula]) -> list[dict[str, int]]:
    choices = [_candidates(known.span_of(name), len(names) == 1) for name in names]
    total = 1
    for one in choices:
        total *= len(one)
    if total <= 100:
        tuples = list(product(*choices))
    else:
        # A fixed linear congruential sequence: every run takes the same points.
        state, tuples = 12345, [tuple(c[0] for c in choices), tuple(c[-1] for c in choices)]
        for _ in range(100 if filters else _MOST_SAMPLES):
            point = []
            for one in choices:
                state = (state * 1103515245 + 12345) % (1 << 31)
                point.append(one[(state >> 8) % len(one)])
            tuples.append(tuple(point))
    if not filters:
        return [dict(zip(names, values, strict=True)) for values in tuples[:100]]
    code = Code()
    arguments = ", ".join(map(code.name, names))
    test = " and ".join(map(code.formula, filters))
    lines = ["def run(tuples):", " kept = []"]
    lines += [" for t in tuples:", f"  {arguments}, = t", "  try:", f"   if {test}: kept.append(t)"]
    lines += ["  except ZeroDivisionError: pass", " return kept"]
    kept = compiled("\n".join(lines))(tuples)
    return [dict(zip(names, values, strict=True)) for values in kept]


_NEAR = [0, 1, 2, 3, 4, 5, 7, 8, 16, 64, 1001, FAR]
_MANY = [*range(41), 63, 64, 99, 100, 127, 128, 255, 256, 1001, FAR]


def _candidates(span: Span, many: bool) -> list[int]:
    lo, hi = span
    steps = _MANY if many else _NEAR
    if lo is not None and hi is not None:
        if hi - lo < (100 if many else 8):
            return list(range(lo, hi + 1))
        middle = (lo + hi) // 2
        near = [step for step in steps[: len(steps) // 2] if lo + step <= hi]
        return sorted({*(lo + step for step in near), *(hi - step for step in near[:8]), middle, middle + 1})
    if lo is not None:
        return [lo + step for step in steps]
    if hi is not None:
        return [hi - step for step in steps]
    return sorted({*steps, *(-step for step in steps)}, key=abs)


def sampled(known: Knowledge, p: Poly) -> list[int]:
    """Values that `p` takes at some points of the domain."""
    key = ("sampled", p)
    if key in known.memo:
        return known.memo[key]  # type: ignore[return-value]
    found: list[int] = []
    if p.weight > _HEAVIEST:
        return found
    for point in samples(known, p.names)[: max(8, 6000 // (p.weight + 1))]:
        try:
            found.append(value(p, point))
        except ZeroDivisionError:
            continue
    known.memo[key] = found
    return found


def value(p: Poly, point: dict[str, int], known_values: dict[Atom, int] | None = None) -> int:
    """The value of `p` at a point."""
    values = {} if known_values is None else known_values
    total = 0
    for monomial, weight in p.terms.items():
        for atom in monomial:
            if isinstance(atom, Symbol):
                weight *= point[atom.name]
                continue
            number = values.get(atom)
            if number is None:
                number = values[atom] = _atom_value(atom, point, values)
            weight *= number
        total += weight
    return total


def _atom_value(atom: Atom, point: dict[str, int], values: dict[Atom, int]) -> int:
    match atom:
        case Floor():
            return value(atom.numerator, point, values) // value(atom.denominator, point, values)
        case Trunc():
            return tdiv(value(atom.numerator, point, values), value(atom.denominator, point, values))
        case Least():
            return min(value(arg, point, values) for arg in atom.args)
        case Sealed():
            a, b = (value(arg, point, values) for arg in atom.args)
            return a * b if atom.op == "*" else a % b if atom.op == "%" else tmod(a, b)
        case Choice():
            return value(atom.then if truth(atom.condition, point) else atom.otherwise, point, values)
        case _:
            raise AssertionError(atom)


def truth(formula: Formula, point: dict[str, int]) -> bool:
    """Whether `formula` holds at a point."""
    match formula:
        case Sign(relation, poly):
            number = value(poly, point)
            return number >= 0 if relation == ">=" else (number == 0) == (relation == "==")
        case All(parts):
            return all(truth(part, point) for part in parts)
        case Any(parts):
            return any(truth(part, point) for part in parts)
