"""A tuning file affects a call's speed, never whether it works, whatever the file contains or is."""

import json
import os
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcjax
from tcjax.keeping import Recent
from tcjax.planning.blocked.loop_schedules import candidates, choose
from tcjax.planning.data.nests import LoopSchedule
from tcjax.planning.data.nodes import LoopNest
from tcjax.runtime.tuning import memory, store
from tcjax.runtime.tuning.choices import Choice, Tiles, from_json, to_json
from tcjax.symbolic import IndexVar
from tests.work import at_most_seconds

BLUR = """
def blur(float(N,M) A) -> (C) {
    B(i,j) = A(i-1,j) + A(i,j) + A(i+1,j)
    C(i,j) = B(i,j-1) + B(i,j) + B(i,j+1)
}"""
NEAREST = "def nearest(float(N,D) x, float(M,D) y) -> (d) { d(i) min=! sum[k](pow(x(i,k) - y(j,k), 2)) }"
A = np.random.default_rng(0).normal(size=(70, 30)).astype("float32")
POINTS = np.random.default_rng(1).normal(size=(2, 3000, 4)).astype("float32")

ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        300,
        10**30,
        10**4000,
        0.5,
        float("nan"),
        float("inf"),
        "",
        "i",
        "C",
        "\0",
        "\ud800",
    ),
    *([], {}, [[]], [None], {"index": "q", "tag": 0}, {"index": 1, "tag": "x"}, [{"index": "i", "tag": 0}, 64]),
    [[[[[[[[]]]]]]]],
    ["C", "i", 64, ["B"]],
)


@pytest.fixture(autouse=True)
def within_seconds() -> Iterator[None]:
    """A file that keeps a call waiting fails its test."""
    with at_most_seconds(120):
        yield


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "choices"
    monkeypatch.setenv("TCJAX_CACHE_DIR", str(place))
    monkeypatch.setattr(store, "_warned", Recent())
    return place


def kept(cache: Path) -> tuple[Path, Any]:
    """A file with tiles for the blur that the program offers, and its contents."""
    kernel = tcjax.kernel(BLUR)
    call, _ = kernel._call((A,), {})
    key = store.key_of(kernel._frontend, call, kernel._compiler.bound(call))
    assert key is not None
    path = store.remember(key, Choice(tiles=(Tiles("C", "i", 64, ("B",)),)), {"kernel": "blur"})
    assert path is not None and path.parent == cache
    return path, json.loads(path.read_text())


def planned(path: Path) -> tuple[bool, list[warnings.WarningMessage]]:
    """Whether a new kernel takes the choice, and its warnings."""
    store._warned = Recent()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        taken = tcjax.kernel(BLUR).plan(A).scheduled is not None
    assert all(isinstance(each.message, tcjax.CompileWarning) and each.message.code == "TC1216" for each in said)
    assert len(said) <= 1 and all(path.name in str(each.message) for each in said)
    return taken, said


def damaged(data: Any, chance: random.Random) -> Any:
    """The data with one part replaced, doubled, dropped or renamed."""
    data = json.loads(json.dumps(data))
    places: list[tuple[Any, Any]] = []

    def visit(node: Any) -> None:
        keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            places.append((node, key))
            visit(node[key])

    visit(data)
    node, key = chance.choice(places)
    match chance.randrange(4):
        case 0 if isinstance(node, list):
            node.append(node[key])
        case 1 if isinstance(node, dict):
            node[key + "s"] = node.pop(key)
        case 2:
            del node[key]
        case _:
            node[key] = chance.choice(ODD)
    return data


def test_the_file_itself_is_understood(cache: Path) -> None:
    path, _ = kept(cache)

    assert planned(path) == (True, [])


def test_of_a_damaged_file_nothing_is_taken_but_the_choice_that_it_had(cache: Path) -> None:
    path, data = kept(cache)
    chance = random.Random(7)

    for _ in range(60):
        changed = (
            {**data, "choice": damaged(data["choice"], chance)} if chance.random() < 0.8 else damaged(data, chance)
        )
        path.write_text(json.dumps(changed))
        taken, said = planned(path)

        assert taken != bool(said) or changed["choice"] == {"forms": [], "tiles": [], "gradient": []}, changed
        assert not taken or changed["key"] == data["key"], changed


def test_bytes_that_were_lost_or_changed_are_no_choice(cache: Path) -> None:
    path, data = kept(cache)
    content = path.read_bytes()
    chance = random.Random(3)

    for _ in range(60):
        start = chance.randrange(len(content))
        piece = chance.choice([b"", b"\xff", b"\0", b"NaN", b"1e999", b"9" * 5000, b"[" * 2000, b'"', b"{}", b","])
        changed = content[:start] + piece + content[start + chance.randrange(20) :]
        path.write_bytes(changed)
        taken, said = planned(path)

        assert taken or said or json.loads(changed)["choice"] != data["choice"]


@pytest.mark.parametrize("part", ["loop", "rows", "unroll", "tile", "inside", "whole", "sieve"])
@pytest.mark.parametrize("where", ["forms", "gradient"])
def test_a_form_with_a_part_of_another_type_is_refused(where: str, part: str) -> None:
    form = LoopSchedule(IndexVar("j"), 64, 2, (IndexVar("i"), 8), True, False, 32)
    data = to_json(Choice(**{where: (("d", form),)}))
    assert from_json(data) == Choice(**{where: (("d", form),)})

    for odd in ODD:
        data[where][0][1][part] = odd
        try:
            found = dict(getattr(from_json(data), where))["d"]
        except ValueError:
            continue
        # A choice that is accepted has fields of the right types.
        assert isinstance(found.loop, IndexVar) and type(found.rows) is int and type(found.unroll) is int
        assert found.tile is None or (isinstance(found.tile[0], IndexVar) and type(found.tile[1]) is int)
        assert type(found.inside) is bool and type(found.whole) is bool and type(found.sieve) is int


@pytest.mark.parametrize(
    "tile", [300, {"index": "q", "tag": 0}, [{"index": "q", "tag": 0}, 8], [{"index": "i", "tag": 0}, 10**9], "i", True]
)
def test_a_nonsense_tile_of_a_loop_nest_does_not_end_the_call(cache: Path, tile: Any) -> None:
    kernel = tcjax.kernel(NEAREST)
    call, _ = kernel._call(tuple(POINTS), {})
    bound = kernel._compiler.bound(call)
    stage = next(stage for stage in kernel.plan(*POINTS).stages if isinstance(stage.value, LoopNest))
    other = next(form for form in candidates(stage.value.nest) if form != choose(stage.value.nest))
    key = store.key_of(kernel._frontend, call, bound)
    assert key is not None
    path = store.remember(key, Choice(forms=(("d", other),), gradient=(("n", other),)), {})
    assert path is not None
    data = json.loads(path.read_text())
    for where in ("forms", "gradient"):
        data["choice"][where][0][1]["tile"] = tile
    path.write_text(json.dumps(data))

    with pytest.warns(tcjax.CompileWarning, match=path.name):
        plan = tcjax.kernel(NEAREST).plan(*POINTS)

    assert str(plan) == str(kernel.plan(*POINTS))


def test_tiles_that_are_legal_alone_but_not_together_are_left_out(cache: Path) -> None:
    path, data = kept(cache)
    data["choice"]["tiles"] = [["C", "i", 64, ["B"]], ["C", "i", 32, ["B"]]]
    path.write_text(json.dumps(data))

    taken, said = planned(path)

    assert not taken and "twice" in str(said[0].message)


ENTRIES = ["folder", "pipe", "loop", "dangling", "zero", "long", "private"]


@pytest.mark.parametrize("entry", ENTRIES)
def test_only_a_regular_file_is_read_as_a_choice(cache: Path, entry: str) -> None:
    path, _ = kept(cache)
    path.unlink()
    match entry:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path.name)
        case "dangling":
            path.symlink_to("nowhere")
        case "zero":
            path.symlink_to("/dev/zero")
        case "long":
            path.write_bytes(b" " * (2 << 20))
        case _:
            path.write_text("{}")
            path.chmod(0)

    taken, said = planned(path)

    assert not taken and len(said) == (entry != "dangling")


@pytest.mark.parametrize(
    "place", ["pipe", "file", "zero", "loop", "x" * 300, "file/below", "~nobody-of-this-name/x", "a\nb"]
)
def test_a_directory_that_is_none_costs_a_warning_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(store, "_warned", Recent())
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setenv("TCJAX_CACHE_DIR", place if place.startswith("~") else str(tmp_path / place))

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            np.testing.assert_array_equal(tcjax.kernel("B(i) = A(i)")(A[0]), A[0])

    assert len(said) <= 1 and all("TCJAX_CACHE_DIR" in str(each.message) for each in said)


def test_a_tilde_is_the_home_and_a_relative_path_begins_where_we_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TCJAX_CACHE_DIR", "~/choices")
    assert memory.directory() == tmp_path / "choices"

    monkeypatch.setenv("TCJAX_CACHE_DIR", "choices")
    assert memory.directory() == Path("choices")


def test_a_planted_link_is_replaced_and_its_target_stays(cache: Path, tmp_path: Path) -> None:
    path, data = kept(cache)
    (tmp_path / "precious").write_text("mine")
    path.unlink()
    path.symlink_to(tmp_path / "precious")

    again, _ = kept(cache)

    assert (tmp_path / "precious").read_text() == "mine"
    assert not again.is_symlink() and json.loads(again.read_text()) == data
    assert [found.name for found in cache.iterdir()] == [path.name]
