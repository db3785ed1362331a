"""The user's assumptions about sizes: parsed once, rejected if invalid, checked at every call."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from .. import ir
from ..diagnostics import Code, CompileError, Source, Span
from ..symbolic import Facts, Size, SizeVar

if TYPE_CHECKING:
    from ..symbolic import Expr

_NAME = re.compile(r"[^\W\d]\w*(\.\w+)*'*")


@dataclass(frozen=True, slots=True)
class Assumption:
    """A condition on sizes: the user's text, and, once it is `settled`, its meaning in the sizes of a function."""

    text: str
    condition: "Expr"

    @property
    def names(self) -> frozenset[str]:
        """The names in the text."""
        return self.condition.variables

    def place(self, name: str) -> Span:
        """The place of a name in the text."""
        source = Source(self.text, "assume")
        for found in _NAME.finditer(self.text):
            if found.group() == name:
                return Span(1, found.start() + 1, found.end() + 1, source)
        return Span(1, 1, len(self.text) + 1, source)

    def __str__(self) -> str:
        return self.text


def read_assumption(text: str) -> Assumption:
    """Parses a text such as ``N % 8 == 0``. Raises `CompileError` if it is not a condition."""
    from ..symbolic.facts.reader import read_expression
    from ..symbolic.facts.trees import is_condition

    condition = read_expression(text, "assume")
    if not is_condition(condition):
        raise CompileError(
            Code.NOT_BOOLEAN,
            f"`{text}` is a number, not a condition on sizes",
            Span(1, 1, len(text) + 1, Source(text, "assume")),
            help=f"compare it: `{text} == 0`" if len(text) < 60 else "compare it with another number",
        )
    return Assumption(text, condition)


def size_names(function: ir.Function) -> dict[str, Size]:
    """The names of the sizes of a function: ``N``, and ``A.0`` for any dimension of a parameter."""
    names: dict[str, Size] = {}
    for parameter in function.parameters:
        for dimension, size in enumerate(parameter.shape):
            names[f"{parameter.name}.{dimension}"] = size
            names |= {variable.name: Size.of(variable) for variable in size.variables()}
    names |= {variable.name: Size.of(variable) for variable in function.free_sizes}
    return names


def settled(assumptions: Iterable[Assumption], function: ir.Function) -> tuple[Assumption, ...]:
    """The assumptions over the function's own sizes. Raises `CompileError` (TC0201) for a name that is not a size."""
    names = size_names(function)
    return tuple(replace(assumption, condition=_settled(assumption, names, function)) for assumption in assumptions)


def _settled(assumption: Assumption, names: Mapping[str, Size], function: ir.Function) -> "Expr":
    from ..symbolic.facts.affines import Names, size_expression

    for name in sorted(assumption.names):
        if name not in names:
            raise unknown_size(assumption, name, names, function.name)
    known = Names()
    return assumption.condition.substitute({name: size_expression(names[name], known) for name in assumption.names})


def unknown_size(assumption: Assumption, name: str, names: Iterable[str], owner: str) -> CompileError:
    """TC0201 for a name that is not a size of the definition."""
    close = get_close_matches(name, list(names), 1)
    plain = [known for known in names if "." not in known] or list(names)
    listed = ", ".join(f"`{known}`" for known in plain) or "none"
    return CompileError(
        Code.UNDEFINED_NAME,
        f"`{owner}` has no size called `{name}`",
        assumption.place(name),
        help=f"did you mean `{close[0]}`?" if close else f"its sizes are {listed}",
    )


def assumed(assumptions: Sequence[Assumption]) -> Facts:
    """The settled assumptions as facts about sizes, which are never negative.

    Raises `CompileError` (TC0607) if they contradict each other: no arrays have such sizes.
    """
    facts = Facts()
    for name in sorted(frozenset[str]().union(*(assumption.names for assumption in assumptions))):
        facts = facts.define(SizeVar(name), 0, None)
    for assumption in assumptions:
        try:
            facts = facts.assume(assumption.condition, why="user")
            words = facts.contradiction
        except CompileError as error:
            words = error.message
        if words is not None:
            raise CompileError(
                Code.VIOLATED_ASSUMPTION,
                f"no sizes satisfy `{assumption}`: {words}",
                Span(1, 1, len(assumption.text) + 1, Source(assumption.text, "assume")),
                help="leave one of the assumptions out, or correct it; sizes are never negative",
            )
    return facts


def check_assumptions(
    function: ir.Function, assumptions: Iterable[Assumption], sizes: Mapping[SizeVar, int], *, partly: bool = False
) -> None:
    """Raises `CompileError` (TC0607) for the first settled assumption that the sizes violate.

    With `partly`, assumptions about unknown sizes are skipped.
    """
    for assumption in assumptions:
        known = {name: sizes[SizeVar(name)] for name in assumption.names if SizeVar(name) in sizes}
        if partly and len(known) < len(assumption.names):
            continue
        try:
            holds, failing = bool(assumption.condition.evaluate(known)), "does not hold"
        except ZeroDivisionError:
            holds, failing = False, "divides by zero"
        if not holds:
            shown = " and ".join(f"{name} = {value}" for name, value in sorted(known.items()))
            raise CompileError(
                Code.VIOLATED_ASSUMPTION,
                f"the assumption `{assumption}` of `{function.name}` {failing}" + (f" for {shown}" if shown else ""),
                Span(1, 1, len(assumption.text) + 1, Source(assumption.text, "assume")),
                help="pass arrays of sizes that it allows, or leave it out of `assume`",
            )
