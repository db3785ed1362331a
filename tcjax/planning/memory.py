"""The memory contract: what a statement may allocate beside its arguments and results."""

from typing import Final

from .. import ranges
from ..diagnostics import Code, CompileError
from .cost import cost_of
from .printer import name_of, reason_of
from .stages import Call, Compute, Plan

# A temporary may have so many bytes in any case,
ALWAYS: Final = 16 << 20
# or so many times those of arguments and results together.
TIMES: Final = 4


def allowance(moved: int) -> int:
    """The most bytes that a temporary may have beside arguments and results of `moved` bytes, without another limit."""
    return max(ALWAYS, TIMES * moved)


def check_memory(plan: Plan, limit: int) -> None:
    """Raises `CompileError` (TC0810) for a statement that needs more than `limit` bytes beside operands and result."""
    for stage in plan.stages:
        match stage:
            case Compute():
                needed = cost_of(stage).temporary
                if needed > limit:
                    raise _too_much(stage, needed, limit, plan.bound)
            case Call(plan=inner):
                check_memory(inner, limit)
            case _:
                continue


def _too_much(stage: Compute, needed: int, limit: int, bound: ranges.Bound) -> CompileError:
    how = f"{name_of(stage.value)}: {reason_of(stage.value)}"
    return CompileError(
        Code.MEMORY_LIMIT,
        f"`{stage.target}` needs {needed} bytes beside its operands and its result, more than memory_limit={limit}",
        stage.statement.span,
        help=f"raise the limit, or compute less at a time, by a schedule or in several calls ({how})",
    )
