"""The dimensions that ``...`` stands for, written out: a definition for arguments of known ranks.

A tensor that is read with ``...`` has the batch dimensions in front of those that are named. Those of one statement are
aligned from the right, as in NumPy, and get the indices ``b0``, ``b1`` and so on; an extent of 1 beside another one is
read at 0. What comes out has no ``...`` any more, so that nothing behind knows of it.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from ..diagnostics import Code, CompileError, Span, phrases
from ..syntax import ast
from .spelling import counted, did_you_mean
from .uses import completed, uses

# The extents of an argument, as far as they are known; an element type, where it is known.
Extents: TypeAlias = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """What is known of an argument: its extents (None: not known, and not 1) and its element type."""

    extents: Extents
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class _Dimension:
    """A dimension of a tensor: its extent, and the dimension of a parameter whose size it has.

    Of one that is `named` by an index nothing may be known: neither its extent nor whether that is 1.
    """

    extent: int | None = None
    source: tuple[str, int] | None = None
    named: bool = False


# The dimensions of a tensor; None where only a call of Python tells them.
_Shape: TypeAlias = tuple[_Dimension, ...] | None


class RankUnknownError(Exception):
    """A definition passes a parameter on of which nothing says how many dimensions it has."""


def has_batch(definition: ast.Definition, program: ast.Program | None = None) -> bool:
    """Whether ``...`` stands in a definition, or in one of `program` that it calls."""
    known = {} if program is None else {each.name: each for each in reversed(program.definitions)}
    pending, seen = [definition], {definition.name}
    while pending:
        current = pending.pop()
        if _mentions_batch(current):
            return True
        for name in _applied(current):
            if name in known and name not in seen:
                seen.add(name)
                pending.append(known[name])
    return False


def guessed(definition: ast.Definition, functions: Collection[str] = ()) -> dict[str, Given]:
    """Likely arguments: one batch dimension, whose extent is not 1.

    Left out are parameters of which nothing says how many dimensions they have.
    """
    definition = completed(definition, functions)
    ranks: dict[str, int] = {}
    for name, subscripts, is_batch in _subscripts(definition):
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
    """The definition for such arguments, and the program with those that it calls, without any ``...``.

    Raises `CompileError`: TC0502 for too few dimensions, TC0601 for extents that do not fit, TC0704 where the batch
    would be reduced; `RankUnknownError` where `given` lacks a parameter that matters.
    """
    expansion = _Expansion(program, functions)
    shapes: dict[str, _Shape] = {}
    for name, argument in given.items():
        shapes[name] = tuple([_Dimension(extent, (name, at)) for at, extent in enumerate(argument.extents)])
    dtypes = {name: argument.dtype for name, argument in given.items() if argument.dtype is not None}
    result, _ = expansion.definition(completed(definition, functions), shapes, dtypes, definition.name)
    own = {result.name, *(each.name for each in expansion.made)}
    others = [each for each in program.definitions if each.name not in own]
    return result, replace(program, definitions=(result, *expansion.made, *others))


class _Expansion:
    """One call of `expanded`: the definition and those that it calls, each written out once per batch."""

    def __init__(self, program: ast.Program, functions: Collection[str]) -> None:
        self.program = program
        self.definitions = {each.name: each for each in reversed(program.definitions)}
        self.functions = functions
        self.made: list[ast.Definition] = []
        self._known: dict[tuple[str, tuple[_Shape, ...]], tuple[str, tuple[_Shape, ...]]] = {}
        self._active: list[str] = []

    def definition(
        self, definition: ast.Definition, shapes: Mapping[str, _Shape], dtypes: Mapping[str, str], name: str
    ) -> tuple[ast.Definition, tuple[_Shape, ...]]:
        """The definition under this name, and the shapes of its results."""
        self._active.append(definition.name)
        body = _Body(self, definition, shapes)
        statements = [body.statement(statement) for statement in definition.body]
        typed = [body.declared(s) if isinstance(s, ast.Declare) else s for s in statements]
        self._active.pop()
        result = replace(
            definition,
            name=name,
            parameters=tuple([body.parameter(each, dtypes.get(each.name)) for each in definition.parameters or ()]),
            returns=tuple([body.returned(each) for each in definition.returns]),
            body=tuple(typed),
        )
        return result, tuple([body.shapes.get(each.name) for each in definition.returns])

    def called(self, name: str, arguments: tuple[_Shape, ...]) -> tuple[str, tuple[_Shape, ...]]:
        """The name of a definition for arguments of these shapes, and the shapes of its results.

        A dimension of a result has the size of the argument's dimension of this number, or none.
        """
        definition = completed(self.definitions[name], self.functions)
        parameters = definition.parameters or ()
        if name in self._active or len(parameters) != len(arguments):
            # Elaboration tells what is wrong.
            return name, ()
        key = name, tuple([_plain(shape) for shape in arguments])
        if key not in self._known:
            inner: dict[str, _Shape] = {}
            for parameter, shape in zip(parameters, arguments, strict=True):
                own = None if shape is None else tuple([_own(d, parameter.name, at) for at, d in enumerate(shape)])
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
        return own_name, tuple([_as_of_caller(shape, sources) for shape in results])

    def _taken(self) -> set[str]:
        return {*self.definitions, *self.functions, *(each.name for each in self.made)}


class _Body:
    """The statements of one definition, in order; `shapes` are those of what is known by now."""

    def __init__(self, expansion: _Expansion, definition: ast.Definition, shapes: Mapping[str, _Shape]) -> None:
        self.expansion = expansion
        self.shapes = dict(shapes)
        self.spans = {parameter.name: parameter.span for parameter in definition.parameters or ()}
        self.batched = {name for name, _, is_batch in _subscripts(definition) if is_batch}
        self.prefix = _prefix(definition)
        # For each size, one that is the same: dimensions that were aligned have one size.
        self.same: dict[tuple[str, int], tuple[str, int]] = {}
        for parameter in definition.parameters or ():
            self._declare(parameter)
        self._refuse_sizes(definition)

    def _refuse_sizes(self, definition: ast.Definition) -> None:
        """Raises TC0501 for ``A.0`` of a tensor with ``...``: which dimension it is would change with the batch."""
        types = [each.type for each in (*(definition.parameters or ()), *definition.returns)]
        declared = {p.name: p.type.batch for p in definition.parameters or () if p.type is not None}
        batched = {name for name in {*self.batched, *declared} if declared.get(name, True)}
        for node in ast.nodes(definition):
            if isinstance(node, ast.SizeOf) and node.tensor in batched:
                named = next((t for t in types if t is not None and t.batch and t.dimensions), None)
                sizes = [str(size) for size in named.dimensions] if named is not None else ["N"]
                raise CompileError(
                    Code.WRONG_SUBSCRIPT_COUNT,
                    f"which dimension of `{node.tensor}` this is changes with what its `...` stands for",
                    node.span,
                    help=f"give the size a name, {phrases.typed('float', ['...', *sizes], node.tensor, node.span)}, "
                    "and write that",
                )

    def _declare(self, parameter: ast.Parameter) -> None:
        type, shape = parameter.type, self.shapes.get(parameter.name)
        if type is None or shape is None:
            if type is not None and not type.batch:
                self.shapes[parameter.name] = (_Dimension(),) * len(type.dimensions)
            return
        missing = len(type.dimensions) - len(shape)
        if type.batch and missing > 0:
            raise _too_few(parameter.name, len(type.dimensions), len(shape), parameter.span)

    # ------------------------------------------------------------ statements

    def statement(self, node: ast.Statement) -> ast.Statement:
        match node:
            case ast.Declare():
                return node
            case ast.CallAssign(targets, function, arguments):
                name, results = self._call(function, arguments)
                for target, shape in zip(targets, (*results, *([None] * len(targets))), strict=False):
                    self.shapes[target] = shape
                return replace(node, function=name)
            case ast.Assign():
                return self._assign(node)
            case ast.For():
                return replace(node, body=tuple(map(self.statement, node.body)))
            case _:
                assert_never(node)

    def _assign(self, node: ast.Assign) -> ast.Assign:
        value = node.value
        if node.reducer is None and not node.indices and isinstance(value, ast.Apply) and self._is_call(value):
            name, results = self._call(value.function, value.arguments)
            self.shapes[node.target] = results[0] if results else None
            return replace(node, value=replace(value, function=name))
        reads = list(_batch_reads(node))
        aligned = [self._aligned(read) for read in reads]
        on_left = bool(node.indices) and isinstance(node.indices[0], ast.Batch)
        if reads and not on_left:
            raise _reduced(node, reads[0])
        defined = self.shapes.get(node.target) if on_left and node.target in self.shapes else None
        left = defined[: len(defined) - len(node.indices or ()) + 1] if defined is not None else None
        batch = self._batch(node, [(read.function, batch) for read, batch in zip(reads, aligned, strict=True)], left)
        result = self._written(node, batch)
        if node.target not in self.shapes:
            named = tuple([self._named(index, node) for index in (node.indices or ())[on_left:]])
            self.shapes[node.target] = (*batch, *named)
        return result

    def _named(self, index: ast.Expr, node: ast.Assign) -> _Dimension:
        """The dimension of the target that an index names: the least extent of what it reads, if that is all."""
        if not isinstance(index, ast.Name) or any(_limits(clause, index.id) for clause in node.where):
            return _Dimension(named=True)
        found: list[_Dimension] = []
        for part in ast.nodes(node):
            if not isinstance(part, ast.Apply):
                continue
            shape = self.shapes.get(part.function)
            for back, argument in enumerate(reversed(part.arguments), 1):
                if argument == index and shape is not None and back <= len(shape):
                    found.append(shape[-back])
                elif index in ast.walk(argument):
                    return _Dimension(named=True)
        if not found or any(dimension.named for dimension in found):
            return _Dimension(named=True)
        extents = [dimension.extent for dimension in found]
        known = [extent for extent in extents if extent is not None]
        least = 1 if 1 in known else None if len(known) < len(extents) else min(known)
        sources = {None if d.source is None else self._root(d.source) for d in found}
        return _Dimension(least, sources.pop() if len(sources) == 1 else None)

    def _is_call(self, value: ast.Apply) -> bool:
        name = value.function
        return name not in self.shapes and (name in self.expansion.definitions or name in self.expansion.functions)

    def _call(self, function: str, arguments: tuple[ast.Expr, ...]) -> tuple[str, tuple[_Shape, ...]]:
        dots = next((argument for argument in arguments if isinstance(argument, ast.Batch)), None)
        if dots is not None:
            raise _no_tensor(function, self.shapes, dots.span)
        if function not in self.expansion.definitions or function in self.shapes:
            return function, ()
        shapes = [self.shapes.get(a.id) if isinstance(a, ast.Name) else None for a in arguments]
        return self.expansion.called(function, tuple(shapes))

    # ------------------------------------------------------------ the batch of a statement

    def _aligned(self, read: ast.Apply) -> tuple[_Dimension, ...]:
        """The dimensions that ``...`` stands for in a read."""
        name, named = read.function, len(read.arguments) - 1
        if name not in self.shapes:
            if name in self.spans:
                raise RankUnknownError
            raise _no_tensor(name, self.shapes, read.span)
        shape = self.shapes[name]
        if shape is None:
            raise CompileError(
                Code.UNKNOWN_RANK,
                f"nothing says how many dimensions `...` stands for: `{name}` comes from a call of Python",
                read.span,
                help=f"write all subscripts of `{name}`, or call the function on elements",
            )
        if len(shape) < named:
            raise _too_few(name, named, len(shape), self.spans.get(name, read.span))
        return shape[: len(shape) - named]

    def _batch(
        self,
        node: ast.Assign,
        reads: Sequence[tuple[str, tuple[_Dimension, ...]]],
        left: tuple[_Dimension, ...] | None,
    ) -> tuple[_Dimension, ...]:
        """The batch dimensions of a statement: those of its reads, and of what it goes on writing."""
        width = max([len(batch) for _, batch in reads], default=0) if left is None else len(left)
        dimensions: list[_Dimension] = []
        given = [*reads, (node.target, left)] if left is not None else list(reads)
        for back in range(width, 0, -1):
            here = [(name, batch[-back]) for name, batch in given if batch is not None and len(batch) >= back]
            dimensions.append(self._joined(here, node.span))
        if left is not None:
            for name, batch in reads:
                pairs = zip(reversed(left), reversed(batch), strict=False)
                if len(batch) > len(left) or any(own.extent == 1 != read.extent for own, read in pairs):
                    shown = [f"`{n}` {_extents(b)}" for n, b in ((name, batch), (node.target, left))]
                    raise CompileError(
                        Code.SIZE_MISMATCH,
                        f"`{node.target}` has the batch of its first statement, and here is a larger one: "
                        f"{' and '.join(shown)}",
                        node.span,
                        help="write another tensor here, or read all batches in the first statement",
                    )
        return tuple(dimensions)

    def _joined(self, here: Sequence[tuple[str, _Dimension]], span: Span) -> _Dimension:
        """One dimension of tensors that are aligned there. Raises TC0601 for extents that do not fit."""
        unknown = next((name for name, dimension in here if dimension.named), None)
        if unknown is not None and len({name for name, _ in here}) > 1:
            raise CompileError(
                Code.WRONG_SUBSCRIPT_COUNT,
                f"`...` would stand for a dimension of `{unknown}` that an index names where it is written, "
                "and nothing says whether it fits the other tensors",
                span,
                help=f"write all subscripts of `{unknown}` here, or write it with `...` too",
            )
        wide = [(name, dimension) for name, dimension in here if dimension.extent != 1]
        if not wide:
            return here[0][1]
        first = wide[0][1]
        known = next(((n, d) for n, d in wide if d.extent is not None), None)
        for name, dimension in wide:
            if known is not None and dimension.extent not in (None, known[1].extent):
                names = [f"`{n}` has {d.extent} along {_numbered(d)}" for n, d in (known, (name, dimension))]
                raise CompileError(
                    Code.SIZE_MISMATCH,
                    f"the batches do not fit: {names[0]}, {names[1]}",
                    span,
                    help="`...` aligns dimensions from the right, as NumPy broadcasts: equal extents, or 1",
                )
            self._unite(first, dimension)
        return first if known is None else replace(first, extent=known[1].extent)

    def _unite(self, first: _Dimension, second: _Dimension) -> None:
        if first.source is not None and second.source is not None:
            one, other = self._root(first.source), self._root(second.source)
            if one != other:
                self.same[other] = one

    def _root(self, source: tuple[str, int]) -> tuple[str, int]:
        while source in self.same:
            source = self.same[source]
        return source

    def _written(self, node: ast.Assign, batch: tuple[_Dimension, ...]) -> ast.Assign:
        """The statement with its batch written out."""
        width = len(batch)

        def subscripts(own: Sequence[_Dimension] | None, dots: Span) -> tuple[ast.Expr, ...]:
            found: list[ast.Expr] = []
            for back in range(width if own is None else len(own), 0, -1):
                single = own is not None and own[-back].extent == 1 and batch[-back].extent != 1
                name = ast.Name(f"{self.prefix}{width - back}", span=dots)
                found.append(ast.Number(0, span=dots) if single else name)
            return tuple(found)

        def change(part: ast.Node) -> ast.Node:
            match part:
                case ast.Apply(arguments=(ast.Batch(span=dots), *rest)):
                    return replace(part, arguments=(*subscripts(self._aligned(part), dots), *rest))
                case _:
                    return part

        changed = ast.mapped(node, change)
        match changed.indices:
            case (ast.Batch(span=dots), *rest):
                return replace(changed, indices=(*subscripts(None, dots), *rest))
            case _:
                return changed

    # ------------------------------------------------------------ types

    def parameter(self, parameter: ast.Parameter, dtype: str | None) -> ast.Parameter:
        """A parameter with a size for each dimension; as it is where ``...`` does not concern it."""
        type, shape = parameter.type, self.shapes.get(parameter.name)
        if type is None and (dtype is None or shape is None or parameter.name not in self.batched):
            return parameter
        if type is None:
            assert shape is not None and dtype is not None
            own = [self._size(dimension, parameter.span) for dimension in shape]
            return replace(parameter, type=ast.TensorType(dtype, tuple(own), span=parameter.span))
        if not type.batch:
            return parameter
        if shape is None:
            raise RankUnknownError
        return replace(parameter, type=self._type(type, shape))

    def returned(self, result: ast.Parameter) -> ast.Parameter:
        return replace(result, type=self._of(result.name, result.type)) if result.type is not None else result

    def declared(self, node: ast.Declare) -> ast.Declare:
        return replace(node, type=self._of(node.name, node.type))

    def _of(self, name: str, type: ast.TensorType) -> ast.TensorType:
        if not type.batch:
            return type
        shape = self.shapes.get(name)
        if name in self.shapes and shape is None:
            raise CompileError(
                Code.UNKNOWN_RANK,
                f"nothing says how many dimensions `...` stands for: `{name}` comes from a call of Python",
                type.span,
                help="leave the type out",
            )
        return self._type(type, shape or ())

    def _type(self, type: ast.TensorType, shape: tuple[_Dimension, ...]) -> ast.TensorType:
        batch = shape[: max(len(shape) - len(type.dimensions), 0)]
        sizes = tuple([self._size(dimension, type.span) for dimension in batch])
        return replace(type, dimensions=(*sizes, *type.dimensions), batch=False)

    def _size(self, dimension: _Dimension, span: Span) -> str | int:
        if dimension.extent == 1:
            return 1
        if dimension.source is None:
            raise CompileError(
                Code.WRONG_SUBSCRIPT_COUNT,
                "`...` would stand for a dimension whose size no parameter has",
                span,
                help="leave the type out, or write a size for each dimension",
            )
        name, number = self._root(dimension.source)
        return f"{name}.{number}"


# ---------------------------------------------------------------- shapes


def _plain(shape: _Shape) -> _Shape:
    """What two calls have in common that are written out alike."""
    return None if shape is None else tuple([replace(dimension, source=None) for dimension in shape])


def _own(dimension: _Dimension, name: str, number: int) -> _Dimension:
    """A dimension of an argument as one of the parameter; what an index named in the caller may be a batch inside."""
    return _Dimension(dimension.extent, (name, number), dimension.named)


def _as_of_caller(shape: _Shape, arguments: Mapping[str, _Shape]) -> _Shape:
    """A result's shape with the sizes of the arguments in the place of those of parameters."""
    if shape is None:
        return None
    found: list[_Dimension] = []
    for dimension in shape:
        source = dimension.source
        given = arguments.get(source[0]) if source is not None else None
        if source is not None and given is not None and source[1] < len(given):
            found.append(replace(dimension, source=given[source[1]].source))
        else:
            found.append(dimension)
    return tuple(found)


def _extents(batch: Sequence[_Dimension]) -> str:
    return f"({', '.join('?' if d.extent is None else str(d.extent) for d in batch)})"


def _numbered(dimension: _Dimension) -> str:
    return "its batch" if dimension.source is None else f"dimension {dimension.source[1]}"


# ---------------------------------------------------------------- trees


def _mentions_batch(definition: ast.Definition) -> bool:
    return any(
        isinstance(node, ast.Batch) or (isinstance(node, ast.TensorType) and node.batch)
        for node in ast.nodes(definition)
    )


def _applied(definition: ast.Definition) -> Iterator[str]:
    for node in ast.nodes(definition):
        if isinstance(node, ast.Apply | ast.CallAssign):
            yield node.function


def _batch_reads(node: ast.Assign) -> Iterator[ast.Apply]:
    for part in ast.nodes(node):
        if isinstance(part, ast.Apply) and part.arguments and isinstance(part.arguments[0], ast.Batch):
            yield part


def _subscripts(definition: ast.Definition) -> Iterator[tuple[str, int, bool]]:
    """Each name that is written with subscripts, how many, and whether ``...`` stands before them."""
    for node in ast.nodes(definition):
        match node:
            case ast.Apply(name, arguments) | ast.Assign(name, tuple() as arguments):
                is_batch = bool(arguments) and isinstance(arguments[0], ast.Batch)
                yield name, len(arguments) - is_batch, is_batch
            case _:
                continue


def _limits(clause: ast.Clause, index: str) -> bool:
    return isinstance(clause, ast.RangeClause) and clause.index == index


def _prefix(definition: ast.Definition) -> str:
    """What the names of the batch's indices begin with: ``b``, unless the text has such names."""
    names: set[str] = set()
    for node in ast.nodes(definition):
        match node:
            case ast.Name(name) | ast.Apply(name) | ast.Assign(name) | ast.Parameter(name) | ast.SizeOf(name):
                names.add(name)
            case ast.Bound(name) | ast.LetClause(name) | ast.RangeClause(name) | ast.Declare(name) | ast.For(name):
                names.add(name)
            case ast.TensorType(dimensions=dimensions):
                names.update(map(str, dimensions))
            case ast.CallAssign(targets):
                names.update(targets)
            case _:
                continue
    prefix = "b"
    while any(re.fullmatch(rf"{prefix}\d+", name) for name in names):
        prefix = "batch" if prefix == "b" else f"{prefix}_"
    return prefix


def _fresh(prefix: str, taken: Collection[str]) -> str:
    number = 2
    while f"{prefix}{number}" in taken:
        number += 1
    return f"{prefix}{number}"


# ---------------------------------------------------------------- mistakes


def _too_few(name: str, named: int, rank: int, span: Span) -> CompileError:
    return CompileError(
        Code.ARGUMENT_RANK,
        f"`{name}` has {counted(named, 'dimension')} behind its `...`, but here it has {counted(rank, 'dimension')}",
        span,
        help=f"pass an array of {counted(named, 'dimension')} or more",
    )


def _reduced(node: ast.Assign, read: ast.Apply) -> CompileError:
    left = phrases.element(node.target, ["...", *map(_shown, node.indices or ())], node.span)
    return CompileError(
        Code.MISSING_REDUCTION,
        f"`...` stands on the right and not on the left: nothing reduces the batch of `{read.function}`",
        read.span,
        help=f"write `{left}` on the left, or name the dimensions that are reduced",
    )


def _shown(index: ast.Expr) -> str:
    return index.id if isinstance(index, ast.Name) else index.span.text.strip() or "..."


def _no_tensor(name: str, tensors: Collection[str], span: Span) -> CompileError:
    return CompileError(
        Code.UNDEFINED_NAME,
        f"`{name}` is no tensor that is known here, so that its `...` stands for nothing",
        span,
        help=did_you_mean(name, tensors, "subscripts belong to a parameter, or to what an earlier statement writes"),
    )
