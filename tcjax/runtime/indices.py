"""Index names for linters that complain about unbound names."""

from dataclasses import dataclass

from ..diagnostics import Code, CompileError, phrases


@dataclass(frozen=True, slots=True)
class IndexName:
    """The object bound by ``i, j = tcjax.indices("i j")``: a name that stays an index variable in index notation."""

    name: str
    tcjax_index: bool = True


def indices(names: str) -> tuple[IndexName, ...]:
    """Index variables by name, separated by spaces: ``i, j, k = tcjax.indices("i j k")``.

    Raises `CompileError` (TC0308) where a name is not an identifier.
    """
    found = names.split() if isinstance(names, str) else []
    if not found or not all(name.isidentifier() for name in found):
        raise CompileError(
            Code.BAD_OPTION,
            f"{phrases.value(names)} is not a list of index names",
            help='write names separated by spaces: i, j, k = tcjax.indices("i j k")',
        )
    return tuple(IndexName(name) for name in found)
