"""Functions and statements as definitions of TC."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, assert_never

from ... import ir
from ...elaboration import RESERVED
from ...ir import Reducer
from ...symbolic import Affine, Size, SizeVar
from ...syntax import ast
from ...syntax.tc.spelling import KEYWORDS
from ..names import called, expressions, index_names, statement_indices, unique
from ..refusal import refuse, too_deep
from .tc_expressions import Expressions, Names, is_sayable, write_extent

# Elaboration's name for the result of a call whose type differs from its target's.
_UNCONVERTED: Final = re.compile(r"(.+)\.call\d+")


def to_tc(function: ir.Function) -> ast.Program:
    """The definitions that elaborate to the function: first those it calls, itself last.

    Raises `CompileError` (TC0109) for what TC cannot express.
    """
    try:
        return ast.Program(tuple(_Program().definitions(function)))
    except RecursionError:
        raise too_deep(function.name, function.span) from None


class _Program:
    """One call of `to_tc`: each function that is called gets one definition."""

    def __init__(self) -> None:
        self.known: dict[str, ast.Definition] = {}

    def definitions(self, function: ir.Function) -> Iterator[ast.Definition]:
        self.define(function)
        yield from self.known.values()

    def define(self, function: ir.Function) -> str:
        """Adds the definition of a function after those it calls, and returns its name."""
        definition = _Definition(function, self).write()
        name = unique(definition.name, KEYWORDS | {"sum", "prod"})
        while self.known.get(name, replace(definition, name=name)) != replace(definition, name=name):
            name = unique(definition.name, self.known.keys() | KEYWORDS)
        self.known.setdefault(name, replace(definition, name=name))
        return name


class _Definition:
    """One function: the names of its tensors and sizes, and its statements."""

    def __init__(self, function: ir.Function, program: _Program) -> None:
        self.function = function
        self.program = program
        self.calls = {
            id(statement): program.define(statement.function)
            for statement in function.statements
            if isinstance(statement, ir.Invoke)
        }
        reserved = RESERVED | KEYWORDS | called(function) | {"inf", "nan"} | set(self.calls.values())
        self.read = _read_tensors(function)
        # A shape that no declaration gives is that of a first statement, which fills it with zeros.
        self.filled = {t.name for t in function.declared if any(not is_sayable(size) for size in t.shape)}
        self.declared = {tensor.name: tensor for tensor in function.declared if tensor.name not in self.filled}
        # A size named in a declaration must be named in a parameter's declaration.
        self.named = {v.name for t in self.declared.values() for size in t.shape for v in size.variables()}
        self.undeclared = {tensor.name for tensor in function.parameters if self.is_undeclared(tensor)}
        tensors: dict[str, str] = {}
        for name in _tensor_names(function):
            tensors[name] = unique(name, {*reserved, *tensors.values()})
        sizes: dict[str, str] = {}
        for name in dict.fromkeys(self.size_names()):
            sizes[name] = unique(name, {*reserved, *tensors.values(), *sizes.values()})
        self.names = Names(tensors, sizes, {*reserved, *tensors.values(), *sizes.values()})

    def write(self) -> ast.Definition:
        function = self.function
        parameters = tuple([ast.Parameter(self.tensor(t), self.parameter_type(t)) for t in function.parameters])
        # Annotations come before declarations, in the order of the results.
        results = list(dict.fromkeys(t.name for t in function.returns if t.name in self.declared))
        annotated = set(results) if list(self.declared)[: len(results)] == results else set()
        returns = [
            ast.Parameter(self.tensor(t), self.type(t) if t.name in annotated else None) for t in function.returns
        ]
        body = [ast.Declare(self.tensor(t), self.type(t)) for t in self.declared.values() if t.name not in annotated]
        return ast.Definition(function.name, parameters, tuple(returns), (*body, *self.statements()))

    # ---------------------------------------------------------------- tensors and sizes

    def tensor(self, tensor: ir.Tensor) -> str:
        return self.names.tensors[tensor.name]

    def is_undeclared(self, tensor: ir.Tensor) -> bool:
        """Whether only the call determines the parameter's type. Nothing shows the rank of a scalar, so it follows the
        others.
        """
        if tensor.rank:
            is_named = any(variable.name in self.named for size in tensor.shape for variable in size.variables())
            return tensor.name in self.read and _has_own_sizes(tensor) and not is_named
        ranked = [other for other in self.function.parameters if other.rank]
        return tensor.name in self.read and bool(ranked) and all(map(_has_own_sizes, ranked))

    def parameter_type(self, tensor: ir.Tensor) -> ast.TensorType | None:
        return None if tensor.name in self.undeclared else self.type(tensor)

    def type(self, tensor: ir.Tensor) -> ast.TensorType:
        return ast.TensorType(tensor.dtype, tuple([self.dimension(tensor, size) for size in tensor.shape]))

    def dimension(self, tensor: ir.Tensor, size: Size) -> str | int:
        extent = write_extent(size)
        if isinstance(extent, str):
            return self.names.sizes[extent]
        if extent is not None:
            return extent
        for variable in size.variables():
            if size == Size.of(variable) and variable.name in self.names.sizes:
                return self.names.sizes[variable.name]
        help = "give the dimension a name of its own, or a number"
        raise refuse("TC", f"that a dimension of `{tensor.name}` is {size}", tensor.span, help=help)

    def size_names(self) -> Iterator[str]:
        """The sizes named in declarations."""
        declared = [t for t in self.function.parameters if t.name not in self.undeclared]
        for tensor in (*declared, *self.declared.values()):
            for size in tensor.shape:
                match size.terms:
                    case (((SizeVar(name),), 1),):
                        yield name
                    case _:
                        pass

    # ---------------------------------------------------------------- statements

    def statements(self) -> tuple[ast.Statement, ...]:
        """The statements, with those of loops inside their loops."""
        written = list(self.flat())
        return self.nested(written, 0, len(self.function.statements), 0)

    def nested(
        self, written: list[tuple[int, ast.Statement]], first: int, last: int, depth: int
    ) -> tuple[ast.Statement, ...]:
        """The numbered statements from `first` to before `last`, with the loops at this depth and below."""
        found: list[ast.Statement] = []
        done = first
        for number, statement in written:
            if not done <= number < last:
                continue
            around = self.function.around(number)[depth:]
            if around:
                body = self.nested(written, number, around[0].last, depth + 1)
                found.append(self.loop(around[0], body))
                done = around[0].last
            else:
                found.append(statement)
        return tuple(found)

    def loop(self, loop: ir.Loop, body: tuple[ast.Statement, ...]) -> ast.For:
        statement = self.function.statements[loop.first]
        assert isinstance(statement, (ir.Define, ir.Accumulate)), "there are no calls in loops"
        scope = self.scope(statement)
        given = next(range_ for range_ in statement.domain.ranges if range_.index == loop.index)
        lo, hi = (given.lo, given.hi) if loop.step > 0 else (given.hi - 1, given.lo - 1)
        size = ast.Number(abs(loop.step))
        step = None if loop.step == 1 else size if loop.step > 0 else ast.Unary("-", size)
        return ast.For(scope.indices[loop.index], scope.subscript(lo), scope.subscript(hi), body, step)

    def flat(self) -> Iterator[tuple[int, ast.Statement]]:
        """The statements with their numbers."""
        statements = list(self.function.statements)
        while statements:
            number = len(self.function.statements) - len(statements)
            for statement in self.written(statements):
                yield number, statement

    def written(self, statements: list[ir.Statement]) -> Iterator[ast.Statement]:
        """The first of the statements, which is removed from the list, and those that belong to it."""
        statement = statements.pop(0)
        if isinstance(statement, (ir.Define, ir.Accumulate)) and statement.target.name in self.filled:
            self.filled.remove(statement.target.name)
            yield self.define(_zeros(statement.target))
        match statement:
            case ir.Define():
                yield self.define(statement)
            case ir.Accumulate():
                yield self.accumulate(statement)
            case ir.Invoke(targets, _, arguments):
                yield self.call(self.converted(targets, statements), self.calls[id(statement)], arguments)
            case ir.ApplyForeign(targets, name, arguments, frame):
                if frame:
                    help = "give it whole tensors, or scalars"
                    raise refuse("TC", f"to apply `{name}` to the cells of a tensor", statement.span, help=help)
                yield self.call(self.converted(targets, statements), name, arguments)
            case _:
                assert_never(statement)

    def converted(self, targets: tuple[ir.Tensor, ...], statements: list[ir.Statement]) -> tuple[str, ...]:
        """The targets of a call; the conversions that elaboration adds after it are removed from `statements`."""
        names: list[str] = []
        for target in targets:
            match = _UNCONVERTED.fullmatch(target.name)
            following = statements[0] if statements else None
            if match and isinstance(following, ir.Define) and following.target.name == match[1]:
                statements.pop(0)
                names.append(self.tensor(following.target))
            else:
                names.append(self.tensor(target))
        return tuple(names)

    def call(self, targets: tuple[str, ...], name: str, arguments: tuple[ir.Tensor, ...]) -> ast.Statement:
        written = tuple([ast.Name(self.tensor(argument)) for argument in arguments])
        if len(targets) != 1:
            return ast.CallAssign(targets, name, written)
        return ast.Assign(targets[0], None, None, False, ast.Apply(name, written))

    def scope(self, statement: ir.Define | ir.Accumulate) -> Expressions:
        return Expressions(self.names, index_names(statement_indices(statement), self.names.taken))

    def define(self, statement: ir.Define) -> ast.Assign:
        scope = self.scope(statement)
        value = scope.root(statement.value)
        if isinstance(value, ast.Apply) and not value.arguments and not statement.indices:
            value = ast.Name(value.function)
        clauses = _clauses(statement.domain, scope)
        return self.assign(statement, None, False, value, clauses, scope)

    def accumulate(self, statement: ir.Accumulate) -> ast.Assign:
        scope = self.scope(statement)
        value = scope.root(statement.value)
        clauses = _clauses(statement.domain, scope)
        reducer = statement.reducer
        if not reducer.is_ranked and self.is_implied(statement, value, clauses, scope):
            operator = _operator(reducer)
            return self.assign(statement, operator, statement.restart, value, clauses, scope)
        return self.inline(statement, scope)

    def is_implied(
        self, statement: ir.Accumulate, value: ast.Expr, clauses: list[ast.Clause], scope: Expressions
    ) -> bool:
        """Whether the statement's own operator reduces over the same indices, and in the same order if the order
        matters.
        """
        mentioned = list(_names_in(value))
        for clause in clauses:
            if isinstance(clause, ast.GuardClause):
                mentioned += _names_in(clause.condition)
        given = [clause.index for clause in clauses if isinstance(clause, ast.RangeClause)]
        wanted = [scope.indices[index] for index in statement.reduction]
        found = [name for name in mentioned if name in wanted]
        if not statement.reducer.commutative:
            found = [name for name in given if name in wanted] + found
            # An index that occurs only in a clause does not run.
            return list(dict.fromkeys(found)) == wanted and set(wanted) <= set(mentioned)
        return set(found) == set(wanted)

    def inline(self, statement: ir.Accumulate, scope: Expressions) -> ast.Assign:
        """The same with an inline reduction, which states its indices and their order."""
        if isinstance(statement.reducer, ir.Monoid) and not statement.restart:
            help = "reduce in a separate statement, and combine with what is there in the next"
            raise refuse("TC", f"in which order `{statement.reducer.name}=` goes on", statement.span, help=help)
        domain, reduction = statement.domain, frozenset(statement.reduction)
        reduce = ir.Reduce(
            statement.reducer,
            statement.reduction,
            tuple([given for given in domain.ranges if given.index in reduction]),
            domain.guard,
            statement.value,
            None,
            statement.accumulate,
            statement.reducer.result(statement.value.dtype, statement.accumulate),
        )
        outer = ir.Domain(tuple([given for given in domain.ranges if given.index not in reduction]))
        if any(ir.free_indices(expr) & reduction for expr in domain.exists):
            help = "give the index a range instead"
            raise refuse("TC", "`exists` about an index that nothing else mentions", statement.span, help=help)
        outer = replace(outer, exists=domain.exists)
        names = {index: name for index, name in scope.indices.items() if index not in reduction}
        scope = replace(scope, indices=names)
        value = scope.root(reduce)
        operator = None if statement.restart else _operator(statement.reducer)
        return self.assign(statement, operator, False, value, _clauses(outer, scope), scope)

    def assign(
        self,
        statement: ir.Define | ir.Accumulate,
        operator: str | None,
        restart: bool,
        value: ast.Expr,
        clauses: list[ast.Clause],
        scope: Expressions,
    ) -> ast.Assign:
        left = tuple(_on_the_left(scope.subscript(index), index) for index in statement.indices) or None
        if isinstance(statement, ir.Define) and left is not None:
            data = (n for n, index in enumerate(statement.indices) if index.is_data and index.variables)
            clauses = [*clauses, *(ast.UniqueClause(left[number]) for number in data)]
        return ast.Assign(self.tensor(statement.target), left, operator, restart, value, None, tuple(clauses))


def _operator(reducer: Reducer | ir.Monoid) -> str:
    """What comes before ``=``."""
    return reducer.operator if reducer.operator in ("+", "*") else reducer.value


def _clauses(domain: ir.Domain, scope: Expressions) -> list[ast.Clause]:
    clauses: list[ast.Clause] = []
    for given in domain.ranges:
        if given.index in domain.loops:
            continue
        ends = scope.subscript(given.lo), scope.subscript(given.hi)
        clauses.append(ast.RangeClause(scope.indices[given.index], *ends))
    clauses += [ast.ExistsClause(scope.root(expr)) for expr in domain.exists]
    if domain.guard is not None:
        clauses.append(ast.GuardClause(scope.typed(domain.guard)))
    return clauses


def _tensor_names(function: ir.Function) -> Iterator[str]:
    yield from dict.fromkeys(
        tensor.name
        for tensors in (function.parameters, *map(ir.targets, function.statements), function.returns)
        for tensor in tensors
    )


def _read_tensors(function: ir.Function) -> frozenset[str]:
    """The tensors that some statement reads or passes on."""
    names: set[str] = set()
    for statement in function.statements:
        match statement:
            case ir.Define() | ir.Accumulate():
                for expr in expressions(statement):
                    names |= {access.tensor.name for access in ir.accesses(expr)}
            case ir.Invoke(_, _, arguments) | ir.ApplyForeign(_, _, arguments):
                names |= {argument.name for argument in arguments}
            case _:
                assert_never(statement)
    return frozenset(names)


def _has_own_sizes(tensor: ir.Tensor) -> bool:
    """Whether every size belongs to the tensor itself, as for an undeclared parameter."""
    own = [Size.of(SizeVar(f"{tensor.name}.{dimension}")) for dimension in range(tensor.rank)]
    return list(tensor.shape) == own


def _names_in(expr: ast.Expr) -> Iterator[str]:
    """The names in an expression, left to right."""
    match expr:
        case ast.Name(name):
            yield name
        case ast.Number() | ast.SizeOf() | ast.Batch():
            return
        case ast.Apply(_, arguments):
            for argument in arguments:
                yield from _names_in(argument)
        case ast.Cast(_, operand) | ast.Unary(_, operand):
            yield from _names_in(operand)
        case ast.Binary(_, left, right):
            yield from _names_in(left)
            yield from _names_in(right)
        case ast.Conditional(condition, then, otherwise):
            for part in (condition, then, otherwise):
                yield from _names_in(part)
        case ast.Reduction(_, bounds, guards, arguments):
            ends = [end for bound in bounds for end in (bound.lo, bound.hi) if end is not None]
            hidden = {bound.index for bound in bounds}
            for part in (*ends, *guards, *arguments):
                yield from (name for name in _names_in(part) if name not in hidden)
        case _:
            assert_never(expr)


def _on_the_left(subscript: ast.Expr, index: Affine) -> ast.Expr:
    """A subscript of a left side, where a bare name is an index: ``N + 0`` for the place `N`."""
    if isinstance(subscript, ast.Name) and not index.variables:
        return ast.Binary("+", subscript, ast.Number(0))
    return subscript


def _zeros(target: ir.Tensor) -> ir.Define:
    """``target(i, j) = 0`` for every element."""
    indices = ir.letters(target.rank)
    ranges = [ir.Range(index, Affine.of(0), Affine.of(size)) for index, size in zip(indices, target.shape, strict=True)]
    number = False if target.dtype == "bool" else 0 if ir.types.is_integral(target.dtype) else 0.0
    value = ir.Const(complex(number) if ir.types.is_complex(target.dtype) else number, target.dtype)
    return ir.Define(target, tuple(map(Affine.of, indices)), value, ir.Domain(tuple(ranges)))
