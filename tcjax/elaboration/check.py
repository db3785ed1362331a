"""What can be said against a definition before its first call: everything but its types."""

from collections.abc import Collection, Mapping

from ..diagnostics import CompileError
from ..syntax import ast
from .elaborate import elaborated
from .signature import Argument
from .uses import Role, completed, function_as_input, ranks_from_uses, uses

_LIKELY: Mapping[Role, str] = {"value": "float32", "subscript": "int32", "condition": "bool"}


def guess(definition: ast.Definition, functions: Collection[str] = ()) -> dict[str, Argument] | None:
    """A likely signature, None where only a call can tell a parameter's rank.

    Tensors that are read in subscripts are integers, those used as conditions bool, all others float. Raises what
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


def check(definition: ast.Definition, program: ast.Program, functions: Collection[str] = ()) -> None:
    """Raises the `CompileError` that every call would raise, whatever the types of the undeclared parameters.

    Elaborates with a likely signature, without calling the Python `functions`, and lets pass what is wrong with types
    only. Stops early where only a call can tell a rank.
    """
    signature = guess(definition, functions)
    if signature is None:
        return
    try:
        elaborated(definition, program, signature, dict.fromkeys(functions, _Unseen()), None)
    except _RankUnknownError:
        return
    except CompileError as error:
        if error.kind != "type":
            raise function_as_input(definition, error.help, guess=False) or error from None


class _RankUnknownError(Exception):
    """Only a call can tell what a Python function gives for whole tensors."""


class _Unseen:
    """A Python function of which nothing is known."""

    def scalar(self, dtypes: tuple[str, ...]) -> str:
        return "float32"

    def whole(self, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
        raise _RankUnknownError
