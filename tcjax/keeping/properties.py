"""Properties that are computed once."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):
    """A property whose value is computed when it is first asked for; threads that ask at once all get the same value.

    On Python 3.11 the one of functools holds a lock of the class meanwhile. Then a thread that computes one property
    and asks for another waits for ever for one that does so the other way round, and so does a child that is forked.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        # From now on the instance has an attribute of its own, which is found before this is asked.
        return instance.__dict__.setdefault(self._name, self._compute(instance))
