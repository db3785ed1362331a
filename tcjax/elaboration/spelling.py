"""Wording of messages: the name that was probably meant, and counts."""

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate spelt most like `name`; None if none is close."""
    # Matching takes quadratic time in the length, and nobody misspells a name of a hundred letters.
    if len(name) > 60:
        return None
    known = dict.fromkeys(c for c in candidates if c != name and len(c) <= 60)
    found = get_close_matches(name, known, n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(name: str, candidates: Iterable[str], otherwise: str) -> str:
    """A help text: the closest candidate if there is one, and what to write otherwise."""
    known = list(candidates)
    candidate = closest(name, known) or next((c for c in known if c != name and c.lower() == name.lower()), None)
    return otherwise if candidate is None else f"did you mean `{candidate}`? Otherwise {otherwise}"


def counted(number: int, noun: str) -> str:
    """``1 dimension``, ``2 dimensions``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
