"""Benchmarks of loops, dynamic programming, physics, sequence models and sparse arrays: values, gradients, adjoints."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tests.translated.case import Array
from tests.translated.loop_programs import PROGRAMS, Program

SPELLINGS = [
    pytest.param(program, spelling, id=f"{program.name}-{spelling}")
    for program in PROGRAMS
    for spelling in program.spellings
]
# Gradients take long to compile: only one spelling of every second program has one. Adjoints are interpreted.
SMOOTH = [program for program in PROGRAMS if program.smooth]
GRADIENTS = [pytest.param(p, p.spellings[number // 2 % len(p.spellings)], id=p.name) for number, p in enumerate(SMOOTH)]


def single(arguments: dict[str, Array]) -> dict[str, Array]:
    return {name: value.astype(np.float32) if value.dtype.kind == "f" else value for name, value in arguments.items()}


def several(program: Program, found: Any) -> dict[str, Any]:
    return dict(zip(program.results, found if isinstance(found, tuple) else (found,), strict=True))


def close(found: Any, wanted: Array) -> None:
    scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    np.testing.assert_allclose(np.asarray(found, np.float64), wanted, rtol=1e-4, atol=1e-4 * scale)


@pytest.mark.parametrize(("program", "spelling"), SPELLINGS)
def test_a_loop_program_is_what_python_makes_of_it(program: Program, spelling: str) -> None:
    kernel, arguments = program.kernel(spelling), program.arguments()

    found = several(program, kernel(*single(arguments).values()))
    plain = several(program, kernel.interpret(*single(arguments).values()))

    wanted = program.expected(arguments, {name: np.shape(value) for name, value in found.items()})
    for name, value in wanted.items():
        close(found[name], value)
        close(plain[name], value)


@pytest.mark.parametrize(("program", "spelling"), GRADIENTS)
def test_the_derivative_of_a_loop_program(program: Program, spelling: str) -> None:
    kernel, arguments, rng = program.kernel(spelling), program.arguments(), np.random.default_rng(7)
    plain = several(program, kernel.interpret(*single(arguments).values()))
    shapes = {name: np.shape(value) for name, value in plain.items()}
    floats = [name for name, value in plain.items() if np.asarray(value).dtype.kind == "f"]
    weights = {name: rng.normal(size=shapes[name]) for name in floats}

    def total(name: str, moved: Array) -> float:
        found = program.expected({**arguments, name: moved}, shapes)
        return sum(float((found[result] * weight).sum()) for result, weight in weights.items())

    def slope(name: str, direction: Array) -> float:
        step = 1e-6 * direction
        return (total(name, arguments[name] + step) - total(name, arguments[name] - step)) / 2e-6

    def check(gradients: dict[str, Any]) -> None:
        for name, gradient in gradients.items():
            direction = rng.normal(size=arguments[name].shape)
            wanted, parts = slope(name, direction), np.asarray(gradient, np.float64) * direction
            assert gradient.shape == direction.shape
            assert abs(parts.sum() - wanted) <= 2e-3 * max(1.0, np.abs(parts).sum(), abs(wanted)), f"of {name}"

    cotangents = single({f"d_{name}": weight for name, weight in weights.items()})
    if program.has_adjoint:
        found = kernel.adjoint(wrt=program.smooth).interpret(**single(arguments), **cotangents)
        check(dict(zip(program.smooth, found if isinstance(found, tuple) else (found,), strict=True)))
    else:
        with pytest.raises(tcjax.CompileError):
            kernel.adjoint(wrt=program.smooth).interpret(**single(arguments), **cotangents)
    if SMOOTH.index(program) % 2 and program.has_adjoint:
        return

    def loss(moving: dict[str, Any]) -> jax.Array:
        found = several(program, kernel(*(single(arguments) | moving).values()))
        return sum((jnp.sum(found[name] * weight) for name, weight in weights.items()), jnp.float32(0))

    check(jax.grad(loss)({name: value for name, value in single(arguments).items() if name in program.smooth}))
