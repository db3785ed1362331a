"""What can be said against a definition before its first call: everything but its types."""

from collections.abc import Collection, Mapping

from ..diagnostics import CompileError
from ..syntax import ast
from .elaborate import elaborated
from .signature import Argument, ForeignFunction
from .uses import Role, calls_python, completed, ranks_from_uses, uses

_GUESSES: Mapping[Role, str] = {"value": "float32", "subscript": "int32", "condition": "bool"}


def check(
    definition: ast.Definition, program: ast.Program, functions: Mapping[str, ForeignFunction] | None = None
) -> None:
    """Raises the `CompileError` that every call would raise, whatever the types of the undeclared parameters.

    Elaborates with guessed types, and lets pass what is wrong with types only. A definition whose ranks only a call can
    tell, or that calls Python functions, is only checked for the ranks of its parameters.
    """
    functions = functions or {}
    definition = completed(definition, functions)
    signature = guess(definition, functions)
    if signature is None or calls_python(definition, program, functions):
        return
    try:
        elaborated(definition, program, signature, functions, None)
    except CompileError as error:
        if error.kind != "type":
            raise


def guess(definition: ast.Definition, functions: Collection[str] = ()) -> dict[str, Argument] | None:
    """Likely types of the undeclared parameters: int32 for what is a subscript, bool for a condition, else float32.

    None where only a call can tell a parameter's rank.
    """
    definition = completed(definition, functions)
    ranks = ranks_from_uses(definition, functions)
    undeclared = [parameter.name for parameter in definition.parameters or () if parameter.type is None]
    if any(name not in ranks for name in undeclared):
        return None
    roles: dict[str, Role] = {}
    for use in uses(definition, functions):
        if roles.get(use.name, "value") == "value":
            roles[use.name] = use.role
    return {name: Argument(_GUESSES[roles[name]], ranks[name]) for name in undeclared}
