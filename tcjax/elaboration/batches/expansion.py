"""Expands a definition and those that it calls, for arguments of known ranks."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from ...syntax import ast
from ..uses import completed, uses
from .dimensions import Dimension, Extents, Shape, as_of_caller, as_parameter, plain
from .statements import Body
from .trees import has_batch, subscripts_of
from .types import Types


@dataclass(frozen=True, slots=True)
class Given:
    """What is known about an argument: its extents (None: unknown, but not 1) and its element type."""

    extents: Extents
    dtype: str | None = None


def guessed(definition: ast.Definition, functions: Collection[str] = ()) -> dict[str, Given]:
    """Likely arguments: one batch dimension, whose extent is not 1.

    Omits parameters whose rank is unknown.
    """
    definition = completed(definition, functions)
    ranks: dict[str, int] = {}
    for name, subscripts, is_batch in subscripts_of(definition):
        ranks[name] = max(ranks.get(name, 0), subscripts + is_batch)
    for use in uses(definition, functions):
        if use.kind == "bare":
            ranks.setdefault(use.name, 0)
    found: dict[str, Given] = {}
    for parameter in definition.parameters or ():
        if parameter.type is not None:
            found[parameter.name] = Given((None,) * (len(parameter.type.dimensions) + parameter.type.batch))
        elif parameter.name in ranks:
            found[parameter.name] = Given((None,) * ranks[parameter.name])
    return found


def expanded(
    definition: ast.Definition, program: ast.Program, given: Mapping[str, Given], functions: Collection[str] = ()
) -> tuple[ast.Definition, ast.Program]:
    """The definition for such arguments, and a program with the definitions that it calls, all without ``...``.

    Raises `CompileError`: TC0502 for too few dimensions, TC0601 for extents that do not fit, TC0704 if the batch would
    be reduced; `RankUnknownError` where `given` lacks a parameter that matters.
    """
    expansion = _Expansion(program, functions)
    shapes: dict[str, Shape] = {}
    for name, argument in given.items():
        shapes[name] = tuple([Dimension(extent, (name, at)) for at, extent in enumerate(argument.extents)])
    dtypes = {name: argument.dtype for name, argument in given.items() if argument.dtype is not None}
    result, _ = expansion.definition(completed(definition, functions), shapes, dtypes, definition.name)
    own = {result.name, *(each.name for each in expansion.made)}
    others = [each for each in program.definitions if each.name not in own]
    return result, replace(program, definitions=(result, *expansion.made, *others))


class _Expansion:
    """One call of `expanded`: the definition and its callees, each written out once per batch."""

    def __init__(self, program: ast.Program, functions: Collection[str]) -> None:
        self.program = program
        self.definitions = {each.name: each for each in reversed(program.definitions)}
        self.functions = functions
        self.made: list[ast.Definition] = []
        self._known: dict[tuple[str, tuple[Shape, ...]], tuple[str, tuple[Shape, ...]]] = {}
        self._active: list[str] = []

    def definition(
        self, definition: ast.Definition, shapes: Mapping[str, Shape], dtypes: Mapping[str, str], name: str
    ) -> tuple[ast.Definition, tuple[Shape, ...]]:
        """The definition under this name, and the shapes of its results."""
        self._active.append(definition.name)
        body = Body(self, definition, shapes)
        statements = [body.statement(statement) for statement in definition.body]
        types = Types(body.shapes, body.sizes, body.batched)
        typed = [types.declared(s) if isinstance(s, ast.Declare) else s for s in statements]
        self._active.pop()
        result = replace(
            definition,
            name=name,
            parameters=tuple([types.parameter(each, dtypes.get(each.name)) for each in definition.parameters or ()]),
            returns=tuple([types.returned(each) for each in definition.returns]),
            body=tuple(typed),
        )
        return result, tuple([body.shapes.get(each.name) for each in definition.returns])

    def called(self, name: str, arguments: tuple[Shape, ...]) -> tuple[str, tuple[Shape, ...]]:
        """The name of a definition for arguments of these shapes, and the shapes of its results.

        A dimension of a result has the size of the argument's dimension with this number, or of none.
        """
        definition = completed(self.definitions[name], self.functions)
        parameters = definition.parameters or ()
        if name in self._active or len(parameters) != len(arguments):
            # Elaboration reports the mistake.
            return name, ()
        key = name, tuple([plain(shape) for shape in arguments])
        if key not in self._known:
            inner: dict[str, Shape] = {}
            for parameter, shape in zip(parameters, arguments, strict=True):
                own = (
                    None
                    if shape is None
                    else tuple([as_parameter(d, parameter.name, at) for at, d in enumerate(shape)])
                )
                inner[parameter.name] = own
            is_batched = has_batch(definition, self.program)
            first = all(known != name for known, _ in self._known)
            own_name = name if first or not is_batched else _fresh(f"{name}_", self._taken())
            result, results = self.definition(definition, inner, {}, own_name)
            if is_batched:
                self.made.append(result)
            self._known[key] = own_name, results
        own_name, results = self._known[key]
        sources = dict(zip([parameter.name for parameter in parameters], arguments, strict=True))
        return own_name, tuple([as_of_caller(shape, sources) for shape in results])

    def _taken(self) -> set[str]:
        return {*self.definitions, *self.functions, *(each.name for each in self.made)}


def _fresh(prefix: str, taken: Collection[str]) -> str:
    number = 2
    while f"{prefix}{number}" in taken:
        number += 1
    return f"{prefix}{number}"
