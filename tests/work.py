"""Measures work in function calls, which do not depend on the machine's load, and stops code that hangs."""

import gc
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")


class TooMuch(BaseException):
    """Too much work. Not an `Exception`, so that it is not taken for an error in the program that is read."""


def calls(make: Callable[[], object]) -> int:
    """The number of calls of Python and C functions while `make` runs."""
    return _counted(make, None)[1]


def with_at_most(most: int, make: Callable[[], Result]) -> Result:
    """The result of `make`; raises `TooMuch` if it needs more calls."""
    return _counted(make, most)[0]


def _counted(make: Callable[[], Result], most: int | None) -> tuple[Result, int]:
    count = 0

    def seen(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1
            if count == most:
                raise TooMuch(f"more than {most} calls")

    before = sys.getprofile()
    # Garbage collection runs finalizers, and exceptions raised in them are lost.
    gc.disable()
    sys.setprofile(seen)
    try:
        result = make()
    finally:
        sys.setprofile(before)
        gc.enable()
    return result, count


def within(seconds: float, make: Callable[[], Result]) -> Result:
    """The result of `make`; raises `TooMuch` after this many seconds of CPU time. Only for code that would hang."""

    def stop(*_: Any) -> None:
        raise TooMuch(f"more than {seconds} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    # Exceptions raised in a callback of the collector are lost.
    gc.disable()
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        return make()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        gc.enable()
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def at_most_seconds(seconds: int) -> Iterator[None]:
    """Raises `TimeoutError` in code that waits longer than this, for example for a file that never answers."""

    def late(*_: object) -> None:
        raise TimeoutError("this waits for a file")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
