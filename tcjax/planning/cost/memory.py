"""The memory contract: what a statement may allocate besides its arguments and results."""

from typing import Final, assert_never

from ... import ir
from ...diagnostics import Code, CompileError
from ..data.stages import Call, CallForeign, Compute, Parts, Plan, Tiled, Unstored
from ..printer import operation_of, reason_of
from .costs import cost_of, tiled_cost

# A temporary may always have this many bytes,
ALWAYS: Final = 16 << 20
# or this many times those of arguments and results together.
TIMES: Final = 4


def allowance(moved: int) -> int:
    """The largest temporary allowed with arguments and results of `moved` bytes, without another limit."""
    return max(ALWAYS, TIMES * moved)


def check_memory(plan: Plan, limit: int) -> None:
    """Raises `CompileError` (TC0810) for a statement that needs more than `limit` bytes besides operands and result.

    In the loops of a schedule, this is the memory of one iteration, including its private tensors.
    """
    for _, stage in plan.units():
        match stage:
            case Parts(plans=plans):
                for part in plans:
                    check_memory(part, limit)
            case Compute():
                check_stage(stage, limit)
            case Tiled():
                needed = tiled_cost(stage).temporary
                if needed > limit:
                    own = next(compute for compute, _ in stage.computes() if compute.target == stage.target)
                    raise _too_much(own, needed, limit, "raise the limit, or make the tiles smaller")
            case Call(plan=inner):
                check_memory(inner, limit)
            case CallForeign() | Unstored():
                continue
            case _:
                assert_never(stage)


def check_stage(stage: Compute, limit: int) -> None:
    """Raises `CompileError` (TC0810) if one statement needs more than `limit` bytes besides operands and result."""
    needed = cost_of(stage).temporary
    if needed > limit:
        how = f"{operation_of(stage)}: {reason_of(stage.value)}"
        help = f"raise the limit, or compute less at a time, by a schedule or in several calls ({how})"
        raise _too_much(stage, needed, limit, help)


def _too_much(stage: Compute, needed: int, limit: int, help: str) -> CompileError:
    name = ir.plain_name(stage.target)
    return CompileError(
        Code.MEMORY_LIMIT,
        f"`{name}` needs {needed} bytes beside its operands and its result, more than memory_limit={limit}",
        stage.statement.span,
        help=help,
    )
