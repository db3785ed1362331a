"""The kernels of a text; from here on JAX is needed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import click

from ..runtime import Kernel
from ..runtime.comprehensions import Comprehensions
from ..runtime.definitions import Definition, calls_in
from ..runtime.entry import kernel_of, library
from ..runtime.options import check_options
from .failures import Failure
from .python_files import Found, constants_for, constants_of, find, read_function
from .texts import Text


def kernels_of(text: Text, **options: Any) -> Mapping[str, Kernel]:
    """Every kernel of a text by name. Raises `CompileError` for its first mistake, `Failure` if there is no kernel."""
    if text.notation == "python":
        return _Python(text, options)
    found = library(text.content, text.name, check_options({"dialect": text.notation, **options}))  # type: ignore
    if not len(found):
        raise Failure(f"{text.name}: no definition in this text")
    return {name: found[name] for name in found}


def chosen(kernels: Mapping[str, Kernel], name: str | None, file: str) -> Kernel:
    """The kernel of this name; without a name the only kernel, or the one that no other calls."""
    if name is not None:
        if name not in kernels:
            from ..elaboration.spelling import closest

            near = closest(name, kernels)
            hint = f"did you mean `{near}`?" if near else f"there are {', '.join(kernels)}"
            raise Failure(f"{file}: no definition `{name}`; {hint}")
        return kernels[name]
    entry = _entry(kernels)
    if entry is None:
        raise click.UsageError(f"{file} has several definitions; choose one with --def: {', '.join(kernels)}")
    return kernels[entry]


def _entry(kernels: Mapping[str, Kernel]) -> str | None:
    """The only kernel, the expression of a SaC text, or the one that no other calls; None where several are left."""
    called: set[str] = set()
    for kernel in kernels.values():
        match kernel._frontend:
            case Definition(definition=definition):
                called |= set(calls_in(definition))
            case Comprehensions(program=program):
                if program.result is not None:
                    return "kernel"
    entries = [name for name in kernels if name not in called]
    return entries[0] if len(entries) == 1 else next(iter(kernels)) if len(kernels) == 1 else None


class _Python(Mapping[str, Kernel]):
    """The kernels of a Python file, read without running it; each is compiled when first used."""

    def __init__(self, text: Text, options: Mapping[str, Any]) -> None:
        self.text = text
        self.options = options
        self.found = {each.name: each for each in find(text)}
        if not self.found:
            raise Failure(f'{text.name}: no function under @tcjax.kernel, and no tcjax.kernel("...") in this file')
        self.constants = constants_of(text)
        self.made: dict[str, Kernel] = {}

    def __getitem__(self, name: str) -> Kernel:
        if name not in self.made:
            self.made[name] = self._made(self.found[name])
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def _made(self, found: Found) -> Kernel:
        own = {name: value for name, value in found.options.items() if name in ("dialect", "accumulate", "assume")}
        consts = constants_for(found, self.options.get("consts", {}))
        if consts is None:
            raise Failure(
                f"{self.text.name}:{found.line}: `{found.name}` takes constants known only when the file runs; "
                "call this kernel from Python"
            )
        options = check_options({**own, **self.options, "consts": consts})  # type: ignore[typeddict-item]
        if found.functions:
            raise self._calls_python(found, found.functions[0])
        if found.text is not None:
            kernels = library(found.text, self.text.name, options)
            return chosen({name: kernels[name] for name in kernels}, None, f"{self.text.name}:{found.line}")
        scope = {name: value for name, value in self.constants.items() if name not in consts}
        reading = read_function(found, self.text.name, scope, list(self.found.values()))
        callables: dict[str, object] = {}
        for name in reading.callables:
            if name not in self.found:
                raise self._calls_python(found, name)
            callables[name] = self[name]
        return kernel_of(replace(reading, callables=callables), found.name, options)

    def _calls_python(self, found: Found, name: str) -> Failure:
        return Failure(
            f"{self.text.name}:{found.line}: `{found.name}` calls the Python function `{name}`, and files are read, "
            "not run; call this kernel from Python"
        )
