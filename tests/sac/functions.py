"""Functions of the text: arguments against type patterns, guards, several results; and lets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tcjax.syntax.sac import tree

from .scope import Scope
from .values import Operand, SacError, cast, check_condition, integers, join, known

Bound = dict[str, int | tuple[int, ...]]


def invoke(function: tree.Function, operands: Sequence[Operand], scope: Scope) -> list[Operand]:
    """The results of a call. Patterns and guards that do not hold are errors here."""
    if len(operands) != len(function.parameters):
        raise SacError("rank", f"{function.name} takes {len(function.parameters)} arguments")
    arguments = {
        parameter.name: typed(operand, parameter.type, parameter.name)
        for parameter, operand in zip(function.parameters, operands, strict=True)
    }
    place = Scope({**arguments}, scope.expression, scope.functions, scope.foreign, scope.strict, scope.uncertain)
    bound: Bound = {}
    solve([(p.type, arguments[p.name].shaped().shape) for p in function.parameters], bound, arguments)
    place = place.binding(**{name: known(integers(extents)) for name, extents in bound.items()})
    for guard in function.guards:
        operand = place.operand(guard)
        check_condition(operand, "a guard")
        if not operand.demand().data:
            raise SacError("shape", f"a guard of {function.name} does not hold")
    inner = lets(function.lets, place)
    results = [
        typed(inner.operand(expression), pattern, "the result")
        for expression, pattern in zip(function.returns, function.results, strict=True)
    ]
    solve(
        [(pattern, result.shaped().shape) for pattern, result in zip(function.results, results, strict=True)],
        bound,
        arguments,
    )
    return results


def typed(operand: Operand, pattern: tree.TypePattern, what: str) -> Operand:
    """The operand as the scalar type of the pattern: literals adapt, ints become floats."""
    found = operand.shaped()
    declared = pattern.scalar
    if (declared == "bool") != (found.scalar == "bool") or (
        join(declared, found.scalar) != declared and not (found.weak and found.kind == "float" and "float" in declared)
    ):
        raise SacError("type", f"{what} is {found.scalar}, not {declared}")
    return operand if found.scalar == declared and not found.weak else cast(operand, declared)


def solve(pairs: list[tuple[tree.TypePattern, tuple[int, ...]]], bound: Bound, arguments: dict[str, Operand]) -> None:
    """Matches shapes with patterns, each as soon as at most one of its parts has an unknown number of axes."""
    pending = list(pairs)
    while pending:
        solvable = [pair for pair in pending if sum(count is None for count in counts(pair[0], bound, arguments)) < 2]
        if not solvable:
            raise SacError("bound", "type patterns that do not say which axes are whose")
        match_shape(*solvable[0], bound, arguments)
        pending.remove(solvable[0])


def counts(pattern: tree.TypePattern, bound: Bound, arguments: dict[str, Operand]) -> list[int | None]:
    """How many axes each part of a pattern stands for; None where it is open."""
    return [
        1
        if isinstance(axis, tree.Axis)
        else axis.count
        if isinstance(axis.count, int)
        else number(axis.count, bound, arguments)
        for axis in pattern.axes
    ]


def number(name: str | None, bound: Bound, arguments: dict[str, Operand]) -> int | None:
    """The value of a name, as far as patterns or scalar arguments say it."""
    if name is None:
        return None
    if name in arguments:
        return int(arguments[name].demand().data)
    found = bound.get(name)
    return found if isinstance(found, int) else None


def match_shape(pattern: tree.TypePattern, shape: tuple[int, ...], bound: Bound, arguments: dict[str, Operand]) -> None:
    """Binds the names of the pattern, or compares with what they are bound to."""
    lengths = counts(pattern, bound, arguments)
    fixed = sum(length for length in lengths if length is not None)
    rest = len(shape) - fixed
    if rest < 0 or (rest and None not in lengths):
        raise SacError("rank", f"rank {len(shape)} does not fit the pattern")
    left = list(shape)
    for axis, length in zip(pattern.axes, lengths, strict=True):
        taken = tuple(left.pop(0) for _ in range(rest if length is None else length))
        match axis:
            case tree.Axis(extent):
                agree(extent, taken[0], bound, arguments)
            case tree.Axes(count, least, name):
                if len(taken) < least:
                    raise SacError("rank", f"{len(taken)} axes, at least {least} are needed")
                if isinstance(count, str):
                    agree(count, len(taken), bound, arguments)
                agree(name, taken, bound, arguments)


def agree(said: str | int | None, found: int | tuple[int, ...], bound: Bound, arguments: dict[str, Operand]) -> None:
    """An extent, or a vector of them, is what the pattern says; a new name is bound to it."""
    if said is None:
        return
    if isinstance(said, int):
        expected: int | tuple[int, ...] = said
    elif said in arguments:
        expected = tuple(np.atleast_1d(arguments[said].demand().data).tolist())
        found = found if isinstance(found, tuple) else (found,)
    else:
        expected = bound.setdefault(said, found)
    if expected != found:
        raise SacError("shape", f"extent {found} where the pattern says {expected}")


# ---------------------------------------------------------------- lets and several results


def lets(statements: tuple[tree.Let, ...], scope: Scope) -> Scope:
    """The scope after the statements."""
    for let in statements:
        operands = components(let.value, scope)
        if len(operands) != len(let.names):
            raise SacError("rank", f"{len(let.names)} names for {len(operands)} values")
        for operand in operands:
            operand.shaped()
        scope = scope.binding(**dict(zip(let.names, operands, strict=True)))
    return scope


@dataclass(frozen=True, slots=True)
class Component(tree.Node):
    """One of the results of a call."""

    call: tree.Call
    position: int


def components(node: tree.Expr, scope: Scope) -> list[Operand]:
    """The arrays that an expression stands for: several for a function with several results."""
    count = results(node, scope)
    return [scope.operand(component(node, k) if count > 1 else node) for k in range(count)]


def results(node: tree.Expr, scope: Scope) -> int:
    match node:
        case tree.Comprehension(partitions):
            return results(partitions[-1].body, scope)
        case tree.Call(name) if name in scope.functions:
            return len(scope.functions[name].results)
        case _:
            return 1


def component(node: tree.Expr, position: int) -> tree.Expr:
    match node:
        case tree.Comprehension(partitions):
            return tree.Comprehension(
                tuple(tree.Partition(p.index, component(p.body, position), p.generator) for p in partitions)
            )
        case tree.Call():
            return Component(node, position)  # type: ignore[return-value]
        case _:
            raise SacError("type", "one value where a function gives several")
