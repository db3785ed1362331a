"""Reads `tcjax.kernel` as the function that the package exports, and not as the module of the same name.

`tcjax.runtime` has modules `kernel`, `einsum` and `indices`, and exports a function of each name from one of them.
Python gives the function, since the import comes last; Griffe, which only reads, finds the module.
"""

from typing import Any

from griffe import Alias, Extension, Module


class Doors(Extension):
    """Leads the names of `tcjax` past modules that are called like what they export."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Called with each package that was read."""
        for name, target in list(pkg.imports.items()):
            room = target.removeprefix(f"{pkg.path}.").removesuffix(f".{name}")
            inside = pkg.members.get(room)
            if isinstance(inside, Module) and isinstance(inside.members.get(name), Module) and name in inside.imports:
                pkg.set_member(name, Alias(name, inside.imports[name], parent=pkg))
