"""All diagnostics of a file: of every definition, not only the first. Nothing runs, and JAX is not needed."""

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from .. import elaboration, ranges
from ..diagnostics import NO_SOURCE, Code, CompileError, CompileWarning, Source, Span, warn
from ..elaboration import sac as sac_elaboration
from ..syntax import ast, sac, tc
from ..syntax.sac import tree
from .shapes import Shape
from .texts import Text


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake, or a warning: something legal that probably means something else."""

    error: CompileError | CompileWarning

    @property
    def is_error(self) -> bool:
        return isinstance(self.error, CompileError)

    @property
    def span(self) -> Span | None:
        span = self.error.span
        return None if span.source is NO_SOURCE else span

    def to_dict(self, file: str) -> dict[str, Any]:
        """The finding as JSON data; `end` is the column after it, null if it has no place."""
        line, column, end = (None, None, None) if self.span is None else self.span
        own = self.error
        severity = "error" if self.is_error else "warning"
        said = {"severity": severity, "code": own.code, "kind": own.kind, "message": own.message, "help": own.help}
        return {"file": file, "line": line, "column": column, "end": end, **said}


@dataclass(frozen=True, slots=True)
class Numbers:
    """For checking bounds with numbers too: shapes by parameter, sizes by name, and values of named constants."""

    shapes: Mapping[str, Shape] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    constants: Mapping[str, elaboration.Constant] = field(default_factory=dict)


def check_text(text: Text, numbers: Numbers) -> list[Finding]:
    """The mistakes in a text, in the order of the text."""
    found = Findings()
    if text.notation == "python":
        from .python_files import check_python

        check_python(text, numbers, found)
    elif text.notation == "sac":
        check_sac(text.content, text.name, numbers, found)
    else:
        check_tc(text.content, text.name, numbers, found)
    return found.sorted()


class Findings:
    """Findings without duplicates: a definition that calls a wrong one has the same mistake."""

    def __init__(self) -> None:
        self.found: dict[tuple[object, ...], Finding] = {}

    def add(self, error: CompileError | CompileWarning) -> None:
        span = error.span
        self.found.setdefault((span.source.name, span.line, span.column, error.message), Finding(error))

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Collects the errors and warnings of the block."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            except CompileError as error:
                self.add(error)
            except RecursionError:
                self.add(CompileError(Code.TOO_DEEP, "this is nested too deeply", help="split it into definitions"))
        for warning in caught:
            if isinstance(warning.message, CompileWarning):
                self.add(warning.message)

    def placed_in(self, source: Source) -> None:
        """Shows the lines of the whole file where only parts of it were read; a comment after a part may ignore a
        warning.
        """
        for key, finding in list(self.found.items()):
            own = finding.error
            if own.span.source.name == source.name:
                moved = type(own)(own.diagnosis, own.message, replace(own.span, source=source), help=own.help)
                self.found[key] = Finding(moved)
                if isinstance(moved, CompileWarning) and moved.is_ignored:
                    del self.found[key]

    def sorted(self) -> list[Finding]:
        def place(finding: Finding) -> tuple[int, int]:
            return (0, 0) if finding.span is None else (finding.span.line, finding.span.column)

        return sorted(self.found.values(), key=place)


# ---------------------------------------------------------------- TC


def check_tc(text: str, name: str, numbers: Numbers, found: Findings, first_line: int = 1) -> None:
    """Every definition of a TC text."""
    definitions: list[ast.Definition] = []
    broken: set[str] = set()
    parts = tc.parts(text, name, first_line)
    for part in parts:
        try:
            definitions += tc.read(part.text, name, part.first_line).definitions
        except CompileError as error:
            found.add(error)
            broken.add(part.name)
    if not broken:
        with found.collect():
            # Only the whole text shows this: a word that is a name in one definition is a name in all of them.
            tc.read(text, name, first_line)
    firsts = {definition.name: definition for definition in reversed(definitions)}
    program = ast.Program(tuple(firsts.values()), tuple(d for d in definitions if firsts[d.name] is not d))
    try:
        program = elaboration.with_constants(program, numbers.constants)
    except CompileError as error:
        # Further errors follow from this one.
        found.add(error)
        program = ast.Program(())
    with found.collect():
        for warning in elaboration.repeated_definitions(program):
            warn(warning)
    mentions = {part.name: part.words for part in parts}
    for definition in program.definitions:
        if not broken & mentions.get(definition.name, frozenset()):
            with found.collect():
                check_definition(definition, program, (), numbers)
    found.placed_in(Source(text, name, first_line))


def check_definition(
    definition: ast.Definition, program: ast.Program, functions: Collection[str], numbers: Numbers
) -> None:
    """Raises what is wrong with a definition; it may call the Python `functions`, whose results are unknown.

    If nothing is wrong, warns of unused parts.
    """
    _check_types(definition, program, functions, numbers)
    for warning in elaboration.lint(definition, functions):
        warn(warning)


def _check_types(
    definition: ast.Definition, program: ast.Program, functions: Collection[str], numbers: Numbers
) -> None:
    found = inferred(definition, program, functions, numbers)
    if found is None:
        return
    function = found.function
    if function.parameters and all(tensor.name in numbers.shapes for tensor in function.parameters):
        shapes = {tensor.name: numbers.shapes[tensor.name].extents for tensor in function.parameters}
        known = {size.name for tensor in function.parameters for size in tensor.shape for size in size.variables()}
        free = {str(size) for size in function.free_sizes}
        sizes = {size: value for size, value in numbers.sizes.items() if size in free or size in known}
        for warning in ranges.bind(function, shapes, sizes).warnings:
            warn(warning)
    else:
        for warning in ranges.unread_at_any_size(function):
            warn(warning)


def inferred(
    definition: ast.Definition, program: ast.Program, functions: Collection[str], numbers: Numbers
) -> ranges.SymbolicRanges | None:
    """The types of a definition and the ranges of its indices; None where only a call determines them.

    Raises `CompileError` for what is wrong with it.
    """
    definition = elaboration.completed(definition, functions)
    is_batched = elaboration.has_batch(definition, program)
    if is_batched or elaboration.needs_signature(definition, program, functions):
        elaboration.check(definition, program, functions)
        if elaboration.calls_python(definition, program, functions):
            return None
    if is_batched:
        try:
            definition, program = elaboration.expanded(definition, program, _given(definition, numbers))
        except elaboration.RankUnknownError:
            return None
    signature = _signature(definition, numbers)
    return None if signature is None else ranges.infer_ranges(elaboration.elaborate(definition, program, signature, {}))


def _given(definition: ast.Definition, numbers: Numbers) -> dict[str, elaboration.Given]:
    """What the shapes say about the arguments, and likely types for the others."""
    shapes = {name: elaboration.Given(shape.extents, shape.dtype) for name, shape in numbers.shapes.items()}
    names = [parameter.name for parameter in definition.parameters or ()]
    return elaboration.guessed(definition) | {name: shapes[name] for name in names if name in shapes}


def _signature(definition: ast.Definition, numbers: Numbers) -> dict[str, elaboration.Argument] | None:
    """The types of undeclared parameters: from the shapes, else likely ones; None if only a call determines them."""
    undeclared = [parameter.name for parameter in definition.parameters or () if parameter.type is None]
    if not undeclared:
        return {}
    given = {name: numbers.shapes[name] for name in undeclared if name in numbers.shapes}
    likely = elaboration.guess(definition)
    if likely is None and len(given) < len(undeclared):
        return None
    found = dict(likely or {})
    for name, shape in given.items():
        dtype = shape.dtype or (found[name].dtype if name in found else "float32")
        found[name] = elaboration.Argument(dtype, len(shape.extents))
    return found


# ---------------------------------------------------------------- SaC


def check_sac(text: str, name: str, numbers: Numbers, found: Findings, first_line: int = 1) -> None:
    """Every function of a SaC text, and its expression."""
    program = None
    with found.collect():
        program = sac_elaboration.with_constants(sac.read(text, name, first_line), numbers.constants)
    if program is None:
        return
    count = len(found.found)
    for part in _apart(program):
        others = {function.name: None for function in program.functions if function not in part.functions}
        with found.collect():
            sac_elaboration.entry_of(part, others)
    if len(found.found) > count:
        return
    with found.collect():
        for warning in sac_elaboration.lint(program):
            warn(warning)
    entries: Sequence[str | None] = [function.name for function in program.functions]
    if program.result is not None:
        entries = [*entries, None]
    for entry in entries:
        with found.collect():
            own = sac_elaboration.entry_of(program, {}, entry)
            if own.names and all(name in numbers.shapes for name in own.names):
                shapes = [numbers.shapes[name] for name in own.names]
                declared = [None if isinstance(p, str) else p.type.scalar for p in own.parameters]
                arguments = {
                    name: sac_elaboration.Argument(shape.dtype or scalar or "float32", shape.extents)
                    for name, shape, scalar in zip(own.names, shapes, declared, strict=True)
                }
                try:
                    function = sac_elaboration.elaborate(program, own, arguments, {}, {}, report=warn)
                except elaboration.ValueNeeded:
                    # Only the values determine the shapes.
                    continue
                extents = {name: shape.extents for name, shape in zip(own.names, shapes, strict=True)}
                for warning in ranges.bind(function, extents).warnings:
                    warn(warning)


def _apart(program: tree.Program) -> Iterator[tree.Program]:
    """Each function on its own, then the expression, so that a mistake in one does not hide those in the others."""
    for function in program.functions:
        yield tree.Program((function,), (), None, span=function.span)
    if program.result is not None:
        yield replace(program, functions=())
