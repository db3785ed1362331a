"""The ways in: `kernel` and `load`."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from .. import elaboration, files
from ..diagnostics import Code, CompileError, Span, phrases, warn
from ..syntax import ast, tc
from .assumptions import shared_out
from .foreign import means_builtin
from .fronts import Definition, Front, calls_in
from .kernel import Kernel
from .options import KernelOptions, Options, check_options

if TYPE_CHECKING:
    from ..syntax import embedded


@overload
def kernel(source: str | Callable[..., Any], /, **options: Unpack[KernelOptions]) -> Kernel: ...
@overload
def kernel(source: None = None, /, **options: Unpack[KernelOptions]) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(source: str | Callable[..., Any] | None = None, /, **options: Unpack[KernelOptions]) -> Any:
    """A definition as a function of arrays.

    `source` is the text of one definition (or of one statement), or a Python function in index notation, or one
    whose docstring is the text; without it, a decorator that takes the options. `fns` gives Python functions that
    the program calls by name, `accumulate` the type in which sums run. Raises `CompileError` for whatever is wrong
    with the text. `assume` states facts about sizes, ``["N % 8 == 0", "K <= N"]``: they are checked when shapes are
    known, and used before.
    """
    checked = check_options(options)
    if source is None:
        return lambda function: _from_function(function, checked)
    if isinstance(source, str):
        if _FILE.fullmatch(source.strip()):
            raise CompileError(
                Code.NO_DEFINITION,
                f"{source!r} is the name of a file, not a program",
                help=f"read a file with `tcjax.load({source.strip()!r})`, which gives its definitions by name",
            )
        return _from_text(source, checked)
    return _from_function(source, checked)


_FILE = re.compile(r"[\w./~-]+\.(tc|sac)")


def load(source: str | Path, /, **options: Unpack[KernelOptions]) -> "Library":
    """All definitions of a text, or of the file that a path names. Options as for `kernel`.

    Raises `CompileError` for a mistake in any definition, or when the file cannot be read.
    """
    checked = check_options(options)
    return library(*_text_of(source), checked)


def library(text: str, name: str, options: Options) -> "Library":
    """All definitions of a text that errors call `name`."""
    if _is_sac(text, options):
        from .comprehensions import read_all

        fronts: dict[str, Front] = {}
        for front in read_all(text, name, options):
            fronts.setdefault(front.name, front)
    else:
        program = _program(text, name, 1, options)
        firsts = {definition.name: definition for definition in reversed(program.definitions)}
        fronts = {
            definition.name: Definition(program, definition, options)
            for definition in program.definitions
            if firsts[definition.name] is definition
        }
    return Library({front.name: Kernel(front) for front in shared_out(list(fronts.values()))})


def _is_sac(text: str, options: Options) -> bool:
    """Whether a text is in SaC's notation: said by the option, else shown by the text."""
    if options.dialect is not None:
        return options.dialect == "sac"
    if text.lstrip().startswith("def "):
        return False
    from ..syntax import sac

    return sac.is_sac(text)


# Bytes: what is longer is no program.
_LONGEST = 1 << 24


def _text_of(source: str | Path) -> tuple[str, str]:
    if isinstance(source, str) and ("\n" in source or "(" in source or "{" in source):
        return source, "<text>"
    try:
        return files.read(source, _LONGEST).decode("utf-8-sig"), str(Path(source))
    except (OSError, UnicodeDecodeError, ValueError, TypeError) as error:
        said = (error.strerror if isinstance(error, OSError) else None) or error
        raise CompileError(
            Code.NO_DEFINITION,
            f"{phrases.value(source)} is neither a text with definitions nor a readable file: {said}",
            help="pass the text `def f(...) -> (...) { ... }`, or the path of a UTF-8 file that holds it",
        ) from error


class Library:
    """The kernels of a text by name: ``lib["mm"]``, ``lib.mm``, ``list(lib)``."""

    def __init__(self, kernels: dict[str, Kernel]) -> None:
        self._kernels = kernels

    def __getitem__(self, name: str) -> Kernel:
        if name not in self._kernels:
            raise CompileError(
                Code.UNKNOWN_DEFINITION,
                f"there is no definition `{name}`",
                help=f"the definitions are {', '.join(self._kernels)}" if self._kernels else "the text has none",
            )
        return self._kernels[name]

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_") or name not in self._kernels:
            raise AttributeError(f"there is no definition `{name}`")
        return self._kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __contains__(self, name: object) -> bool:
        return name in self._kernels

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._kernels]

    def _repr_html_(self) -> str:
        return "".join(kernel._repr_html_() for kernel in self._kernels.values())

    def __repr__(self) -> str:
        return f"<tcjax.Library {', '.join(self._kernels)}>"


def _from_text(text: str, options: Options) -> Kernel:
    return Kernel(_front(text, "<text>", 1, options))


def _front(text: str, name: str, first_line: int, options: Options) -> Front:
    """What a text is for."""
    if _is_sac(text, options):
        # Only who writes SaC needs it: `import tcjax` stays light.
        from .comprehensions import read

        return read(text, name, first_line, options)
    program = _program(text, name, first_line, options)
    return Definition(program, _entry(program), options)


def _program(text: str, name: str, first_line: int, options: Options) -> ast.Program:
    """The definitions of a TC text."""
    program = tc.read(text, name, first_line)
    for warning in elaboration.repeated_definitions(program):
        warn(warning, strict=options.strict)
    return program


def _entry(program: ast.Program) -> ast.Definition:
    """The one definition that no other calls."""
    definitions = {definition.name: definition for definition in reversed(program.definitions)}
    called = {name for definition in definitions.values() for name in calls_in(definition)}
    entries = [definition for name, definition in definitions.items() if name not in called]
    if len(entries) == 1:
        return entries[0]
    if len(definitions) == 1:
        return next(iter(definitions.values()))
    raise CompileError(
        Code.UNKNOWN_DEFINITION,
        f"the text has {len(definitions)} definitions, and a kernel is one of them",
        program.definitions[-1].span,
        help=f'write tcjax.load(text)["{next(iter(definitions))}"]',
    )


def _from_function(function: Any, options: Options) -> Kernel:
    # Only who decorates needs the Python notation: `import tcjax` stays light.
    from ..syntax import embedded

    return kernel_of(embedded.read(function), getattr(function, "__name__", "kernel"), options)


def kernel_of(reading: "embedded.Reading", name: str, options: Options) -> Kernel:
    """The kernel of a Python function that was read; `name` is the function's."""
    fns = dict(options.fns)
    others: list[ast.Definition] = []
    for warning in reading.warnings:
        warn(warning, strict=options.strict)
    for callee, called in reading.callables.items():
        if isinstance(called, Kernel):
            others += _definitions(called, callee)
            fns = {**called._front.options.fns, **fns}
        elif callee not in fns and callable(called) and not means_builtin(callee, called):
            fns[callee] = called
    options = replace(options, fns=fns)
    if reading.definition is None:
        assert reading.text is not None
        front = _front(reading.text, reading.source.name, reading.source.first_line, options)
        if not isinstance(front, Definition):
            own = front.entry.names
            if front.entry.function is None and set(own) == set(reading.parameters):
                return Kernel(front.with_parameters(reading.parameters, name))
            _check_parameters(own, reading.parameters, name, front.span)
            return Kernel(front.with_parameters(own, name))
        program = front.program
        definition = _with_parameters(_entry(program), reading.parameters, name)
        return Kernel(Definition(ast.Program((definition, *program.definitions, *others)), definition, options))
    return Kernel(Definition(ast.Program((reading.definition, *others)), reading.definition, options))


def _definitions(kernel: Kernel, name: str) -> list[ast.Definition]:
    """A called kernel's definitions, its own under the name by which it is called."""
    front = kernel._front
    if not isinstance(front, Definition):
        raise CompileError(
            Code.NOT_IN_THE_NOTATION,
            f"`{name}` is written in SaC, and index notation cannot call it",
            front.span,
            help=f"call it in Python, between kernels, or translate it first: `{name}.to('tc', ...)`",
        )
    own = replace(front.definition, name=name)
    return [own, *(d for d in front.program.definitions if d.name != front.definition.name)]


def _check_parameters(own: tuple[str, ...], names: tuple[str, ...], name: str, span: Span) -> None:
    if own != names:
        raise CompileError(
            Code.WRONG_ARGUMENT_COUNT,
            f"the function takes ({', '.join(names)}) but its text takes ({', '.join(own)})",
            span,
            help=f"write def {name}({', '.join(own)})",
        )


def _with_parameters(definition: ast.Definition, names: tuple[str, ...], name: str) -> ast.Definition:
    resolved = elaboration.completed(definition)
    own = [parameter.name for parameter in resolved.parameters or ()]
    if definition.parameters is not None:
        if tuple(own) != names:
            raise CompileError(
                Code.WRONG_ARGUMENT_COUNT,
                f"the function takes ({', '.join(names)}) but its text takes ({', '.join(own)})",
                definition.span,
                help="give both the same names in the same order",
            )
        return definition
    if set(own) != set(names):
        raise elaboration.function_as_input(resolved, f"write def {name}({', '.join(own)})") or CompileError(
            Code.WRONG_ARGUMENT_COUNT,
            f"the function takes ({', '.join(names)}) but its text reads ({', '.join(own)})",
            definition.span,
            help=f"write def {name}({', '.join(own)})",
        )
    by_name = {parameter.name: parameter for parameter in resolved.parameters or ()}
    return replace(resolved, name=name, parameters=tuple(by_name[n] for n in names))
