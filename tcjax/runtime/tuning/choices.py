"""`Choice`: the differences between ways to run one kernel, and their JSON form."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from ... import ir, planning
from ...diagnostics import phrases
from ...planning.data.nests import LoopSchedule
from ...symbolic import IndexVar

if TYPE_CHECKING:
    from ...planning.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Tiles:
    """`producers` are computed inside `consumer`, as much as `rows` iterations of its `loop` need."""

    consumer: str
    loop: str
    rows: int
    producers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.producers)} at {self.rows} {self.loop} of {self.consumer}"


@dataclass(frozen=True, slots=True)
class Choice:
    """How the loop nest of a target runs (None: as one plain XLA reduction), and what is computed in tiles.

    `gradient` has the forms of the nests of derivatives, by name. Everything else is left to the planner.
    """

    forms: tuple[tuple[str, LoopSchedule | None], ...] = ()
    tiles: tuple[Tiles, ...] = ()
    gradient: tuple[tuple[str, LoopSchedule | None], ...] = ()

    def with_form(self, target: str, form: LoopSchedule | None) -> "Choice":
        """The same with another form for a target."""
        others = tuple(pair for pair in self.forms if pair[0] != target)
        return replace(self, forms=(*others, (target, form)))

    def with_gradient(self, nest: str, form: LoopSchedule | None) -> "Choice":
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


def show_form(form: LoopSchedule | None) -> str:
    """The form in a few words."""
    if form is None:
        return "one plain XLA reduction"
    if form.sieve:
        return f"the first of blocks of {form.sieve} {form.loop}"
    tile = f", {form.tile[1]} {form.tile[0]} at a time" if form.tile is not None else ""
    return f"{form.rows} {form.loop} vectorised, unroll {form.unroll}{tile}"


def preferring(choice: Choice, preferences: planning.Preferences) -> planning.Preferences:
    """The preferences with the forms of a choice."""
    return replace(preferences, forms=dict(choice.forms), backend=replace(preferences.backend, forms=choice.gradient))


def scheduled(choice: Choice, function: ir.Function) -> "Schedule | None":
    """The schedule with the tiles; None if there are none. Raises `CompileError` if they are illegal."""
    if not choice.tiles:
        return None
    # Schedules need the prover: it is imported only for them.
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


def _forms_to_json(forms: Iterable[tuple[str, LoopSchedule | None]]) -> list[Any]:
    return [[name, None if form is None else _form_to_json(form)] for name, form in forms]


def from_json(data: Any) -> Choice:
    """The choice. Raises `ValueError` for anything that `to_json` does not write."""
    _check_keys(data, ("forms", "tiles", "gradient"))
    forms, gradient = _forms_from_json(data["forms"]), _forms_from_json(data["gradient"])
    tiles = tuple(_tiles_from_json(part) for part in _list(data["tiles"]))
    for names in ([name for name, _ in forms], [name for name, _ in gradient], [each.consumer for each in tiles]):
        if len(set(names)) < len(names):
            raise ValueError("it chooses twice for one statement")
    return Choice(forms, tiles, gradient)


def _tiles_from_json(data: Any) -> Tiles:
    consumer, loop, rows, producers = _list(data, 4)
    return Tiles(_text(consumer), _text(loop), _count(rows), tuple(map(_text, _list(producers))))


def _forms_from_json(data: Any) -> tuple[tuple[str, LoopSchedule | None], ...]:
    pairs = [_list(pair, 2) for pair in _list(data)]
    return tuple((_text(name), None if form is None else _form_from_json(form)) for name, form in pairs)


def _form_to_json(form: LoopSchedule) -> dict[str, Any]:
    return {field.name: _plain(getattr(form, field.name)) for field in fields(form)}


def _plain(value: Any) -> Any:
    match value:
        case IndexVar(name=name, tag=tag):
            return {"index": name, "tag": tag}
        case tuple():
            return [_plain(part) for part in value]
        case _:
            return value


def _form_from_json(data: Any) -> LoopSchedule:
    _check_keys(data, [field.name for field in fields(LoopSchedule)])
    tile = None if data["tile"] is None else _list(data["tile"], 2)
    return LoopSchedule(
        _index(data["loop"]),
        _count(data["rows"]),
        _count(data["unroll"]),
        None if tile is None else (_index(tile[0]), _count(tile[1])),
        _flag(data["inside"]),
        _flag(data["whole"]),
        _count(data["sieve"], least=0),
    )


def _index(value: Any) -> IndexVar:
    _check_keys(value, ("index", "tag"))
    return IndexVar(_text(value["index"]), _count(value["tag"], least=-(2**63)))


def _check_keys(value: Any, names: Sequence[str]) -> None:
    if not isinstance(value, dict) or value.keys() != set(names):
        raise ValueError(f"{phrases.value(value)} has other entries than {', '.join(names)}")


def _list(value: Any, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or length not in (None, len(value)):
        raise ValueError(f"{phrases.value(value)} is not a list{'' if length is None else f' of {length}'}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{phrases.value(value)} is not a name")
    return value


def _count(value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
        raise ValueError(f"{phrases.value(value)} is not a count")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{phrases.value(value)} is neither true nor false")
    return value
