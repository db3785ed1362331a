"""Reads a Python function as a definition: signature, body, results, and the names it uses from outside."""

import ast as python
import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Final

from ...diagnostics import Code, CompileError, CompileWarning, Source
from .. import ast
from .accumulators import accumulators, renamed
from .annotations import read_annotation, read_results
from .names import Constant, Names
from .python_expressions import Expressions
from .refusals import not_in_notation, refuse
from .script import Script, no_source, parse, parse_function, too_deep
from .statements import Around, Statements
from .types import RESERVED, reserved

_PACKAGE: Final = __name__.split(".")[0]


@dataclass(frozen=True, slots=True)
class Reading:
    """The program in a Python function: a `definition`, or the `text` of its docstring in another notation.

    `constants` are the numbers of the enclosing scope that the tree holds now, by name. `callables` are the functions
    and kernels of that scope that the body calls; where one has the name of a builtin (``jnp.exp``), the builtin wins.
    `source` is the function's text in its file, or the docstring's when that holds the program. `warnings` are its
    warnings.
    """

    definition: ast.Definition | None
    text: str | None
    parameters: tuple[str, ...]
    constants: Mapping[str, Constant]
    callables: Mapping[str, object]
    source: Source
    warnings: tuple[CompileWarning, ...] = ()


def read(function: object, hidden: Collection[str] = ()) -> Reading:
    """The program in `function`, read from its source; names in `hidden` have no meaning in the enclosing scope.

    Raises `CompileError`: TC0105 for anything but a function in the notation, TC0106 if there is no source.
    """
    if not isinstance(function, FunctionType):
        raise _not_a_function(function)
    if function.__name__ == "<lambda>":
        raise _refused("a lambda cannot hold statements", "write a `def` with a body of index notation")
    if hasattr(function, "__wrapped__"):
        raise _refused(
            f"`{function.__name__}` was decorated before it was read",
            "put the other decorators above `@tcjax.kernel`: they apply to the kernel",
        )
    script = parse_function(function)
    match script.body:
        case (python.FunctionDef(name=name) as node, *_) if name == function.__code__.co_name:
            scope = {name: value for name, value in _scope(function).items() if name not in hidden}
            return _reading(node, script, scope)
        case (python.AsyncFunctionDef() as node, *_):
            raise _async(node, script)
        case _:
            raise no_source(function.__name__)


def read_text(
    source: str, scope: Mapping[str, object] | None = None, name: str = "<python>", first_line: int = 1
) -> Reading:
    """The same for a text that contains one function; `scope` is its enclosing scope."""
    script = parse(source, name, first_line)
    functions = [node for node in script.body if isinstance(node, python.FunctionDef)]
    for node in script.body:
        match node:
            case python.FunctionDef() | python.Import() | python.ImportFrom():
                continue
            case python.Expr(value=python.Constant(value=str())):
                continue
            case python.AsyncFunctionDef():
                raise _async(node, script)
            case _:
                raise refuse(node, script)
    if len(functions) != 1:
        message = f"this text holds {len(functions)} functions, not one" if functions else "this text holds no function"
        span = script.span(functions[1]) if functions else None
        raise CompileError(
            Code.NO_DEFINITION, message, span, help="write one `def f(A):` with a body of index notation"
        )
    return _reading(functions[0], script, scope or {})


def _not_a_function(value: object) -> CompileError:
    if isinstance(value, BuiltinFunctionType):
        return no_source(value.__name__)
    if isinstance(value, type):
        what = f"the class `{value.__name__}`"
    elif isinstance(value, MethodType):
        what = f"the method `{value.__name__}`"
    elif hasattr(value, "__wrapped__"):
        name = getattr(value, "__name__", type(value).__name__)
        instead = "put the other decorators above `@tcjax.kernel`: they apply to the kernel"
        return _refused(f"`{name}` was decorated before it was read", instead)
    else:
        what = f"an object of type `{type(value).__name__}`"
    instead = 'decorate a plain `def` with `@tcjax.kernel`, or pass a text: `tcjax.kernel("B(i) = 2.0 * A(i)")`'
    return _refused(f"{what} is not a function", instead)


def _refused(message: str, instead: str) -> CompileError:
    return CompileError(Code.NOT_IN_THE_NOTATION, message, help=instead)


def _async(node: python.AsyncFunctionDef, script: Script) -> CompileError:
    return not_in_notation("an `async def` has no meaning in index notation", node, script, help="write a plain `def`")


def _scope(function: FunctionType) -> Mapping[str, object]:
    """The current values of the body's free names: the enclosing functions' variables, then the module's."""
    enclosing: dict[str, object] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            enclosing[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return {**function.__globals__, **enclosing}


def _reading(node: python.FunctionDef, script: Script, scope: Mapping[str, object]) -> Reading:
    try:
        return _read_definition(node, script, scope)
    except RecursionError:
        raise too_deep(script.span(node)) from None


def _read_definition(node: python.FunctionDef, script: Script, scope: Mapping[str, object]) -> Reading:
    _check_decorators(node, script, scope)
    parameters = _parameters(node, script, scope)
    names = tuple(parameter.name for parameter in parameters)
    text, body = _docstring(node, script)
    if text is not None:
        return Reading(None, text.text, names, {}, {}, text)
    types = read_results(node.returns, script, scope)
    declared = {parameter.name: parameter.type for parameter in parameters if parameter.type}
    sizes = _sizes((*declared.values(), *types), body, script, scope)
    outer = Names(scope, sizes.union(names, {node.name}, _written(body), _left_indices(body)))
    copies = accumulators(body, parameters)
    ranks = {name: len(type.dimensions) for name, type in declared.items() if not type.batch}
    tails = {name: type.dimensions for name, type in declared.items() if type.batch}
    reader = Expressions(script, outer, ranks, tails, renamed(copies))
    *statements, last = body
    defined = frozenset(names).union(copy.target for copy in copies.values())
    block = Statements(defined, sizes, scope).block(statements, reader, Around())
    results = _results(last, node, types, reader)
    definition = ast.Definition(node.name, parameters, results, (*copies.values(), *block), span=script.span(node))
    return Reading(definition, None, names, outer.constants, outer.callables, script.source, tuple(reader.warnings))


def _check_decorators(node: python.FunctionDef, script: Script, scope: Mapping[str, object]) -> None:
    below = False
    for decorator in node.decorator_list:
        if below:
            raise not_in_notation(
                "a decorator below `@tcjax.kernel` would never run",
                decorator,
                script,
                help="put it above `@tcjax.kernel`: it applies to the kernel",
            )
        below = _makes_kernels(decorator, scope)


def _makes_kernels(decorator: python.expr, scope: Mapping[str, object]) -> bool:
    head = decorator.func if isinstance(decorator, python.Call) else decorator
    match head:
        case python.Attribute(value=python.Name(id=name), attr="kernel"):
            module = scope.get(name)
            return not isinstance(module, ModuleType) or module.__name__.split(".")[0] == _PACKAGE
        case python.Name(id="kernel"):
            return True
        case python.Name(id=name):
            value = scope.get(name)
            value = value.func if isinstance(value, functools.partial) else value
            origin = str(getattr(value, "__module__", ""))
            return getattr(value, "__name__", "") == "kernel" and origin.split(".")[0] == _PACKAGE
        case _:
            return False


def _parameters(node: python.FunctionDef, script: Script, scope: Mapping[str, object]) -> tuple[ast.Parameter, ...]:
    signature = node.args
    for argument in (signature.vararg, signature.kwarg, *signature.kwonlyargs):
        if argument is not None:
            raise not_in_notation(
                "a kernel has a fixed list of arguments, each by position or by name",
                argument,
                script,
                help="write plain parameters: `def f(A, B):`",
            )
    for default in signature.defaults:
        raise not_in_notation(
            "a tensor has no default", default, script, help="leave the default out, or write a constant in the body"
        )
    parameters: list[ast.Parameter] = []
    for argument in (*signature.posonlyargs, *signature.args):
        if argument.arg in RESERVED:
            raise reserved(argument.arg, script.span(argument))
        declared = read_annotation(argument.annotation, script, scope)
        parameters.append(ast.Parameter(argument.arg, declared, span=script.span(argument)))
    return tuple(parameters)


def _docstring(node: python.FunctionDef, script: Script) -> tuple[Source | None, list[python.stmt]]:
    """The docstring as a text of its own if there is nothing else, and the statements after it."""
    found = docstring_only(node)
    if found is not None:
        literal, text = found
        return Source(text, script.source.name, script.span(literal).line), []
    documented = python.get_docstring(node, clean=False) is not None
    body = [statement for statement in node.body[1 if documented else 0 :] if not _is_empty(statement)]
    if not body:
        raise CompileError(
            Code.NO_DEFINITION,
            f"the body of `{node.name}` is empty",
            script.span(node),
            help="write `C[m, n] += A[m, k] * B[k, n]` and `return C`, or a docstring that holds the program",
        )
    return None, body


def docstring_only(node: python.FunctionDef) -> tuple[python.Constant, str] | None:
    """The docstring of a function that holds nothing else, the program: its literal and its text."""
    match node.body:
        case [python.Expr(value=python.Constant(value=str() as text) as literal), *others] if all(
            map(_is_empty, others)
        ):
            return literal, text
        case _:
            return None


def _is_empty(node: python.stmt) -> bool:
    match node:
        case python.Pass():
            return True
        case python.Expr(value=python.Constant(value=value)):
            return value is ...
        case _:
            return False


def _sizes(
    types: Sequence[ast.TensorType | None], body: list[python.stmt], script: Script, scope: Mapping[str, object]
) -> frozenset[str]:
    """The sizes named in annotations: they are sizes even if the enclosing scope has a number of that name."""
    temporaries = [
        read_annotation(node.annotation, script, scope)
        for statement in body
        for node in python.walk(statement)
        if isinstance(node, python.AnnAssign) and node.value is None
    ]
    declared = [type for type in (*types, *temporaries) if type]
    return frozenset(size for type in declared for size in type.dimensions if isinstance(size, str))


def _written(body: list[python.stmt]) -> set[str]:
    """The tensors that a body assigns to or declares, anywhere in it."""
    written: set[str] = set()
    for target in _targets(body):
        match target:
            case python.Name(id=name) | python.Subscript(value=python.Name(id=name)):
                written.add(name)
    return written


def _left_indices(body: list[python.stmt]) -> set[str]:
    """The names used alone as subscripts on left sides: they are indices, whatever they mean in the enclosing scope."""
    found: set[str] = set()
    for target in _targets(body):
        if isinstance(target, python.Subscript):
            parts = target.slice.elts if isinstance(target.slice, python.Tuple) else [target.slice]
            found |= {part.id for part in parts if isinstance(part, python.Name)}
    return found


def _targets(body: list[python.stmt]) -> Iterator[python.expr]:
    """The targets that a body assigns to or declares, anywhere in it."""
    for statement in body:
        for node in python.walk(statement):
            match node:
                case python.Assign(targets=targets):
                    pass
                case python.AugAssign(target=target) | python.AnnAssign(target=target):
                    targets = [target]
                case _:
                    continue
            for target in targets:
                yield from target.elts if isinstance(target, python.Tuple) else [target]


def _results(
    node: python.stmt, function: python.FunctionDef, types: list[ast.TensorType | None], reader: Expressions
) -> tuple[ast.Parameter, ...]:
    match node:
        case python.Return(value=python.Tuple(elts=values)):
            pass
        case python.Return(value=python.expr() as value):
            values = [value]
        case _:
            names = ", ".join(sorted(_written(function.body))) or "C"
            raise not_in_notation(
                f"`{function.name}` returns nothing", node, reader.script, help=f"end with `return {names}`"
            )
    results: list[ast.Parameter] = []
    for value in values:
        if not isinstance(value, python.Name):
            raise not_in_notation(
                "only tensors can be returned",
                value,
                reader.script,
                help="give the value a name: `out[i] = …`, then `return out`",
            )
        results.append(ast.Parameter(reader.name(value.id, value), span=reader.script.span(value)))
    if not types:
        return tuple(results)
    if len(types) != len(results):
        raise CompileError(
            Code.WRONG_TYPE,
            f"the annotation has {len(types)} types, and {len(results)} tensors are returned",
            reader.script.span(function.returns or function),
            help="write one type for each result, and `None` for one without",
        )
    return tuple(replace(result, type=type) for result, type in zip(results, types, strict=True))
