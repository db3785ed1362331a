"""The budget of one question, in steps of work rather than time, so that every run stops at the same place."""

from collections.abc import Iterator
from contextlib import contextmanager

QUESTION = 60
REWRITING = 200
LEARNING = 150


class Ledger:
    """Counts the remaining steps of the current question; between questions nothing is counted."""

    __slots__ = ("is_open", "is_shared", "left", "number")

    def __init__(self) -> None:
        self.left = 0
        self.number = 0  # of the question
        self.is_open = False
        self.is_shared = False

    @contextmanager
    def question(self, steps: int) -> Iterator[None]:
        """Gives a question `steps`; a nested question shares the steps of the outer one."""
        outer = self.is_shared
        if self.is_open:
            self.is_shared = True
            try:
                yield
            finally:
                self.is_shared = outer
            return
        self.is_open, self.is_shared, self.left = True, False, steps
        self.number += 1
        try:
            yield
        finally:
            self.is_open = False

    @property
    def is_spent(self) -> bool:
        """Whether the question should end with what it has found."""
        return self.is_open and self.left <= 0

    def spend(self, steps: int) -> bool:
        """Takes steps; False when none are left."""
        if not self.is_open:
            return True
        if self.left <= 0:
            return False
        self.left -= steps
        return True
