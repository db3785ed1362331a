"""The types of parameters, outputs and temporaries, with a size for each dimension that ``...`` stands for."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from ...diagnostics import Code, CompileError
from ...syntax import ast
from .dimensions import Dimension, RankUnknownError, Shape, Sizes


class Types:
    """Writes types for the shapes of the tensors of one definition; `batched` are the tensors with ``...``."""

    def __init__(self, shapes: Mapping[str, Shape], sizes: Sizes, batched: Collection[str]) -> None:
        self.shapes = shapes
        self.sizes = sizes
        self.batched = batched

    def parameter(self, parameter: ast.Parameter, dtype: str | None) -> ast.Parameter:
        """A parameter with a size for each dimension; unchanged if it has no ``...``."""
        type, shape = parameter.type, self.shapes.get(parameter.name)
        if type is None and (dtype is None or shape is None or parameter.name not in self.batched):
            return parameter
        if type is None:
            assert shape is not None and dtype is not None
            own = [self.sizes.size(dimension, parameter.span) for dimension in shape]
            return replace(parameter, type=ast.TensorType(dtype, tuple(own), span=parameter.span))
        if not type.batch:
            return parameter
        if parameter.name not in self.shapes:
            raise RankUnknownError
        return replace(parameter, type=self._of(parameter.name, type))

    def returned(self, result: ast.Parameter) -> ast.Parameter:
        """An output with a size for each dimension of its type."""
        return replace(result, type=self._of(result.name, result.type)) if result.type is not None else result

    def declared(self, node: ast.Declare) -> ast.Declare:
        """The declaration of a temporary with a size for each dimension."""
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

    def _type(self, type: ast.TensorType, shape: tuple[Dimension, ...]) -> ast.TensorType:
        batch = shape[: max(len(shape) - len(type.dimensions), 0)]
        sizes = tuple([self.sizes.size(dimension, type.span) for dimension in batch])
        return replace(type, dimensions=(*sizes, *type.dimensions), batch=False)
