"""A cache of the most recently used keys."""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from .forks import lock

# Number of call signatures for which a kernel keeps what it knows: shapes, types, sizes and static values.
MOST_SIGNATURES: Final = 256

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The values of at most `most` keys: a new key evicts the least recently used one.

    Thread-safe.
    """

    def __init__(self, most: int = MOST_SIGNATURES) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """The value of a key; None where there is none."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                # Comparing keys may trigger garbage collection, which may call this cache again.
                with suppress(KeyError):
                    self._values.move_to_end(key)
            return value

    def keep(self, key: K, value: V) -> V:
        """The value of a key from now on: `value`, or what another thread stored in the meantime."""
        with self._lock:
            kept = self._values.setdefault(key, value)
            with suppress(KeyError):
                self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
            return kept

    def of(self, key: K, make: Callable[[], V]) -> V:
        """The value of a key, made by `make` if it is not stored. Threads that ask at once all get the same value."""
        value = self.get(key)
        return self.keep(key, make()) if value is None else value
