"""What the caches of this process have, and may have: this package's, JAX's, and those of other libraries."""

import functools
import gc
import linecache
import sys
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from jax._src import pjit
from jax._src import util as jax_util

from tcjax.elaboration.sac import walks
from tcjax.keeping import Recent
from tcjax.symbolic import size
from tcjax.symbolic.facts import trees

PACKAGE: Final = "tcjax"
# Interned expressions that are alive: those of the proofs whose cost is remembered, and of plans that are.
MOST_EXPRESSIONS: Final = 200_000
# A table without a bound of its own is filled when modules are imported, and may be so later.
LATER: Final = 16

# Those behind the caches that JAX registers, before JAX 0.12.
_INSIDE_JAX: Final = "jax._src.util.cache.<locals>"
_Functions: Final = type(functools.lru_cache(int))
_Tables: Final = (dict, list, set, deque, OrderedDict, WeakSet, WeakKeyDictionary, WeakValueDictionary, Recent)
# Tables of modules that hold what programs bring.
_BOUNDS: Final = {
    f"{trees.__name__}._NODES": MOST_EXPRESSIONS,
    f"{walks.__name__}._FREE": walks._MOST_REMEMBERED,
    f"{size.__name__}._SMALL": 2 * size._LARGEST_SMALL + 1,
}


@dataclass(frozen=True)
class Cache:
    """How many entries a cache has, and may have; None where it has no bound of its own."""

    name: str
    size: int
    most: int | None

    @property
    def owner(self) -> str:
        """The package that it belongs to."""
        return self.name.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.name.rpartition('.')[2]} {self.size}/{'-' if self.most is None else self.most}"


def caches() -> dict[str, Cache]:
    """All that can be found, by name; of several with one name the sum."""
    found: dict[str, Cache] = {}
    for each in (*_functions(), *_of_jax(), *_tables(), Cache("linecache.cache", len(linecache.cache), None)):
        other = found.get(each.name, Cache(each.name, 0, 0))
        most = None if each.most is None or other.most is None else each.most + other.most
        found[each.name] = Cache(each.name, each.size + other.size, most)
    return found


def beyond(now: Mapping[str, Cache], warm: Mapping[str, Cache]) -> list[str]:
    """Which of this package's have more entries than they may have."""
    found = []
    for name, cache in now.items():
        most = cache.most
        if most is None and name in warm:
            most = warm[name].size + LATER
        if cache.owner == PACKAGE and most is not None and cache.size > most:
            found.append(f"{name} has {cache.size} entries, and {most} are the most")
    return found


def shown(found: Mapping[str, Cache], each: int = 3) -> str:
    """The sums of this package, of JAX and of the others, and the fullest of each."""
    groups: dict[str, list[Cache]] = {PACKAGE: [], "jax": [], "others": []}
    for cache in found.values():
        # The tables of this package that have no bound do not grow.
        if cache.owner != PACKAGE or cache.most is not None:
            groups[cache.owner if cache.owner in groups else "others"].append(cache)
    return "; ".join(
        f"{name} {sum(cache.size for cache in group)}"
        f" ({', '.join(map(str, sorted(group, key=lambda cache: -cache.size)[:each]))})"
        for name, group in groups.items()
    )


def table(history: Mapping[int, Mapping[str, Cache]]) -> Iterator[str]:
    """Lines: each cache that changed and ever had more than `LATER` entries, its bound, its entries after each run."""
    sizes: dict[str, set[int]] = {}
    for found in history.values():
        for name, cache in found.items():
            sizes.setdefault(name, set()).add(cache.size)
    names = sorted(name for name, seen in sizes.items() if max(seen) > LATER and len(seen) > 1)
    yield f"{'cache':70} {'most':>7} " + " ".join(f"{tried:>7}" for tried in history)
    for name in names:
        each = [found.get(name) for found in history.values()]
        most = next(cache.most for cache in each if cache is not None)
        entries = " ".join(f"{'' if cache is None else cache.size:>7}" for cache in each)
        yield f"{name[-70:]:70} {'-' if most is None else most:>7} {entries}"


def _functions() -> Iterator[Cache]:
    """Functions, methods too, under `functools.lru_cache`; those of this package without a bound have one entry."""
    for each in [value for value in gc.get_objects() if isinstance(value, _Functions)]:
        info, name = each.cache_info(), f"{each.__module__}.{each.__qualname__}"
        if name.startswith(_INSIDE_JAX):
            continue
        yield Cache(name, info.currsize, 1 if info.maxsize is None and name.startswith(f"{PACKAGE}.") else info.maxsize)


def _of_jax() -> Iterator[Cache]:
    """The caches of functions that JAX registers, and of compiled code for calls of jitted functions."""
    with suppress(AttributeError):
        for each in list(jax_util._caches):
            if not isinstance(each, _Functions):
                info = each.cache_info()
                bounded = info.maxsize is not None and info.maxsize >= 0
                yield Cache(f"jax.{_name_of(each)}", info.currsize, info.maxsize if bounded else None)
    with suppress(AttributeError):
        calls: Any = pjit._cpp_pjit_cache_fun_only
        yield Cache("jax.pjit.calls", calls.size(), calls.capacity())


def _name_of(cache: Any) -> str:
    wrapped = getattr(cache, "__wrapped__", cache)
    words = jax_util._caches[cache].split()
    return getattr(wrapped, "__qualname__", None) or (words[1] if len(words) > 1 else "?")


def _tables() -> Iterator[Cache]:
    """Dictionaries, lists and sets that modules of this package hold: each once, by the name of its first module."""
    seen: set[int] = set()
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] != PACKAGE:
            continue
        for name, value in list(vars(module).items()):
            if isinstance(value, _Tables) and not name.startswith("__") and id(value) not in seen:
                seen.add(id(value))
                full = f"{module_name}.{name}"
                yield Cache(full, len(value), value._most if isinstance(value, Recent) else _BOUNDS.get(full))
