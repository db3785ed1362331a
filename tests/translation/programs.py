"""Every program of the conformance tables and the golden pages, elaborated for its arguments."""

import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from tcjax import elaboration, ir
from tcjax.diagnostics import CompileWarning
from tcjax.syntax import ast, tc
from tests.conformance import inference, language, layers
from tests.conformance.program import Program, real
from tests.golden.pages import HERE, page_names

_TEXT = re.compile(r"```tc\n(.*?)```", re.DOTALL)
_ARGUMENT = re.compile(r"`(\w+): (\w+)\[([\d, ]*)\]`")


@dataclass(frozen=True)
class Called:
    """A text, and the arguments of its last definition.

    `has_initial` if it continues from given values, `is_small` if it can be computed point by point.
    """

    name: str
    text: str
    arguments: tuple[np.ndarray, ...]
    has_initial: bool = False
    is_small: bool = True

    def __str__(self) -> str:
        return self.name

    @cached_property
    def function(self) -> ir.Function:
        return elaborated(tc.read(self.text), self.arguments)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arguments by the parameters' names."""
        names = [parameter.name for parameter in self.function.parameters]
        return dict(zip(names, self.arguments, strict=True))


def elaborated(program: ast.Program, arguments: tuple[np.ndarray, ...]) -> ir.Function:
    """The last definition for arguments of these types."""
    definition = program.definitions[-1]
    names = [parameter.name for parameter in elaboration.parameters(definition)]
    signature = {
        name: elaboration.Argument(str(array.dtype), array.ndim) for name, array in zip(names, arguments, strict=True)
    }
    if elaboration.has_batch(definition, program):
        given = {
            name: elaboration.Given(tuple(1 if extent == 1 else None for extent in array.shape), str(array.dtype))
            for name, array in zip(names, arguments, strict=True)
        }
        definition, program = elaboration.expanded(definition, program, given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        return elaboration.elaborate(definition, program, signature, {})


def _called(table: str, program: Program) -> Called:
    arrays = tuple([a if isinstance(a, np.ndarray) else _narrow(a) for a in program.arrays()])
    return Called(f"{table}: {program.name}", program.text, arrays, bool(program.initial))


def _narrow(value: object) -> np.ndarray:
    """Python's numbers have 32 bits."""
    array = np.asarray(value)
    return array.astype({"f": "float32", "i": "int32"}.get(array.dtype.kind, str(array.dtype)))


def _page(name: str) -> Called:
    page = (Path(HERE) / f"{name}.md").read_text(encoding="utf-8")
    text = _TEXT.search(page)
    assert text is not None
    shapes = [(dtype, [int(n) for n in shape.split(",") if n.strip()]) for _, dtype, shape in _ARGUMENT.findall(page)]
    arrays = [real(*shape, seed=n).astype(dtype) for n, (dtype, shape) in enumerate(shapes)]
    return Called(f"golden: {name}", text[1], tuple(arrays), is_small=False)


_TABLES = {
    f"{room.__name__.rpartition('.')[2]} {table.lower()}": getattr(room, table)
    for room in (inference, language, layers)
    for table in room.__all__
}

PROGRAMS = [
    *chain.from_iterable([_called(table, program) for program in programs] for table, programs in _TABLES.items()),
    *map(_page, page_names()),
]
