"""The derivative of a kernel as a kernel."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from .. import ir, ranges, translation
from ..diagnostics import CompileWarning
from ..syntax import tc
from ..transforms.derivatives import adjoint_program
from ..translation.names import called
from .definitions import Definition
from .frontends import Frontend


class Adjoint(Definition):
    """A derivative. It issues no warnings: the program itself issued them."""

    def warn(self, warning: CompileWarning) -> None:
        return


def adjoint_of(frontend: Frontend, function: ir.Function, wrt: Iterable[str] | None) -> Definition:
    """The program that computes the cotangents of `wrt`, in index notation.

    `function` is the typed program of the frontend. Raises `CompileError`: TC0308 for a name that is not a float
    parameter, TC0309 if there is no derivative, TC0109 if index notation cannot express it.
    """
    with frontend.within_depth():
        found = adjoint_program(function, wrt)
        text = tc.write(translation.to_tc(found))
    options = frontend.options
    names = ranges.size_names(found)
    assume = tuple([given for given in options.assume if given.names <= set(names)])
    fns = {**options.fns, **_derivatives(found, options.fns)}
    options = replace(options, fns=fns, schedule=None, assume=assume, dialect=None)
    program = tc.read(text, f"<adjoint of {frontend.name}>")
    return Adjoint(program, program.definitions[-1], options)


def _derivatives(function: ir.Function, fns: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The derivatives of Python functions that a program calls."""
    # The lowerings are imported only when a derivative is called.
    from ..lowering.derived import with_derivatives

    known = with_derivatives(fns)
    return {name: known[name] for name in called(function) if name not in fns and name in known}
