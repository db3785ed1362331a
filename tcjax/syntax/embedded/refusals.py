"""Python constructs that the notation does not have: their names, and what to write instead."""

import ast as python
from typing import Final

from ...diagnostics import Code, CompileError
from .script import Script

_LOOPS = "a statement runs over all values of its indices by itself: `B[i] = 2.0 * A[i]`"
_EXCEPTIONS = "leave it out; check the arguments before the call"
_PLAIN = "leave it out; the body is read, never executed"
_ABOVE = "write it above the function, and use its name here"
_BODY = "a body holds assignments, `for k in range(a, b):`, `if k <= q:` and `return C`"
_NAMED = "name an index for every dimension: `A[i, j]`"

_REFUSED: Final[dict[type[python.AST], tuple[str, str]]] = {
    python.While: ("a `while` loop", "take a number of steps that is known: `for t in range(1, T):`"),
    python.AsyncFor: ("an `async for` loop", _LOOPS),
    python.With: ("this `with`", "write `with let(t=e):`, `with exists(e):` or `with unique(e):`"),
    python.AsyncWith: ("an `async with`", _PLAIN),
    python.Try: ("a `try`", _EXCEPTIONS),
    python.TryStar: ("a `try`", _EXCEPTIONS),
    python.Raise: ("a `raise`", _EXCEPTIONS),
    python.Assert: ("an `assert`", _EXCEPTIONS),
    python.FunctionDef: ("a function inside the function", _ABOVE),
    python.AsyncFunctionDef: ("a function inside the function", _ABOVE),
    python.ClassDef: ("a class", _ABOVE),
    python.Lambda: ("a lambda", _ABOVE),
    python.Import: ("an import", _ABOVE),
    python.ImportFrom: ("an import", _ABOVE),
    python.Global: ("a `global`", _PLAIN),
    python.Nonlocal: ("a `nonlocal`", _PLAIN),
    python.Delete: ("a `del`", "leave it out; a tensor that is not returned is a temporary"),
    python.Break: ("a `break`", "write a guard around the statement: `if k <= q:`"),
    python.Continue: ("a `continue`", "write a guard around the statement: `if k <= q:`"),
    python.Match: ("a `match`", "write `if … elif … else` or `a if c else b`"),
    python.Expr: ("an expression by itself", "give its value to a tensor: `B[i] = …`"),
    python.ListComp: ("a comprehension", _LOOPS),
    python.SetComp: ("a comprehension", _LOOPS),
    python.DictComp: ("a comprehension", _LOOPS),
    python.GeneratorExp: ("a comprehension", "name the index in brackets: `sum[k](A[k])`"),
    python.Starred: ("a starred expression", "write its parts out"),
    python.Slice: ("a slice", "name an index for every dimension, and shift it: `A[i + 1, j]`"),
    python.List: ("a list", "read the values from a tensor: `A[i]`"),
    python.Tuple: ("a tuple", "write one statement for each part"),
    python.Dict: ("a dictionary", "read the values from a tensor: `A[i]`"),
    python.Set: ("a set", "read the values from a tensor: `A[i]`"),
    python.JoinedStr: ("a string", "write numbers and tensors"),
    python.NamedExpr: ("a `:=`", "write a statement of its own: `t[i] = …`"),
    python.Await: ("an `await`", _PLAIN),
    python.Yield: ("a `yield`", "end with `return C`"),
    python.YieldFrom: ("a `yield`", "end with `return C`"),
    python.Attribute: ("this attribute", "the notation knows `A.shape[1]`, and functions of a module: `jnp.exp(x)`"),
    python.Subscript: ("this subscript", _NAMED),
    python.Constant: ("this constant", "write numbers, `True` or `False`, and names without quotes"),
}


def refuse(node: python.expr | python.stmt, script: Script) -> CompileError:
    """The error for a construct without a meaning in the notation."""
    what, instead = _REFUSED.get(type(node), ("this", _BODY))
    if isinstance(node, python.Constant) and node.value is ...:
        what, instead = "`...`", f"{_NAMED}; for leading dimensions it comes first, `A[..., i]`"
    return not_in_notation(f"{what} has no meaning in index notation", node, script, help=instead)


def not_in_notation(
    message: str, node: python.expr | python.stmt | python.arg | python.keyword, script: Script, *, help: str
) -> CompileError:
    return CompileError(Code.NOT_IN_THE_NOTATION, message, script.span(node), help=help)
