"""Properties that are computed once, even with threads."""

import threading
from collections.abc import Callable

from tcjax.keeping import cached_property


class Pair:
    """Two properties, which `make` computes."""

    def __init__(self, make: Callable[[str], object]) -> None:
        self.make = make

    @cached_property
    def left(self) -> object:
        """The left one."""
        return self.make("left")

    @cached_property
    def right(self) -> object:
        return self.make("right")


def test_a_property_is_computed_once() -> None:
    asked: list[str] = []
    pair = Pair(lambda name: asked.append(name) or name)

    assert (pair.left, pair.left, pair.right) == ("left", "left", "right")
    assert asked == ["left", "right"]
    assert Pair.left.__doc__ == "The left one."


def test_threads_that_ask_at_once_get_the_same_value() -> None:
    both = threading.Barrier(2)
    pair = Pair(lambda _: (both.wait(10), object()))
    found: list[object] = []

    threads = [threading.Thread(target=lambda: found.append(pair.left)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found[0] is found[1] is pair.left


def test_two_threads_may_ask_for_two_properties_the_other_way_round() -> None:
    # On Python 3.11 functools holds a lock of the class while a property is computed: these would deadlock.
    both = threading.Barrier(2)
    found: list[object] = []

    def ask(first: str, then: str) -> None:
        def make(_: str) -> object:
            both.wait(10)
            return getattr(Pair(lambda name: name), then)

        found.append(getattr(Pair(make), first))

    threads = [
        threading.Thread(target=ask, args=names, daemon=True) for names in (("left", "right"), ("right", "left"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert sorted(map(str, found)) == ["left", "right"]
