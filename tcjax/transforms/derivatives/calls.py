"""Inlined calls, and new names for a function's local tensors."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from ... import ir
from ...symbolic import Affine, Size, SizeVar
from ..callees import Place, loops_from, placed


def targets(statement: ir.Statement) -> tuple[str, ...]:
    """The names of the tensors that the statement writes."""
    return tuple([target.name for target in ir.targets(statement)])


class Namer:
    """Names that are not in use yet."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)

    def new(self, name: str) -> str:
        number, found = 0, name
        while found in self.taken:
            number += 1
            found = f"{name}_{number}"
        self.taken.add(found)
        return found


# Marks the copies that pass arguments and results: this guard always holds.
AS_PASSED: Final = ir.Domain(guard=ir.Const(True, "bool"))


def inlined(function: ir.Function, namer: Namer) -> ir.Function:
    """The function with its calls inlined."""
    if not any(isinstance(statement, ir.Invoke) for statement in function.statements):
        return function
    statements: list[ir.Statement] = []
    declared = list(function.declared)
    loops: list[ir.Loop] = []
    for number, statement in enumerate(function.statements):
        loops += loops_from(function.loops, number, len(statements))
        if not isinstance(statement, ir.Invoke):
            statements.append(statement)
            continue
        callee = inlined(statement.function, namer)
        tensors: dict[str, ir.Tensor] = {}
        sizes: dict[SizeVar, Size] = {}
        for parameter, argument in zip(callee.parameters, statement.arguments, strict=True):
            # A call passes elements numbered from 0, wherever the argument begins.
            local = replace(argument, name=namer.new(f"{statement.function.name}_{parameter.name}"))
            tensors[parameter.name] = local
            statements.append(_passed(argument, local))
            for size, extent in zip(parameter.shape, argument.shape, strict=True):
                match size.terms:
                    case (((SizeVar() as variable,), 1),):
                        sizes.setdefault(variable, extent)
                    case _:
                        pass
        for inner in callee.statements:
            for target in ir.targets(inner):
                if target.name not in tensors:
                    name = namer.new(f"{statement.function.name}_{target.name}")
                    sizes |= _own_sizes(target, name)
                    tensors[target.name] = replace(target, name=name)
        tensors = {name: replace(t, shape=_shape(t.shape, sizes)) for name, t in tensors.items()}
        declared += [tensors[tensor.name] for tensor in callee.declared]
        for inner in range(len(callee.statements)):
            loops += loops_from(callee.loops, inner, len(statements) + inner)
        statements += _placed(callee.statements, tensors, sizes)
        for target, result in zip(statement.targets, callee.returns, strict=True):
            statements.append(_passed(tensors[result.name], target))
    return replace(function, statements=tuple(statements), declared=tuple(declared), loops=tuple(loops))


def passed_on(function: ir.Function) -> Iterator[ir.Tensor]:
    """What the statements copy that replace calls."""
    for statement in function.statements:
        match statement:
            case ir.Define(_, indices, ir.Access(source, same), domain) if indices == same and domain == AS_PASSED:
                yield source
            case _:
                pass


def _passed(source: ir.Tensor, target: ir.Tensor) -> ir.Define:
    """``target(i) = source(i)``; the names of its sizes do not change."""
    indices = tuple(map(Affine.of, ir.letters(target.rank)))
    return ir.Define(target, indices, ir.Access(source, indices), AS_PASSED)


def _own_sizes(target: ir.Tensor, name: str) -> dict[SizeVar, Size]:
    """The extents and first subscripts of a tensor under a new name."""
    sizes: dict[SizeVar, Size] = {}
    for dimension in range(target.rank):
        sizes[SizeVar(f"{target.name}.{dimension}")] = Size.of(SizeVar(f"{name}.{dimension}"))
        sizes[ir.first_of(target.name, dimension)] = Size.of(ir.first_of(name, dimension))
    return sizes


def with_sizes(statement: ir.Statement, sizes: Mapping[SizeVar, Size]) -> ir.Statement:
    """The statement with the sizes replaced that it uses as values or in subscripts."""
    tensors = {target.name: target for target in ir.targets(statement)}
    if isinstance(statement, (ir.Define, ir.Accumulate)):
        tensors |= {access.tensor.name: access.tensor for part in _parts(statement) for access in ir.accesses(part)}
    else:
        tensors |= {argument.name: argument for argument in statement.arguments}
    return _placed((statement,), tensors, sizes)[0]


def _parts(statement: ir.Define | ir.Accumulate) -> tuple[ir.Expr, ...]:
    return *ir.parts_of(statement), *statement.domain.exists


def _placed(
    statements: Iterable[ir.Statement], tensors: Mapping[str, ir.Tensor], sizes: Mapping[SizeVar, Size]
) -> list[ir.Statement]:
    places = {name: Place(tensor) for name, tensor in tensors.items()}
    return [placed(statement, places, sizes) for statement in statements]


def _shape(shape: tuple[Size, ...], sizes: Mapping[SizeVar, Size]) -> tuple[Size, ...]:
    return tuple([size.substitute(sizes) for size in shape])


def apart(function: ir.Function, wanted: Collection[str], namer: Namer) -> ir.Function:
    """The same function with new names for the local tensors that are `wanted`, and names for unnamed sizes."""
    inputs = {parameter.name for parameter in function.parameters}
    tensors = {tensor.name: tensor for tensor in function.parameters}
    sizes: dict[SizeVar, Size] = {}
    for parameter in function.parameters:
        for size in parameter.shape:
            for variable in size.variables():
                if "." in variable.name:
                    sizes.setdefault(variable, Size.of(SizeVar(namer.new(variable.name.replace(".", "_")))))
    for statement in function.statements:
        for target in ir.targets(statement):
            if target.name not in tensors:
                name = namer.new(target.name) if target.name in wanted else target.name
                if name != target.name:
                    sizes = {**_own_sizes(target, name), **sizes}
                tensors[target.name] = replace(target, name=name)
    tensors = {name: replace(t, shape=_shape(t.shape, sizes)) for name, t in tensors.items()}
    assert inputs <= tensors.keys()

    def each(found: Iterable[ir.Tensor]) -> tuple[ir.Tensor, ...]:
        return tuple([tensors[tensor.name] for tensor in found])

    return replace(
        function,
        parameters=each(function.parameters),
        returns=each(function.returns),
        statements=tuple(_placed(function.statements, tensors, sizes)),
        initial=each(function.initial),
        declared=each(function.declared),
    )


def names_in(function: ir.Function) -> Collection[str]:
    """The names of tensors, sizes and functions."""
    names = {tensor.name for tensor in (*function.parameters, *function.returns, *function.declared)}
    for tensor in (*function.parameters, *function.returns, *function.declared):
        names |= {variable.name for size in tensor.shape for variable in size.variables()}
    for statement in function.statements:
        names |= {target.name for target in ir.targets(statement)}
        if isinstance(statement, ir.Invoke):
            names |= {*names_in(statement.function), statement.function.name}
    return names
