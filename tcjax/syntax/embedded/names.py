"""The meaning of a name: bound in the body, a number or a callable of the enclosing scope, or a library function."""

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Final

_LIBRARIES: Final = frozenset({"jax", "numpy", "math", "cmath", "scipy"})

# Customary abbreviations of those libraries, where the scope does not bind them.
_ABBREVIATIONS: Final = _LIBRARIES | {"jnp", "np", "jsp", "lax"}

_UNBOUND: Final = object()

Constant = bool | int | float | complex


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a body: `bound` inside it, and the values of the others in the enclosing scope.

    `constants` and `callables` collect the names found to be numbers and callables of the scope.
    """

    scope: Mapping[str, object]
    bound: frozenset[str] = frozenset()
    constants: dict[str, Constant] = field(default_factory=dict)
    callables: dict[str, object] = field(default_factory=dict)

    def within(self, *names: str) -> "Names":
        """The same names, where `names` are bound too."""
        return replace(self, bound=self.bound.union(names))

    def number(self, *path: str) -> Constant | None:
        """The number that ``a`` or ``a.b.c`` names in the enclosing scope, or None."""
        value = self._resolve(path)
        match value:
            case bool():
                number: Constant = value
            case numbers.Integral():
                number = int(value)
            case numbers.Real():
                number = float(value)
            case numbers.Complex():
                number = complex(value)
            case _:
                return None
        self.constants[".".join(path)] = number
        return number

    def callee(self, *path: str) -> bool:
        """Whether ``f`` or ``a.b.f`` is a callable of the enclosing scope; if so it is kept under ``f``."""
        value = self._resolve(path)
        # If two callables have one name, the first keeps it, and the caller reports the second.
        return callable(value) and self.callables.setdefault(path[-1], value) is value

    def library(self, *path: str) -> bool:
        """Whether ``jnp.exp``, or an ``exp`` that was imported, is a function of a numeric library."""
        if path[0] in self.bound:
            return False
        if path[0] not in self.scope:
            return len(path) > 1 and path[0] in _ABBREVIATIONS
        owner = self._resolve(path[:-1]) if len(path) > 1 else self._resolve(path)
        module = owner.__name__ if isinstance(owner, ModuleType) else getattr(owner, "__module__", None)
        return isinstance(module, str) and module.split(".")[0] in _LIBRARIES

    def knows(self, *path: str) -> bool:
        """Whether the enclosing scope binds ``a.b.f``."""
        return self._resolve(path) is not _UNBOUND

    def _resolve(self, path: tuple[str, ...]) -> object:
        if path[0] in self.bound:
            return _UNBOUND
        value = self.scope.get(path[0], _UNBOUND)
        for attribute in path[1:]:
            try:
                value = getattr(value, attribute, _UNBOUND)
            except Exception:  # A property of the user's object may raise anything.
                return _UNBOUND
        return value
