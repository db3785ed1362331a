"""Files, rooms and doors named on the pages for contributors exist, and every room is named."""

import re
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT

ROOMS = sorted(path.parent.name for path in (ROOT / "tcjax").glob("*/__init__.py"))
QUOTED = re.compile(r"`([\w.<>*/-]+)`")
ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \|([^|]*)\|", re.MULTILINE)


def prose(page: str) -> str:
    return re.sub(r"```.*?^```", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)


def is_file(place: str) -> bool:
    """Whether a path is in the repository, or in the package (possibly without suffix), or the name of a file."""
    pattern = re.sub(r"<\w+>", "*", place).rstrip("/")
    forms = (pattern, f"tcjax/{pattern}", f"tcjax/{pattern}.py") if "/" in place else (pattern, f"t*/**/{pattern}")
    return any(True for form in forms for _ in ROOT.glob(form))


def is_name(dotted: str) -> bool:
    """Whether a module or a public name of the package has this name."""
    try:
        import_module(f"tcjax.{dotted}")
    except ModuleNotFoundError:
        room, *rest = dotted.split(".")
        try:
            reduce(getattr, rest, import_module(f"tcjax.{room}"))
        except AttributeError:
            return False
    return True


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_what_a_page_for_contributors_names_is_there(page: str) -> None:
    named = set(QUOTED.findall(prose(page)))
    files = {name for name in named if "/" in name or Path(name).suffix in (".py", ".md", ".yml", ".toml")}
    modules = {name for name in named - files if "." in name and name.partition(".")[0] in ROOMS}

    missing = {name for name in files if not is_file(name)} | {name for name in modules if not is_name(name)}

    assert files and modules and missing == set()


def test_the_table_of_the_architecture_has_every_room_with_doors_that_are_there() -> None:
    rows = [
        (QUOTED.findall(rooms), QUOTED.findall(doors)) for rooms, doors in ROW.findall(prose("docs/architecture.md"))
    ]

    assert sorted(room for rooms, _ in rows for room in rooms) == ROOMS
    assert [
        f"{room}.{door}" for rooms, doors in rows for room in rooms for door in doors if not is_name(f"{room}.{door}")
    ] == []
