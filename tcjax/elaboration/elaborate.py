"""From a tree to typed index notation."""

from collections.abc import Callable, Mapping
from typing import assert_never

from .. import ir
from ..diagnostics import Code, CompileError, CompileWarning, Span, warn
from ..ir import types
from ..symbolic import SizeVar
from ..syntax import ast
from .calls import as_call, call, check_arguments, check_declared
from .loops import check_loops, expect, loops, refuse_call, refuse_initial
from .outputs import Outputs, declare_input, declared_type
from .scope import Environment, local_shape
from .signature import Argument, ForeignFunction
from .spelling import counted, did_you_mean
from .statements import assign
from .uses import completed, ranks_from_uses

_MAX_CALLS_DEEP = 24
_MAX_STATEMENTS = 10_000
# Types are found in one or two rounds; after this many, types only grow, which guarantees an end.
_FREE_ROUNDS = 6


def elaborate(
    definition: ast.Definition,
    program: ast.Program,
    signature: Mapping[str, Argument],
    functions: Mapping[str, ForeignFunction],
    accumulate: str | None = None,
    report: Callable[[CompileWarning], None] = warn,
) -> ir.Function:
    """The definition with every name resolved and every type known.

    `signature` gives the types of undeclared parameters, `functions` are the Python functions it may call, and
    `accumulate` is the type in which floating-point sums run. Warnings go to `report`. Raises `CompileError`.
    """
    function, warnings = elaborated(definition, program, signature, functions, accumulate)
    for warning in warnings:
        report(warning)
    return function


def elaborated(
    definition: ast.Definition,
    program: ast.Program,
    signature: Mapping[str, Argument],
    functions: Mapping[str, ForeignFunction],
    accumulate: str | None,
) -> tuple[ir.Function, list[CompileWarning]]:
    """What `elaborate` returns, with the warnings that it reports."""
    if accumulate is not None and accumulate not in types.SCALARS:
        raise CompileError(
            Code.BAD_OPTION,
            f"accumulate={accumulate!r} is not a scalar type",
            definition.span,
            help=did_you_mean(accumulate, types.SCALARS, 'write accumulate="float32", for instance'),
        )
    elaboration = _Elaboration(program, functions, accumulate)
    try:
        function = elaboration.function(definition, signature)
    except RecursionError:
        # Parsers limit the depth of expressions; this check is for trees from elsewhere.
        raise CompileError(
            Code.TOO_DEEP,
            f"`{definition.name}` nests too deeply",
            definition.span,
            help="compute parts of its expressions in separate statements",
        ) from None
    ir.verify(function)
    return function, list(elaboration.warnings.values())


class _Elaboration:
    """One call of `elaborate`: the definition and its callees, each elaborated once per argument types."""

    def __init__(self, program: ast.Program, functions: Mapping[str, ForeignFunction], accumulate: str | None) -> None:
        self.definitions: dict[str, ast.Definition] = {}
        for definition in program.definitions:
            self.definitions.setdefault(definition.name, definition)
        self.functions = functions
        self.accumulate = accumulate
        self.warnings: dict[tuple[str, int, int], CompileWarning] = {}
        self._active: list[str] = []
        self._known: dict[tuple[str, tuple[Argument, ...]], ir.Function] = {}
        # Number of statements of a callee, including those of its own callees, by `id`.
        self._lengths: dict[int, int] = {}

    def function(self, definition: ast.Definition, signature: Mapping[str, Argument]) -> ir.Function:
        definition = completed(definition, self.functions)
        assumed: dict[str, str] = {}
        self._active.append(definition.name)
        round_number = 0
        while True:
            warnings = dict(self.warnings)
            outputs, function = self._round(definition, signature, assumed)
            if outputs.settled:
                break
            self.warnings = warnings
            round_number += 1
            found = outputs.types
            if round_number > _FREE_ROUNDS:
                found = {name: types.join(dtype, assumed.get(name, dtype)) for name, dtype in found.items()}
                if found == assumed:
                    break
            assumed = found
        self._active.pop()
        return function

    def _round(
        self, definition: ast.Definition, signature: Mapping[str, Argument], assumed: Mapping[str, str]
    ) -> tuple[Outputs, ir.Function]:
        environment = Environment(_written(definition), self.definitions, self.functions, self.accumulate, self._warn)
        parameters = _parameters(definition, signature, environment)
        outputs = Outputs(environment, frozenset(environment.tensors), assumed)
        for given in definition.returns:
            if given.type is not None:
                outputs.annotate(given.name, given.type, given.span)
        statements: list[ir.Statement] = []
        leaves, runs = ast.flattened(definition.body)
        check_loops(runs, leaves)
        begins: list[int] = []
        for number, statement in enumerate(leaves):
            begins.append(len(statements))
            expect(number, leaves, runs, outputs)
            match statement:
                case ast.Declare(name, type):
                    _declare(statement, name, type, outputs)
                case ast.Assign() | ast.CallAssign():
                    whole = as_call(statement, environment)
                    if whole is not None:
                        refuse_call(whole, number, runs)
                        statements += call(whole, outputs, self._callee, number)
                    else:
                        assert isinstance(statement, ast.Assign)
                        statements.append(assign(statement, outputs))
                case _:
                    assert_never(statement)
        refuse_initial(runs, leaves, outputs)
        returns = tuple([_returned(given, environment) for given in definition.returns])
        initial = tuple([environment.tensors[name] for name in outputs.initial])
        declared = tuple(
            [tensor for name, tensor in outputs.annotated.items() if environment.tensors.get(name) is tensor]
        )
        function = ir.Function(
            definition.name,
            parameters,
            returns,
            tuple(statements),
            initial,
            declared,
            _free_sizes(parameters, environment),
            loops(runs, [*begins, len(statements)]),
            span=definition.span,
        )
        return outputs, function

    def _callee(self, definition: ast.Definition, arguments: tuple[Argument, ...], span: Span) -> ir.Function:
        name = definition.name
        if name in self._active:
            circle = " -> ".join([*self._active[self._active.index(name) :], name])
            raise CompileError(
                Code.RECURSIVE_CALL,
                f"`{name}` calls itself: {circle}",
                span,
                help="definitions cannot be recursive; write the repetition as statements",
            )
        known = self._known.get((name, arguments))
        if known is None:
            if len(self._active) >= _MAX_CALLS_DEEP:
                raise _too_many_calls(name, span)
            definition = completed(definition, self.functions)
            signature = check_arguments(definition, arguments, span)
            known = self.function(definition, signature)
            for parameter, argument in zip(known.parameters, arguments, strict=True):
                check_declared(parameter, argument, name, span)
            inner = [self._lengths[id(s.function)] for s in known.statements if isinstance(s, ir.Invoke)]
            self._known[name, arguments] = known
            self._lengths[id(known)] = len(known.statements) + sum(inner)
        if self._lengths[id(known)] > _MAX_STATEMENTS:
            raise _too_many_calls(name, span)
        return known

    def _warn(self, code: Code, message: str, span: Span, help: str) -> None:
        self.warnings[message, span.line, span.column] = CompileWarning(code, message, span, help=help)


def _written(definition: ast.Definition) -> dict[str, int | None]:
    """The rank of every target, by its first statement; None if a call determines it."""
    written: dict[str, int | None] = {}
    for statement in definition.leaves:
        match statement:
            case ast.Assign(target, indices, value=value):
                is_call = not indices and isinstance(value, ast.Apply)
                written.setdefault(target, None if is_call else len(indices or ()))
            case ast.CallAssign(targets):
                for target in targets:
                    written.setdefault(target, None)
            case ast.Declare():
                continue
            case _:
                assert_never(statement)
    return written


def _parameters(
    definition: ast.Definition, signature: Mapping[str, Argument], environment: Environment
) -> tuple[ir.Tensor, ...]:
    parameters = definition.parameters
    assert parameters is not None
    is_open = any(parameter.type is None for parameter in parameters)
    ranks = ranks_from_uses(definition, environment.functions) if is_open else {}
    for parameter in parameters:
        name, span = parameter.name, parameter.span
        if parameter.type is not None:
            dtype, shape = declared_type(parameter.type, environment)
        else:
            argument = signature[name]
            if ranks.get(name, argument.rank) != argument.rank:
                raise CompileError(
                    Code.ARGUMENT_RANK,
                    f"`{name}` is used with {counted(ranks[name], 'subscript')}, but the argument has "
                    f"{counted(argument.rank, 'dimension')}",
                    span,
                    help=f"pass an array of {counted(ranks[name], 'dimension')}"
                    + (f"; the order is {', '.join(p.name for p in parameters)}" if len(parameters) > 1 else ""),
                )
            dtype, shape = argument.dtype, local_shape(name, argument.rank)
        declare_input(name, ir.Tensor(name, dtype, shape, span=span), environment)
    return tuple(environment.tensors.values())


def _declare(node: ast.Declare, name: str, type: ast.TensorType, outputs: Outputs) -> None:
    outputs.refuse(name, node.span.part(name))
    if name in outputs.annotated or name in outputs.environment.tensors:
        raise CompileError(
            Code.ALREADY_DEFINED,
            f"`{name}` is defined already",
            node.span.part(name),
            help="declare a tensor once, before the first statement that writes it",
        )
    outputs.annotate(name, type, node.span)


def _returned(given: ast.Parameter, environment: Environment) -> ir.Tensor:
    tensor = environment.tensors.get(given.name)
    if tensor is None:
        raise CompileError(
            Code.OUTPUT_NEVER_DEFINED,
            f"no statement defines `{given.name}`, which is returned",
            given.span,
            help=did_you_mean(given.name, environment.tensors, f"add a statement that writes `{given.name}`"),
        )
    return tensor


def _free_sizes(parameters: tuple[ir.Tensor, ...], environment: Environment) -> tuple[SizeVar, ...]:
    bound = frozenset().union(*[size.variables() for parameter in parameters for size in parameter.shape])
    return tuple([SizeVar(name) for name in environment.sizes if SizeVar(name) not in bound])


def _too_many_calls(name: str, span: Span) -> CompileError:
    return CompileError(
        Code.TOO_DEEP,
        f"`{name}` makes too many calls once they are inlined",
        span,
        help="split the text into separate kernels, and call them from Python",
    )
