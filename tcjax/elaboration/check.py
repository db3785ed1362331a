"""Checks a definition before its first call: everything but its types."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from ..diagnostics import CompileError
from ..syntax import ast
from .batches import RankUnknownError, expanded, guessed, has_batch
from .elaborate import elaborated
from .signature import Argument
from .uses import Role, completed, function_as_input, ranks_from_uses, uses

_LIKELY: Mapping[Role, str] = {"value": "float32", "subscript": "int32", "condition": "bool"}


def guess(definition: ast.Definition, functions: Collection[str] = ()) -> dict[str, Argument] | None:
    """A likely signature; None if only a call determines a parameter's rank.

    Tensors read in subscripts are integers, those used as conditions bool, all others float. Raises what
    `ranks_from_uses` raises.
    """
    definition = completed(definition, functions)
    ranks = ranks_from_uses(definition, functions)
    undeclared = [parameter.name for parameter in definition.parameters or () if parameter.type is None]
    if any(name not in ranks for name in undeclared):
        return None
    roles: dict[str, Role] = {}
    for use in uses(definition, functions):
        # The size of a tensor says nothing about its elements.
        if use.kind != "size" and roles.get(use.name, "value") == "value":
            roles[use.name] = use.role
    return {name: Argument(_LIKELY[roles.get(name, "value")], ranks[name]) for name in undeclared}


def likely(
    definition: ast.Definition, program: ast.Program, functions: Collection[str] = ()
) -> tuple[ast.Definition, ast.Program, dict[str, Argument]] | None:
    """The definition for a likely signature, its program, and the signature; None if only a call determines it.

    A definition with ``...`` is expanded for one batch dimension. Raises what `guess` raises.
    """
    if not has_batch(definition, program):
        signature = guess(definition, functions)
        return None if signature is None else (definition, program, signature)
    given = guessed(definition, functions)
    try:
        signature = guess(expanded(definition, program, given, functions)[0], functions)
        if signature is None:
            return None
        typed = {
            name: replace(argument, dtype=signature[name].dtype) if name in signature else argument
            for name, argument in given.items()
        }
        return *expanded(definition, program, typed, functions), signature
    except RankUnknownError:
        return None


def check(definition: ast.Definition, program: ast.Program, functions: Collection[str] = ()) -> None:
    """Raises the `CompileError` that every call would raise, whatever the types of undeclared parameters.

    Elaborates with a likely signature, without calling the Python `functions`, and ignores errors about types. Stops
    early where only a call determines a rank.
    """
    found = likely(definition, program, functions)
    if found is None:
        return
    definition, program, signature = found
    try:
        elaborated(definition, program, signature, dict.fromkeys(functions, _Unseen()), None)
    except _ResultUnknownError:
        return
    except CompileError as error:
        if error.kind != "type":
            raise function_as_input(definition, error.help, guess=False) or error from None


class _ResultUnknownError(Exception):
    """Only a call determines what a Python function returns for whole tensors."""


class _Unseen:
    """A Python function whose results are unknown."""

    def scalar(self, dtypes: tuple[str, ...]) -> str:
        return "float32"

    def whole(self, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
        raise _ResultUnknownError
