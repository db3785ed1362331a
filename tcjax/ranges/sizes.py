"""The sizes of a call, from the arguments' shapes and the declared dimensions."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from .. import ir
from ..diagnostics import Code, CompileError
from ..symbolic import Size, SizeVar
from .assumptions import Assumption, check_assumptions


def bind_sizes(
    function: ir.Function,
    shapes: Mapping[str, tuple[int, ...]],
    sizes: Mapping[str, int] | None = None,
    assumptions: Iterable[Assumption] = (),
) -> dict[SizeVar, int]:
    """Every size that the parameters' shapes or a keyword (`sizes`) give, in elements.

    `shapes` has a shape for each parameter. Raises `CompileError`: TC0502 for a wrong rank, TC0601 where two arguments
    or a constant disagree, TC0404 for a keyword that names no size, TC0607 where the known sizes violate one of the
    `assumptions`.
    """
    bound: dict[SizeVar, int] = {}
    origins: dict[SizeVar, str] = {}
    for parameter in function.parameters:
        shape = shapes[parameter.name]
        _check_rank(parameter, shape)
        for dimension, (size, found) in enumerate(zip(parameter.shape, shape, strict=True)):
            place = f"dimension {dimension} of `{parameter.name}`"
            variable = as_variable(size)
            if variable is None:
                continue
            if bound.setdefault(variable, found) != found:
                raise _mismatch(parameter, variable, bound[variable], origins[variable], found, place)
            origins.setdefault(variable, place)
    _check_formulas(function, shapes, bound)
    for name, value in (sizes or {}).items():
        _bind_keyword(function, bound, origins, name, value)
    check_assumptions(function, assumptions, bound, partly=True)
    return bound


def as_variable(size: Size) -> SizeVar | None:
    """The variable if the size is a single variable and nothing else."""
    match size.terms:
        case (((SizeVar() as variable,), 1),):
            return variable
        case _:
            return None


def _check_rank(parameter: ir.Tensor, shape: tuple[int, ...]) -> None:
    if len(shape) == parameter.rank:
        return
    wanted = f"has {_count(parameter.rank, 'dimension')} {_tuple(parameter.shape)}" if parameter.rank else "is a scalar"
    raise CompileError(
        Code.ARGUMENT_RANK,
        f"`{parameter.name}` {wanted}, but the argument has {_count(len(shape), 'dimension')}, shape {_tuple(shape)}",
        parameter.span,
        help=f"pass an array of rank {parameter.rank} for `{parameter.name}`, or change its declaration",
    )


def _check_formulas(function: ir.Function, shapes: Mapping[str, tuple[int, ...]], bound: dict[SizeVar, int]) -> None:
    """Checks dimensions that are numbers or expressions of sizes."""
    for parameter in function.parameters:
        for dimension, (size, found) in enumerate(zip(parameter.shape, shapes[parameter.name], strict=True)):
            wanted = size.substitute(bound).constant
            if wanted is not None and wanted != found:
                shown = f"{wanted}" if size.constant is not None else f"{size} = {wanted}"
                raise CompileError(
                    Code.SIZE_MISMATCH,
                    f"dimension {dimension} of `{parameter.name}` is declared to be {shown}, "
                    f"but the argument has {found} there",
                    parameter.span,
                    help=f"pass an array of shape {_tuple(s.substitute(bound) for s in parameter.shape)}, or write a "
                    "name instead of the number to accept any size",
                )


def _bind_keyword(
    function: ir.Function, bound: dict[SizeVar, int], origins: Mapping[SizeVar, str], name: str, value: int
) -> None:
    variable = SizeVar(name)
    if variable not in bound and variable not in function.free_sizes:
        names = [size.name for size in (*bound, *function.free_sizes) if "." not in size.name]
        close = get_close_matches(name, names, 1)
        known = f"did you mean `{close[0]}`?" if close else f"its sizes are {', '.join(names) or 'all inferred'}"
        raise CompileError(
            Code.UNBOUND_SIZE,
            f"`{function.name}` has no size called `{name}`",
            function.span,
            help=f"leave `{name}={value}` out; {known}",
        )
    if value < 0:
        raise CompileError(
            Code.NEGATIVE_EXTENT,
            f"the size `{name}` is given as {value}",
            function.span,
            help=f"pass a number that is not negative for `{name}`",
        )
    if bound.setdefault(variable, value) != value:
        raise CompileError(
            Code.SIZE_MISMATCH,
            f"`{name}` is given as {value}, but {origins[variable]} makes it {bound[variable]}",
            function.span,
            help=f"leave `{name}={value}` out, or pass an array with {value} there",
        )


def _mismatch(
    parameter: ir.Tensor, variable: SizeVar, first: int, first_place: str, second: int, second_place: str
) -> CompileError:
    return CompileError(
        Code.SIZE_MISMATCH,
        f"`{variable}` is {first} in {first_place}, but {second} in {second_place}",
        parameter.span,
        help=f"pass arrays that agree on `{variable}`, or give the two dimensions different names",
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _tuple(items: Iterable[object]) -> str:
    return f"({', '.join(map(str, items))})"
