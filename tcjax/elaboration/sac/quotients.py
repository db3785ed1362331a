"""The trap of C's division: ``1 / 2 * x`` rounds the quotient of two ints before it becomes a float."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from ...diagnostics import Code
from ...ir import types
from ...syntax.sac import tree
from ..quotients import divided
from .arrays import Array, Kind, Ragged, dtype_of_kind, is_int
from .draft import Draft

Found = TypeVar("Found", Array, Ragged, Array | Ragged)


def is_exact(node: tree.Expr) -> bool:
    """Whether it divides a number by one of its divisors."""
    match node:
        case tree.Binary("/", tree.Number(int(left)), tree.Number(int(right))):
            return right != 0 and left % right == 0
        case _:
            return False


def with_division(found: Found, node: tree.Comprehension) -> Found:
    """The ints of a comprehension, marked with the division that computed them in the body."""
    if not is_int(found.kind):
        return found
    pending = [partition.body for partition in node.partitions]
    while pending:
        match pending.pop():
            case tree.Binary("/") as division if not is_exact(division):
                return replace(found, quotient=division.span)
            case tree.Binary("+" | "-" | "*", left, right):
                pending += (right, left)
            case tree.Unary("-", operand):
                pending.append(operand)
            case _:
                pass
    return found


def made_of(found: Found, operands: Sequence[Array | Ragged], draft: Draft, taken: Kind | None = None) -> Found:
    """A value computed from operands, taken as one kind: ints stay marked with the division that computed them."""
    heed(operands, found.kind if taken is None else taken, draft)
    quotient = next((operand.quotient for operand in operands if operand.quotient is not None), None)
    return replace(found, quotient=quotient) if quotient is not None and is_int(found.kind) else found


def heed(operands: Sequence[Array | Ragged], taken: Kind, draft: Draft) -> None:
    """Warns of quotients of ints that become floats."""
    dtype = dtype_of_kind(taken)
    if not (types.is_float(dtype) or types.is_complex(dtype)):
        return
    for operand in operands:
        if operand.quotient is not None and is_int(operand.kind):
            span = operand.quotient
            text = span.text.strip()
            draft.warn(
                Code.INTEGER_DIVISION,
                f"`{text}` divides ints, so it is rounded towards 0 before it becomes a float",
                span,
                f"for the quotient write `{divided(text)}`; if rounding is meant, convert it: `tof({text})`",
            )
