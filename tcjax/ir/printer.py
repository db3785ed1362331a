"""Typed index notation as text."""

from typing import assert_never

from .conditions import is_padded
from .expressions import (
    Access,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Extent,
    Foreign,
    Index,
    Range,
    Reduce,
    Select,
    Tensor,
    Unary,
)
from .statements import Accumulate, ApplyForeign, Define, Domain, Function, Invoke, Statement


def show(function: Function) -> str:
    """The function with one statement per line and explicit types."""
    lines = [
        f"function {function.name}({', '.join(map(show_tensor, function.parameters))})"
        f" -> ({', '.join(map(show_tensor, function.returns))})"
    ]
    for number, statement in enumerate(function.statements):
        around = function.around(number)
        opened = [loop for loop in around if loop.first == number]
        for depth, loop in enumerate(opened, start=len(around) - len(opened) + 1):
            lines.append(f"{'  ' * depth}for {loop.index} by {loop.step}:")
        lines += ["  " * (len(around) + 1) + line for line in show_statement(statement).splitlines()]
    return "\n".join(lines)


def show_tensor(tensor: Tensor) -> str:
    return f"{tensor.name}: {tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


def show_statement(statement: Statement) -> str:
    match statement:
        case Define(target, indices, value, domain):
            return f"{_subscripted(target, indices)} = {show_expr(value)}{_show_domain(domain)}"
        case Accumulate(target, indices, reducer, restart, reduction, value, accumulate, domain):
            first = "" if restart else f"{_subscripted(target, indices)} then "
            kept = "" if accumulate == value.dtype else f" in {accumulate}"
            reduced = f"{reducer.value}[{', '.join(map(str, reduction))}] {show_expr(value)}"
            return f"{_subscripted(target, indices)} = {first}{reduced}{kept}{_show_domain(domain)}"
        case Invoke(targets, function, arguments):
            inner = "\n".join(f"  {line}" for line in show(function).splitlines())
            return f"{_names(targets)} = {function.name}({_names(arguments)}) with\n{inner}"
        case ApplyForeign(targets, function, arguments, frame):
            cells = f" at every cell of the first {frame} dimensions" if frame else ""
            return f"{_names(targets)} = python {function}({_names(arguments)}){cells}"
        case _:
            assert_never(statement)


def show_expr(expr: Expr) -> str:
    """The expression as text, its operators bracketed: ``sum[k] (A[m, k] * B[k, n])``."""
    match expr:
        case Const(value, dtype):
            return f"{value}:{dtype}" if dtype not in ("float32", "int32", "bool") else f"{value}"
        case Extent(size):
            text = str(size)
            return f"({text})" if " " in text else text
        case Index(variable):
            return str(variable)
        case Access(tensor, indices):
            return _subscripted(tensor, indices)
        case Unary(operator, operand):
            return f"{operator}{show_expr(operand)}"
        case Binary("min" | "max" | "quot" | "rem" as operator, left, right):
            return f"{operator}({show_expr(left)}, {show_expr(right)})"
        case Binary(operator, left, right):
            return f"({show_expr(left)} {operator} {show_expr(right)})"
        case Call(function, arguments):
            return f"{function}({', '.join(map(show_expr, arguments))})"
        case Foreign(function, arguments):
            return f"python {function}({', '.join(map(show_expr, arguments))})"
        case Cast(operand, dtype):
            return f"{dtype}({show_expr(operand)})"
        case Select(_, then, otherwise) if is_padded(expr):
            return f"pad({show_expr(then)}, {show_expr(otherwise)})"
        case Select(condition, then, otherwise):
            return f"({show_expr(condition)} ? {show_expr(then)} : {show_expr(otherwise)})"
        case Reduce(reducer, indices, ranges, guard, body, rank, _accumulate, _dtype):
            given = "".join(f", {_show_range(r)}" for r in ranges)
            where = "" if guard is None else f" where {show_expr(guard)}"
            last = "" if rank is None else f", {show_expr(rank)}"
            return f"{reducer.value}[{', '.join(map(str, indices))}{given}{where}]({show_expr(body)}{last})"
        case _:
            assert_never(expr)


def _show_domain(domain: Domain) -> str:
    clauses = [_show_range(r) for r in domain.ranges]
    if domain.guard is not None:
        clauses.append(show_expr(domain.guard))
    clauses += [f"exists {show_expr(e)}" for e in domain.exists]
    return f" where {', '.join(clauses)}" if clauses else ""


def _show_range(given: Range) -> str:
    return f"{given.index} in {given.lo}:{given.hi}"


def _subscripted(tensor: Tensor, indices: tuple[object, ...]) -> str:
    return f"{tensor.name}[{', '.join(map(str, indices))}]"


def _names(tensors: tuple[Tensor, ...]) -> str:
    return ", ".join(tensor.name for tensor in tensors)
