"""Recurrences: what a ``for`` may contain, and the types of values read before a statement writes them."""

from collections.abc import Sequence
from functools import reduce
from typing import Final

from .. import ir
from ..diagnostics import Code, CompileError
from ..ir import Reducer, types
from ..symbolic import IndexVar
from ..syntax import ast
from .operators import COMPARISONS
from .outputs import Outputs, local_shape

# Reductions whose results are bools.
_TRUTHS: Final = frozenset((Reducer.ANY.value, Reducer.ALL.value))


def check_loops(runs: Sequence[ast.Run], leaves: Sequence[ast.Leaf]) -> None:
    """Raises `CompileError` for a step that is not a number, a repeated loop index, or a declaration in a loop."""
    for place, run in enumerate(runs):
        loop = run.loop
        if loop.step is not None and ast.stride(loop) is None:
            raise CompileError(
                Code.UNSOLVABLE_INDEX,
                "the step of a `for` is a number other than 0",
                loop.step.span,
                help=f"write the number: `for {loop.index} in lo:hi:2`, or `:-1` to go backwards",
            )
        around = [other.loop.index for other in runs[:place] if other.first <= run.first and run.last <= other.last]
        if loop.index in around:
            raise CompileError(
                Code.ALREADY_DEFINED,
                f"`{loop.index}` is the index of a `for` around this one",
                loop.span.part(loop.index),
                help="rename the index of the inner loop",
            )
        for leaf in leaves[run.first : run.last]:
            if isinstance(leaf, ast.Declare):
                raise CompileError(
                    Code.NOT_IN_THE_NOTATION,
                    f"`{leaf.name}` is declared inside of a `for`",
                    leaf.span,
                    help="declare it before the loop",
                )


def refuse_data(given: ir.Range) -> None:
    """Raises TC0405 for a loop whose number of steps depends on data."""
    if given.is_ragged:
        raise CompileError(
            Code.READ_IN_BOUND,
            f"how many steps the loop over `{given.index}` has depends on data",
            given.span,
            help="let it run between numbers or sizes, and let a condition choose what a step computes",
        )


def refuse_call(node: ast.CallAssign, number: int, runs: Sequence[ast.Run]) -> None:
    """Raises TC0105 for a call on whole tensors inside a loop."""
    if any(run.first <= number < run.last for run in runs):
        raise CompileError(
            Code.NOT_IN_THE_NOTATION,
            f"`{node.function}` is called on whole tensors inside of a `for`",
            node.span,
            help="call it before or after the loop; inside, write its statements out",
        )


def expect(number: int, leaves: Sequence[ast.Leaf], runs: Sequence[ast.Run], outputs: Outputs) -> None:
    """Gives types to the targets of a loop that begins here, so that its earlier statements can read them."""
    inside = [run for run in runs if run.first == number]
    if not inside:
        return
    environment = outputs.environment
    written = [leaf for leaf in leaves[number : inside[0].last] if isinstance(leaf, ast.Assign)]
    truths = {leaf.target for leaf in written} - {leaf.target for leaf in written if not _is_truth(leaf)}
    for leaf in written:
        name, rank = leaf.target, len(leaf.indices or ())
        if leaf.reducer is not None and not leaf.restart and name not in environment.tensors:
            raise CompileError(
                Code.READ_BEFORE_DEFINITION,
                f"`{name}` has no value before the loop to continue from",
                leaf.span.part(name),
                help=f"write `{leaf.reducer}=!` to start afresh in each step, or `{name}` before the loop",
            )
        if name in environment.tensors or name in outputs.inputs:
            continue
        tensor = outputs.annotated.get(name)
        if tensor is None:
            dtype = outputs.assumed.get(name) or ("bool" if name in truths else _likely(outputs))
            tensor = ir.Tensor(name, dtype, local_shape(name, rank), span=leaf.span.part(name))
            outputs.expected[name] = dtype
        environment.tensors[name] = tensor


def _is_truth(leaf: ast.Assign) -> bool:
    """Whether the form of the right side says that it is a bool."""
    if leaf.reducer is not None:
        return leaf.reducer in _TRUTHS

    def is_bool(value: ast.Expr) -> bool:
        match value:
            case ast.Unary("!") | ast.Binary("&&" | "||") | ast.Cast("bool"):
                return True
            case ast.Binary(operator):
                return operator in COMPARISONS
            case ast.Reduction(reducer):
                return reducer in _TRUTHS
            case ast.Conditional(_, then, otherwise):
                return is_bool(then) and is_bool(otherwise)
            case _:
                return False

    return is_bool(leaf.value)


def refuse_initial(runs: Sequence[ast.Run], leaves: Sequence[ast.Leaf], outputs: Outputs) -> None:
    """Raises TC0208 if a program with a loop continues from an initial value that a call may pass."""
    for leaf in leaves if runs else ():
        if isinstance(leaf, ast.Assign) and leaf.target in outputs.initial:
            name = leaf.target
            raise CompileError(
                Code.READ_BEFORE_DEFINITION,
                f"`{name}` would start from what the call passes, which a program with a `for` does not support",
                leaf.span.part(name),
                help=f"write `{leaf.reducer}=!`, or make what `{name}` starts from a parameter",
            )


def _likely(outputs: Outputs) -> str:
    """The initial guess of the type of a loop's results: that of the floating-point inputs, else of the others."""
    given = [outputs.environment.tensors[name].dtype for name in outputs.inputs]
    floats = [dtype for dtype in given if types.is_float(dtype) or dtype.startswith("complex")]
    return reduce(types.join, floats or given or ["float32"])


def loops(runs: Sequence[ast.Run], begins: Sequence[int]) -> tuple[ir.Loop, ...]:
    """The loops over the statements; `begins` has the number of the first statement of each leaf."""
    return tuple(
        ir.Loop(
            IndexVar(run.loop.index), ast.stride(run.loop) or 1, begins[run.first], begins[run.last], span=run.loop.span
        )
        for run in runs
    )
