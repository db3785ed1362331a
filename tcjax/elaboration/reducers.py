"""The names of reductions: the builtin ones, and those that `tcjax.monoid` registered in this process."""

from ..ir import Monoid, Reducer

_registered: dict[str, Monoid] = {}


def register(monoid: Monoid) -> None:
    """Makes a reduction available under its name in programs elaborated from now on."""
    _registered[monoid.name] = monoid


def registered(name: str) -> Monoid | None:
    """The registered reduction of this name."""
    return _registered.get(name)


def named(name: str) -> Reducer | Monoid | None:
    """The reduction that ``name[k](e)`` applies."""
    return Reducer(name) if name in _BUILTIN else _registered.get(name)


def is_builtin(name: str) -> bool:
    """Whether the language has a reduction of this name."""
    return name in _BUILTIN


def names() -> list[str]:
    """Every name of a reduction."""
    return [*sorted(_BUILTIN), *sorted(_registered)]


_BUILTIN = frozenset(reducer.value for reducer in Reducer)
