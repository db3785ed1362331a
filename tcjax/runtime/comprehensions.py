"""The SaC frontend of a kernel, imported only for SaC programs."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from .. import ir
from ..diagnostics import Code, CompileError, Span, warn
from ..elaboration import ValueNeeded
from ..elaboration import sac as elaboration
from ..keeping import Recent, cached_property
from ..syntax import ast, sac
from ..syntax.sac import tree
from .depth import within_depth
from .frontends import Call, Elaborated, Parameter, Said, Shape
from .options import Options

# Assumed extents begin here when only the text is known: results that agree for both are formulas in the sizes.
_PROBES = (11, 23)


def _program(text: str, name: str, first_line: int, options: Options) -> tree.Program:
    program = sac.read(text, name, first_line)
    with within_depth("kernel", program.span):
        program = elaboration.with_constants(program, options.consts)
    if options.strict:
        for warning in elaboration.lint(program):
            warn(warning, strict=True)
    return program


def _entry(program: tree.Program, options: Options, name: str | None = None) -> elaboration.Entry:
    with within_depth(name or "kernel", program.span):
        return elaboration.entry_of(program, options.fns, name)


@dataclass(eq=False)
class Comprehensions(Elaborated[Call]):
    """A SaC program: elaborated for the types, the shapes, and the values that decide shapes."""

    reserved: ClassVar[frozenset[str]] = Elaborated.reserved | {"int", "float", "double", "bool"}

    program: tree.Program
    entry: elaboration.Entry
    options: Options
    _functions: Recent[Call, ir.Function] = field(default_factory=Recent)

    @staticmethod
    def read(text: str, name: str, first_line: int, options: Options) -> "Comprehensions":
        """The entry of a text. Raises `CompileError` for errors that do not depend on arguments."""
        program = _program(text, name, first_line, options)
        return Comprehensions(program, _entry(program, options), options)

    @staticmethod
    def read_all(text: str, name: str, options: Options) -> "Iterator[Comprehensions]":
        """Every function of a text, and its expression."""
        program = _program(text, name, 1, options)
        for function in program.functions:
            yield Comprehensions(program, _entry(program, options, function.name), options)
        if program.result is not None:
            yield Comprehensions(program, _entry(program, options), options)

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def span(self) -> Span:
        return self.entry.span

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(
            Parameter(p, None, self.entry.span)
            if isinstance(p, str)
            else Parameter(p.name, p.type.scalar, p.span, sac.write_type(p.type))
            for p in self.entry.parameters
        )

    @property
    def results(self) -> tuple[str, ...]:
        """The declared types of the results, if the program states them."""
        return tuple(map(sac.write_type, self.entry.function.results if self.entry.function else ()))

    @property
    def keywords(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Outputs and sizes that a call may pass by keyword: there are none."""
        return (), ()

    def text(self) -> str:
        return sac.write(self.program).rstrip("\n")

    def signature(self, call: Call) -> Call:
        """Shapes and values determine the typed program."""
        return call

    def elaborated(self, signature: Call) -> ir.Function:
        arguments = {
            parameter.name: elaboration.Argument(dtype, shape)
            for parameter, dtype, shape in zip(self.parameters, signature.dtypes, signature.shapes, strict=True)
        }
        known = {name: _elements(dtype, shape, data) for name, dtype, shape, data in signature.values}
        return elaboration.elaborate(
            self.program,
            self.entry,
            arguments,
            known,
            self.foreign,
            self.options.accumulate,
            strict=self.options.strict,
            report=self.warn,
        )

    @cached_property
    def likely(self) -> ir.Function | None:
        """The program for the smallest ranks that its selections allow; None if they, or the sizes, leave it open."""
        found: list[ir.Function | None] = []
        for extent in _PROBES:
            arguments = elaboration.guess(self.program, self.entry, extent)
            if arguments is None:
                return None
            found.append(self._for(arguments))
        return found[0] if all(function == found[0] for function in found) else None

    def _for(self, arguments: Mapping[str, elaboration.Argument]) -> ir.Function | None:
        try:
            with self.within_depth():
                return elaboration.elaborate(self.program, self.entry, arguments, {}, self.foreign)
        except (CompileError, ValueNeeded):
            return None

    def explained(self, error: Said) -> Said:
        """An error of range inference, reworded for SaC."""
        help = re.sub(r"`(?:where )?(\w+ in [^`]+?:[^`]+?)`(?: in the brackets)?", self._generator, error.help)
        help = re.sub(r", or declare `\w+` with larger extents", "", help)
        return type(error)(error.diagnosis, error.message, error.span, help=help)

    def _generator(self, found: re.Match[str]) -> str:
        """The bounds of a partition for ranges of its indices, if they cover all of them."""
        ends: dict[str, tuple[str, str]] = {}
        for clause in found[1].split(", "):
            index, lo, hi = re.split(r" in |:", re.sub(r"\b([A-Za-z_]\w*)\.(\d+)\b", r"shape(\1)[\2]", clause))
            ends[index] = lo, hi
        names = next((names for names in _patterns(self.text()) if ends.keys() <= set(names)), [])
        if names and ends.keys() == set(names):
            lows, highs = (", ".join(ends[name][side] for name in names) for side in (0, 1))
            return f"a generator: `| [{lows}] <= [{', '.join(names)}] < [{highs}]`"
        vectors = {index.rstrip("0123456789") for index in ends}
        if len(ends) > 1 and len(vectors) == 1 and self._component(next(iter(ends))).startswith("component"):
            lows, highs = (", ".join(ends[index][side] for index in sorted(ends)) for side in (0, 1))
            return f"a generator: `| [{lows}] <= {vectors.pop()} < [{highs}]`"
        told = [f"keeps {self._component(index)} from {lo} to below {hi}" for index, (lo, hi) in ends.items()]
        return f"a generator that {' and '.join(told)}"

    def _component(self, index: str) -> str:
        vector = index.rstrip("0123456789")
        if vector != index and re.search(rf"(?<!\w){vector}\s*->", self.text()):
            return f"component {index[len(vector) :]} of `{vector}`"
        return f"`{index}`"

    def check_given(self, names: Collection[str]) -> None:
        """Raises TC0201 if an expression without parameters uses a name that is not an argument of the call."""
        if self.entry.function is None and self.entry.name == "kernel":
            try:
                elaboration.check(self.program, self.options.fns, names)
            except CompileError as error:
                help = f"pass it, `{self.entry.name}({', '.join(self.entry.names)})`, or {error.help}"
                raise CompileError(error.diagnosis, error.message, error.span, help=help) from None

    def behind(self, name: str, parameters: tuple[str, ...], others: Sequence[ast.Definition]) -> "Comprehensions":
        """The same program for a Python function with this name and these parameters; SaC cannot call definitions."""
        own = self.entry.names
        if own != parameters and (self.entry.function is not None or set(own) != set(parameters)):
            raise CompileError(
                Code.WRONG_ARGUMENT_COUNT,
                f"the function takes ({', '.join(parameters)}) but its text takes ({', '.join(own)})",
                self.span,
                help=f"write def {name}({', '.join(own)})",
            )
        by_name = dict(zip(own, self.entry.parameters, strict=True))
        entry = replace(self.entry, name=name, parameters=tuple(by_name[n] for n in parameters))
        return Comprehensions(self.program, entry, self.options)


def _patterns(text: str) -> list[list[str]]:
    """The names of the indices of each partition that has them in brackets."""
    return [[name.strip() for name in names.split(",")] for names in re.findall(r"\[([^][]*)\]\s*->", text)]


def _elements(dtype: str, shape: Shape, data: bytes) -> Callable[[tuple[int, ...]], Any]:
    array = np.frombuffer(data, np.dtype(dtype)).reshape(shape)
    return lambda place: array[place].item()
