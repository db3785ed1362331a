"""Reports elements that no read covers before sizes are known, if this holds for sizes in every order."""

from collections.abc import Iterator
from typing import Final

from .. import ir
from ..diagnostics import CompileError, CompileWarning
from ..symbolic import SizeVar
from .bind import bind
from .unread import is_declared

# No two sizes of the program are equal by chance, and none is small compared to a window or an offset.
_TRIED: Final = (61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109)


def unread_at_any_size(function: ir.Function) -> Iterator[CompileWarning]:
    """The warnings (TC1211) of a program whose declared sizes leave elements unread, whichever of them is larger.

    Only if every dimension of every parameter is declared: two unnamed sizes may always be equal.
    """
    dimensions = [size for tensor in function.parameters for size in tensor.shape]
    sizes = list(dict.fromkeys(variable for size in dimensions for variable in size.variables()))
    if function.free_sizes or not all(map(is_declared, dimensions)) or not 2 <= len(sizes) <= len(_TRIED):
        return
    numbers = _TRIED[: len(sizes)]
    trials = [_unread(function, dict(zip(sizes, each, strict=True))) for each in (numbers, numbers[::-1])]
    if all(trials):
        told = ", ".join(f"{size} = {number}" for size, number in zip(sizes, numbers, strict=True))
        for warning in trials[0]:
            yield CompileWarning(
                warning.diagnosis, f"with sizes such as {told}: {warning.message}", warning.span, help=warning.help
            )


def _unread(function: ir.Function, sizes: dict[SizeVar, int]) -> list[CompileWarning]:
    shapes = {tensor.name: tuple(size.evaluate(sizes) for size in tensor.shape) for tensor in function.parameters}
    try:
        return list(bind(function, shapes).warnings)
    except CompileError:
        # These sizes do not fit together; others may.
        return []
