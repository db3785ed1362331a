"""Ranges whose ends are not affine sizes, rewritten as a range with guards."""

from collections.abc import Collection
from dataclasses import dataclass

from ..diagnostics import Span, phrases
from ..syntax import ast


@dataclass(frozen=True, slots=True)
class Cut:
    """The range ``index in lo:hi`` over `body`, `inline` in the brackets of a reduction."""

    index: str
    lo: ast.Expr
    hi: ast.Expr
    body: ast.Expr
    inline: bool = False

    def guarded(self, tensors: Collection[str], span: Span) -> str:
        """A range over everything read at the index, with the ends as guards: the suggestion in the message."""
        index, python = self.index, span.source.is_python
        below = f"{_text(self.lo)} <= {index}" if _is_computed(self.lo, tensors) else ""
        above = f"{index} < {_text(self.hi)}" if _is_computed(self.hi, tensors) else ""
        lo, hi = "0" if below else _text(self.lo), self._extent(python) if above else _text(self.hi)
        conditions = [condition for condition in (below, above) if condition]
        outer = [(name, 0, _beyond(tensor, offset, python)) for name, tensor, offset in self._neighbours()]
        outside = f", with {phrases.all_ranged(outer, span)} for the statement" if outer else ""
        match self.inline, python:
            case True, True:
                return f"`{', '.join([f'{index} in range({lo}, {hi})', *conditions])}` in the brackets{outside}"
            case True, False:
                return f"`{index} in {lo}:{hi} where {', '.join(conditions)}` in the brackets{outside}"
            case False, True:
                heads = phrases.all_ranged([(index, lo, hi), *outer], span)
                return f"{heads} and {phrases.guarded(' and '.join(conditions), span)}"
            case _:
                ranges = [f"{name} in {start}:{end}" for name, start, end in ((index, lo, hi), *outer)]
                return f"`where {', '.join([*ranges, *conditions])}`"

    def _extent(self, python: bool) -> str:
        """The size of the tensor read at the index."""
        for part in ast.walk(self.body):
            if isinstance(part, ast.Apply) and ast.Name(self.index) in part.arguments:
                return _size(part.function, part.arguments.index(ast.Name(self.index)), python)
        return "8"

    def _neighbours(self) -> list[tuple[str, str, int]]:
        """Indices at which an end reads beyond them, as in ``ptr(i+1)``, with the tensor and the distance."""
        found: dict[str, tuple[str, str, int]] = {}
        for part in (*ast.walk(self.lo), *ast.walk(self.hi)):
            match part:
                case ast.Apply(tensor, (ast.Binary("+", ast.Name(index), ast.Number(int(offset))),)):
                    found.setdefault(index, (index, tensor, offset))
                case _:
                    continue
        return list(found.values())


def _is_computed(end: ast.Expr, tensors: Collection[str]) -> bool:
    """Whether an end contains more than indices, numbers and sizes: a read, or a product of names."""
    for part in ast.walk(end):
        match part:
            case ast.Name(name) if name in tensors:
                return True
            case ast.Apply() | ast.Conditional() | ast.Cast() | ast.Reduction():
                return True
            case ast.Binary("*" | "/" | "//" | "%", left, right) if not isinstance(left, ast.Number | ast.SizeOf):
                return not isinstance(right, ast.Number | ast.SizeOf)
            case _:
                continue
    return False


def _beyond(tensor: str, offset: int, python: bool) -> str:
    return f"{_size(tensor, 0, python)} - {offset}"


def _size(tensor: str, dimension: int, python: bool) -> str:
    return f"{tensor}.shape[{dimension}]" if python else f"{tensor}.{dimension}"


def _text(end: ast.Expr) -> str:
    text = end.span.text.strip()
    return text if 0 < len(text) <= 60 else "..."
