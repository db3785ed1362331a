"""The entry points: `kernel` and `load`."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from .. import elaboration, files
from ..diagnostics import Code, CompileError, phrases, warn
from ..syntax import ast
from . import pipeline
from .assumptions import shared_out
from .definitions import Definition
from .depth import within_depth
from .foreign import means_builtin
from .frontends import Frontend, notation
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

    `source` is the text of one definition (or of one statement), a Python function in index notation, or a Python
    function whose docstring is the text. Without `source`, `kernel` returns a decorator with these options. `fns` gives
    the Python functions that the program calls by name, `consts` the numbers that it names, ``{"stride": 2}``,
    `accumulate` the type in which sums run. `assume` states facts about sizes, ``["N % 8 == 0", "K <= N"]``: the
    compiler relies on them, and checks them once shapes are known. Raises `CompileError` for any mistake in the text.
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
        return Kernel(pipeline.read(source, "<text>", 1, checked))
    return _from_function(source, checked)


_FILE = re.compile(r"[\w./~-]+\.(tc|sac)")


def load(source: str | Path, /, **options: Unpack[KernelOptions]) -> "Library":
    """All definitions of a text, or of the file at a path. Options are those of `kernel`.

    Raises `CompileError` for a mistake in any definition, or when the file cannot be read.
    """
    checked = check_options(options)
    return library(*_text_of(source), checked)


def library(text: str, name: str, options: Options) -> "Library":
    """All definitions of a text, called `name` in errors."""
    fronts: dict[str, Frontend] = {}
    for frontend in notation(text, options).read_all(text, name, options):
        fronts.setdefault(frontend.name, frontend)
    return Library({frontend.name: Kernel(frontend) for frontend in shared_out(list(fronts.values()))})


# In bytes: a longer text is not a program.
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
                help=self._listed(),
            )
        return self._kernels[name]

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_") or name not in self._kernels:
            raise AttributeError(f"there is no definition `{name}`; {self._listed()}", name=name, obj=self)
        return self._kernels[name]

    def _listed(self) -> str:
        return f"the definitions are {', '.join(self._kernels)}" if self._kernels else "the text has none"

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


def _from_function(function: Any, options: Options) -> Kernel:
    # The Python notation is imported only for decorators, so that `import tcjax` stays light.
    from ..syntax import embedded

    reading = embedded.read(function, options.consts)
    return kernel_of(reading, getattr(function, "__name__", "kernel"), options)


def kernel_of(reading: "embedded.Reading", name: str, options: Options) -> Kernel:
    """The kernel of a Python function that was read; `name` is the function's name."""
    fns = dict(options.fns)
    others: list[ast.Definition] = []
    for warning in reading.warnings:
        warn(warning, strict=options.strict)
    for callee, called in reading.callables.items():
        if isinstance(called, Kernel):
            others += _definitions(called, callee)
            fns = {**called._frontend.options.fns, **fns}
        elif callee not in fns and callable(called) and not means_builtin(callee, called):
            fns[callee] = called
    options = replace(options, fns=fns)
    if reading.definition is None:
        assert reading.text is not None
        frontend = pipeline.read(reading.text, reading.source.name, reading.source.first_line, options)
        return Kernel(frontend.behind(name, reading.parameters, others))
    with within_depth(name, reading.definition.span):
        definition = elaboration.with_constants(reading.definition, options.consts)
    return Kernel(Definition(ast.Program((definition, *others)), definition, options))


def _definitions(kernel: Kernel, name: str) -> list[ast.Definition]:
    """A called kernel's definitions, with its own under the name by which it is called."""
    frontend = kernel._frontend
    if not isinstance(frontend, Definition):
        raise CompileError(
            Code.NOT_IN_THE_NOTATION,
            f"`{name}` is written in SaC, and index notation cannot call it",
            frontend.span,
            help=f"call it in Python, between kernels, or translate it first: `{name}.to('tc', ...)`",
        )
    own = replace(frontend.definition, name=name)
    return [own, *(d for d in frontend.program.definitions if d.name != frontend.definition.name)]
