"""What names mean at one place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tcjax.syntax.sac import tree

from .values import Operand, Shaped, abstract, integers, known

INDEX = Shaped("int32", False, ())


@dataclass(frozen=True)
class Scope:
    """What names mean at one place; None marks the index of the partition in whose bounds we are.

    `uncertain`: elements of arguments decide whether this place is reached at all.
    """

    bindings: Mapping[str, Operand | None]
    expression: "Callable[[tree.Expr, Scope], Operand]"
    functions: Mapping[str, tree.Function] = field(default_factory=dict)
    foreign: Mapping[str, Callable] = field(default_factory=dict)
    strict: bool = False
    uncertain: bool = False

    def operand(self, expression: tree.Expr) -> Operand:
        return self.expression(expression, self)

    def binding(self, **names: Operand | None) -> "Scope":
        return replace(self, bindings={**self.bindings, **names})

    def doubting(self, doubt: bool = True) -> "Scope":
        return replace(self, uncertain=True) if doubt else self


def abstract_index(index: tree.IndexVector | tree.IndexPattern, length: int | None) -> dict[str, Operand]:
    """The variables of an index, without values; None is a length that is not known yet."""
    match index:
        case tree.IndexVector(name):
            # Of no components at all nothing is unknown.
            return {name: abstract(INDEX.over((length,)), name) if length != 0 else known(integers([]))}
        case tree.IndexPattern():
            return {name: abstract(INDEX, name) for name in index.names}
