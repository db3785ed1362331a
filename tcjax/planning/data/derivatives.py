"""How derivatives of a group of reductions are computed: statements, and what they read besides its operands."""

from dataclasses import dataclass

from .groups import Blocks, Group
from .nests import LoopSchedule
from .nodes import Axes
from .stages import Compute

# Names that no program can use: for the result of a nest, for its cotangent, and for its tangent.
RESULT, COTANGENT, TANGENT = "result.", "cotangent.", "tangent."


def tangent_name(operand: str) -> str:
    """The name of the tangent of an operand."""
    return f"t.{operand}"


def cotangent_name(sum: int) -> str:
    """The name of the cotangent of a sum in a group."""
    return f"{COTANGENT}{sum or ''}"


@dataclass(frozen=True, slots=True)
class Run:
    """A group and its loop schedule.

    `results` are the numbers of the results needed, `beside` other arrays that derivatives read, by name. Its operands
    are recomputed `behind` a barrier.
    """

    group: Group
    form: LoopSchedule | Blocks
    results: tuple[int, ...]
    beside: tuple[tuple[str, int], ...] = ()
    behind: bool = False


@dataclass(frozen=True, slots=True)
class ByFormula:
    """A result computed by statements; its derivative reads those that come `before` the last one."""

    before: tuple[Compute, ...]
    value: Compute


@dataclass(frozen=True, slots=True)
class Tangent:
    """The tangent of a result: its `value`, which reads the targets of `before`, the `operands`, and their tangents.

    If the tensor `single` is 1 everywhere, the tangent is `alone`, which is much cheaper.
    """

    operands: tuple[str, ...]
    before: tuple[Compute, ...]
    value: Compute
    single: str = ""
    alone: Compute | None = None


@dataclass(frozen=True, slots=True)
class Shift:
    """A sum of ``exp(scores - statistic) * weight``: when the `statistic` grows, the whole sum shrinks accordingly.

    The statistic is given as a result's number; it has the axes `own` among the `axes` of the sum.
    """

    statistic: int
    own: Axes
    axes: Axes


@dataclass(frozen=True, slots=True)
class Tangents:
    """How the results of a group are computed when their tangents are needed, and each tangent (None if it is zero).

    `operands` are the names of the group's operands in the statements. `together` lists statements that run in one
    pass, by result number. `shifts` are additional terms of a result's tangent.
    """

    operands: tuple[str, ...]
    run: Run | ByFormula
    changes: tuple[Tangent | None, ...]
    together: tuple[tuple[int, Compute], ...] = ()
    shifts: tuple[Shift | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """The cotangents of operands from the sums with these numbers: statements that are computed together.

    Each comes with its sum's number and the operand's name; several for the same operand accumulate. They read the
    sums' cotangents and `operands`. XLA must not compute subexpressions shared by two receipts once, and store them.
    """

    sums: tuple[int, ...]
    operands: tuple[str, ...]
    statements: tuple[tuple[int, str, Compute], ...]


@dataclass(frozen=True, slots=True)
class Cotangents:
    """The cotangents of the operands in which the sums of a group are linear, once its statistics are computed.

    `operands` are the names of the group's operands in the statements.
    """

    operands: tuple[str, ...]
    statistics: tuple[LoopSchedule, ...]
    receipts: tuple[Receipt, ...]
