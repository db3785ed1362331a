"""What an editor shows at a word: the range of an index, the type of a tensor, what a function is; and the formula."""

from collections.abc import Iterator

from ... import ir, ranges, typesetting
from ...syntax import ast, tc
from ..texts import Text
from .names import sac_function
from .programs import Program, program_at
from .words import BOUNDARIES, REDUCTIONS, describe, word_at


def hover(text: Text, line: int, column: int) -> str | None:
    """Markdown for a place, or None."""
    word = word_at(text, line, column)
    program = program_at(text, line)
    if word is None or (program is None and text.notation == "python"):
        return None
    name = word[0]
    if text.notation == "sac" and (head := _of_sac(text, name)) is not None:
        return head
    said = list(_said(name, line, program))
    if program is not None and program.ranges is not None:
        number = _statement(program, line)
        statement = None if number is None else program.ranges.function.statements[number]
        if number is not None and statement is not None and said:
            # Editors do not render formulas in Markdown; all of them render a block of code.
            said.append(f"```text\n{typesetting.plain(typesetting.typeset_statement(statement))}\n```")
            said += _table(program.ranges.statements[number])
    return "\n\n".join(said) or None


def _said(name: str, line: int, program: Program | None) -> Iterator[str]:
    found = None if program is None else program.ranges
    if program is not None and found is not None:
        number = _statement(program, line)
        if number is not None:
            own = found.statements[number]
            for index in own.intervals:
                if index.name == name:
                    yield f"**`{name}`** index, runs over `{own.show(index)}`\n\nfrom {own.reasons[index]}"
                    return
        tensor = _tensor(found, name)
        if tensor is not None:
            yield f"**`{name}`** {_role(found.function, name)}, {_type(found, tensor)}"
            return
        sizes = [
            f"dimension {d} of `{tensor.name}`"
            for tensor in found.function.parameters
            for d, size in enumerate(tensor.shape)
            if str(size) == name
        ]
        if sizes:
            yield f"**`{name}`** size, {', '.join(sizes)}"
            return
    for called in () if program is None else program.program.definitions:
        if called.name == name:
            head = tc.write(ast.Definition(called.name, called.parameters, called.returns, ())).splitlines()[0]
            yield f"```tc\n{head.removesuffix(' {').removesuffix(' {}')}\n```"
            return
    if name in REDUCTIONS:
        yield f"**`{name}`** reduction: {REDUCTIONS[name]}"
    elif name in BOUNDARIES:
        yield f"**`{name}`** boundary: {BOUNDARIES[name]}"
    elif name in ir.builtins.BUILTINS:
        yield f"**`{name}`** {describe(name)}"


def _table(statement: ranges.StatementRanges) -> Iterator[str]:
    """The ranges of the indices of a statement, if there are several."""
    if len(statement.intervals) > 1:
        rows = [
            f"| `{index.name}` | `{statement.show(index)}` | {statement.reasons[index]} |".replace("||", r"\|\|")
            for index in statement.intervals
        ]
        yield "\n".join(["| index | range | from |", "|---|---|---|", *rows])


def _of_sac(text: Text, name: str) -> str | None:
    """The signature of a SaC function, with the comment above it; its types depend on the call."""
    span = sac_function(text, name)
    if span is None:
        return None
    lines = text.content.splitlines()
    first = span.line - 1
    while first and lines[first - 1].lstrip().startswith("//"):
        first -= 1
    comment = [line.strip().removeprefix("//").strip() for line in lines[first : span.line - 1]]
    head = lines[span.line - 1].partition("{")[0].rstrip()
    return "\n\n".join([f"```sac\n{head}\n```", *([" ".join(comment)] if comment else [])])


def _statement(program: Program, line: int) -> int | None:
    """The number of the last statement that begins at or before a line."""
    assert program.ranges is not None
    statements = program.ranges.function.statements
    before = [(each.span.line, number) for number, each in enumerate(statements) if each.span.line <= line]
    return max(before)[1] if before else None


def _tensor(found: ranges.SymbolicRanges, name: str) -> ir.Tensor | None:
    function = found.function
    written = [tensor for statement in function.statements for tensor in ir.targets(statement)]
    return next((tensor for tensor in (*function.parameters, *written) if tensor.name == name), None)


def _role(function: ir.Function, name: str) -> str:
    if any(tensor.name == name for tensor in function.parameters):
        return "parameter"
    return "result" if any(tensor.name == name for tensor in function.returns) else "temporary"


def _type(found: ranges.SymbolicRanges, tensor: ir.Tensor) -> str:
    extents = found.extents(tensor.name) if tensor.name in found.locals else tensor.shape
    listed = ", ".join("?" if extent is None else str(extent) for extent in extents)
    return f"`{tensor.dtype}[{listed}]`"
