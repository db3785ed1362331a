"""Whole-tensor calls: ``O1, O2 = f(A, B)``, of another definition or of a Python function."""

from collections.abc import Callable

from .. import ir
from ..diagnostics import Code, CompileError, Span, phrases
from ..ir.builtins import BUILTINS
from ..symbolic import Affine, IndexVar
from ..syntax import ast
from .literals import settle
from .outputs import Outputs
from .scope import RESERVED, Environment, local_shape
from .signature import Argument
from .spelling import counted, did_you_mean

# Elaborates another definition of the text for arguments of these types.
Callee = Callable[[ast.Definition, tuple[Argument, ...], Span], ir.Function]


def as_call(node: ast.Assign | ast.CallAssign, environment: Environment) -> ast.CallAssign | None:
    """The statement as a whole-tensor call, None if it is an ordinary one.

    ``O = f(A)`` is a call if `f` is a definition, or a Python function whose arguments are all names of tensors:
    applied to scalars, ``o = f(a + 1.0)``, it is part of an expression.
    """
    if isinstance(node, ast.CallAssign):
        return node
    if node.reducer is not None or node.indices or not isinstance(node.value, ast.Apply):
        return None
    name, arguments = node.value.function, node.value.arguments
    if name in environment.tensors or name in ("min", "max"):
        return None
    tensors = [environment.tensors.get(a.id) if isinstance(a, ast.Name) else None for a in arguments]
    if name in BUILTINS and name not in environment.functions:
        if name not in environment.definitions or not any(tensor is not None and tensor.rank for tensor in tensors):
            return None
        if name in RESERVED:
            raise CompileError(
                Code.RESERVED_NAME,
                f"`{name}` is a builtin function, so the definition of that name cannot be called",
                node.value.span,
                help=f"give the definition another name, such as `my_{name}`",
            )
    call = ast.CallAssign((node.target,), name, arguments, span=node.span)
    if name in environment.functions:
        if None in tensors and not any(tensor is not None and tensor.rank for tensor in tensors):
            return None
    elif name not in environment.definitions:
        return None
    if any(isinstance(clause, ast.RangeClause) and clause.is_loop for clause in node.where):
        return call
    if node.where or node.equivalent is not None:
        raise CompileError(
            Code.NOT_IN_THE_NOTATION,
            "a call on whole tensors has no `where` and no `<=>`",
            node.span,
            help="put the clauses on a statement that reads the result",
        )
    return call


def call(node: ast.CallAssign, outputs: Outputs, elaborate: Callee, number: int) -> list[ir.Statement]:
    """The call, followed by a conversion statement for each result whose type differs from its target's.

    `number` is the statement's, to distinguish the intermediate tensors.
    """
    environment = outputs.environment
    for position, target in enumerate(node.targets):
        outputs.refuse(target, node.span.part(target))
        if target in node.targets[:position]:
            raise CompileError(
                Code.ALREADY_DEFINED,
                f"`{target}` appears twice on the left",
                node.span.part(target),
                help="name each result once",
            )
    definition = environment.definitions.get(node.function)
    foreign = environment.functions.get(node.function)
    if definition is None and foreign is None:
        raise CompileError(
            Code.UNKNOWN_FUNCTION,
            f"there is no definition and no function `{node.function}`",
            node.span.part(node.function),
            help=did_you_mean(
                node.function,
                (*environment.definitions, *environment.functions),
                f'add `def {node.function}(...)` to the text, or give `fns={{"{node.function}": ...}}`',
            ),
        )
    tensors = tuple([_argument(argument, node.function, environment) for argument in node.arguments])
    arguments = tuple([Argument(tensor.dtype, tensor.rank) for tensor in tensors])
    if definition is not None:
        function = elaborate(definition, arguments, node.span)
        results = tuple([Argument(tensor.dtype, tensor.rank) for tensor in function.returns])
    else:
        assert foreign is not None
        function, results = None, foreign.whole(arguments)
    if len(results) != len(node.targets):
        raise CompileError(
            Code.WRONG_ARGUMENT_COUNT,
            f"`{node.function}` gives {counted(len(results), 'tensor')}, but the left side names {len(node.targets)}",
            node.span,
            help=f"write {counted(len(results), 'name')} before the `=`",
        )
    targets: list[ir.Tensor] = []
    conversions: list[ir.Statement] = []
    for name, result in zip(node.targets, results, strict=True):
        is_new = name not in environment.tensors
        target = outputs.write(name, result.rank, result.dtype, node.span)
        if is_new and target.dtype == result.dtype:
            targets.append(target)
        else:
            given = f"{name}.call{number}"
            targets.append(ir.Tensor(given, result.dtype, local_shape(given, result.rank), span=node.span))
            conversions.append(_copy(targets[-1], target, node.span))
    if function is not None:
        return [ir.Invoke(tuple(targets), function, tensors, span=node.span), *conversions]
    return [ir.ApplyForeign(tuple(targets), node.function, tensors, span=node.span), *conversions]


def check_arguments(definition: ast.Definition, arguments: tuple[Argument, ...], span: Span) -> dict[str, Argument]:
    """The arguments by parameter name. Raises TC0503, TC0502 and TC0305 where they do not fit."""
    parameters = definition.parameters or ()
    if len(parameters) != len(arguments):
        raise CompileError(
            Code.WRONG_ARGUMENT_COUNT,
            f"`{definition.name}` takes {counted(len(parameters), 'tensor')}, but got {len(arguments)}",
            span.applied(definition.name),
            help=f"give it {', '.join(f'`{parameter.name}`' for parameter in parameters) or 'nothing'}",
        )
    return {parameter.name: argument for parameter, argument in zip(parameters, arguments, strict=True)}


def check_declared(parameter: ir.Tensor, argument: Argument, function: str, span: Span) -> None:
    """Raises TC0502 and TC0305 if an argument differs from the parameter's declaration."""
    if parameter.rank != argument.rank:
        raise CompileError(
            Code.ARGUMENT_RANK,
            f"`{parameter.name}` of `{function}` has {counted(parameter.rank, 'dimension')}, "
            f"the argument has {argument.rank}",
            span,
            help="compute a tensor of the right rank first, in a separate statement",
        )
    if parameter.dtype != argument.dtype:
        raise CompileError(
            Code.ARGUMENT_TYPE,
            f"`{parameter.name}` of `{function}` is {parameter.dtype}, but the argument is {argument.dtype}",
            span,
            help=f"convert it first, in a separate statement: `T(...) = {parameter.dtype}(...)`",
        )


def _argument(node: ast.Expr, function: str, environment: Environment) -> ir.Tensor:
    if isinstance(node, ast.Name):
        name = node.id
        if name in environment.tensors:
            return environment.tensors[name]
        if name in environment.written:
            raise CompileError(
                Code.READ_BEFORE_DEFINITION,
                f"`{name}` is used before a statement defines it",
                node.span,
                help=f"move the statement that writes `{name}` up",
            )
        if name not in environment.sizes:
            raise CompileError(
                Code.UNDEFINED_NAME,
                f"there is no tensor `{name}` here",
                node.span,
                help=did_you_mean(name, environment.tensors, "name a parameter, or what a statement above defines"),
            )
    raise CompileError(
        Code.NOT_IN_THE_NOTATION,
        f"`{function}` takes whole tensors, by name",
        node.span,
        help="name it first: write the expression as a statement "
        f"`{phrases.element('T', ['i'], node.span)} = ...`, and pass `T`",
    )


def _copy(source: ir.Tensor, target: ir.Tensor, span: Span) -> ir.Define:
    indices = tuple([Affine.of(IndexVar(f"i{dimension}")) for dimension in range(source.rank)])
    return ir.Define(target, indices, settle(ir.Access(source, indices, span=span), target.dtype), span=span)
