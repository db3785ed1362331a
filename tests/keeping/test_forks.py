"""A forked child has one thread: locks that other threads held at the fork must not block it."""

import os
import threading
import time
import warnings
from collections.abc import Callable

import pytest

from tcjax.keeping import Recent, lock

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")


def in_child(act: Callable[[], object], seconds: float = 120) -> int:
    """The exit status of a forked child: 0 if `act` ends without an exception, -9 if it never ends."""
    with warnings.catch_warnings():
        # JAX warns about every fork, and Python about forks with threads.
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_lock_that_another_thread_holds_is_free_in_a_child() -> None:
    held, done = threading.Event(), threading.Event()
    ours = lock()

    def hold() -> None:
        with ours:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    try:
        status = in_child(ours.acquire)
    finally:
        done.set()
        thread.join()

    assert status == 0


class Key:
    """A key that runs code while it is compared."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.act = act

    def __hash__(self) -> int:
        self.act()
        return 7

    def __eq__(self, other: object) -> bool:
        return self is other


def test_values_that_another_thread_looks_up_are_there_in_a_child() -> None:
    recent: Recent[object, str] = Recent()
    recent.keep("known", "value")
    held, done = threading.Event(), threading.Event()

    def wait() -> None:
        held.set()
        done.wait(60)

    thread = threading.Thread(target=lambda: recent.get(Key(wait)))
    thread.start()
    held.wait(60)
    found: list[str | None] = []

    def ask() -> None:
        found.append(recent.get("known"))
        assert found == ["value"] and recent.keep("new", "other") == "other"

    try:
        status = in_child(ask)
    finally:
        done.set()
        thread.join()

    assert status == 0


def test_what_is_collected_while_keys_are_compared_may_ask_as_well() -> None:
    recent: Recent[object, int] = Recent(1)
    key = Key(lambda: None)
    recent.keep(key, 1)
    key.act = lambda: recent.keep("other", 2)

    assert recent.get(key) in (1, None)
    assert recent.keep(key, 3) in (1, 3)
    assert len(recent) == 1
