"""Properties that are computed once."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):
    """A property whose value is computed on first use; threads that ask at once all get the same value.

    On Python 3.11, functools' version holds one lock per class while computing. Two threads that compute two properties
    in opposite order deadlock, and so does a forked child.
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
        # The instance now has its own attribute, which is found before this descriptor.
        return instance.__dict__.setdefault(self._name, self._compute(instance))
