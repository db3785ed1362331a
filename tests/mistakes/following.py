"""Follows a help: puts the code that it quotes into the program for which it was given."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from tcjax.diagnostics import Span

# What the quoted code replaces: what the caret marks, the same with the brackets after it, a clause after the
# statement, its clauses, the whole program, a further parameter, or the generator of a partition.
CARET: Final = "<caret>"
CALL: Final = "<call>"
CLAUSE: Final = "<clause>"
CLAUSES: Final = "<clauses>"
STATEMENT: Final = "<statement>"
PROGRAM: Final = "<program>"
PARAMETER: Final = "<parameter>"


@dataclass(frozen=True)
class Following:
    """The help's quoted code number `quoted` replaces `instead_of`: one of the above, or a part of the program.

    If the help also names a clause, `clause` is its number. `meant` computes the intended result with NumPy, from the
    arguments in the order of the followed program.
    """

    instead_of: str
    meant: Callable[..., Any]
    quoted: int = 0
    clause: int | None = None


def follow(program: str, help: str, span: Span, following: Following) -> str:
    """The program with the change. Fails if the help quotes no such code, or the program has no such part."""
    pieces = re.findall(r"`([^`]+)`", help)
    if following.clause is not None:
        changed = follow(program, help, span, replace(following, clause=None))
        return follow(changed, help, span, Following(CLAUSE, following.meant, following.clause))
    piece = pieces[following.quoted]
    match following.instead_of:
        case "<caret>":
            return _replaced(program, span, piece)
        case "<call>":
            whole = replace(span, end=len(program.splitlines()[span.line - 1]) + 1)
            return _replaced(program, whole.applied(span.text), piece)
        case "<clause>":
            return re.sub(r"\s*(\}?)\s*$", lambda end: f" {piece} {end[1]}", program, count=1)
        case "<clauses>":
            return re.sub(r"(\bwhere\b|\|)[^}]*", lambda _: f"{piece} ", program)
        case "<statement>" if "{" in program:
            return re.sub(r"\{.*\}", lambda _: f"{{ {piece} }}", program)
        case "<statement>" | "<program>":
            return piece
        case "<parameter>":
            return program.replace(") ->", f", {piece}) ->", 1)
        case part:
            assert part in program
            return program.replace(part, piece, 1)


def _replaced(program: str, span: Span, piece: str) -> str:
    lines = program.splitlines()
    line = lines[span.line - 1]
    assert line == span.source.line(span.line)
    lines[span.line - 1] = line[: span.column - 1] + piece + line[span.end - 1 :]
    return "\n".join(lines)
