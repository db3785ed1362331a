"""How large an expression becomes once its lets are written out."""

from typing import Final

from .. import ir
from ..diagnostics import Code, CompileError, Span

# A let may mention earlier lets twice, so its size may double from one to the next.
MAX_HEIGHT: Final = 250
MAX_NODES: Final = 20_000


class Measure:
    """Heights and numbers of nodes, each shared part measured once."""

    def __init__(self) -> None:
        # The expression is kept with its measures: an `id` may not be used again.
        self._known: dict[int, tuple[int, int, ir.Expr]] = {}

    def check(self, expr: ir.Expr, span: Span) -> None:
        """Raises TC0103 for an expression that later passes could not walk through."""
        pending = [(expr, False)]
        while pending:
            current, ready = pending.pop()
            if id(current) in self._known:
                continue
            children = ir.children(current)
            if ready or not children:
                height, nodes = 1, 1
                for child in children:
                    below, inside, _ = self._known[id(child)]
                    height, nodes = max(height, below + 1), nodes + inside
                self._known[id(current)] = (height, nodes, current)
                if height > MAX_HEIGHT or nodes > MAX_NODES:
                    raise CompileError(
                        Code.TOO_DEEP,
                        "with its lets written out, this is too large an expression",
                        span,
                        help="compute a part of it in a statement of its own, and read that",
                    )
            else:
                pending.append((current, True))
                pending.extend((child, False) for child in children)
