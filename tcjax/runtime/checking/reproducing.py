"""A disagreement as a program that shows it."""

from textwrap import indent

import numpy as np

from ...ir.printer import show_statement
from .comparisons import batch, mapped
from .gradients import Line
from .samples import Array
from .tolerances import Difference
from .trials import Trial


def explained(trial: Trial, comparison: str, found: Difference | str, example: int, seed: int, tried: int) -> str:
    """The difference, the statement it comes from, and Python code that shows it."""
    name = trial.kernel._frontend.name
    lines: list[str] = []
    match found:
        case str(raised):
            lines.append(f"`{name}` ({comparison}) raises where the interpreter has a result: {raised}")
        case Difference(output, place, value, expected, tolerance, why):
            at = f"[{', '.join(map(str, place))}]" if place else ""
            lines.append(f"`{name}` ({comparison}) is not what its definition says: {output}{at}")
            lines.append(f"  found      {_shown(value)}")
            lines.append(f"  expected   {_shown(expected)}")
            lines.append(f"  tolerance  {tolerance:.3g}, {why}")
            statement = _statement(trial, output)
            if statement:
                lines.append(f"  statement  {statement}")
    lines.append(f"  smallest of {tried + 1} calls, from example {example} of seed {seed}")
    lines += ["", "The program, `k`:", "", indent(str(trial.kernel), "    ")]
    lines += ["", "This shows it:", "", indent("\n".join(code(trial, comparison)), "    ")]
    return "\n".join(lines)


def _shown(value: object) -> str:
    return str(value.item()) if isinstance(value, np.generic) else str(value)


def _statement(trial: Trial, output: str) -> str | None:
    """The last statement that writes the output."""
    written = [s for s in trial.bound.function.statements if getattr(getattr(s, "target", None), "name", "") == output]
    return show_statement(written[-1]) if written else None


def code(trial: Trial, comparison: str) -> list[str]:
    """Python code that computes both sides."""
    sample = trial.sample
    given = [f"{name}={name}" for name in sample.initial] + [f"{name}={value}" for name, value in sample.sizes.items()]
    call = ", ".join([*sample.arrays, *given])
    lines = ["import jax", "import jax.numpy as jnp", "import numpy as np", ""]
    lines += [f"{name} = {literal(array)}" for name, array in sample.everything.items()]
    match comparison:
        case "jit":
            names = ", ".join(name for name in sample.everything if name not in trial.static)
            return [*lines, f"print(jax.jit(lambda {names}: k({call}))({names}))", f"print(k.interpret({call}))"]
        case "vmap":
            name = mapped(trial)
            assert name is not None, "something was mapped"
            lines.append(f"rows = {literal(batch(trial, name))}")
            lines.append(f"print(jax.vmap(lambda {name}: k({call}))(rows))")
            return [*lines, f"print([k.interpret({call}) for {name} in rows])"]
        case "gradients":
            line = Line(trial)
            weights = [d for d in line.cotangents if d is not None]
            lines += [f"d{number} = {literal(d.astype('float32'))}" for number, d in enumerate(weights)]
            many = len(line.cotangents) > 1
            outputs = [
                f"k({call})[{n}]" if many else f"k({call})" for n, d in enumerate(line.cotangents) if d is not None
            ]
            total = " + ".join(f"({output} * d{number}).sum()" for number, output in enumerate(outputs))
            names = ", ".join(trial.movable)
            places = tuple(range(len(trial.movable)))
            return [*lines, f"print(jax.grad(lambda {names}: {total}, {places})({names}))"]
        case "reference":
            return [*lines, f"print(k({call}))", f"print(reference({call}))"]
        case _:
            return [*lines, f"print(k({call}))", f"print(k.interpret({call}))"]


def literal(array: Array) -> str:
    """The array as Python code."""
    own = array.dtype.kind in "biufc"
    if not array.size:
        return f'{"np" if own else "jnp"}.zeros({array.shape}, "{array.dtype}")'
    elements = array.tolist() if own else array.astype(float).tolist()
    return f'{"np" if own else "jnp"}.array({elements!r}, "{array.dtype}")'.replace("nan", "np.nan").replace(
        "inf", "np.inf"
    )
