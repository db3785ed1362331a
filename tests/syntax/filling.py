"""Texts of a given length, and how the work of reading them grows."""

from collections.abc import Callable

from tests.work import calls

LENGTH = 100_000

# What reading any text takes, and explaining a mistake in it: not every length has the same one.
ANY_TEXT = 1_000


def filled(text: str, length: int = LENGTH) -> str:
    """The text as often as the length has room for it."""
    return text * (length // len(text))


def in_proportion(read: Callable[[str], object], text: Callable[[int], str]) -> bool:
    """Whether a text of a size and one of twice that size take work in proportion."""
    read(text(100))
    return calls(lambda: read(text(4000))) < 2.5 * calls(lambda: read(text(2000))) + ANY_TEXT
