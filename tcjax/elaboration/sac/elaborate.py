"""Elaborates a SaC program for the shapes of a call to typed index notation."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from ... import ir
from ...diagnostics import Code, CompileError, CompileWarning, Span
from ...symbolic import Size, SizeVar
from ...syntax.sac import tree
from ..literals import settled
from ..reducers import registered
from ..scope import local_shape
from ..signature import CellFunction
from ..spelling import did_you_mean
from .array_expressions import LIBRARY, expression
from .arrays import Array, dtype_of_kind
from .draft import Draft, Known
from .functions import results_in, results_of, with_lets
from .patterns import of_kind
from .reading import element, stored
from .scope import Scope
from .walks import calls, children, free_names, generator_parts, mentions, parts, pattern_names


@dataclass(frozen=True, slots=True)
class Argument:
    """The scalar type (a canonical name) and the shape of an argument."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """What is called in a program: its parameters in order, and the function, None for the expression."""

    name: str
    parameters: tuple[tree.Parameter | str, ...]
    function: tree.Function | None
    span: Span

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(p if isinstance(p, str) else p.name for p in self.parameters)


def entry_of(program: tree.Program, functions: Mapping[str, object], name: str | None = None) -> Entry:
    """The entry for the function `name`; by default the program's expression, or the function that no other calls.

    Raises `CompileError`: TC0209 if several could be meant, TC0205 and TC0201 for undefined names.
    """
    check(program, functions)
    if name is not None:
        function = next(f for f in program.functions if f.name == name)
        return Entry(name, function.parameters, function, function.span)
    if program.result is not None:
        return Entry("kernel", tuple(_parameters_of(program)), None, program.span)
    called = {call for f in program.functions for node in parts(f) for call in calls(node) if call != f.name}
    entries = [function for function in program.functions if function.name not in called]
    if len(entries) != 1 and len(program.functions) != 1:
        raise CompileError(
            Code.UNKNOWN_DEFINITION,
            f"the text has {len(program.functions)} functions, and a kernel is one of them",
            program.span,
            help=f'write tcjax.load(text)["{program.functions[0].name}"], or add the expression that is meant',
        )
    function = (entries or program.functions)[0]
    return Entry(function.name, function.parameters, function, function.span)


def check(program: tree.Program, functions: Mapping[str, object], given: Collection[str] | None = None) -> None:
    """Raises mistakes that do not depend on the arguments: unknown functions, and an index used in its own bound.

    With `given`, also rejects free names of the program's expression that are not among them.
    """
    defined: dict[str, tree.Function] = {}
    for function in program.functions:
        if function.name in defined:
            raise _twice("functions", function.name, function.span)
        defined[function.name] = function
    for function in program.functions:
        for number, parameter in enumerate(function.parameters):
            if any(parameter.name == other.name for other in function.parameters[:number]):
                raise _twice("parameters", parameter.name, parameter.span)
        names = {parameter.name for parameter in function.parameters}
        names |= {name for parameter in function.parameters for name in pattern_names(parameter.type)}
        for node in function.guards:
            _check_names(node, frozenset(names), function.parameters, defined, functions)
        for let in function.lets:
            _check_names(let.value, frozenset(names), function.parameters, defined, functions)
            names |= set(let.names)
        for node in function.returns:
            _check_names(node, frozenset(names), function.parameters, defined, functions)
    known = None if given is None else frozenset(given)
    for let in program.lets:
        _check_names(let.value, known, (), defined, functions)
        known = None if known is None else known.union(let.names)
    if program.result is not None:
        _check_names(program.result, known, (), defined, functions)


def _parameters_of(program: tree.Program) -> Iterator[str]:
    """The free names of the lets and the expression of a program, in order of appearance."""
    assert program.result is not None
    found: dict[str, None] = {}
    defined: set[str] = set()
    for node, names in (*((let.value, let.names) for let in program.lets), (program.result, ())):
        found.update((name, None) for name in free_names(node) if name not in defined)
        defined |= set(names)
    return iter(found)


def elaborate(
    program: tree.Program,
    entry: Entry,
    arguments: Mapping[str, Argument],
    known: Known,
    functions: Mapping[str, CellFunction],
    accumulate: str | None = None,
    *,
    strict: bool = False,
    report: Callable[[CompileWarning], None] = lambda warning: None,
) -> ir.Function:
    """The program for arguments of these types and shapes.

    `known` are the elements of arguments with known values, `functions` the Python functions that may be called on
    cells. `strict` rejects what SaC itself rejects. `report` takes warnings. Raises `CompileError`, and `ValueNeeded`
    if the value of another argument determines a shape.
    """
    definitions = {function.name: function for function in program.functions}
    names = frozenset(entry.names)
    draft = Draft({}, known, functions, definitions, accumulate, strict, names, set(names))
    parameters, arrays = _parameters(entry, arguments, draft)
    if entry.function is None:
        scope = with_lets(program.lets, Scope(dict(zip(entry.names, arrays, strict=True)), draft), expression)
        assert program.result is not None
        results = results_in(program.result, scope, expression)
    else:
        results = results_of(entry.function, arrays, entry.span, draft, expression)
    returns = _returns(results, draft)
    function = _without_unused(entry, parameters, returns, draft)
    ir.verify(function)
    for warning in draft.warnings.values():
        report(warning)
    return function


def _parameters(
    entry: Entry, arguments: Mapping[str, Argument], draft: Draft
) -> tuple[tuple[ir.Tensor, ...], list[Array]]:
    tensors: list[ir.Tensor] = []
    for parameter in entry.parameters:
        name = parameter if isinstance(parameter, str) else parameter.name
        argument = arguments[name]
        span = entry.span if isinstance(parameter, str) else parameter.span
        own = local_shape(name, len(argument.shape))
        dtype = argument.dtype
        if isinstance(parameter, tree.Parameter):
            own = _named_shape(parameter.type, own, argument.shape, draft)
            dtype = parameter.type.scalar
        for size, extent in zip(own, argument.shape, strict=True):
            for variable in size.variables():
                draft.sizes.setdefault(variable, extent)
        tensors.append(ir.Tensor(name, dtype, own, span=span))
    draft.wide = any(tensor.dtype in ("float64", "complex128") for tensor in tensors)
    arrays = [Array(t.dtype, t.shape, lambda place, t=t: ir.Access(t, place), tensor=t) for t in tensors]
    return tuple(tensors), arrays


def _named_shape(
    pattern: tree.TypePattern, own: tuple[Size, ...], extents: tuple[int, ...], draft: Draft
) -> tuple[Size, ...]:
    """The sizes named by a type pattern: `float[m, k]` is `float(m, k)` in TC."""
    if len(pattern.axes) != len(own) or not all(isinstance(axis, tree.Axis) for axis in pattern.axes):
        return own
    named: list[Size] = []
    for axis, size, extent in zip(pattern.axes, own, extents, strict=True):
        if isinstance(axis, tree.Axis) and isinstance(axis.extent, str) and axis.extent not in draft.taken:
            if draft.sizes.get(SizeVar(axis.extent), extent) == extent:
                size = Size.of(SizeVar(axis.extent))
        elif isinstance(axis, tree.Axis) and axis.extent == extent:
            size = Size.of(extent)
        named.append(size)
    return tuple(named)


def _returns(results: tuple[Array, ...], draft: Draft) -> tuple[ir.Tensor, ...]:
    returns: list[ir.Tensor] = []
    for array in results:
        if draft.wide and not isinstance(array.kind, str):
            array = of_kind(array, dtype_of_kind(array.kind))
        if array.tensor is not None:
            returns.append(array.tensor)
            continue
        if array.keep is None and array.pieces is None and array.cells is None and not array.rank:
            value = settled(element(array, (), draft))
            if isinstance(value, ir.Access) and not value.indices and value.tensor.name in draft.sources:
                returns.append(value.tensor)
                continue
        tensor = stored(array if array.keep is not None else array.called("out"), draft).tensor
        assert tensor is not None
        returns.append(tensor)
    return tuple(returns)


def _without_unused(
    entry: Entry, parameters: tuple[ir.Tensor, ...], returns: tuple[ir.Tensor, ...], draft: Draft
) -> ir.Function:
    """The function with only the statements that its results need."""
    needed = {tensor.name for tensor in returns}
    kept: list[ir.Statement] = []
    for statement in reversed(draft.statements):
        match statement:
            case ir.Define(target) | ir.Accumulate(target):
                if target.name in needed:
                    kept.append(statement)
                    needed |= set(_reads(statement))
            case ir.ApplyForeign(targets, _, arguments):
                if any(target.name in needed for target in targets):
                    kept.append(statement)
                    needed |= {argument.name for argument in arguments}
            case ir.Invoke():
                raise AssertionError("calls are written out")
    declared = tuple(tensor for tensor in draft.declared if tensor.name in needed)
    return ir.Function(entry.name, parameters, returns, tuple(reversed(kept)), (), declared, span=entry.span)


def _reads(statement: ir.Define | ir.Accumulate) -> Iterator[str]:
    guard = statement.domain.guard
    for expr in (statement.value, *([guard] if guard is not None else [])):
        for access in ir.accesses(expr):
            yield access.tensor.name


# ---------------------------------------------------------------- names


def _twice(what: str, name: str, span: Span) -> CompileError:
    return CompileError(Code.ALREADY_DEFINED, f"there are two {what} `{name}`", span, help="rename one of them")


def _check_names(
    node: tree.Expr,
    bound: frozenset[str] | None,
    parameters: tuple[tree.Parameter, ...],
    defined: Mapping[str, tree.Function],
    functions: Mapping[str, object],
) -> None:
    """Raises TC0205 and TC0201. With `bound` None, undefined names are parameters."""
    pending: list[tuple[tree.Expr, frozenset[str] | None, frozenset[str]]] = [(node, bound, frozenset())]
    while pending:
        current, known, indices = pending.pop()
        match current:
            case tree.Name(name) if known is not None and name not in known:
                raise CompileError(
                    Code.UNDEFINED_NAME,
                    f"there is no `{name}` here",
                    current.span,
                    help=did_you_mean(name, known, "name a parameter, a let above, or an index around it"),
                )
            case tree.Call(name) if not (name in defined or name in functions or name in LIBRARY or registered(name)):
                raise CompileError(
                    Code.UNKNOWN_FUNCTION,
                    f"there is no function `{name}`",
                    current.span.part(name),
                    help=did_you_mean(
                        name,
                        (*defined, *functions, *LIBRARY),
                        f'define it in the text, or give `fns={{"{name}": ...}}`; arrays are selected with brackets, '
                        f"`{name}[i]`, and in index notation one `=` defines: `C(i) = {name}(i)`",
                    ),
                )
            case tree.Comprehension(partitions):
                for partition in partitions:
                    own = _own_names(partition)
                    for part in generator_parts(partition):
                        _refuse_own(part, own - indices - (known or frozenset()))
                        pending.append((part, known, indices))
                    inner = None if known is None else known | own
                    pending.append((partition.body, inner, indices | own))
                continue
            case _:
                pass
        pending.extend((child, known, indices) for child in children(current))


def _refuse_own(node: tree.Expr, own: frozenset[str]) -> None:
    for name in sorted(own):
        if mentions(node, frozenset((name,))):
            raise CompileError(
                Code.UNDEFINED_NAME,
                f"a bound of `{name}` cannot use `{name}`, which is not known there yet",
                node.span,
                help="bounds see what is outside the partition: arguments, lets, and indices around it",
            )


def _own_names(partition: tree.Partition) -> frozenset[str]:
    index = partition.index
    return frozenset((index.name,)) if isinstance(index, tree.IndexVector) else frozenset(index.names)
