"""Evaluates texts of the facts language at points with Python itself, independently of the engine."""

import ast
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

Value = int | bool
Point = dict[str, int]

_NAME = re.compile(r"[A-Za-z_][\w.]*'*")
_WORDS = {
    **{word: word for word in ("and", "or", "not", "min", "max", "select", "tdiv", "tmod")},
    "true": "True",
    "false": "False",
}
# A domain beyond this many candidates is thinned by narrowing the windows of its unbounded variables.
_POINTS = 6000
_WINDOW = 20
# Primes: such a stride hits every residue of a small divisor.
_STRIDES = (2, 3, 5, 7, 11, 13, 17, 31, 61, 127, 509, 2039, 20_011)


def tdiv(a: int, b: int) -> int:
    """The quotient rounded towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def tmod(a: int, b: int) -> int:
    """The remainder of `tdiv`; it has the sign of `a`."""
    return a - b * tdiv(a, b)


def mangled(text: str) -> str:
    """The text with every name (`A.0`, `k'`) written as a Python identifier."""

    def name(match: re.Match[str]) -> str:
        word = match[0]
        return _WORDS.get(word) or "v_" + word.replace(".", "_dot_").replace("'", "_prime_")

    return _NAME.sub(name, text)


def variables(text: str) -> tuple[str, ...]:
    """The names in a text, sorted."""
    return tuple(sorted({word for word in _NAME.findall(text) if word not in _WORDS}))


class _Selects(ast.NodeTransformer):
    """`select(c, a, b)` becomes Python's conditional, which evaluates one branch."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "select":
            condition, then, otherwise = node.args
            return ast.IfExp(condition, then, otherwise)
        return node


@cache
def compiled(text: str, names: tuple[str, ...]) -> Callable[..., Value]:
    """A function of the values of `names`; raises ZeroDivisionError where the text has no value."""
    body = _Selects().visit(ast.parse(mangled(text.strip()), mode="eval").body)
    parameters = ast.arguments([], [ast.arg(mangled(name)) for name in names], None, [], [], None, [])
    function = ast.fix_missing_locations(ast.Expression(ast.Lambda(parameters, body)))
    return eval(compile(function, text, "eval"), {"tdiv": tdiv, "tmod": tmod, "min": min, "max": max})


@cache
def cost(text: str) -> int:
    """The cost of a text: 1 for + - and connectives, 2 for *, 3 for min, max, select, comparisons, 6 for division."""
    total = 0
    for node in ast.walk(ast.parse(mangled(text.strip()), mode="eval")):
        match node:
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                total += 1
            case ast.BinOp(op=ast.Mult()):
                total += 2
            case ast.BinOp():
                total += 6
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
                pass
            case ast.UnaryOp():
                total += 1
            case ast.BoolOp(values=values):
                total += len(values) - 1
            case ast.Compare(ops=ops):
                total += 3 * len(ops)
            case ast.Call(func=ast.Name(id="tdiv" | "tmod")):
                total += 6
            case ast.Call(func=ast.Name(id="min" | "max"), args=args):
                total += 3 * (len(args) - 1)
            case ast.Call():
                total += 3
            case _:
                pass
    return total


@dataclass(frozen=True)
class Given:
    """Facts as a line of text.

    Parts are separated by semicolons: ``i in 0..9`` (inclusive; either end may be missing, or an expression), ``m :=
    2*k``, a condition, and ``n ~ 0..70``, which is not a fact but a window for an unbounded variable.
    """

    text: str

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(part.strip() for part in self.text.split(";") if part.strip())

    @property
    def ranges(self) -> dict[str, tuple[int | str | None, int | str | None]]:
        """The ends of each range."""
        found: dict[str, tuple[int | str | None, int | str | None]] = {}
        for part in self.parts:
            if match := re.fullmatch(r"([\w.']+) in (.*)\.\.(.*)", part):
                found[match[1]] = _end(match[2]), _end(match[3])
        return found

    @property
    def equalities(self) -> dict[str, str]:
        """The variables that are defined as expressions."""
        found = {}
        for part in self.parts:
            if match := re.fullmatch(r"([\w.']+) := (.*)", part):
                found[match[1]] = match[2]
        return found

    @property
    def conditions(self) -> tuple[str, ...]:
        """The assumed conditions."""
        return tuple(part for part in self.parts if not re.match(r"[\w.']+ (in|:=|~) ", part))

    @property
    def windows(self) -> dict[str, tuple[int, int]]:
        found = {}
        for part in self.parts:
            if match := re.fullmatch(r"([\w.']+) ~ (-?\d+)\.\.(-?\d+)", part):
                found[match[1]] = int(match[2]), int(match[3])
        return found

    @property
    def requirements(self) -> tuple[str, ...]:
        """Every fact as a condition."""
        found = []
        for name, (lo, hi) in self.ranges.items():
            found += [f"{name} >= {lo}"] * (lo is not None) + [f"{name} <= {hi}"] * (hi is not None)
        found += [f"{name} == {text}" for name, text in self.equalities.items()]
        return (*found, *self.conditions)

    @property
    def bounded(self) -> bool:
        """Is every variable of these facts between two numbers?"""
        return all(isinstance(lo, int) and isinstance(hi, int) for lo, hi in self.ranges.values()) and set(
            variables(" + ".join(f"({text})" for text in self.requirements))
        ) <= set(self.ranges)


def _end(text: str) -> int | str | None:
    text = text.strip()
    if not text:
        return None
    return int(text) if re.fullmatch(r"-?\d+", text) else text


@dataclass(frozen=True)
class Domain:
    """The points at which the facts hold; unbounded variables run over a window."""

    names: tuple[str, ...]
    points: tuple[tuple[int, ...], ...]
    # Are these all points?
    whole: bool

    def values(self, text: str) -> Iterator[tuple[tuple[int, ...], Value]]:
        """The value at every point that has one."""
        function = compiled(text, self.names)
        for point in self.points:
            try:
                yield point, function(*point)
            except ZeroDivisionError:
                continue

    def shown(self, point: Sequence[int]) -> str:
        return ", ".join(f"{name} = {value}" for name, value in zip(self.names, point, strict=True))


@cache
def domain(given: str, *texts: str, window: int = _WINDOW, limit: int = _POINTS) -> Domain:
    """The points of `given` over its variables and those of `texts`, each text with a value there.

    A window narrower than `window` is taken where there would be more than `limit` candidates.
    """
    facts = Given(given)
    conditions = facts.requirements
    names = tuple(sorted({name for text in (*conditions, *texts) for name in variables(text)}))
    free = [name for name in names if name not in facts.equalities]
    spans = {name: _span(facts, name, window) for name in free}
    while math.prod(map(len, spans.values())) > limit and window > 3:
        window -= 1
        spans = {name: _span(facts, name, window) for name in free}
    points = _points(names, spans, facts.equalities, conditions, texts)
    return Domain(names, tuple(points), set(free) <= set(facts.ranges) and facts.bounded)


@cache
def sample(given: str, *texts: str, limit: int = _POINTS) -> Domain:
    """Like `domain`, with wide ranges thinned to their ends and evenly spaced values between."""
    facts = Given(given)
    names = tuple(sorted({name for text in (*facts.requirements, *texts) for name in variables(text)}))
    free = [name for name in names if name not in facts.equalities]
    most = max(13, int(limit ** (1 / max(1, len(free)))))
    spans = {name: _thinned(_span(facts, name, _WINDOW), most) for name in free}
    points = _points(names, spans, facts.equalities, facts.requirements, texts)
    whole = set(free) <= set(facts.ranges) and facts.bounded and all(isinstance(span, range) for span in spans.values())
    return Domain(names, tuple(points), whole)


def _thinned(span: Sequence[int], most: int) -> Sequence[int]:
    if len(span) <= most:
        return span
    end = most // 4
    stride = next((step for step in _STRIDES if len(span) // step <= most // 2), _STRIDES[-1])
    return sorted({*span[:end], *span[::stride], *span[-end:]})


def _span(facts: Given, name: str, window: int) -> range:
    """The window for a variable."""
    lo, hi = facts.ranges.get(name, (None, None))
    if name in facts.windows:
        least, greatest = facts.windows[name]
        least = max(least, lo) if isinstance(lo, int) else least
        return range(least, (min(greatest, hi) if isinstance(hi, int) else greatest) + 1)
    match lo, hi:
        case int(), int():
            return range(lo, hi + 1)
        case int(), _:
            return range(lo, lo + window + 1)
        case _, int():
            return range(hi - window, hi + 1)
        case _:
            return range(-(window // 2), window - window // 2 + 1)


def _points(
    names: tuple[str, ...],
    spans: dict[str, Sequence[int]],
    equalities: dict[str, str],
    conditions: Sequence[str],
    texts: Sequence[str],
) -> Iterator[tuple[int, ...]]:
    """A compiled nest of loops: each condition is checked as soon as its variables are known."""
    order = [*sorted(spans, key=lambda name: (len(spans[name]), name)), *(name for name in names if name in equalities)]
    lines = ["def walk():"]
    indent = "    "
    known: set[str] = set()
    waiting = list(conditions)

    def ask(text: str, test: str) -> None:
        body = ast.unparse(_Selects().visit(ast.parse(mangled(text), mode="eval")))
        lines.append(
            f"{indent}try:\n{indent}    {test.format(body)}\n{indent}except ZeroDivisionError:\n{indent}    continue"
        )

    lines.append(f"{indent}for _ in (0,):")
    indent += "    "
    for name in ("", *order):
        if name in equalities:
            ask(equalities[name], mangled(name) + " = {}")
        elif name:
            lines.append(f"{indent}for {mangled(name)} in {spans[name]!r}:")
            indent += "    "
        known.add(name)
        for text in [text for text in waiting if set(variables(text)) <= known]:
            waiting.remove(text)
            ask(text, "if not ({}): continue")
    for text in texts:
        ask(text, "{}")
    lines.append(f"{indent}yield ({''.join(mangled(name) + ', ' for name in names)})")
    space = {"tdiv": tdiv, "tmod": tmod, "min": min, "max": max}
    exec("\n".join(lines), space)
    return space["walk"]()  # type: ignore[operator]
