"""Handlers that catch every exception guard only calls of foreign code."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "tcjax"
BROAD = {"Exception", "BaseException"}
# Functions with a catch-all handler, and whose code runs in it.
OTHERS = {
    "cli/arrays.py:_damaged": "NumPy, on a file that may be damaged",
    "cli/arrays.py:_picture": "Pillow, on a file that may be damaged",
    "cli/failures.py:explained": "the last resort of the command, which says that it is a mistake of ours",
    "cli/measuring.py:_prepared": "the expression of --against",
    "diagnostics/phrases.py:value": "the `repr` of what was passed",
    "files/reading.py:opened": "nothing: what was opened is closed, and the exception goes on",
    "files/replacing.py:replacing": "the writer of a file: what was begun is removed, and the exception goes on",
    "interpreter/monoids.py:applied": "a function of a registered reduction",
    "lowering/pallas_triton/calls.py:probe": "JAX, lowering what has been traced",
    "lowering/registered.py:_parts": "a function of a registered reduction",
    "runtime/arguments.py:_of_tracers": "JAX, on a list that holds traced numbers",
    "runtime/arguments.py:read_array": "an argument's own `__array__`",
    "runtime/calls.py:__call__": "JAX, on arrays whose types say how they are sharded; other errors go on",
    "runtime/checking/trials.py:called": "a Python function from `fns`",
    "runtime/checking/trials.py:compiled": "the kernel, whose mistake `check` reports as one",
    "runtime/exporting.py:_read": "JAX's parser of symbolic shapes",
    "runtime/exporting.py:_struct": "an argument's own `__array__`",
    "runtime/foreign.py:_results": "a Python function from `fns`",
    "runtime/gradients.py:_differentiate": "a Python function from `fns`, or of a registered reduction",
    "runtime/gradients.py:reverse_mode": "everything, raised again unless the writer's functions explain it",
    "runtime/monoids.py:_number": "the identity's own `__array__`",
    "syntax/embedded/names.py:_resolve": "a property of an object in the writer's scope",
}


def broad(file: Path) -> Iterator[str]:
    """``file:function`` for each handler that catches everything, by the innermost function."""

    def visit(node: ast.AST, function: str) -> Iterator[str]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        caught = isinstance(node, ast.ExceptHandler) and catches_all(node.type)
        if caught or (isinstance(node, ast.Call) and is_suppress(node.func) and any(map(catches_all, node.args))):
            yield f"{file.relative_to(PACKAGE)}:{function}"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function)

    yield from visit(ast.parse(file.read_text(encoding="utf-8")), "")


def is_suppress(function: ast.expr) -> bool:
    return getattr(function, "id", getattr(function, "attr", None)) == "suppress"


def catches_all(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(map(catches_all, caught.elts))
    return caught is None or (isinstance(caught, ast.Name) and caught.id in BROAD)


def test_every_exception_is_caught_only_around_the_code_of_others() -> None:
    found = sorted(place for file in PACKAGE.rglob("*.py") for place in broad(file))

    assert found == sorted(OTHERS)
