"""`Choice`: what may differ between two ways to run one kernel, and its form as JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from ... import ir
from ...planning.forms import Form
from ...symbolic import IndexVar

if TYPE_CHECKING:
    from ...planning.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Tiles:
    """`producers` are computed inside of `consumer`, as much of them as `rows` iterations of its `loop` need."""

    consumer: str
    loop: str
    rows: int
    producers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.producers)} at {self.rows} {self.loop} of {self.consumer}"


@dataclass(frozen=True, slots=True)
class Choice:
    """How the loop nest of a target runs (None: as one plain XLA reduction), and what is computed in tiles.

    `gradient` has the forms of the nests of derivatives, by their names. What a choice does not name runs as the
    planner decides.
    """

    forms: tuple[tuple[str, Form | None], ...] = ()
    tiles: tuple[Tiles, ...] = ()
    gradient: tuple[tuple[str, Form | None], ...] = ()

    def with_form(self, target: str, form: Form | None) -> "Choice":
        """The same with another form for a target."""
        others = tuple(pair for pair in self.forms if pair[0] != target)
        return replace(self, forms=(*others, (target, form)))

    def with_gradient(self, nest: str, form: Form | None) -> "Choice":
        """The same with another form for a nest of the derivatives."""
        others = tuple(pair for pair in self.gradient if pair[0] != nest)
        return replace(self, gradient=(*others, (nest, form)))

    def with_tiles(self, tiles: Tiles) -> "Choice":
        """The same with other tiles for a consumer."""
        others = tuple(other for other in self.tiles if other.consumer != tiles.consumer)
        return replace(self, tiles=(*others, tiles))

    def __str__(self) -> str:
        parts = [f"{target}: {show_form(form)}" for target, form in self.forms] + list(map(str, self.tiles))
        parts += [f"gradient: {show_form(form)}" for _, form in self.gradient]
        return "; ".join(parts) or "as planned"


def show_form(form: Form | None) -> str:
    """The form in a few words."""
    if form is None:
        return "one plain XLA reduction"
    if form.sieve:
        return f"the first of blocks of {form.sieve} {form.loop}"
    tile = f", {form.tile[1]} {form.tile[0]} at a time" if form.tile is not None else ""
    return f"{form.rows} {form.loop} side by side, {form.unroll} unrolled{tile}"


def scheduled(choice: Choice, function: ir.Function) -> "Schedule | None":
    """The schedule with the tiles; None where there are none. Raises `CompileError` where they are illegal."""
    if not choice.tiles:
        return None
    # Schedules bring a prover along: only who has one waits for it.
    from ...planning.schedule import Schedule

    schedule = Schedule(function.name, function)
    for tiles in choice.tiles:
        outer = f"{tiles.loop}_tile"
        schedule = schedule.split(tiles.consumer, tiles.loop, factor=tiles.rows, outer=outer, inner=f"{tiles.loop}_row")
        for producer in tiles.producers:
            schedule = schedule.compute_at(producer, tiles.consumer, outer)
    return schedule


# ---------------------------------------------------------------- JSON


def to_json(choice: Choice) -> dict[str, Any]:
    """The choice as plain dicts, lists, strings and numbers."""
    tiles = [[t.consumer, t.loop, t.rows, list(t.producers)] for t in choice.tiles]
    return {"forms": _forms_to_json(choice.forms), "tiles": tiles, "gradient": _forms_to_json(choice.gradient)}


def _forms_to_json(forms: Iterable[tuple[str, Form | None]]) -> list[Any]:
    return [[name, None if form is None else _form_to_json(form)] for name, form in forms]


def from_json(data: Any) -> Choice:
    """The choice. Raises `ValueError`, `TypeError`, `KeyError` or `AttributeError` for anything else."""
    tiles = tuple(
        Tiles(_text(consumer), _text(loop), _count(rows), tuple(map(_text, producers)))
        for consumer, loop, rows, producers in data["tiles"]
    )
    return Choice(_forms_from_json(data["forms"]), tiles, _forms_from_json(data["gradient"]))


def _forms_from_json(data: Any) -> tuple[tuple[str, Form | None], ...]:
    return tuple((_text(name), None if form is None else _form_from_json(form)) for name, form in data)


def _form_to_json(form: Form) -> dict[str, Any]:
    return {field.name: _plain(getattr(form, field.name)) for field in fields(form)}


def _plain(value: Any) -> Any:
    match value:
        case IndexVar(name=name, tag=tag):
            return {"index": name, "tag": tag}
        case tuple():
            return [_plain(part) for part in value]
        case _:
            return value


def _form_from_json(data: Mapping[str, Any]) -> Form:
    given = {name: _value(value) for name, value in data.items()}
    form = Form(**given)
    if not isinstance(form.loop, IndexVar) or min(_count(form.rows), _count(form.unroll)) < 1:
        raise ValueError(f"{data} is no form")
    return form


def _value(value: Any) -> Any:
    match value:
        case {"index": str(name), "tag": int(tag)}:
            return IndexVar(name, tag)
        case list():
            return tuple(map(_value, value))
        case None | bool() | int() | str():
            return value
        case _:
            raise ValueError(f"{value!r} is no part of a form")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no name")
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{value!r} is no count")
    return value
