"""For tests of facts: forget some of them, and record every claim."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from .conditions import Condition
    from .facts.trees import Expr
    from .known import Facts

Why = Literal["defn", "guard", "user", "legality"]


@dataclass(frozen=True, slots=True)
class Given:
    """A condition that holds, and its origin; a `dropped` one is used only for finding errors."""

    condition: "Condition | Expr | str"
    why: Why
    dropped: bool = False


Dropped = Callable[[Given], bool]
Audit = Callable[["Facts", "Condition"], None]

_DROPPED: Final[ContextVar[Dropped | None]] = ContextVar("dropped", default=None)
_AUDIT: Final[ContextVar[Audit | None]] = ContextVar("audit", default=None)


@contextmanager
def dropping(predicate: Dropped) -> Iterator[None]:
    """Forgets, inside the block, the guards and assumptions for which `predicate` is true.

    The compiler's decisions must then be as correct as before, only slower. Error checks keep these facts.
    """
    token = _DROPPED.set(predicate)
    try:
        yield
    finally:
        _DROPPED.reset(token)


@contextmanager
def auditing(audit: Audit) -> Iterator[None]:
    """Passes to `audit`, inside the block, every condition on indices claimed to hold, with the facts.

    These are proofs, ends of values, and simplifications; a test checks them by enumerating the points.
    """
    token = _AUDIT.set(audit)
    try:
        yield
    finally:
        _AUDIT.reset(token)


def given(condition: "Condition | Expr | str", why: Why) -> Given:
    """A condition as given, dropped if a test asks for it."""
    predicate = _DROPPED.get()
    plain = Given(condition, why)
    if predicate is None or why not in ("guard", "user") or not predicate(plain):
        return plain
    return Given(condition, why, dropped=True)


def claimed(facts: "Facts", condition: "Callable[[], Condition]") -> None:
    """Passes a claim to the audit, if there is one."""
    audit = _AUDIT.get()
    if audit is not None:
        audit(facts, condition())
