"""What tests ask of facts: to forget some of them, and to show everything that was claimed."""

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
    """A condition that holds, and who said so; a `dropped` one serves only what finds mistakes."""

    condition: "Condition | Expr | str"
    why: Why
    dropped: bool = False


Dropped = Callable[[Given], bool]
Audit = Callable[["Facts", "Condition"], None]

_DROPPED: Final[ContextVar[Dropped | None]] = ContextVar("dropped", default=None)
_AUDIT: Final[ContextVar[Audit | None]] = ContextVar("audit", default=None)


@contextmanager
def dropping(predicate: Dropped) -> Iterator[None]:
    """Forgets, while it is entered, the guards and assumptions of which `predicate` is true.

    Whatever the compiler decides then must be as right as before, only slower. What finds mistakes keeps them.
    """
    token = _DROPPED.set(predicate)
    try:
        yield
    finally:
        _DROPPED.reset(token)


@contextmanager
def auditing(audit: Audit) -> Iterator[None]:
    """Shows `audit`, while it is entered, every condition on indices that was claimed to hold, with the facts.

    Those are proofs, ends of values, and simplifications; a test enumerates the points and sees for itself.
    """
    token = _AUDIT.set(audit)
    try:
        yield
    finally:
        _AUDIT.reset(token)


def given(condition: "Condition | Expr | str", why: Why) -> Given:
    """A condition as it is given, dropped where a test wants it."""
    predicate = _DROPPED.get()
    plain = Given(condition, why)
    if predicate is None or why not in ("guard", "user") or not predicate(plain):
        return plain
    return Given(condition, why, dropped=True)


def claimed(facts: "Facts", condition: "Callable[[], Condition]") -> None:
    """Shows a claim to the audit, if there is one."""
    audit = _AUDIT.get()
    if audit is not None:
        audit(facts, condition())
