"""Expressions as array values: the meaning of every node of the tree."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, assert_never

from ...diagnostics import NOWHERE, Code, CompileError, Span
from ...ir import types
from ...ir.builtins import BUILTINS
from ...symbolic import Size
from ...syntax.sac import tree
from ..literals import Literal, literal
from ..operators import convert_to
from ..reducers import registered
from ..signature import ValueNeeded
from ..spelling import counted, did_you_mean
from . import structure, windows
from .arrays import Array, Ragged, agreed_kind, is_int, joined_kind, literal_vector, scalar, show_kind
from .cells import apply_python
from .comprehensions import comprehension
from .draft import Draft, IndexNeeded
from .elementwise import binary, builtin, cast, choose, extremum, modulo, no_fold, part, unary, where
from .folds import FOLDS, fold, fold_leading
from .functions import call_function
from .quotients import is_exact, made_of, with_division
from .ragged import ragged
from .reading import element
from .scope import Scope
from .selections import select
from .statics import evaluate, require_int, require_scalar, static_bool, static_int
from .walks import free_names, generator_parts, mentions

Operand = Callable[[tree.Expr, Scope], Array | Ragged]

_CASTS: Final = {"toi": "int32", "tof": "float32", "tod": "float64", "tob": "bool", **types.SPELLINGS}

# Functions that rearrange elements, with their numbers of arguments.
STRUCTURE: Final = {
    "shape": (1,),
    "dim": (1,),
    "sel": (2,),
    "take": (2,),
    "drop": (2,),
    "tile": (3,),
    "take_apl": (2,),
    "drop_apl": (2,),
    "tile_apl": (3,),
    "reverse": (1, 2),
    "rotate": (2, 3),
    "shift": (4,),
    "transpose": (1,),
    "reshape": (2,),
    "genarray": (2,),
    "iota": (1,),
    "modarray": (3,),
    "where": (3,),
    "rsum": (2,),
    "min": (2,),
    "max": (2,),
    "mod": (2,),
}
LIBRARY: Final = frozenset((*STRUCTURE, *_CASTS, *FOLDS, *BUILTINS))


def expression(node: tree.Expr, scope: Scope) -> Array:
    """The array value of an expression. Raises `CompileError`, and `ValueNeeded` if it needs an argument's value."""
    scope.draft.step(node.span)
    match node:
        case tree.Number(value, dtype):
            number = literal(value, node.span)
            return scalar(number if dtype is None else convert_to(dtype, number, node.span))
        case tree.Name(name):
            return scope.value(name, node.span)
        case tree.Conditional():
            return _conditional(node, scope)
        case tree.Vector(elements):
            return _vector(node, [expression(cell, scope) for cell in elements], scope.draft)
        case tree.Select(array, index):
            whole = expression(array, scope)
            if len(index) == 1 and isinstance(index[0], tree.Vector):
                index = index[0].elements
            parts = [one if isinstance(one, tree.Dot) else expression(one, scope) for one in index]
            selected = select(whole, parts, [one.span for one in index], node.span, scope.draft)
            return made_of(selected, (whole,), scope.draft)
        case tree.Comprehension():
            return with_division(remembered(node, scope), node)
        case tree.Unary() | tree.Binary() | tree.Call():
            found = for_fold(node, scope, expression)
            if isinstance(found, Ragged):
                raise no_fold("this", node.span)
            return found
        case _:
            assert_never(node)


def remembered(node: tree.Comprehension, scope: Scope) -> Array:
    """The array of a comprehension, elaborated once for the same values of its names."""
    memory = scope.draft.memory
    values = tuple(scope.names.get(name) for name in free_names(node))
    key = (id(node), *map(id, values))
    if key not in memory:
        # The values are kept, so that their `id`s are not reused.
        memory[key] = (node, *values), comprehension(node, scope, expression)
    return memory[key][1]


def for_fold(node: tree.Expr, scope: Scope, inner_value: Operand | None = None) -> Array | Ragged:
    """The value of an expression for a fold; there a comprehension may have bounds that depend on outer indices."""
    operand = inner_value or for_fold
    draft = scope.draft
    match node:
        case tree.Unary(operator, inner):
            given = operand(inner, scope)
            return made_of(unary(operator, given, node.span, draft), (given,), draft)
        case tree.Binary("++" | "++^" as operator, left, right):
            first, second = expression(left, scope), expression(right, scope)
            return structure.concatenate(first, second, 0 if operator == "++" else -1, node.span, draft)
        case tree.Binary("&&" | "||" as operator, left, right):
            first = operand(left, scope)
            with draft.instance():
                second = operand(right, scope)
            return binary(operator, first, second, node.span, draft)
        case tree.Binary(operator, left, right):
            first = operand(left, scope)
            second = operand(right, scope)
            found = binary(operator, first, second, node.span, draft)
            if operator == "/" and is_int(found.kind):
                return found if is_exact(node) else replace(found, quotient=node.span)
            return made_of(found, (first, second), draft, joined_kind((first.kind, second.kind)))
        case tree.Call(name, arguments):
            if name in scope.draft.definitions or name in scope.draft.functions:
                return _called(node, scope)
            if name in FOLDS:
                _check_count(node, (1,))
                folded = for_fold(arguments[0], scope)
                return made_of(fold(FOLDS[name], folded, node.span, draft), (folded,), draft)
            if name in _CASTS:
                _check_count(node, (1,))
                return cast(_CASTS[name], operand(arguments[0], scope), node.span, draft)
            if name in BUILTINS:
                _check_count(node, (BUILTINS[name].arity,))
                given = [operand(a, scope) for a in arguments]
                return made_of(builtin(name, given, node.span, draft), given, draft)
            if name in STRUCTURE:
                _check_count(node, STRUCTURE[name])
                if name in ("min", "max"):
                    given = [operand(a, scope) for a in arguments]
                    return made_of(extremum(name, given, node.span, draft), given, draft)
                return _structural(node, [expression(argument, scope) for argument in arguments], draft)
            monoid = registered(name)
            if monoid is not None:
                _check_count(node, (1,))
                return fold(monoid, for_fold(arguments[0], scope), node.span, draft)
            raise unknown_function(node, scope)
        case tree.Comprehension() if inner_value is None:
            try:
                return with_division(remembered(node, scope), node)
            except CompileError as error:
                if error.diagnosis is not Code.SHAPE_NEEDS_INDEX:
                    raise
            except ValueNeeded:
                # An index that has one value is a number here: that makes no shape of a range of rows.
                parts = [part for partition in node.partitions for part in generator_parts(partition)]
                if not any(mentions(part, scope.indices) for part in parts):
                    raise
            return with_division(ragged(node, scope, expression), node)
        case _:
            return expression(node, scope)


def unknown_function(node: tree.Call, scope: Scope) -> CompileError:
    """The error for a function that is not defined anywhere."""
    known = (*scope.draft.definitions, *scope.draft.functions, *LIBRARY)
    return CompileError(
        Code.UNKNOWN_FUNCTION,
        f"there is no function `{node.function}`",
        node.span.part(node.function),
        help=did_you_mean(
            node.function,
            known,
            f'define it in the text, or give `fns={{"{node.function}": ...}}`; arrays are '
            "selected with brackets, `a[i]`",
        ),
    )


def _structural(node: tree.Call, arguments: Sequence[Array], draft: Draft) -> Array:
    span = node.span
    match (node.function, *arguments):
        case ("shape", array):
            return structure.shape_of(array)
        case ("dim", array):
            return scalar(literal(array.rank, span))
        case ("sel", index, array):
            return select(array, [index], [span], span, draft)
        case ("take", amount, array):
            return windows.take(amount, array, span, draft)
        case ("drop", amount, array):
            return windows.drop(amount, array, span, draft)
        case ("tile", shape, offset, array):
            return windows.tile(shape, offset, array, span, draft)
        case ("take_apl", amount, array):
            return windows.take(amount, array, span, draft, fills=True)
        case ("drop_apl", amount, array):
            return windows.drop(amount, array, span, draft, fills=True)
        case ("tile_apl", shape, offset, array):
            return windows.tile_apl(shape, offset, array, span, draft)
        case ("reverse", array):
            _need_axis(array, span)
            return structure.reverse(0, array, span, draft)
        case ("reverse", axis, array):
            return structure.reverse(_axis(axis, array, span, draft), array, span, draft)
        case ("rotate", amounts, array):
            return _rotate_all(amounts, array, span, draft)
        case ("rotate", axis, amount, array):
            _need_scalar_int(amount, "the amount of `rotate`", span)
            return structure.rotate(_axis(axis, array, span, draft), amount, array, span, draft)
        case ("shift", axis, amount, fill, array):
            _need_scalar_int(amount, "the amount of `shift`", span)
            return structure.shift(_axis(axis, array, span, draft), amount, fill, array, span, draft)
        case ("transpose", array):
            return structure.transpose(array, span, draft)
        case ("reshape", shape, array):
            return structure.reshape(shape, array, span, draft)
        case ("genarray", shape, cell):
            return structure.genarray(shape, cell, span, draft)
        case ("iota", shape):
            return structure.iota(shape, span, draft)
        case ("modarray", array, index, cell):
            return structure.modarray(array, index, cell, span, draft)
        case ("where", _, _, _):
            return _array(where(arguments, span, draft))
        case ("rsum", count, array):
            leading = draft.number(static_int(count, "the number of axes of `rsum`", span, draft))
            if not 0 <= leading <= array.rank:
                raise CompileError(
                    Code.INDEX_TOO_LONG,
                    f"`rsum` sums over the first {leading} of {array.rank} axes",
                    span,
                    help="give the number of leading axes to sum over",
                )
            return fold_leading(leading, array, span, draft) if leading else array
        case ("mod", _, _):
            return _array(modulo(arguments, span, draft))
        case _:
            raise AssertionError(node.function)


def _conditional(node: tree.Conditional, scope: Scope) -> Array:
    draft = scope.draft
    condition = expression(node.condition, scope)
    if condition.kind != "bool":
        raise CompileError(
            Code.NOT_BOOLEAN,
            f"the condition of `? :` must be a bool, but this is {show_kind(condition.kind)}",
            node.condition.span,
            help="compare: `x != 0 ? ... : ...`",
        )
    require_scalar(condition, "the condition of `? :`", node.condition.span)
    known = static_bool(condition, draft)
    if known is None and draft.recurs:
        known = _required(condition, node, draft)
    if known is not None:
        return expression(node.then if known else node.otherwise, scope)
    with draft.instance():
        then, otherwise = expression(node.then, scope), expression(node.otherwise, scope)
    if draft.numbers(then.shape) != draft.numbers(otherwise.shape):
        decided = _decided(condition, then, otherwise, node, draft)
        return then if decided else otherwise
    kind = joined_kind((then.kind, otherwise.kind))
    if "bool" in (then.kind, otherwise.kind) and then.kind != otherwise.kind:
        raise structure.unequal_kinds("the two branches of `? :`", then, otherwise, node.span)
    return made_of(choose(condition, then, otherwise, kind, node.span, draft), (then, otherwise), draft)


def _required(condition: Array, node: tree.Conditional, draft: Draft) -> bool | None:
    """The value of a condition that ends a recursion; None if it depends on an index."""
    try:
        return bool(evaluate(element(condition, (), draft), draft))
    except IndexNeeded:
        return None
    except ValueNeeded as needed:
        raise ValueNeeded(needed.name, node.condition.span) from None


def _decided(condition: Array, then: Array, otherwise: Array, node: tree.Conditional, draft: Draft) -> bool:
    """The value of a condition that determines a shape."""
    try:
        return bool(evaluate(element(condition, (), draft), draft))
    except IndexNeeded:
        shapes = list(draft.numbers(then.shape)), list(draft.numbers(otherwise.shape))
        raise CompileError(
            Code.UNEQUAL_CELLS,
            f"the branches of `? :` have the shapes {shapes[0]} and {shapes[1]}",
            node.span,
            help="an index decides between them, so both must have one shape",
        ) from None
    except ValueNeeded as needed:
        raise ValueNeeded(needed.name, node.span) from None


def _vector(node: tree.Vector, cells: list[Array], draft: Draft) -> Array:
    if not cells:
        return Array("int32", (Size.of(0),), lambda _: Literal(0, NOWHERE), cells=())
    first = cells[0]
    kind = first.kind
    for cell, written in zip(cells[1:], node.elements[1:], strict=True):
        if draft.numbers(cell.shape) != draft.numbers(first.shape):
            raise CompileError(
                Code.UNEQUAL_CELLS,
                f"the elements of this literal have the shapes {list(draft.numbers(first.shape))} and "
                f"{list(draft.numbers(cell.shape))}",
                written.span,
                help="all elements of `[a, b]` have one shape; `a ++ b` joins arrays of other lengths",
            )
        agreed = agreed_kind(kind, cell.kind)
        if agreed is None:
            raise structure.unequal_kinds("the elements of a literal", replace(first, kind=kind), cell, written.span)
        kind = agreed
    return literal_vector(tuple(cells), kind)


def _rotate_all(amounts: Array, array: Array, span: Span, draft: Draft) -> Array:
    require_int(amounts, "the amounts of `rotate`", span)
    count = 1 if not amounts.rank else draft.number(amounts.shape[0])
    if amounts.rank > 1 or count > array.rank:
        raise CompileError(
            Code.INDEX_TOO_LONG,
            f"`rotate` is given {count} amounts, the array has {array.rank} axes",
            span,
            help="give one amount for each leading axis: `rotate([1, 0], a)`",
        )
    for axis in range(count):
        array = structure.rotate(axis, part(amounts, axis, draft) if amounts.rank else amounts, array, span, draft)
    return array


def _axis(axis: Array, array: Array, span: Span, draft: Draft) -> int:
    number = draft.number(static_int(axis, "the axis", span, draft))
    if not 0 <= number < array.rank:
        raise CompileError(
            Code.INDEX_TOO_LONG,
            f"there is no axis {number}: the array has {array.rank}",
            span,
            help="axes are counted from 0",
        )
    return number


def _need_axis(array: Array, span: Span) -> None:
    if not array.rank:
        raise CompileError(
            Code.NEEDS_AXES, "a scalar has no axis to reverse", span, help="give an array with at least one axis"
        )


def _need_scalar_int(array: Array, what: str, span: Span) -> None:
    require_int(array, what, span)
    require_scalar(array, what, span)


def _called(node: tree.Call, scope: Scope) -> Array:
    name = node.function
    arguments = [expression(argument, scope) for argument in node.arguments]
    if name in scope.draft.definitions:
        results = call_function(scope.draft.definitions[name], arguments, node.span, scope.draft, expression)
    else:
        results = apply_python(name, arguments, node.span, scope.draft)
    if len(results) != 1:
        raise CompileError(
            Code.WRONG_ARGUMENT_COUNT,
            f"`{name}` gives {len(results)} arrays, but one is needed here",
            node.span,
            help=f"take them apart in a statement: `{', '.join('abcdefgh'[: len(results)])} = {name}(...);`",
        )
    return results[0]


def _check_count(node: tree.Call, accepted: tuple[int, ...]) -> None:
    if len(node.arguments) not in accepted:
        wanted = " or ".join(map(str, accepted))
        raise CompileError(
            Code.WRONG_ARGUMENT_COUNT,
            f"`{node.function}` takes {wanted} {'argument' if wanted == '1' else 'arguments'}, "
            f"given: {counted(len(node.arguments), 'argument')}",
            node.span,
            help=f"fold an array with `{node.function}val(...)`"
            if node.function in ("min", "max") and len(node.arguments) == 1
            else f"write `{node.function}({', '.join('abcd'[: accepted[0]])})`",
        )


def _array(found: Array | Ragged) -> Array:
    assert isinstance(found, Array)
    return found
