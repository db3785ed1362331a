"""Kernels in a Python file, found by reading it: nothing is run."""

import ast as python
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from .. import elaboration
from ..diagnostics import Code, CompileError, Source, Span, warn
from ..syntax import ast, embedded, sac, tc
from .checking import Findings, Numbers, check_definition, check_sac, check_tc
from .failures import Failure
from .texts import Notation, Text

_PACKAGE: Final = __name__.split(".")[0]


@dataclass(frozen=True, slots=True)
class Found:
    """A kernel of a file: a decorated function, or a text in a call, under the name it is assigned to.

    `options` are the keywords with literal values, and ``consts``, which is None if its numbers are known only when the
    file runs; `functions` are the names in ``fns``.
    """

    name: str
    line: int
    function: python.FunctionDef | None
    text: str | None
    content: str
    options: Mapping[str, Any]
    functions: tuple[str, ...]

    @property
    def notation(self) -> Notation:
        """The notation of its text, if it is one."""
        given = self.options.get("dialect", "sac" if sac.is_sac(self.content) else "tc")
        return "sac" if given == "sac" else "tc"

    @property
    def last_line(self) -> int:
        return self.line + self.content.rstrip("\n").count("\n")


def find(text: Text) -> list[Found]:
    """The kernels of a Python file, from top to bottom. Raises `CompileError` if the file is not valid Python."""
    tree = _parsed(text)
    lines = text.content.splitlines()
    names = _names_of_package(tree)
    assigned = {
        id(node.value): target.id
        for node in python.walk(tree)
        if isinstance(node, python.Assign)
        for target in node.targets
        if isinstance(target, python.Name)
    }
    bindings = _constants(tree)
    found: list[Found] = []
    for node in python.walk(tree):
        match node:
            case python.FunctionDef(decorator_list=decorators):
                for decorator in decorators:
                    called = decorator.func if isinstance(decorator, python.Call) else decorator
                    if _is_way_in(called, names) == "kernel":
                        call = decorator if isinstance(decorator, python.Call) else None
                        found.append(_decorated(node, lines, call, bindings))
                        break
            case python.Call(func=func, args=[python.Constant(value=str() as given) as literal]):
                way = _is_way_in(func, names)
                if way is not None and (way == "kernel" or any(sign in given for sign in "\n({")):
                    name = assigned.get(id(node), f"<line {literal.lineno}>")
                    content = _content(literal, given, lines)
                    found.append(Found(name, literal.lineno, None, given, content, *_options(node, bindings)))
    return sorted(found, key=lambda each: each.line)


@dataclass(frozen=True, slots=True)
class Literal:
    """A program in a string of a Python file, and where its first character is: lines and columns count from 1."""

    line: int
    column: int
    content: str
    notation: Notation


def literals(text: Text) -> Iterator[Literal]:
    """The texts of a file's kernels that contain no escapes. Raises `CompileError` as `find` does."""
    lines = text.content.splitlines()
    for found in find(text):
        kernel = docstring(found, text) or found
        if kernel.text is None or kernel.content == kernel.text:
            continue
        column = len(kernel.content) - len(kernel.text) + 1
        shown = "\n".join([lines[kernel.line - 1][column - 1 :], *lines[kernel.line :]])
        if shown.startswith(kernel.text):
            yield Literal(kernel.line, column, kernel.text, kernel.notation)


def check_python(text: Text, numbers: Numbers, found: Findings) -> None:
    """Every kernel of a Python file."""
    source = Source(text.content, text.name)
    kernels: list[Found] = []
    with found.collect():
        kernels = find(text)
    constants = _constants(_parsed(text)) if kernels else {}
    for kernel in kernels:
        consts = constants_for(kernel, numbers.constants)
        if consts is None:
            continue
        own = replace(numbers, constants=consts)
        with found.collect():
            if kernel.text is not None:
                _check_content(kernel, text.name, own, found)
                continue
            scope = {name: value for name, value in constants.items() if name not in consts}
            reading = read_function(kernel, text.name, scope, kernels)
            if (held := docstring(kernel, text)) is not None:
                _check_content(held, text.name, own, found)
                continue
            assert reading.definition is not None
            definition = elaboration.with_constants(reading.definition, consts)
            for warning in reading.warnings:
                warn(warning)
            others = definitions_of(reading, text.name, constants, kernels)
            program = ast.Program((definition, *others))
            check_definition(definition, program, functions_of(kernel, reading), own)
    found.placed_in(source)


def _check_content(kernel: Found, name: str, numbers: Numbers, found: Findings) -> None:
    """Checks the text of a kernel, in any notation."""
    if kernel.notation == "sac":
        if not kernel.functions:
            check_sac(kernel.content, name, numbers, found, kernel.line)
    elif not kernel.functions:
        check_tc(kernel.content, name, numbers, found, kernel.line)
    else:
        program = elaboration.with_constants(tc.read(kernel.content, name, kernel.line), numbers.constants)
        for definition in program.definitions:
            with found.collect():
                check_definition(definition, program, kernel.functions, numbers)


def docstring(kernel: Found, text: Text) -> Found | None:
    """The text in the docstring of a function that holds nothing else, at its place in the file."""
    found = None if kernel.function is None else embedded.docstring_only(kernel.function)
    if found is None:
        return None
    literal, given = found
    content = _content(literal, given, text.content.splitlines())
    return replace(kernel, text=given, content=content, line=literal.lineno)


def kernel_at(text: Text, line: int) -> Found | None:
    """The kernel that a line is in, a text if there is one, which need not be right; None outside of kernels."""
    try:
        kernels = find(text)
    except (CompileError, Failure):
        return None
    around = [each for each in kernels if each.line <= line <= each.last_line]
    texts = [held for each in around if (held := docstring(each, text) or each).text is not None]
    return next((each for each in [*texts, *around] if each.line <= line <= each.last_line), None)


def functions_of(kernel: Found, reading: embedded.Reading) -> set[str]:
    """The Python functions that a body may call."""
    return {*kernel.functions, *(name for name, value in reading.callables.items() if not isinstance(value, _Kernel))}


# ---------------------------------------------------------------- functions under the decorator


@dataclass(frozen=True, slots=True)
class _Kernel:
    """Placeholder for another kernel of the file, which the body may call."""

    found: Found

    def __call__(self) -> None:
        raise NotImplementedError


def _unseen() -> None:
    """Placeholder for a Python function of the file, which is not run."""


def read_function(kernel: Found, name: str, constants: Mapping[str, object], kernels: list[Found]) -> embedded.Reading:
    """The program of a decorated function."""
    assert kernel.function is not None
    scope = dict(constants)
    scope.update({each.name: _Kernel(each) for each in kernels if each is not kernel})
    return embedded.read_text(kernel.content, scope, name, kernel.line)


def definitions_of(
    reading: embedded.Reading, name: str, constants: Mapping[str, object], kernels: list[Found]
) -> list[ast.Definition]:
    """The definitions of the kernels that a body calls, directly or indirectly."""
    definitions: list[ast.Definition] = []
    pending = [(called, value.found) for called, value in reading.callables.items() if isinstance(value, _Kernel)]
    seen: set[str] = set()
    while pending:
        called, found = pending.pop()
        if called in seen:
            continue
        seen.add(called)
        if found.text is not None:
            program = tc.read(found.content, name, found.line)
            own, *others = reversed(program.definitions)
            definitions += [replace(own, name=called), *others]
            continue
        inner = read_function(found, name, constants, kernels)
        if inner.definition is None:
            assert inner.text is not None
            definitions.append(replace(tc.read(inner.text, name, found.line).definitions[-1], name=called))
            continue
        definitions.append(replace(inner.definition, name=called))
        pending += [(other, value.found) for other, value in inner.callables.items() if isinstance(value, _Kernel)]
    return definitions


# ---------------------------------------------------------------- the file


def _parsed(text: Text) -> python.Module:
    source = Source(text.content, text.name)
    try:
        return python.parse(text.content)
    except SyntaxError as error:
        column = max(error.offset or 1, 1)
        span = Span(max(error.lineno or 1, 1), column, column + 1, source)
        message = f"this is not Python: {error.msg}"
        raise CompileError(Code.UNEXPECTED_TOKEN, message, span, help="write Python that Python can parse") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Failure(f"{text.name}: Python cannot read this file: {error}") from None


def _names_of_package(tree: python.Module) -> dict[str, str]:
    """What the file calls the package (``tcjax``) and its ways in (``kernel``, ``load``)."""
    names: dict[str, str] = {}
    for node in python.walk(tree):
        match node:
            case python.Import(names=aliases):
                names |= {alias.asname or alias.name: _PACKAGE for alias in aliases if alias.name == _PACKAGE}
            case python.ImportFrom(module=module, names=aliases) if module == _PACKAGE:
                names |= {a.asname or a.name: a.name for a in aliases if a.name in ("kernel", "load")}
    return names


def _is_way_in(node: python.expr, names: Mapping[str, str]) -> str | None:
    """``kernel`` or ``load`` where an expression means one of them."""
    match node:
        case python.Attribute(value=python.Name(id=package), attr=("kernel" | "load") as way):
            return way if names.get(package) == _PACKAGE else None
        case python.Name(id=name):
            return names[name] if names.get(name) in ("kernel", "load") else None
        case _:
            return None


def _decorated(
    node: python.FunctionDef, lines: list[str], call: python.Call | None, bindings: Mapping[str, object]
) -> Found:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    content = "\n".join(lines[first - 1 : node.end_lineno]) + "\n"
    options, functions = _options(call, bindings) if call is not None else ({}, ())
    return Found(node.name, first, node, None, content, options, functions)


def _options(call: python.Call, bindings: Mapping[str, object]) -> tuple[dict[str, Any], tuple[str, ...]]:
    options: dict[str, Any] = {}
    functions: tuple[str, ...] = ()
    for keyword in call.keywords:
        if keyword.arg == "fns" and isinstance(keyword.value, python.Dict):
            keys = [key.value for key in keyword.value.keys if isinstance(key, python.Constant)]
            functions = tuple(key for key in keys if isinstance(key, str))
        elif keyword.arg == "consts":
            options["consts"] = _numbers(keyword.value, bindings)
        elif keyword.arg is not None:
            try:
                options[keyword.arg] = python.literal_eval(keyword.value)
            except ValueError:
                continue
    return options, functions


def _numbers(node: python.expr, bindings: Mapping[str, object]) -> dict[str, Any] | None:
    """The mapping of names to numbers that ``consts`` is; None where only running the file tells it."""
    numbers: dict[str, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, python.Dict) else ():
        if not isinstance(key, python.Constant) or not isinstance(key.value, str):
            return None
        bound = bindings.get(value.id) if isinstance(value, python.Name) else None
        try:
            numbers[key.value] = python.literal_eval(value) if bound is None else bound
        except ValueError:
            return None
        if not isinstance(numbers[key.value], bool | int | float | complex):
            return None
    return numbers if isinstance(node, python.Dict) else None


def constants_for(kernel: Found, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The constants of a kernel: its own, and of those `given` for the whole file what it mentions."""
    own = kernel.options.get("consts", {})
    if own is None:
        return None
    words = set(re.findall(r"\w+", kernel.content))
    return {**own, **{name: value for name, value in given.items() if name in words}}


def _content(literal: python.Constant, given: str, lines: list[str]) -> str:
    """The text of a literal at the columns that it has in the file, where it holds no escapes."""
    assert literal.end_lineno is not None and literal.end_col_offset is not None
    taken = [line.encode() for line in lines[literal.lineno - 1 : literal.end_lineno]]
    taken[-1] = taken[-1][: literal.end_col_offset]
    before = taken[0][: literal.col_offset]
    raw = b"\n".join([taken[0][literal.col_offset :], *taken[1:]]).decode()
    opening = len(raw) - len(raw.lstrip("rRuU"))
    quote = raw[opening : opening + 3]
    quote = quote if quote in ('"""', "'''") else quote[:1]
    inside = raw[opening + len(quote) : -len(quote)]
    if inside != given:
        return given
    return " " * (len(before.decode()) + opening + len(quote)) + given


def _constants(tree: python.Module) -> dict[str, object]:
    """Numbers that the file assigns to names, functions that it defines, and the names of `math`."""
    return dict(_bindings(tree))


def _bindings(tree: python.Module) -> Iterator[tuple[str, object]]:
    for node in python.walk(tree):
        match node:
            case python.Assign(targets=[python.Name(id=name)], value=value):
                try:
                    constant = python.literal_eval(value)
                except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                    continue
                if isinstance(constant, int | float | complex):
                    yield name, constant
            case python.FunctionDef(name=name, decorator_list=[]):
                function: Callable[[], None] = _unseen
                yield name, function
            case python.ImportFrom(module="math", names=aliases):
                yield from ((a.asname or a.name, getattr(math, a.name)) for a in aliases if hasattr(math, a.name))
            case python.Import(names=aliases):
                yield from ((a.asname or a.name, math) for a in aliases if a.name == "math")


def constants_of(text: Text) -> dict[str, object]:
    """What the bodies of a file's kernels may take from around them."""
    return _constants(_parsed(text))
