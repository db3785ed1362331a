"""The meaning of SaC programs: a naive evaluator of the tree, written from the specification's section 2 alone.

It shares nothing with the elaboration that it checks. Shapes are computed without values wherever the demand analysis
(2.7) says so; values are computed point by point.
"""

from collections.abc import Callable, Mapping

import numpy as np

from tcjax.syntax.sac import tree

from .comprehensions import comprehension
from .elementwise import elementwise_extents
from .functions import Component, components, invoke, lets
from .library import BINARY, CASTS, FOLDS, RULES, SCALAR_FUNCTIONS, UNARY
from .rules import call
from .scope import Scope
from .selections import select
from .values import (
    NeedsArguments,
    NeedsIndex,
    Operand,
    SacError,
    Shaped,
    Value,
    cast,
    check_condition,
    integers,
    known,
    promote,
    unify,
    value,
)

__all__ = ["SacError", "evaluate", "evaluate_with_statics"]


def evaluate(
    program: tree.Program,
    arguments: Mapping[str, np.ndarray],
    fns: Mapping[str, Callable] | None = None,
    strict: bool = False,
) -> np.ndarray | tuple[np.ndarray, ...]:
    """What the program gives for these arguments. Raises `SacError`."""
    return evaluate_with_statics(program, arguments, fns, strict)[0]


def evaluate_with_statics(
    program: tree.Program,
    arguments: Mapping[str, np.ndarray],
    fns: Mapping[str, Callable] | None = None,
    strict: bool = False,
) -> tuple[np.ndarray | tuple[np.ndarray, ...], frozenset[str]]:
    """The same, and the arguments whose elements decide shapes: those are static arguments."""
    static: frozenset[str] = frozenset()
    while True:
        bindings: dict[str, Operand | None] = {
            name: known(
                Value(
                    np.asarray(array),
                    Shaped(str(np.asarray(array).dtype), False, ()),
                    frozenset() if name in static else frozenset((name,)),
                )
            )
            for name, array in arguments.items()
        }
        functions = {function.name: function for function in program.functions}
        scope = Scope(bindings, expression, functions, fns or {}, strict)
        try:
            return _outputs(program, scope), static
        except NeedsArguments as needed:
            assert needed.names - static, "asked for what is known"
            static |= needed.names
        except RecursionError:
            raise SacError("static", "the recursion does not end") from None


def _outputs(program: tree.Program, scope: Scope) -> np.ndarray | tuple[np.ndarray, ...]:
    if program.result is None:
        function = entry(program.functions)
        parameters = [scope.bindings.get(parameter.name) for parameter in function.parameters]
        operands = invoke(function, [p for p in parameters if p], scope)
    else:
        scope = lets(program.lets, scope)
        operands = components(program.result, scope)
    for operand in operands:
        operand.shaped()
    found = [finished(operand.value()) for operand in operands]
    return found[0] if len(found) == 1 else tuple(found)


def entry(functions: tuple[tree.Function, ...]) -> tree.Function:
    """The function that no other calls."""
    called = {
        name
        for function in functions
        for name in calls((function.guards, function.lets, function.returns))
        if name != function.name
    }
    (function,) = (function for function in functions if function.name not in called)
    return function


def calls(node: object) -> set[str]:
    """The names of all functions called below a node."""
    if isinstance(node, tuple):
        return set().union(*map(calls, node))
    own = {node.function} if isinstance(node, tree.Call) else set()
    below = [getattr(node, name) for name in getattr(node, "__dataclass_fields__", {}) if name != "span"]
    return own.union(*(calls(child) for child in below if isinstance(child, tuple | tree.Node)))


def finished(found: Value) -> np.ndarray:
    """The array that comes back: literals alone make int32 and float32."""
    return value(found.data, Shaped(found.type.scalar, False, ())).data


# ---------------------------------------------------------------- expressions


def expression(node: tree.Expr, scope: Scope) -> Operand:
    """The meaning of an expression at a place."""
    match node:
        case tree.Number(number, scalar):
            kind = "bool" if isinstance(number, bool) else "int" if isinstance(number, int) else "float"
            default = {"bool": "bool", "int": "int32", "float": "float32"}[kind]
            return known(value(np.asarray(number), Shaped(scalar or default, not scalar and kind != "bool", ())))
        case tree.Name(name):
            if name not in scope.bindings:
                raise SacError("name", name)
            operand = scope.bindings[name]
            if operand is None:
                raise SacError("name", f"the own index {name} in a bound")
            return operand
        case tree.Unary(operator, operand):
            return call(operator, UNARY[operator], [scope.operand(operand)])
        case tree.Binary(("&&" | "||") as operator, left, right):
            return logical(operator, left, right, scope)
        case tree.Binary(operator, left, right):
            rule = BINARY.get(operator) or RULES[operator]
            return call(operator, rule, [scope.operand(left), scope.operand(right)])
        case tree.Conditional(condition, then, otherwise):
            return conditional(condition, then, otherwise, scope)
        case tree.Vector(elements):
            return vector([scope.operand(element) for element in elements])
        case tree.Select(array, index):
            return select(array, index, scope)
        case tree.Comprehension():
            return comprehension(node, scope)
        case tree.Call("sel", (index, array)):
            return select(array, (index,), scope)
        case tree.Call(name, arguments):
            return function_call(name, arguments, scope)
        case Component(tree.Call(name, arguments), position):
            operands = [scope.operand(argument) for argument in arguments]
            return later(lambda: invoke(scope.functions[name], operands, scope)[position])
        case _:
            raise AssertionError(node)


def later(make: Callable[[], Operand]) -> Operand:
    """An operand that is made when something is first asked of it: recursion ends where nothing is asked."""
    made: list[Operand] = []

    def operand() -> Operand:
        if not made:
            made.append(make())
        return made[0]

    return Operand(lambda: operand().shaped(), lambda: operand().value())


def function_call(name: str, arguments: tuple[tree.Expr, ...], scope: Scope) -> Operand:
    """A function of the text, of `fns` or of the library."""
    operands = [scope.operand(argument) for argument in arguments]
    if name in scope.functions:
        if len(scope.functions[name].results) != 1:
            raise SacError("type", f"{name} gives several values")
        return later(lambda: invoke(scope.functions[name], operands, scope)[0])
    if name in scope.foreign:
        return foreign(scope.foreign[name], operands)
    if name in CASTS:
        if len(operands) != 1:
            raise SacError("rank", f"{name} takes one argument")
        return cast(operands[0], CASTS[name])
    if name in ("shape", "dim"):
        if len(operands) != 1:
            raise SacError("rank", f"{name} takes one argument")
        return extents_of(operands[0]) if name == "shape" else rank_of(operands[0])
    if name not in RULES:
        raise SacError("name", name)
    made = call(name, RULES[name], operands)
    if name not in FOLDS or is_mapped_comprehension(arguments[0]):
        return made

    def shaped() -> Shaped:
        if operands[0].shaped().ragged:
            raise NeedsIndex("an index, in a fold of something else than a comprehension")
        return made.shaped()

    return Operand(shaped, made.value)


def is_mapped_comprehension(node: tree.Expr) -> bool:
    """Whether a fold goes over a comprehension, perhaps with scalar functions between."""
    match node:
        case tree.Comprehension():
            return True
        case tree.Unary(_, operand):
            return is_mapped_comprehension(operand)
        case tree.Binary(operator, left, right):
            return operator in BINARY and (is_mapped_comprehension(left) or is_mapped_comprehension(right))
        case tree.Call(name, arguments):
            return name in SCALAR_FUNCTIONS | CASTS and any(map(is_mapped_comprehension, arguments))
        case _:
            return False


def extents_of(operand: Operand) -> Operand:
    return Operand(lambda: Shaped("int32", False, (operand.shaped().rank,)), lambda: integers(operand.shaped().shape))


def rank_of(operand: Operand) -> Operand:
    return Operand(lambda: Shaped("int32", False, ()), lambda: integers(operand.shaped().rank))


def foreign(function: Callable, operands: list[Operand]) -> Operand:
    """A Python function on a cell; its shape is found by trying it on zeros."""

    def run(arrays: list[np.ndarray]) -> np.ndarray:
        return np.asarray(function(*arrays))

    def shaped() -> Shaped:
        shapes = [operand.shaped() for operand in operands]
        tried = run([np.zeros(s.shape, s.over(()).dtype) for s in shapes])
        return Shaped(str(tried.dtype), False, tried.shape)

    def evaluated() -> Value:
        values = [operand.value() for operand in operands]
        data = run([finished(v) for v in values])
        return Value(data, Shaped(str(data.dtype), False, ()), frozenset().union(*(v.taint for v in values)))

    return Operand(shaped, evaluated)


def vector(elements: list[Operand]) -> Operand:
    """``[a, b]``: elements of one type and shape, one above the other."""

    def shaped() -> Shaped:
        if not elements:
            return Shaped("int32", True, (0,))
        shapes = [element.shaped() for element in elements]
        if len({shape.shape for shape in shapes}) > 1:
            raise SacError("homogeneity", f"elements of shapes {[shape.shape for shape in shapes]}")
        return unify(shapes, "elements").over((len(elements), *shapes[0].shape))

    def run() -> Value:
        values = [element.value() for element in elements]
        result = shaped()
        data = np.array([v.data for v in values]).reshape(result.shape)
        return value(data, result, frozenset().union(*(v.taint for v in values)))

    return Operand(shaped, run)


# ---------------------------------------------------------------- choices


def logical(operator: str, left: tree.Expr, right: tree.Expr, scope: Scope) -> Operand:
    """``a && b``, ``a || b``: the right side only where the left does not decide."""
    first, second = scope.operand(left), scope.operand(right)

    def shaped() -> Shaped:
        check_condition(first, operator)
        check_condition(second, operator)
        return Shaped("bool", False, ())

    def run() -> Value:
        shaped()
        decided = first.value()
        if bool(decided.data) == (operator == "||"):
            return decided
        found = scope.doubting(bool(decided.arguments)).operand(right).value()
        return Value(found.data, found.type, found.taint | decided.taint)

    return Operand(shaped, run)


def conditional(condition: tree.Expr, then: tree.Expr, otherwise: tree.Expr, scope: Scope) -> Operand:
    """``c ? a : b``: decided while shapes are computed where it hangs on no index and no argument's elements."""
    test = scope.operand(condition)

    def chosen(place: Scope) -> Operand:
        return place.operand(then if test.value().data else otherwise)

    def choose() -> Operand:
        check_condition(test, "a condition")
        try:
            decided = test.value()
        except SacError:
            # An index without a value, or a selection that fails: that matters only where it runs.
            decided = None
        if decided is not None and not decided.taint:
            return chosen(scope)
        place = scope.doubting(decided is not None and bool(decided.arguments))
        shapes = [place.operand(branch).shaped() for branch in (then, otherwise)]
        if shapes[0].shape != shapes[1].shape:
            test.demand()
            return chosen(scope)
        joined = promote(shapes).over(elementwise_extents(shapes))

        def run() -> Value:
            picked = chosen(place).value()
            return value(picked.data, joined, picked.taint | test.value().taint)

        return Operand(lambda: joined, run)

    return later(choose)
