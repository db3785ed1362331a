"""An explanation as a page of a notebook: for each statement its loops, its operation and why, and its costs."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from .. import ir, planning
from ..diagnostics.phrases import bytes_text, place_text, time_text
from ..markup import (
    Bar,
    Element,
    Limit,
    Roof,
    Work,
    bar,
    bars_svg,
    block,
    code,
    details,
    element,
    figure,
    formula,
    roofline_svg,
    table,
    title,
)
from ..planning.cost.growth import in_words
from ..planning.data.machine import CPU
from ..symbolic import IndexVar
from ..typesetting import mathml, typeset_statement
from .pictures import StatementPicture, draw
from .points import Points, points_of
from .ranges import number_table, quoted
from .subjects import Subject

Described = Mapping[str, Any]

# Most steps of a plan that are drawn.
_MOST_BARS: Final = 24


def show_explanation(data: Described, plan: planning.Plan | None) -> str:
    """HTML without scripts, from the data of an explanation; the plan gives formulas and pictures."""
    pictures, formulas = ({}, {}) if plan is None else _of_plan(plan)
    statements = data["statements"]
    parts: list[Element] = [title("How it is computed", _total(data)), code(data["program"])]
    if data["facts"]:
        parts.append(element("p", f"Assumed: {', '.join(data['facts'])}."))
    if "no_gradient" in data:
        parts.append(element("p", "No gradient: ", quoted(str(data["no_gradient"]))))
    if "compiled" in data:
        parts.append(_compiled(data["compiled"]))
    parts.append(_costs(statements))
    parts.append(element("div", *_charts(data), class_="pictures"))
    defined: set[str] = set()
    for described in statements:
        points = formulas.get(described["statement"])
        lines = None if points is None else _formula(points.statement, defined)
        loops = () if points is None else points.own
        parts.append(_statement(described, lines, loops, pictures.get(described["statement"])))
        defined.add(described["target"])
    return str(block(*parts))


def _charts(data: Described) -> Iterator[Element]:
    """The statements below the machine's roofline, and what is in memory while the plan runs."""
    works = [Work(each["target"], each["flops"], each["bytes"], each["seconds"]) for each in data["statements"]]
    if any(work.flops > 0 and work.bytes > 0 and work.seconds > 0 for work in works):
        yield figure("Roofline of the table of machines, a CPU (estimates)", roofline_svg(works, _roofs()))
    held = data["memory"]
    limit = Limit(data["memory_limit"], f"limit of a statement's temporaries: {bytes_text(data['memory_limit'])}")
    if held:
        bars = [
            Bar(f"{n}. {each['target']}", (each["kept"], each["own"]), bytes_text(each["kept"] + each["own"]))
            for n, each in enumerate(held[:_MOST_BARS], start=1)
        ]
        more = f", the first {_MOST_BARS} of {len(held)}" if len(held) > _MOST_BARS else ""
        title = f"Temporary memory, step by step{more} (estimates)"
        yield figure(title, bars_svg(title, bars, ("kept for other steps", "the step's own"), limit))


def _roofs() -> list[Roof]:
    """The roof of matrix products from memory; below it, the roof of elementwise operations from the cache."""
    return [
        Roof("matrix products, from memory", 2 / CPU.multiply_add, 1 / CPU.memory_byte),
        Roof("elementwise, from the cache", 1 / CPU.element, 1 / CPU.cached_byte),
    ]


def _prices(described: Described) -> Element | None:
    """The price of the plan and of the runner-up."""
    spent, other = described["spent"], described["runner_up"]
    if not sum(spent.values()):
        return None
    bars = [_priced(f"chosen: {described['operation']}", described["seconds"], spent)]
    if other is not None and "spent" in other:
        bars.append(_priced(f"next best: {other['operation']}", other["seconds"], other["spent"]))
    title = "Price on a CPU (estimate)"
    return figure(title, bars_svg(title, bars, ("compute", "memory", "overhead")))


def _priced(name: str, seconds: float, spent: Mapping[str, float]) -> Bar:
    return Bar(name, (spent["compute"], spent["memory"], spent["overhead"]), time_text(seconds))


def _of_plan(plan: planning.Plan) -> tuple[dict[str, StatementPicture], dict[str, Points]]:
    """The pictures and the points of statements by their texts; none if expressions are nested too deeply."""
    try:
        pictures = {picture.statement: picture for picture in draw(Subject(plan)).statements}
        return pictures, dict(points_of(plan))
    except RecursionError:
        return {}, {}


def _formula(statement: ir.Statement, defined: set[str]) -> Element | None:
    try:
        return mathml(typeset_statement(ir.as_written(statement), defined))
    except RecursionError:
        return None


def _total(data: Described) -> str:
    total = f"{count(data['flops'])} operations, {bytes_text(data['bytes'])} moved, "
    return f"{total}{bytes_text(data['temporary_bytes'])} temporary (estimates)"


def _compiled(figures: Described) -> Element:
    """XLA's figures of the compiled program, a line for each direction."""
    rows = [
        (direction, *(_known(figures[name], shown) for name, shown in _SHOWN))
        for direction, figures in (("forward", figures["forward"]), ("vjp", figures["vjp"]))
        if figures is not None
    ]
    return table(("compiled by XLA", "operations", "moved", "temporary"), rows)


def _known(figure: int | None, shown: Callable[[int], str]) -> str:
    return "unknown" if figure is None else shown(figure)


def _costs(statements: list[Described]) -> Element:
    """A line for each statement, with bars for its share of the operations and of the bytes."""
    most_flops = max((described["flops"] for described in statements), default=0) or 1
    most_bytes = max((described["bytes"] for described in statements), default=0) or 1
    rows = [
        (
            described["target"],
            described["operation"],
            count(described["flops"]),
            bar(described["flops"] / most_flops),
            bytes_text(described["bytes"]),
            bar(described["bytes"] / most_bytes),
            bytes_text(described["temporary_bytes"]),
        )
        for described in statements
    ]
    headings = ("writes", "operation", "operations", "", "moved", "", "temporary")
    return table(headings, rows)


def _statement(
    described: Described, lines: Element | None, loops: tuple[IndexVar, ...], picture: StatementPicture | None
) -> Element:
    parts: list[Element] = [title(f"{described['target']}: {described['result']}", place_text(described))]
    parts.append(code(described["statement"]) if lines is None else formula(lines))
    parts.append(element("p", element("b", described["operation"]), ": ", quoted(described["reason"])))
    prices = _prices(described)
    if prices is not None:
        parts.append(prices)
    for fact in described.get("facts", ()):
        if fact != described["reason"]:
            parts.append(element("p", "Known: ", quoted(fact)))
    if described.get("growth"):
        parts.append(element("p", f"Operations grow: {in_words(described['growth'])}."))
    parts += [element("p", "Hint: ", quoted(hint)) for hint in described.get("hints", ())]
    parts += [element("p", _nest(loops)) for loops in described.get("loops", ())]
    if described["ranges"]:
        parts.append(number_table(described["ranges"]))
    if "tiles" in described:
        parts.append(element("p", _tiles(described["tiles"])))
    if "whole" in described:
        parts.append(element("p", f"Not in tiles: {described['whole']}"))
    if loops and described["ranges"] and "tiles" not in described:
        parts.append(details("the loops", code(_loops(described, loops))))
    if picture is not None:
        parts.append(details("which points take part, and what one element reads", picture.figures()))
    return element("div", *parts, class_="part")


def _nest(loops: Described) -> str:
    """How the loops of a nest run."""
    tile = f", for {loops['tile'][1]} of {loops['tile'][0]} at a time" if loops["tile"] else ""
    pieces = f", in {loops['parts']} parts, split by a condition" if loops["parts"] > 1 else ""
    together = f"{loops['rows']} vectorised, unrolled {loops['unroll']} times"
    steps = f"{loops['loop']} runs {loops['rows'] * loops['unroll']} at a time"
    return f"{steps}{f': {together}' if loops['unroll'] > 1 else ''}{tile}{pieces}."


def _tiles(tiles: Described) -> str:
    loops = ", ".join(f"{step['loop']} in 0:{step['extent']}" for step in tiles["loops"])
    shape = " x ".join(map(str, tiles["shape"]))
    return f"In tiles of {shape}, one at a time, for {loops}."


def _loops(described: Described, loops: tuple[IndexVar, ...]) -> str:
    """The loops as one would write them, not as XLA runs them; with those of inline reductions."""
    lines: list[str] = []
    for index in loops:
        name = ir.index_name(index)
        given = described["ranges"].get(name)
        if given is None:
            # Another statement with the same text.
            continue
        lines.append(f"{'  ' * len(lines)}for {name} in {given['lo']}:{given['hi']}")
    return "\n".join([*lines, f"{'  ' * len(lines)}{described['statement']}"])


def count(number: int) -> str:
    """A number of operations, in thousands, millions and so on."""
    for unit, size in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return str(number)


_SHOWN = (("operations", count), ("bytes", bytes_text), ("temporary_bytes", bytes_text))
