"""A SaC program behind a kernel; only who writes one imports what it needs."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import ir
from ..diagnostics import CompileError, Span
from ..elaboration import ValueNeeded
from ..elaboration import sac as elaboration
from ..syntax import sac
from ..syntax.sac import tree
from .depth import within_depth
from .fronts import Call, Caller, Parameter, Shape, warn_about_64_bits
from .options import Options

# Extents begin here when nothing but the text is known: what holds for both is a formula of the sizes.
_PROBES = (11, 23)


def read(text: str, name: str, first_line: int, options: Options) -> "Comprehensions":
    """What a text is for. Raises `CompileError` for a mistake that no argument mends."""
    program = sac.read(text, name, first_line)
    return Comprehensions(program, _entry(program, options), options)


def read_all(text: str, name: str, options: Options) -> "Iterator[Comprehensions]":
    """Every function of a text, and its expression."""
    program = sac.read(text, name)
    for function in program.functions:
        yield Comprehensions(program, _entry(program, options, function.name), options)
    if program.result is not None:
        yield Comprehensions(program, _entry(program, options), options)


def _entry(program: tree.Program, options: Options, name: str | None = None) -> elaboration.Entry:
    with within_depth(name or "kernel", program.span):
        return elaboration.entry_of(program, options.fns, name)


@dataclass(eq=False)
class Comprehensions(Caller):
    """A SaC program: elaborated for the types, the shapes, and the values that decide shapes."""

    program: tree.Program
    entry: elaboration.Entry
    options: Options
    _functions: dict[Call, ir.Function] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def span(self) -> Span:
        return self.entry.span

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(
            Parameter(p, None, self.entry.span) if isinstance(p, str) else Parameter(p.name, p.type.scalar, p.span)
            for p in self.entry.parameters
        )

    @property
    def keywords(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Outputs and sizes that a call may pass by keyword: there are none."""
        return (), ()

    def text(self) -> str:
        return sac.write(self.program).rstrip("\n")

    def function(self, call: Call) -> ir.Function:
        if call not in self._functions:
            arguments = {
                parameter.name: elaboration.Argument(dtype, shape)
                for parameter, dtype, shape in zip(self.parameters, call.dtypes, call.shapes, strict=True)
            }
            known = {name: _elements(dtype, shape, data) for name, dtype, shape, data in call.values}
            with within_depth(self.name, self.span):
                function = elaboration.elaborate(
                    self.program,
                    self.entry,
                    arguments,
                    known,
                    self.foreign,
                    self.options.accumulate,
                    strict=self.options.strict,
                )
            warn_about_64_bits(function)
            self._functions[call] = function
        return self._functions[call]

    @cached_property
    def likely(self) -> ir.Function | None:
        """The program for the smallest ranks that its selections show; None where they, or the sizes, leave it open."""
        found: list[ir.Function | None] = []
        for extent in _PROBES:
            arguments = elaboration.guess(self.program, self.entry, extent)
            if arguments is None:
                return None
            found.append(self._for(arguments))
        return found[0] if all(function == found[0] for function in found) else None

    def _for(self, arguments: Mapping[str, elaboration.Argument]) -> ir.Function | None:
        try:
            with within_depth(self.name, self.span):
                return elaboration.elaborate(self.program, self.entry, arguments, {}, self.foreign)
        except (CompileError, ValueNeeded):
            return None

    def explained(self, error: CompileError) -> CompileError:
        """A mistake that range inference found, in SaC's words."""
        help = re.sub(r"`where (\w+) in (.+?):(.+?)`", self._generator, error.help)
        help = help.replace(", or give it larger extents in the return annotation", "")
        return CompileError(error.diagnosis, error.message, error.span, help=help)

    def _generator(self, found: re.Match[str]) -> str:
        index, lo, hi = found.groups()
        vector = index.rstrip("0123456789")
        if vector != index and re.search(rf"(?<!\w){vector}\s*->", self.text()):
            return f"a generator that keeps component {index[len(vector) :]} of `{vector}` from {lo} to below {hi}"
        return f"a generator: `| [{lo}] <= [{index}] < [{hi}]`"

    def with_parameters(self, names: tuple[str, ...], name: str) -> "Comprehensions":
        """The same program under another name, its parameters in another order."""
        by_name = dict(zip(self.entry.names, self.entry.parameters, strict=True))
        entry = replace(self.entry, name=name, parameters=tuple(by_name[n] for n in names))
        return Comprehensions(self.program, entry, self.options)


def _elements(dtype: str, shape: Shape, data: bytes) -> Callable[[tuple[int, ...]], Any]:
    array = np.frombuffer(data, np.dtype(dtype)).reshape(shape)
    return lambda place: array[place].item()
