"""How large an expression becomes once its lets are written out."""

from typing import Final

from .. import ir
from ..diagnostics import Code, CompileError, Span

# A let may mention an earlier let twice, so sizes may double from one let to the next.
MAX_HEIGHT: Final = 250
MAX_NODES: Final = 20_000


class Measure:
    """Heights and node counts, each shared subtree measured once."""

    def __init__(self) -> None:
        # The expression is kept with its measures, so that its `id` is not reused.
        self._known: dict[int, tuple[int, int, ir.Expr]] = {}

    def check(self, expr: ir.Expr, span: Span) -> None:
        """Raises TC0103 for an expression too large for later passes."""
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
                        "this expression is too large once its lets are inlined",
                        span,
                        help="compute a part of it in a separate statement, and read that",
                    )
            else:
                pending.append((current, True))
                pending.extend((child, False) for child in children)
