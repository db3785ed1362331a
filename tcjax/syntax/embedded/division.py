"""Whether TC's ``/`` divides or floors, where the declared types determine it."""

from collections.abc import Iterable, Mapping
from typing import Final, assert_never

from .. import ast

# What is known about a value: True for float or complex, False for integer or bool, None if only a call determines it.
Floating = bool | None

_FLOATS: Final = frozenset(
    (
        *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "erfc"),
        *("exp", "exp2", "expm1", "fabs", "floor", "fma", "fmax", "fmin", "fmod", "gelu", "hypot", "lgamma", "log"),
        *("log10", "log1p", "log2", "pow", "round", "rsqrt", "sigmoid", "silu", "sin", "sinh", "softplus", "sqrt"),
        *("tan", "tanh", "tgamma", "trunc", "logaddexp"),
    )
)
_INTEGERS: Final = frozenset({"isnan", "isinf", "isfinite", "popcount"})
_LIKE_THEIR_ARGUMENTS: Final = frozenset({"min", "max", "abs", "sign", "relu", "conj", "pad"})


def kinds(definition: ast.Definition) -> dict[str, Floating]:
    """For every tensor of `definition`: its declared kind, else the joined kind of all its values."""
    known: dict[str, Floating] = {}
    values: dict[str, list[ast.Assign]] = {}
    for statement in definition.leaves:
        match statement:
            case ast.Assign(target):
                known[target] = None
                values.setdefault(target, []).append(statement)
            case ast.CallAssign(targets):
                known |= dict.fromkeys(targets)
            case ast.Declare(name, type):
                known[name] = _floating_scalar(type.scalar)
            case _:
                assert_never(statement)
    declared = [tensor for tensor in (*(definition.parameters or ()), *definition.returns) if tensor.type]
    known |= {tensor.name: None for tensor in definition.parameters or ()}
    known |= {tensor.name: _floating_scalar(tensor.type.scalar) for tensor in declared if tensor.type}
    undeclared = {target: given for target, given in values.items() if known[target] is None}
    before = None
    while before != known:
        before = dict(known)
        for target, given in undeclared.items():
            known[target] = _any([_assigned(statement, known) for statement in given])
    return known


def with_lets(clauses: Iterable[ast.Clause], known: Mapping[str, Floating]) -> dict[str, Floating]:
    """`known`, extended by the lets of a statement."""
    inside = dict(known)
    for clause in clauses:
        if isinstance(clause, ast.LetClause):
            inside[clause.name] = is_floating(clause.value, inside)
    return inside


def _assigned(statement: ast.Assign, known: Mapping[str, Floating]) -> Floating:
    inside = with_lets(statement.where, known)
    reducer = {None: "sum", "+": "sum", "*": "prod"}.get(statement.reducer, statement.reducer or "")
    return _reduced(reducer, (statement.value,), inside)


def _floating_scalar(scalar: str) -> bool:
    return scalar.startswith(("float", "bfloat", "complex", "double", "half"))


def is_floating(expr: ast.Expr, known: Mapping[str, Floating]) -> Floating:
    """Whether `expr` is a float, given the kinds of tensors and lets in `known`; other bare names are integers."""
    match expr:
        case ast.Number(value):
            return isinstance(value, float | complex)
        case ast.Name(id):
            return known.get(id, False)
        case ast.SizeOf() | ast.Batch():
            return False
        case ast.Apply(function, arguments):
            return _applied(function, arguments, known)
        case ast.Cast(scalar):
            return _floating_scalar(scalar)
        case ast.Unary(operator, operand):
            return operator == "-" and is_floating(operand, known)
        case ast.Binary(operator, left, right):
            if operator == "truediv":
                return True
            return operator in ("+", "-", "*", "/", "//", "%", "**") and _joined((left, right), known)
        case ast.Conditional(_, then, otherwise):
            return _joined((then, otherwise), known)
        case ast.Reduction(reducer, _, _, arguments):
            return _reduced(reducer, arguments, known)
        case _:
            assert_never(expr)


def _applied(function: str, arguments: tuple[ast.Expr, ...], known: Mapping[str, Floating]) -> Floating:
    if function in known:
        return known[function]
    if function in _FLOATS:
        return True
    if function in _INTEGERS:
        return False
    return _joined(arguments, known) if function in _LIKE_THEIR_ARGUMENTS else None


def _reduced(reducer: str, arguments: tuple[ast.Expr, ...], known: Mapping[str, Floating]) -> Floating:
    if reducer in ("any", "all", "argmin", "argmax", "argmink", "argmaxk"):
        return False
    value = is_floating(arguments[0], known)
    return value if reducer in ("sum", "prod", "min", "max", "mink", "maxk") else value or None


def _joined(operands: Iterable[ast.Expr], known: Mapping[str, Floating]) -> Floating:
    return _any([is_floating(operand, known) for operand in operands])


def _any(kinds: list[Floating]) -> Floating:
    return True if True in kinds else None if None in kinds else False
