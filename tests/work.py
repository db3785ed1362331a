"""How much work something is: counted in calls, which are as many on a busy machine; and an end for what hangs."""

import gc
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")


class TooMuch(BaseException):
    """Something works on and on. Not an `Exception`: nobody takes it for a mistake of the program that is read."""


def calls(make: Callable[[], object]) -> int:
    """How many functions, of Python and of C, are called while `make` runs."""
    return _counted(make, None)[1]


def with_at_most(most: int, make: Callable[[], Result]) -> Result:
    """What `make` returns; `TooMuch` when it needs more calls than that."""
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
    # What is collected meanwhile runs finalizers, and what is raised there is lost.
    gc.disable()
    sys.setprofile(seen)
    try:
        result = make()
    finally:
        sys.setprofile(before)
        gc.enable()
    return result, count


def within(seconds: float, make: Callable[[], Result]) -> Result:
    """What `make` returns; `TooMuch` after so many seconds of the processor. Only for what would hang."""

    def stop(*_: Any) -> None:
        raise TooMuch(f"more than {seconds} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    # What is raised in a callback of the collector is lost.
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
    """Ends what waits for longer than this, for a file that never answers, with a `TimeoutError`."""

    def late(*_: object) -> None:
        raise TimeoutError("this waits for a file")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
