"""The package's caches are bounded, and no lock of another thread can block them."""

import re
from collections.abc import Iterator
from pathlib import Path

import tcjax

PACKAGE = Path(tcjax.__file__).parent
CACHED = re.compile(r"^ *@(?:functools\.)?(cache|lru_cache)\b(.*)\n(?: *@.*\n)* *def \w+\((.*)", re.MULTILINE)
# A number, or a constant that has one.
BOUND = re.compile(r"\(maxsize=(?:\d[\d <]*|MOST_[A-Z]+)\)")


def found(pattern: "re.Pattern[str]") -> Iterator[tuple[str, "re.Match[str]"]]:
    """The matches of the pattern in the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for match in pattern.finditer(text):
            yield f"{path.relative_to(PACKAGE)}:{text.count(chr(10), 0, match.start()) + 1}", match


def test_what_is_kept_of_calls_has_a_bound() -> None:
    cached = list(found(CACHED))
    # Without parameters there is one value.
    unbounded = [
        place
        for place, match in cached
        if not BOUND.fullmatch(match[2]) and not (match[1] == "cache" and match[3].startswith(")"))
    ]

    assert len(cached) > 20 and unbounded == []


def test_no_lock_is_held_while_a_property_is_computed() -> None:
    # On Python 3.11 functools' version holds a lock (`tcjax.keeping.cached_property`).
    assert list(found(re.compile(r"from functools import .*\bcached_property\b|functools\.cached_property"))) == []


def test_locks_are_free_in_a_forked_child() -> None:
    # `tcjax.keeping.lock` makes them.
    places = [place for place, _ in found(re.compile(r"\b(?:threading\.|= )R?Lock\(\)"))]

    assert [place.partition(":")[0] for place in places] == ["keeping/forks.py"]
