"""Expands the ``...`` in the statements of a definition, in order."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, assert_never

from ...diagnostics import Code, CompileError, Span, phrases
from ...syntax import ast
from .dimensions import Dimension, RankUnknownError, Shape, Sizes, extents_of
from .mistakes import batch_reduced, no_tensor, too_few
from .trees import batch_reads, prefix_of, subscripts_of


class Callees(Protocol):
    """What a definition may call: the `definitions` of its program, and Python `functions`."""

    @property
    def definitions(self) -> Mapping[str, ast.Definition]: ...
    @property
    def functions(self) -> Collection[str]: ...

    def called(self, name: str, arguments: tuple[Shape, ...]) -> tuple[str, tuple[Shape, ...]]:
        """The name of a definition for arguments of these shapes, and the shapes of its results."""
        ...


class Body:
    """The statements of one definition, in order; `shapes` are those of the tensors known so far."""

    def __init__(self, callees: Callees, definition: ast.Definition, shapes: Mapping[str, Shape]) -> None:
        self.callees = callees
        self.shapes = dict(shapes)
        self.spans = {parameter.name: parameter.span for parameter in definition.parameters or ()}
        self.batched = {name for name, _, is_batch in subscripts_of(definition) if is_batch}
        self.prefix = prefix_of(definition)
        typed = [each.name for each in definition.returns if each.type is not None]
        self.typed = {*typed, *(each.name for each in definition.body if isinstance(each, ast.Declare))}
        self.sizes = Sizes()
        for parameter in definition.parameters or ():
            self._declare(parameter)
        self._refuse_sizes(definition)

    def _refuse_sizes(self, definition: ast.Definition) -> None:
        """Raises TC0501 for ``A.0`` of a tensor with ``...``: which dimension that is would depend on the batch."""
        types = [each.type for each in (*(definition.parameters or ()), *definition.returns)]
        declared = {p.name: p.type.batch for p in definition.parameters or () if p.type is not None}
        batched = {name for name in {*self.batched, *declared} if declared.get(name, True)}
        for node in ast.nodes(definition):
            if isinstance(node, ast.SizeOf) and node.tensor in batched:
                named = next((t for t in types if t is not None and t.batch and t.dimensions), None)
                sizes = [str(size) for size in named.dimensions] if named is not None else ["N"]
                raise CompileError(
                    Code.WRONG_SUBSCRIPT_COUNT,
                    f"which dimension of `{node.tensor}` this is depends on what its `...` stands for",
                    node.span,
                    help=f"give the size a name, {phrases.typed('float', ['...', *sizes], node.tensor, node.span)}, "
                    "and write that",
                )

    def _declare(self, parameter: ast.Parameter) -> None:
        type, shape = parameter.type, self.shapes.get(parameter.name)
        if type is None or shape is None:
            if type is not None and not type.batch:
                self.shapes[parameter.name] = (Dimension(),) * len(type.dimensions)
            return
        missing = len(type.dimensions) - len(shape)
        if type.batch and missing > 0:
            raise too_few(parameter.name, len(type.dimensions), len(shape), parameter.span)

    # ------------------------------------------------------------ statements

    def statement(self, node: ast.Statement) -> ast.Statement:
        """A statement with its batch written out; a declaration's batch is known only at the end."""
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
        reads = list(batch_reads(node))
        aligned = [self._aligned(read) for read in reads]
        on_left = bool(node.indices) and isinstance(node.indices[0], ast.Batch)
        if reads and not on_left:
            raise batch_reduced(node, reads[0])
        defined = self.shapes.get(node.target) if on_left and node.target in self.shapes else None
        left = defined[: len(defined) - len(node.indices or ()) + 1] if defined is not None else None
        batch = self._batch(node, [(read.function, batch) for read, batch in zip(reads, aligned, strict=True)], left)
        result = self._written(node, batch)
        if node.target not in self.shapes:
            named = tuple([self._named(index, node) for index in (node.indices or ())[on_left:]])
            self.shapes[node.target] = (*batch, *named)
        return result

    def _named(self, index: ast.Expr, node: ast.Assign) -> Dimension:
        """The dimension of the target named by an index: the least extent that it reads, if it is known."""
        nodes = list(ast.nodes(node))
        if not isinstance(index, ast.Name) or node.target in self.typed or any(_limits(n, index.id) for n in nodes):
            return Dimension(named=True)
        found: list[Dimension] = []
        for part in nodes:
            if not isinstance(part, ast.Apply):
                continue
            shape = self.shapes.get(part.function)
            for back, argument in enumerate(reversed(part.arguments), 1):
                if argument == index and shape is not None and back <= len(shape):
                    found.append(shape[-back])
                elif index in ast.walk(argument):
                    return Dimension(named=True)
        if not found or any(dimension.named for dimension in found):
            return Dimension(named=True)
        extents = [dimension.extent for dimension in found]
        known = [extent for extent in extents if extent is not None]
        least = 1 if 1 in known else None if len(known) < len(extents) else min(known)
        sources = {None if d.source is None else self.sizes.root(d.source) for d in found}
        return Dimension(least, sources.pop() if len(sources) == 1 else None)

    def _is_call(self, value: ast.Apply) -> bool:
        name = value.function
        return name not in self.shapes and (name in self.callees.definitions or name in self.callees.functions)

    def _call(self, function: str, arguments: tuple[ast.Expr, ...]) -> tuple[str, tuple[Shape, ...]]:
        dots = next((argument for argument in arguments if isinstance(argument, ast.Batch)), None)
        if dots is not None:
            raise no_tensor(function, self.shapes, dots.span)
        if function not in self.callees.definitions or function in self.shapes:
            return function, ()
        names = [argument.id for argument in arguments if isinstance(argument, ast.Name)]
        if any(name in self.spans and name not in self.shapes for name in names):
            raise RankUnknownError
        shapes = [self.shapes.get(a.id) if isinstance(a, ast.Name) else None for a in arguments]
        return self.callees.called(function, tuple(shapes))

    # ------------------------------------------------------------ the batch of a statement

    def _aligned(self, read: ast.Apply) -> tuple[Dimension, ...]:
        """The dimensions that ``...`` stands for in a read."""
        name, named = read.function, len(read.arguments) - 1
        if name not in self.shapes:
            if name in self.spans:
                raise RankUnknownError
            raise no_tensor(name, self.shapes, read.span)
        shape = self.shapes[name]
        if shape is None:
            raise CompileError(
                Code.UNKNOWN_RANK,
                f"nothing says how many dimensions `...` stands for: `{name}` comes from a call of Python",
                read.span,
                help=f"write all subscripts of `{name}`, or call the function on elements",
            )
        if len(shape) < named:
            raise too_few(name, named, len(shape), self.spans.get(name, read.span))
        return shape[: len(shape) - named]

    def _batch(
        self,
        node: ast.Assign,
        reads: Sequence[tuple[str, tuple[Dimension, ...]]],
        left: tuple[Dimension, ...] | None,
    ) -> tuple[Dimension, ...]:
        """The batch dimensions of a statement: those of its reads, and of the target if it exists already."""
        width = max([len(batch) for _, batch in reads], default=0) if left is None else len(left)
        dimensions: list[Dimension] = []
        given = [*reads, (node.target, left)] if left is not None else list(reads)
        for back in range(width, 0, -1):
            here = [(name, batch[-back]) for name, batch in given if batch is not None and len(batch) >= back]
            dimensions.append(self.sizes.joined(here, node.span))
        if left is not None:
            for name, batch in reads:
                pairs = zip(reversed(left), reversed(batch), strict=False)
                if len(batch) > len(left) or any(own.extent == 1 != read.extent for own, read in pairs):
                    shown = [f"`{n}` {extents_of(b)}" for n, b in ((name, batch), (node.target, left))]
                    raise CompileError(
                        Code.SIZE_MISMATCH,
                        f"`{node.target}` has the batch of its first statement, and this one is larger: "
                        f"{' and '.join(shown)}",
                        node.span,
                        help="write another tensor here, or read all batches in the first statement",
                    )
        return tuple(dimensions)

    def _written(self, node: ast.Assign, batch: tuple[Dimension, ...]) -> ast.Assign:
        """The statement with its batch written out."""
        width = len(batch)

        def subscripts(own: Sequence[Dimension] | None, dots: Span) -> tuple[ast.Expr, ...]:
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


def _limits(node: ast.Node, index: str) -> bool:
    """Whether an index has a range here, or is bound by inner brackets."""
    return isinstance(node, ast.RangeClause | ast.Bound) and node.index == index
