"""The invariants of typed index notation, asserted after each stage: a failure is a bug in tcjax."""

from collections.abc import Iterable
from typing import Final, assert_never

from ..symbolic import Affine, IndexVar
from . import types
from .builtins import BUILTINS, result_type
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
from .printer import show_expr
from .statements import Accumulate, ApplyForeign, Define, Domain, Function, Invoke, Statement, targets
from .traversal import data_atoms, ragged_ends

Bound = frozenset[IndexVar]

_COMPARISONS: Final = frozenset(("<", "<=", ">", ">=", "==", "!="))
_LOGICAL: Final = frozenset(("&&", "||"))
_BITS: Final = frozenset(("&", "|", "^", "<<", ">>"))
_ARITHMETIC: Final = frozenset(("+", "-", "*", "/", "//", "%", "quot", "rem", "**", "min", "max"))


def verify(function: Function) -> None:
    """Asserts that operands' types agree, that every index is bound, and that every tensor read is defined before."""
    defined: dict[str, Tensor] = {}
    for parameter in function.parameters:
        assert parameter.name not in defined, f"two parameters {parameter.name}"
        assert parameter.dtype in types.SCALARS, parameter
        defined[parameter.name] = parameter
    inputs = frozenset(defined)
    for number, statement in enumerate(function.statements):
        around = function.around(number)
        if isinstance(statement, (Define, Accumulate)):
            assert statement.domain.loops == tuple(loop.index for loop in around), f"{statement.domain.loops}: {around}"
        else:
            assert not around, f"a call in the loops {around}"
        if number in {loop.first for loop in function.loops}:
            _enter(function, number, defined)
        _verify_statement(statement, defined)
        for target in targets(statement):
            assert target.name not in inputs, f"the input {target.name} is written"
            assert target.dtype in types.SCALARS, target
            assert defined.setdefault(target.name, target) == target, f"{target.name} changes its type or shape"
    for tensor in (*function.returns, *function.initial, *function.declared):
        assert defined.get(tensor.name) == tensor, f"{tensor.name} is not defined as {tensor!r}"


def _enter(function: Function, number: int, defined: dict[str, Tensor]) -> None:
    """A loop may read what it writes further down, at an earlier step."""
    inside = max(loop.last for loop in function.loops if loop.first == number)
    for statement in function.statements[number:inside]:
        for target in targets(statement):
            defined.setdefault(target.name, target)


def _verify_statement(statement: Statement, defined: dict[str, Tensor]) -> None:
    match statement:
        case Define(target, indices, value, domain):
            bound = _bound_on_the_left(target, indices) | set(domain.loops)
            assert value.dtype == target.dtype, f"{target.name}: {target.dtype} = {value.dtype}"
            _verify_parts(indices, domain, value, bound, defined)
        case Accumulate(target, indices, reducer, _, reduction, value, accumulate, domain):
            left = _bound_on_the_left(target, indices) | set(domain.loops)
            assert len(set(reduction)) == len(reduction), f"{reduction} names an index twice"
            assert not left & set(reduction), f"{reduction} are on the left too"
            assert not reducer.is_ranked, f"{reducer.value}= needs an r"
            assert accumulate in types.SCALARS, accumulate
            if reducer.takes_bool:
                assert value.dtype == accumulate == "bool", f"{reducer.value}= of {value.dtype}"
            _verify_parts(indices, domain, value, left | set(reduction), defined)
        case Invoke(targets, function, arguments):
            verify(function)
            assert len(targets) == len(function.returns), f"{function.name} returns {len(function.returns)}"
            assert len(arguments) == len(function.parameters), f"{function.name} takes {len(function.parameters)}"
            pairs = (*zip(targets, function.returns, strict=True), *zip(arguments, function.parameters, strict=True))
            for outer, inner in pairs:
                assert (outer.dtype, outer.rank) == (inner.dtype, inner.rank), f"{outer!r} stands for {inner!r}"
            _verify_defined(arguments, defined)
        case ApplyForeign(_, _, arguments):
            _verify_defined(arguments, defined)
        case _:
            assert_never(statement)


def _bound_on_the_left(target: Tensor, indices: tuple[Affine, ...]) -> Bound:
    assert len(indices) == target.rank, f"{len(indices)} subscripts for {target!r}"
    return frozenset().union(*(index.variables for index in indices))


def _verify_parts(
    indices: Iterable[Affine], domain: Domain, value: Expr, bound: Bound, defined: dict[str, Tensor]
) -> None:
    _verify_ranges(domain.ranges, bound)
    assert {*domain.loops} <= {given.index for given in domain.ranges}, f"a loop of {domain.loops} has no range"
    for given in domain.ranges:
        assert given.index in bound, f"the range of {given.index}, which does not occur"
    subscripts = [data.expr for index in indices for data in data_atoms(index)]
    for expr in (*subscripts, *ragged_ends(domain.ranges), value, *domain.exists):
        _verify_expr(expr, bound, defined)
    if domain.guard is not None:
        assert domain.guard.dtype == "bool", f"the guard is {domain.guard.dtype}"
        _verify_expr(domain.guard, bound, defined)


def _verify_ranges(ranges: tuple[Range, ...], bound: Bound) -> None:
    assert len({given.index for given in ranges}) == len(ranges), "two ranges for one index"
    for given in ranges:
        assert given.lo.variables | given.hi.variables <= bound, f"nothing binds the indices of {given.lo}:{given.hi}"


def _verify_defined(arguments: tuple[Tensor, ...], defined: dict[str, Tensor]) -> None:
    for tensor in arguments:
        assert defined.get(tensor.name) == tensor, f"{tensor!r} is read but not defined so"


def _verify_expr(expr: Expr, bound: Bound, defined: dict[str, Tensor]) -> None:
    """Iterative, not recursive: an expression may be deeply nested."""
    pending = [(expr, bound)]
    # An inlined let is one node in several places.
    seen: set[tuple[int, Bound]] = set()
    while pending:
        node, bound = pending.pop()
        if (id(node), bound) in seen:
            continue
        seen.add((id(node), bound))
        assert node.dtype in types.SCALARS, f"{node.dtype!r} is not a type"
        pending.extend((child, inner) for child, inner in _verify_node(node, bound, defined))


def _verify_node(node: Expr, bound: Bound, defined: dict[str, Tensor]) -> list[tuple[Expr, Bound]]:
    """Asserts what must hold for the node itself; returns its children, each with the indices bound around it."""
    match node:
        case Const(value, dtype):
            _verify_const(value, dtype)
            return []
        case Extent():
            assert node.dtype == "int32", node
            return []
        case Index(variable):
            assert variable in bound, f"nothing binds {variable}"
            return []
        case Access(tensor, indices):
            _verify_defined((tensor,), defined)
            assert len(indices) == tensor.rank, f"{len(indices)} subscripts for {tensor!r}"
            for index in indices:
                assert index.variables <= bound, f"{tensor.name}({index}) uses indices that nothing binds"
            atoms = [data for index in indices for data in data_atoms(index)]
            for data in atoms:
                assert types.is_integral(data.expr.dtype), f"a subscript of type {data.expr.dtype}"
            return [(data.expr, bound) for data in atoms]
        case Unary(operator, operand, dtype):
            assert operator in ("-", "!", "~"), operator
            assert operand.dtype == dtype, f"{operator} of {operand.dtype} gives {dtype}"
            assert operator != "!" or dtype == "bool", f"! of {dtype}"
            return [(operand, bound)]
        case Binary(operator, left, right, dtype):
            _verify_operator(operator, left.dtype, right.dtype, dtype)
            return [(left, bound), (right, bound)]
        case Call(function, arguments, dtype):
            builtin = BUILTINS[function]
            assert len(arguments) == builtin.arity, f"{function} of {len(arguments)} values"
            given = {argument.dtype for argument in arguments}
            assert len(given) == 1, f"{function} of {given}"
            assert dtype == result_type(builtin, arguments[0].dtype), f"{function} of {given} gives {dtype}"
            return [(argument, bound) for argument in arguments]
        case Foreign(_, arguments):
            return [(argument, bound) for argument in arguments]
        case Cast(operand):
            return [(operand, bound)]
        case Select(condition, then, otherwise, dtype):
            assert condition.dtype == "bool", f"the condition is {condition.dtype}"
            assert then.dtype == otherwise.dtype == dtype, f"{then.dtype} : {otherwise.dtype} gives {dtype}"
            return [(condition, bound), (then, bound), (otherwise, bound)]
        case Reduce():
            return _verify_reduce(node, bound)
        case _:
            assert_never(node)


def _verify_const(value: object, dtype: str) -> None:
    kind = bool if dtype == "bool" else int if types.is_integral(dtype) else float if types.is_float(dtype) else complex
    assert type(value) is kind, f"the {dtype} {value!r}"


def _verify_operator(operator: str, left: str, right: str, dtype: str) -> None:
    assert left == right, f"{left} {operator} {right}"
    if operator in _COMPARISONS:
        assert dtype == "bool", f"{operator} gives {dtype}"
        return
    assert operator in _LOGICAL | _BITS | _ARITHMETIC, operator
    assert dtype == left, f"{left} {operator} {right} gives {dtype}"
    assert operator not in _LOGICAL or left == "bool", f"{operator} of {left}"
    assert operator not in _BITS or types.is_integral(left) or left == "bool", f"{operator} of {left}"
    assert operator != "/" or not types.is_integral(left), "/ of integers"
    assert operator not in ("quot", "rem") or types.is_integral(left), f"{operator} of {left}"


def _verify_reduce(node: Reduce, outside: Bound) -> list[tuple[Expr, Bound]]:
    assert node.indices, "a reduction over nothing"
    assert len(set(node.indices)) == len(node.indices), f"{node.indices} names an index twice"
    assert not outside & set(node.indices), f"{show_expr(node)} binds an index that is bound outside"
    bound = outside | set(node.indices)
    _verify_ranges(node.ranges, bound)
    for given in node.ranges:
        assert given.index in node.indices, f"the range of {given.index}, which is bound elsewhere"
    assert node.accumulate in types.SCALARS, node.accumulate
    assert (node.rank is not None) == node.reducer.is_ranked, f"{node.reducer.value} with the rank {node.rank}"
    assert node.dtype == node.reducer.result(node.body.dtype, node.accumulate), f"gives {node.dtype}"
    parts = [node.body, *ragged_ends(node.ranges)]
    if node.reducer.takes_bool:
        assert node.body.dtype == "bool", f"{node.reducer.value} of {node.body.dtype}"
    if node.guard is not None:
        assert node.guard.dtype == "bool", f"the guard is {node.guard.dtype}"
        parts.append(node.guard)
    if node.rank is not None:
        assert types.is_integral(node.rank.dtype), f"the rank is {node.rank.dtype}"
        parts.append(node.rank)
    return [(part, bound) for part in parts]
