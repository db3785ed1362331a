"""Short ways to elaborate a text, and to get its errors."""

import warnings
from collections.abc import Mapping

from tcjax import ir
from tcjax.diagnostics import CompileError, CompileWarning
from tcjax.elaboration import Argument, ForeignFunction, elaborate
from tcjax.syntax import ast, tc

# One tensor of every kind, so that tests consist of statements only.
PARAMETERS = """float(N) A, float(N,M) B, int32(N) I, bool(N) b, double(N) d, half(N) h, uint8(N) u, int8(N) w,
complex64(N) z, float s"""


def elaborated(
    text: str,
    signature: Mapping[str, Argument] | None = None,
    functions: Mapping[str, ForeignFunction] | None = None,
    accumulate: str | None = None,
) -> ir.Function:
    """The first definition of a text, without its warnings."""
    program = tc.read(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        return elaborate(program.definitions[0], program, signature or {}, functions or {}, accumulate)


def body(statements: str, returns: str = "") -> ir.Function:
    """Statements over `PARAMETERS`."""
    return elaborated(f"def f({PARAMETERS}) -> ({returns}) {{ {statements} }}")


def lines(function: ir.Function) -> list[str]:
    """The statements as text."""
    return [line.strip() for line in ir.show(function).splitlines()[1:]]


def value_of(text: str) -> ir.Expr:
    """The right side of ``O(i) = text``."""
    statement = body(f"O(i) = {text}").statements[0]
    assert isinstance(statement, ir.Define)
    return statement.value


def subscript_of(text: str) -> str:
    """The first subscript of ``O +=! A(text)``, as text."""
    statement = body(f"O +=! A({text})").statements[0]
    assert isinstance(statement, ir.Accumulate) and isinstance(statement.value, ir.Access)
    return str(statement.value.indices[0])


def mistake(text: str, **given: object) -> CompileError:
    """The `CompileError` of an invalid text."""
    try:
        elaborated(text, **given)  # type: ignore[arg-type]
    except CompileError as error:
        return error
    raise AssertionError(f"no mistake was found in {text}")


def mistake_in(statements: str, returns: str = "") -> CompileError:
    """The `CompileError` of statements over `PARAMETERS`."""
    return mistake(f"def f({PARAMETERS}) -> ({returns}) {{ {statements} }}")


def kernel(text: str) -> ast.Definition:
    """The definition of a text without ``def``."""
    return tc.read(text).definitions[0]
