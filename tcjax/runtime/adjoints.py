"""The derivative of a kernel as a kernel."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from .. import ir, ranges, translation
from ..syntax import tc
from ..transforms.derivatives import adjoint_program
from ..translation.names import called
from .depth import within_depth
from .fronts import Definition, Front

_DERIVATIVE = re.compile(r"d(\d+)_(.+)")


def adjoint_of(front: Front, function: ir.Function, wrt: Iterable[str] | None) -> Definition:
    """The program that computes the cotangents of `wrt`, in index notation.

    `function` is what the front's program is. Raises `CompileError`: TC0308 for a name that is no float parameter,
    TC0309 for what has no derivative, TC0109 for what index notation cannot say.
    """
    with within_depth(front.name, front.span):
        found = adjoint_program(function, wrt)
        text = tc.write(translation.to_tc(found))
    options = front.options
    names = ranges.size_names(found)
    assume = tuple([given for given in options.assume if given.names <= set(names)])
    fns = {**options.fns, **_derivatives(found, options.fns)}
    options = replace(options, fns=fns, schedule=None, assume=assume, dialect=None)
    program = tc.read(text, f"<adjoint of {front.name}>")
    return Definition(program, program.definitions[-1], options)


def _derivatives(function: ir.Function, fns: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The derivatives of Python functions that a program calls."""
    names = called(function)
    return {name: _resolved(name, fns) for name in names if name not in fns and _is_derivative(name, fns)}


def _is_derivative(name: str, fns: Mapping[str, Callable[..., Any]]) -> bool:
    match = _DERIVATIVE.fullmatch(name)
    return match is not None and (match[2] in fns or _is_derivative(match[2], fns))


def _resolved(name: str, fns: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """A function from `fns`, or a derivative: ``d1_f`` is that of ``f`` by its second argument."""
    if name in fns:
        return fns[name]
    match = _DERIVATIVE.fullmatch(name)
    assert match is not None, f"{name} is no derivative"
    return _partial(_resolved(match[2], fns), int(match[1]))


def _partial(function: Callable[..., Any], position: int) -> Callable[..., Any]:
    """The derivative of an elementwise function by one argument."""

    def derivative(*arguments: Any) -> jax.Array:
        arrays = [jnp.asarray(argument) for argument in arguments]

        def along(array: jax.Array) -> jax.Array:
            return jnp.asarray(function(*arrays[:position], array, *arrays[position + 1 :]))

        return jax.jvp(along, (arrays[position],), (jnp.ones_like(arrays[position]),))[1]

    return derivative
