"""Texts of a given length, and how the work of reading them grows."""

from collections.abc import Callable

from tests.work import calls

LENGTH = 100_000

# Calls for reading any text and explaining a mistake in it, which may differ between lengths.
ANY_TEXT = 1_000


def filled(text: str, length: int = LENGTH) -> str:
    """The text, repeated up to the given length."""
    return text * (length // len(text))


def in_proportion(read: Callable[[str], object], text: Callable[[int], str]) -> bool:
    """Whether work is at most proportional to the length, for a text and one twice as long."""
    read(text(100))
    return calls(lambda: read(text(4000))) < 2.5 * calls(lambda: read(text(2000))) + ANY_TEXT
