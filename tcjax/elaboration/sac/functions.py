"""Functions of the text: matched by type patterns, and inlined where they are called."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from ...diagnostics import Code, CompileError, Span
from ...syntax.sac import tree
from ..signature import ValueNeeded
from .arrays import Array, is_int
from .cells import apply_python
from .draft import Draft, IndexNeeded
from .patterns import match_all, typed
from .quotients import heed
from .reading import element, is_computed, stored
from .scope import Scope
from .statics import evaluate as evaluate_static
from .statics import static_bool

Evaluate = Callable[[tree.Expr, Scope], Array]

_DEEPEST: Final = 60


def call_function(
    function: tree.Function, arguments: Sequence[Array], span: Span, draft: Draft, evaluate: Evaluate
) -> tuple[Array, ...]:
    """The results of a function of the text. Raises `CompileError`: TC0503, TC0502, TC0606, TC0103."""
    if len(arguments) != len(function.parameters):
        raise CompileError(
            Code.WRONG_ARGUMENT_COUNT,
            f"`{function.name}` takes {len(function.parameters)} arguments, but got {len(arguments)}",
            span,
            help=f"give it {', '.join(parameter.name for parameter in function.parameters) or 'nothing'}",
        )
    if len(draft.calls) > _DEEPEST:
        raise CompileError(
            Code.TOO_DEEP,
            f"`{function.name}` is written out inside itself more than {_DEEPEST} times",
            span,
            help="end a recursion early, by a condition on shapes such as `dim(a) == 0 ? a : ...`, or repeat in Python",
        )
    draft.calls.append(function.name)
    try:
        return results_of(function, arguments, span, draft, evaluate)
    finally:
        draft.calls.pop()


def results_of(
    function: tree.Function, arguments: Sequence[Array], span: Span, draft: Draft, evaluate: Evaluate
) -> tuple[Array, ...]:
    """The results of the function's body with its parameters bound; checks its guards and results."""
    bound: dict[str, Array] = {}
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        heed((argument,), parameter.type.scalar, draft)
    patterns: list[tuple[tree.TypePattern, Array, str]] = []
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        what = f"`{parameter.name}` of `{function.name}`"
        patterns.append((parameter.type, typed(parameter.type, argument, what, span), what))
    values = {p.name: a.called(p.name) for p, (_, a, _) in zip(function.parameters, patterns, strict=True)}
    numbers = {name: array for name, array in values.items() if not array.rank and is_int(array.kind)}
    match_all(patterns, bound, numbers, span, draft)
    # In the body, a parameter hides the name bound by a type pattern; in type patterns it is the other way round.
    scope = Scope({**bound, **values}, draft)
    for guard in function.guards:
        _check_guard(guard, function, scope, span, evaluate)
    scope = with_lets(function.lets, scope, evaluate)
    found = tuple(evaluate(node, scope) for node in function.returns)
    if len(found) != len(function.results):
        raise CompileError(
            Code.WRONG_ARGUMENT_COUNT,
            f"`{function.name}` declares {len(function.results)} results and returns {len(found)}",
            function.span,
            help="declare a type for each array that is returned",
        )
    what = f"the result of `{function.name}`"
    checked = [
        (pattern, typed(pattern, array, what, function.span), what)
        for pattern, array in zip(function.results, found, strict=True)
    ]
    match_all(checked, {**values, **bound}, {}, function.span, draft)
    return tuple(array for _, array, _ in checked)


def with_lets(lets: Sequence[tree.Let], scope: Scope, evaluate: Evaluate) -> Scope:
    """The scope after some lets."""
    for let in lets:
        if len(let.names) == 1:
            value = evaluate(let.value, scope).called(let.names[0])
            _prepare(value, scope.draft)
            scope = scope.child({let.names[0]: value})
            continue
        found = _several(let, scope, evaluate)
        if len(found) != len(let.names):
            raise CompileError(
                Code.WRONG_ARGUMENT_COUNT,
                f"this gives {len(found)} arrays, but the left side names {len(let.names)}",
                let.span,
                help="name each result once",
            )
        scope = scope.child({name: array.called(name) for name, array in zip(let.names, found, strict=True)})
    return scope


def _prepare(value: Array, draft: Draft) -> None:
    """Stores a let before anything reads it if it must be computed in place: in order, and without deep recursion.

    An error in it is raised only if it is read.
    """
    if value.closed and value.keep is not None:
        with suppress(CompileError, IndexNeeded, ValueNeeded):
            if is_computed(value, draft):
                stored(value, draft)


def results_in(node: tree.Expr, scope: Scope, evaluate: Evaluate) -> tuple[Array, ...]:
    """The results of an expression: those of a call, or one array."""
    match node:
        case tree.Call(name, arguments) if name in scope.draft.definitions:
            given = [evaluate(argument, scope) for argument in arguments]
            return call_function(scope.draft.definitions[name], given, node.span, scope.draft, evaluate)
        case tree.Call(name, arguments) if name in scope.draft.functions:
            return apply_python(name, [evaluate(a, scope) for a in arguments], node.span, scope.draft)
        case _:
            return (evaluate(node, scope),)


def _several(let: tree.Let, scope: Scope, evaluate: Evaluate) -> tuple[Array, ...]:
    """The results of a call, or of a comprehension whose bodies are calls."""
    match let.value:
        case tree.Comprehension(partitions):

            def one(number: int) -> Array:
                def part(node: tree.Expr, inner: Scope) -> Array:
                    if any(node is partition.body for partition in partitions):
                        found = _several(tree.Let(let.names, node, span=node.span), inner, evaluate)
                        if len(found) != len(let.names):
                            raise CompileError(
                                Code.WRONG_ARGUMENT_COUNT,
                                f"this body gives {len(found)} arrays, but the left side names {len(let.names)}",
                                node.span,
                                help="call a function that returns as many, or name one result",
                            )
                        return found[number]
                    return evaluate(node, inner)

                from .comprehensions import comprehension

                assert isinstance(let.value, tree.Comprehension)
                return comprehension(let.value, scope, part)

            return tuple(one(number) for number in range(len(let.names)))
        case _:
            return results_in(let.value, scope, evaluate)


def _check_guard(guard: tree.Expr, function: tree.Function, scope: Scope, span: Span, evaluate: Evaluate) -> None:
    condition = evaluate(guard, scope)
    if condition.kind != "bool" or condition.rank:
        raise CompileError(Code.NOT_BOOLEAN, "a guard must be a bool", guard.span, help="compare: `| shape(a)[0] == n`")
    found = static_bool(condition, scope.draft)
    if found is None:
        value = evaluate_static(element(condition, (), scope.draft), scope.draft)
        found = bool(value) if isinstance(value, bool) else None
        assert found is not None
    if not found:
        raise CompileError(
            Code.VIOLATED_PATTERN,
            f"a guard of `{function.name}` is false for these arguments",
            guard.span,
            help="pass arguments for which it holds",
        )
