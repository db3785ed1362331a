"""Functions as programs of SaC."""

from typing import Final

from ... import ir
from ...ir import types
from ...ranges import SymbolicRanges, infer_ranges
from ...symbolic import Size, SizeVar
from ...syntax.sac import tree
from ..names import unique
from ..refusal import refuse, too_deep
from .shapes import free_names
from .statements import Body

_WORDS: Final = frozenset(
    ("true", "false", "return", "step", "width", "with", "genarray", "modarray", "fold", *types.SPELLINGS)
)
# Names that a function cannot have: the library uses them.
_LIBRARY: Final = frozenset(
    (
        *("shape", "dim", "sel", "sum", "prod", "minval", "maxval", "any", "all", "mean", "logsumexp", "argmin"),
        *("argmax", "take", "drop", "tile", "take_apl", "drop_apl", "tile_apl", "reverse", "rotate", "shift"),
        *("transpose", "reshape", "genarray", "iota", "modarray", "where", "rsum", "min", "max", "abs", "mod"),
        *("toi", "tof", "tod", "tob", *ir.builtins.BUILTINS),
    )
)


def to_sac(function: ir.Function) -> tree.Program:
    """The program that computes what the function computes.

    A function whose parameters have declared types becomes a function with type patterns, one whose parameters have any
    type an expression, where their order is that of their first appearance. An output that accumulates without
    restarting begins from the identity: no caller passes its initial value. Raises `CompileError` (TC0109) for what SaC
    cannot express.
    """
    try:
        return _Program().program(function, infer_ranges(function))
    except RecursionError:
        raise too_deep(function.name, function.span) from None


class _Program:
    """One call of `to_sac`: each function that is called becomes one function."""

    def __init__(self) -> None:
        self.functions: list[tree.Function] = []

    def program(self, function: ir.Function, ranges: SymbolicRanges) -> tree.Program:
        body = self.body(function, ranges)
        expression = _as_expression(function, body)
        if expression is not None:
            lets, result = expression
            return tree.Program(tuple(self.functions), lets, result)
        self.add(function, body)
        return tree.Program(tuple(self.functions), (), None)

    def body(self, function: ir.Function, ranges: SymbolicRanges) -> Body:
        """The lets of a function; the functions it calls are added first."""
        if not function.returns:
            raise refuse("SaC", "a function without a result", function.span, help="return what it computes")
        for loop in function.loops:
            help = "write it in TC, or with `for` in Python"
            raise refuse("SaC", f"the recurrence over `{loop.index}`", loop.span, help=help)
        for size in function.free_sizes:
            help = f"declare a parameter that has `{size}` as an extent"
            raise refuse("SaC", f"the size `{size}`, which only a result has", function.span, help=help)
        callees = {
            number: self.add(statement.function, self.body(statement.function, ranges.calls[number]))
            for number, statement in enumerate(function.statements)
            if isinstance(statement, ir.Invoke)
        }
        parameters: dict[str, str] = {}
        for tensor in function.parameters:
            parameters[tensor.name] = unique(tensor.name, {*_WORDS, *parameters.values()})
        sizes: dict[str, str] = {}
        for name in dict.fromkeys(name for tensor in function.parameters for name in map(_size_name, tensor.shape)):
            if name is not None:
                sizes[name] = unique(name, {*_WORDS, *parameters.values(), *sizes.values()})
        body = Body(function, ranges, parameters, sizes, _WORDS)
        for number, statement in enumerate(function.statements):
            body.step(number, statement, callees.get(number, ""))
        return body

    def add(self, function: ir.Function, body: Body) -> str:
        """Adds a function, unless it exists already, and returns its name."""
        written = tree.Function(
            unique(function.name, _WORDS | _LIBRARY),
            tuple([_pattern(tensor, body.shapes[body.tensors[tensor.name]], body) for tensor in function.returns]),
            tuple(
                [
                    tree.Parameter(body.tensors[tensor.name], _pattern(tensor, tensor.shape, body))
                    for tensor in function.parameters
                ]
            ),
            (),
            tuple(body.lets),
            tuple([tree.Name(body.tensors[tensor.name]) for tensor in function.returns]),
        )
        return self.named(written)

    def named(self, function: tree.Function) -> str:
        known = {other.name: other for other in self.functions}
        name = function.name
        while name in known:
            if _renamed(function, name) == known[name]:
                return name
            name = unique(function.name, {*known, *_WORDS, *_LIBRARY} | {name})
        self.functions.append(_renamed(function, name))
        return name


def _renamed(function: tree.Function, name: str) -> tree.Function:
    return tree.Function(name, function.results, function.parameters, function.guards, function.lets, function.returns)


def _as_expression(function: ir.Function, body: Body) -> tuple[tuple[tree.Let, ...], tree.Expr] | None:
    """The lets and the expression of a function of parameters of any type; None if only a function can express it."""
    if len(function.returns) != 1 or any(_size_name(size) for t in function.parameters for size in t.shape):
        return None
    if any(size.constant is not None for tensor in function.parameters for size in tensor.shape):
        return None
    if not any(tensor.rank for tensor in function.parameters):
        return None
    result: tree.Expr = tree.Name(body.tensors[function.returns[0].name])
    lets = tuple(body.lets)
    if lets and lets[-1].names == (result.id,):
        lets, result = lets[:-1], lets[-1].value
    defined = {name for let in lets for name in let.names}
    found = [name for name in free_names([*(let.value for let in lets), result]) if name not in defined]
    if found != [body.tensors[tensor.name] for tensor in function.parameters]:
        return None
    return lets, result


def _size_name(size: Size) -> str | None:
    """The name of a size that a type pattern binds."""
    match size.terms:
        case (((SizeVar(name),), 1),) if "." not in name:
            return name
        case _:
            return None


def _pattern(tensor: ir.Tensor, shape: tuple[Size | None, ...], body: Body) -> tree.TypePattern:
    return tree.TypePattern(tensor.dtype, tuple([tree.Axis(_extent(size, body)) for size in shape]))


def _extent(size: Size | None, body: Body) -> str | int | None:
    """An extent as written in a type pattern; None if it cannot be."""
    if size is None:
        return None
    if size.constant is not None:
        return size.constant
    name = _size_name(size)
    return None if name is None else body.sizes.get(name)
