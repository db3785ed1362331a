"""Shapes of parameters and of state, inferred from sizes, inputs and ranges."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NoReturn

from .. import ir
from ..diagnostics import Code, CompileError
from ..ranges import bind
from ..symbolic import Affine, IndexVar, Size, SizeVar

Shape = tuple[int, ...]
Sizes = Mapping[str, int | Shape]

# The assumed length of an unknown dimension during range inference, so that it never limits an index.
_ENDLESS: Final = 2**28


def parameter_shapes(
    function: ir.Function, names: Sequence[str], sizes: Sizes, inputs: Mapping[str, Shape] | None = None
) -> dict[str, Shape]:
    """The shape of each parameter in `names`.

    `sizes` gives sizes by their name (``{"O": 10}``), extents of indices by theirs (``{"o": 10}``), or whole shapes by
    the parameter's name (``{"w": (3, 10)}``); `inputs` are the shapes of all other parameters. Raises `CompileError`
    (TC0404) for an unknown name in `sizes`, and if a dimension is left open.
    """
    check_names(function, sizes)
    known, extents = _known(function, sizes, inputs or {})
    tensors = {tensor.name: tensor for tensor in function.parameters}
    for name in names:
        given = sizes.get(name)
        if isinstance(given, tuple):
            _note(known, tensors[name], given)
        for subscripts in _reads(function, name):
            for size, subscript in zip(tensors[name].shape, subscripts, strict=True):
                _learn(known, size, subscript, extents)
    if inputs is not None and any(_shape(tensors[name], known) is None for name in names):
        _learn_from_ranges(function, names, known, inputs)
    return {name: _settled(function, tensors[name], known) for name in names}


def kept_shapes(
    function: ir.Function, names: Sequence[str], sizes: Sizes, shapes: Mapping[str, Shape] | None
) -> dict[str, Shape]:
    """The shapes of the outputs in `names`, which continue from their last value.

    `shapes` are those of all parameters, None while the inputs are unknown. Raises as `parameter_shapes`.
    """
    known, extents = _known(function, sizes, shapes or {})
    found: dict[str, Shape] = {}
    for tensor in function.returns:
        if tensor.name not in names:
            continue
        given = sizes.get(tensor.name)
        if isinstance(given, tuple):
            _note(known, tensor, given)
        for subscripts in _targets(function, tensor.name):
            for size, subscript in zip(tensor.shape, subscripts, strict=True):
                _learn(known, size, subscript, extents)
        shape = _shape(tensor, known)
        if shape is None and shapes is not None:
            shape = bind(function, shapes, free_sizes(function, sizes)).shapes[tensor.name]
        found[tensor.name] = _settled(function, tensor, known) if shape is None else shape
    return found


def free_sizes(function: ir.Function, sizes: Sizes) -> dict[str, int]:
    """The sizes that a call must be given because no argument has them."""
    return {v.name: size for v in function.free_sizes if isinstance(size := sizes.get(v.name), int)}


def check_names(function: ir.Function, sizes: Sizes) -> None:
    """Raises `CompileError` (TC0404) for a size that the program does not have."""
    tensors = {tensor.name: tensor for tensor in (*function.parameters, *function.returns)}
    variables = {v.name for tensor in tensors.values() for size in tensor.shape for v in size.variables()}
    named = sorted(name for name in variables if "." not in name)
    indices = index_names(function)
    for name, size in sizes.items():
        shape = size if isinstance(size, tuple) else (size,)
        fits = name in tensors and len(shape) == tensors[name].rank if isinstance(size, tuple) else True
        if not fits or not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in shape):
            raise CompileError(
                Code.UNBOUND_SIZE,
                f"sizes={{{name!r}: {size!r}}} is neither a size nor the shape of `{name}`",
                function.span,
                help=f"write a number, as in {{{name!r}: 8}}, or all extents of a parameter, as in {{'w': (8, 4)}}",
            )
        if isinstance(size, int) and name not in (*named, *indices, *(v.name for v in function.free_sizes)):
            raise CompileError(
                Code.UNBOUND_SIZE,
                f"`{function.name}` has neither a size nor an index called `{name}`",
                function.span,
                help=f"its sizes are {', '.join(named) or 'not named'}, its indices {', '.join(indices)}",
            )


def index_names(function: ir.Function) -> list[str]:
    """The names of the indices of a program, sorted."""
    return sorted({index.name for index in _indices(function)})


def _known(
    function: ir.Function, sizes: Sizes, inputs: Mapping[str, Shape]
) -> tuple[dict[SizeVar, int], dict[str, int]]:
    """Sizes by variable, and extents by index name, before inference."""
    numbers = {name: size for name, size in sizes.items() if isinstance(size, int)}
    tensors = (*function.parameters, *function.returns)
    variables = {v for tensor in tensors for size in tensor.shape for v in size.variables()}
    known = {v: numbers[v.name] for v in (*variables, *function.free_sizes) if v.name in numbers}
    for tensor in function.parameters:
        if tensor.name in inputs and len(inputs[tensor.name]) == tensor.rank:
            _note(known, tensor, inputs[tensor.name])
    return known, numbers


def _note(known: dict[SizeVar, int], tensor: ir.Tensor, shape: Shape) -> None:
    for size, extent in zip(tensor.shape, shape, strict=True):
        variable = _variable(size)
        if variable is not None:
            known.setdefault(variable, extent)


def _learn(known: dict[SizeVar, int], size: Size, subscript: Affine, extents: Mapping[str, int]) -> None:
    variable, index = _variable(size), subscript.bare
    if variable is not None and index is not None and index.name in extents:
        known.setdefault(variable, extents[index.name])


def _learn_from_ranges(
    function: ir.Function, names: Sequence[str], known: dict[SizeVar, int], inputs: Mapping[str, Shape]
) -> None:
    """A parameter is as long as its reads require: other arrays and given ranges determine how far indices run."""
    shapes = dict(inputs)
    tensors = {tensor.name: tensor for tensor in function.parameters}
    for name in names:
        shapes[name] = tuple(
            _ENDLESS if (extent := size.substitute(known).constant) is None else extent for size in tensors[name].shape
        )
    try:
        bound = bind(function, shapes, {v.name: n for v, n in known.items() if v in function.free_sizes}, limited=False)
    except CompileError:
        return
    for statement, box in zip(function.statements, bound.boxes, strict=True):
        for access in _accesses(statement):
            if access.tensor.name not in names:
                continue
            for size, subscript in zip(access.tensor.shape, access.indices, strict=True):
                variable, index = _variable(size), subscript.bare
                end = box[index][1] if index is not None and index in box else None
                if variable is not None and end is not None and end < _ENDLESS // 2:
                    known.setdefault(variable, end)


def _shape(tensor: ir.Tensor, known: Mapping[SizeVar, int]) -> Shape | None:
    extents = [size.substitute(known).constant for size in tensor.shape]
    return None if None in extents else tuple(extent for extent in extents if extent is not None)


def _settled(function: ir.Function, tensor: ir.Tensor, known: Mapping[SizeVar, int]) -> Shape:
    shape = _shape(tensor, known)
    return _open(function, tensor, known) if shape is None else shape


def _open(function: ir.Function, tensor: ir.Tensor, known: Mapping[SizeVar, int]) -> NoReturn:
    subscripts = next(iter((*_reads(function, tensor.name), *_targets(function, tensor.name))), tensor.shape)
    for number, size in enumerate(tensor.shape):
        if size.substitute(known).constant is None:
            variable, subscript = _variable(size), subscripts[number]
            index = subscript.bare if isinstance(subscript, Affine) else None
            name = variable.name if variable is not None and "." not in variable.name else index and index.name
            given = f"sizes={{{str(name)!r}: ...}}" if name else f"sizes={{{tensor.name!r}: (...)}}, its shape"
            raise CompileError(
                Code.UNBOUND_SIZE,
                f"nothing says how long dimension {number} of `{tensor.name}` is",
                tensor.span,
                help=f"pass {given}, or call the layer with inputs that give it",
            )
    raise AssertionError("a dimension is open")


def _variable(size: Size) -> SizeVar | None:
    match size.terms:
        case (((SizeVar() as variable,), 1),):
            return variable
        case _:
            return None


def _reads(function: ir.Function, name: str) -> Iterator[tuple[Affine, ...]]:
    for statement in function.statements:
        yield from (access.indices for access in _accesses(statement) if access.tensor.name == name)


def _targets(function: ir.Function, name: str) -> Iterator[tuple[Affine, ...]]:
    for statement in function.statements:
        if isinstance(statement, ir.Define | ir.Accumulate) and statement.target.name == name:
            yield statement.indices


def _accesses(statement: ir.Statement) -> Iterator[ir.Access]:
    if isinstance(statement, ir.Define | ir.Accumulate):
        yield from ir.accesses(statement.value)


def _indices(function: ir.Function) -> Iterator[IndexVar]:
    for statement in function.statements:
        if isinstance(statement, ir.Define | ir.Accumulate):
            for subscript in statement.indices:
                yield from subscript.variables
            for access in ir.accesses(statement.value):
                for subscript in access.indices:
                    yield from subscript.variables
