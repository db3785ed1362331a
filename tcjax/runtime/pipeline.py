"""How a text becomes a JAX function: the steps in order, each taking the result of the one before.

    text ──read──▶ Front ──elaborate──▶ ir.Function ──bind──▶ Bound ──plan──▶ Plan ──lower──▶ arrays
                                             └──infer──▶ SymbolicRanges

`compiler` keeps what each step gives for a call; `calls` puts `jax.jit` around the last one.
"""

from collections.abc import Mapping

import jax

from .. import ir, planning, ranges
from ..diagnostics import CompileError
from .assumptions import assumptions_of
from .frontends import Call, Frontend, notation
from .options import Options


def read(text: str, name: str, first_line: int, options: Options) -> Frontend:
    """The program that a text is for: parsed by its notation's reader; errors call the text `name`."""
    return notation(text, options).read(text, name, first_line, options)


def elaborate(frontend: Frontend, call: Call) -> ir.Function:
    """Typed index notation, by the notation's elaboration: every access is a tensor and affine subscripts."""
    return frontend.function(call)


def infer(frontend: Frontend, function: ir.Function) -> ranges.SymbolicRanges:
    """The range of every index as formulas in the sizes: everything that is known before a call."""
    return ranges.infer_ranges(function, ranges.assumed(assumptions_of(frontend, function)))


def bind(frontend: Frontend, function: ir.Function, call: Call) -> ranges.Bound:
    """Every range, size and shape of a call as numbers, with every access proved to be inside its array."""
    shapes = {p.name: shape for p, shape in zip(frontend.parameters, call.shapes, strict=True)}
    sizes, initial = dict(call.sizes), dict(call.initial)
    try:
        with frontend.within_depth():
            assumptions = assumptions_of(frontend, function)
            bound = ranges.bind(function, shapes, sizes, initial, frontend.foreign_shapes, assumptions)
    except CompileError as error:
        raise frontend.explained(error) from None
    for warning in bound.warnings:
        frontend.warn(frontend.explained(warning))
    return bound


def plan(frontend: Frontend, bound: ranges.Bound, preferences: planning.Preferences) -> planning.Plan:
    """The operation that computes each statement, and why: data that can be printed."""
    with frontend.within_depth():
        return planning.make_plan(bound, preferences)


def lower(
    frontend: Frontend, plan: planning.Plan, arrays: Mapping[str, jax.Array], initial: Mapping[str, jax.Array]
) -> tuple[jax.Array, ...]:
    """The results of a plan for arguments and initial values by name, as JAX operations."""
    # The lowerings are imported only when a kernel is called, so that `import tcjax` stays light.
    from .. import lowering

    with frontend.within_depth():
        return lowering.lower(plan, arrays, initial, frontend.options.fns)
