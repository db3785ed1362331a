"""How derivatives of a group of reductions are computed: statements, and what they read beside its operands."""

from dataclasses import dataclass

from .groups import Blocks, Group
from .nests import LoopSchedule
from .nodes import Axes
from .stages import Compute

# Names that no program can use: of the result of a nest, of its cotangent, and of the tangent that is computed.
RESULT, COTANGENT, TANGENT = "result.", "cotangent.", "tangent."


def tangent_name(operand: str) -> str:
    """The name of the tangent of an operand."""
    return f"t.{operand}"


def cotangent_name(sum: int) -> str:
    """The name of what a sum of a group receives."""
    return f"{COTANGENT}{sum or ''}"


@dataclass(frozen=True, slots=True)
class Run:
    """A group and how its loops run.

    `results` are the numbers of those results that are wanted, `beside` others that derivatives read, by name. What it
    reads is computed once more where it is `behind` a barrier.
    """

    group: Group
    form: LoopSchedule | Blocks
    results: tuple[int, ...]
    beside: tuple[tuple[str, int], ...] = ()
    behind: bool = False


@dataclass(frozen=True, slots=True)
class ByFormula:
    """A result that statements find, of which its derivative reads those that come `before` the last one."""

    before: tuple[Compute, ...]
    value: Compute


@dataclass(frozen=True, slots=True)
class Tangent:
    """The tangent of a result: its `value`, which reads what is computed `before`, the `operands`, and their tangents.

    Where the tensor `single` is 1 everywhere, it is `alone`, which takes much less to compute.
    """

    operands: tuple[str, ...]
    before: tuple[Compute, ...]
    value: Compute
    single: str = ""
    alone: Compute | None = None


@dataclass(frozen=True, slots=True)
class Shift:
    """A sum of ``exp(scores - statistic) * weight``: where the `statistic` grows, the whole sum shrinks by as much.

    It is the number of a result, which has the axes `own` among the `axes` of the sum.
    """

    statistic: int
    own: Axes
    axes: Axes


@dataclass(frozen=True, slots=True)
class Tangents:
    """How the results of a group are computed where their tangents are wanted, and each tangent (None: it is zero).

    `operands` are the names of the group's operands, as the statements have them. Those that are `together` are
    statements of one pass, by the numbers of their results. `shifts` say by how much more a result changes.
    """

    operands: tuple[str, ...]
    run: Run | ByFormula
    changes: tuple[Tangent | None, ...]
    together: tuple[tuple[int, Compute], ...] = ()
    shifts: tuple[Shift | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """What operands receive of the sums with these numbers: statements that are computed together.

    Each comes with the number of its sum and the name of the operand; of the same ones each goes on from the one
    before. They read the sums' cotangents and `operands`. XLA must not compute what two receipts share once, and store
    it.
    """

    sums: tuple[int, ...]
    operands: tuple[str, ...]
    statements: tuple[tuple[int, str, Compute], ...]


@dataclass(frozen=True, slots=True)
class Cotangents:
    """What the operands receive in which the sums of a group are linear, once its statistics are computed.

    `operands` are the names of the group's operands, as the statements have them.
    """

    operands: tuple[str, ...]
    statistics: tuple[LoopSchedule, ...]
    receipts: tuple[Receipt, ...]
