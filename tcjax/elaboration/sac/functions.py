"""Functions: those of the text, matched by type patterns and written out, and Python's, on cells."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ... import ir
from ...diagnostics import Code, CompileError, Span
from ...symbolic import Affine, IndexVar, Size
from ...syntax.sac import tree
from ..literals import Value, settled
from .arrays import Array, Kind, Place, conformed, dtype_of_kind, is_float, is_int, literal_vector, scalar, show_kind
from .draft import Draft, IndexNeeded
from .reading import element, stored
from .scope import Scope
from .statics import evaluate as evaluate_static
from .statics import static_bool
from .structure import shape_of

Evaluate = Callable[[tree.Expr, Scope], Array]

_DEEPEST: Final = 60


def call_function(
    function: tree.Function, arguments: Sequence[Array], span: Span, draft: Draft, evaluate: Evaluate
) -> tuple[Array, ...]:
    """The results of a function of the text. Raises `CompileError`: TC0503, TC0502, TC0606, TC0103."""
    if len(arguments) != len(function.parameters):
        raise CompileError(
            Code.WRONG_ARGUMENT_COUNT,
            f"`{function.name}` takes {len(function.parameters)} arguments, given are {len(arguments)}",
            span,
            help=f"give it {', '.join(parameter.name for parameter in function.parameters) or 'nothing'}",
        )
    if draft.depth > _DEEPEST:
        raise CompileError(
            Code.TOO_DEEP,
            f"`{function.name}` calls itself without an end",
            span,
            help="end a recursion by a condition on shapes: `dim(a) == 0 ? a : ...`",
        )
    draft.depth += 1
    draft.calls.append(function.name)
    try:
        return results_of(function, arguments, span, draft, evaluate)
    finally:
        draft.depth -= 1
        draft.calls.pop()


def results_of(
    function: tree.Function, arguments: Sequence[Array], span: Span, draft: Draft, evaluate: Evaluate
) -> tuple[Array, ...]:
    """The body of a function with its parameters bound, its guards and results checked."""
    bound: dict[str, Array] = {}
    typed: list[Array] = []
    pending = list(zip(function.parameters, arguments, strict=True))
    for parameter, argument in pending:
        typed.append(_typed(parameter.type, argument, f"`{parameter.name}` of `{function.name}`", span))
    patterns = [
        (parameter.type, array, f"`{parameter.name}` of `{function.name}`")
        for parameter, array in zip(function.parameters, typed, strict=True)
    ]
    _match_all(patterns, bound, span, draft)
    bound |= {p.name: a.called(p.name) for p, a in zip(function.parameters, typed, strict=True)}
    scope = Scope(bound, draft)
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
    typed_results = tuple(
        _typed(pattern, array, f"the result of `{function.name}`", function.span)
        for pattern, array in zip(function.results, found, strict=True)
    )
    what = f"the result of `{function.name}`"
    checked = [(pattern, array, what) for pattern, array in zip(function.results, typed_results, strict=True)]
    _match_all(checked, dict(bound), function.span, draft)
    return typed_results


def with_lets(lets: Sequence[tree.Let], scope: Scope, evaluate: Evaluate) -> Scope:
    """The scope behind some lets."""
    for let in lets:
        if len(let.names) == 1:
            scope = scope.child({let.names[0]: evaluate(let.value, scope).called(let.names[0])})
            continue
        found = _several(let, scope, evaluate)
        if len(found) != len(let.names):
            raise CompileError(
                Code.WRONG_ARGUMENT_COUNT,
                f"this gives {len(found)} arrays, on the left stand {len(let.names)}",
                let.span,
                help="name each result once",
            )
        scope = scope.child({name: array.called(name) for name, array in zip(let.names, found, strict=True)})
    return scope


def _several(let: tree.Let, scope: Scope, evaluate: Evaluate) -> tuple[Array, ...]:
    """The results of a call, or of a comprehension each of whose bodies is one."""
    match let.value:
        case tree.Call(name, arguments) if name in scope.draft.definitions:
            given = [evaluate(argument, scope) for argument in arguments]
            return call_function(scope.draft.definitions[name], given, let.value.span, scope.draft, evaluate)
        case tree.Call(name, arguments) if name in scope.draft.functions:
            return apply_python(name, [evaluate(a, scope) for a in arguments], let.value.span, scope.draft)
        case tree.Comprehension(partitions):

            def one(number: int) -> Array:
                def part(node: tree.Expr, inner: Scope) -> Array:
                    if any(node is partition.body for partition in partitions):
                        found = _several(tree.Let(let.names, node, span=node.span), inner, evaluate)
                        if len(found) != len(let.names):
                            raise CompileError(
                                Code.WRONG_ARGUMENT_COUNT,
                                f"this body gives {len(found)} arrays, on the left stand {len(let.names)}",
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
            return (evaluate(let.value, scope),)


# ---------------------------------------------------------------- type patterns


def _typed(pattern: tree.TypePattern, array: Array, what: str, span: Span) -> Array:
    """The array as one of the pattern's element type."""
    wanted = pattern.scalar
    if array.kind == wanted:
        return array
    weak = not isinstance(array.kind, str)
    fits = weak and ((is_int(array.kind) and wanted != "bool") or (is_float(array.kind) and is_float(wanted)))
    if not fits:
        raise CompileError(
            Code.ARGUMENT_TYPE,
            f"{what} is declared {show_kind(wanted)}, this is {show_kind(array.kind)}",
            span,
            help="convert it first, with `toi`, `tof`, `tod` or `tob`",
        )
    return _of_kind(array, wanted)


def _of_kind(array: Array, kind: Kind) -> Array:
    read, pieces, layers, cells = array.read, array.pieces, array.layers, array.cells
    return replace(
        array,
        kind=kind,
        read=lambda place: conformed(read(place), kind),
        cells=None if cells is None else tuple(_of_kind(cell, kind) for cell in cells),
        pieces=None
        if pieces is None
        else lambda: tuple(replace(p, read=lambda place, p=p: conformed(p.read(place), kind)) for p in pieces()),
        layers=None if layers is None else lambda: (),
        stored=None,
    )


def _match_all(
    patterns: Sequence[tuple[tree.TypePattern, Array, str]], bound: dict[str, Array], span: Span, draft: Draft
) -> None:
    """Binds the names of type patterns. Raises `CompileError`: TC0502, TC0606, and TC0407 where nothing solves one."""
    pending = list(patterns)
    while pending:
        left = [entry for entry in pending if not _match(*entry, bound, span, draft)]
        if len(left) == len(pending):
            raise CompileError(
                Code.UNSOLVABLE_PATTERN,
                f"the type pattern of {left[0][2]} has more than one part of unknown rank",
                left[0][0].span,
                help="say how many axes one part has, `2:shp`, or bind it in an earlier argument",
            )
        pending = left


def _match(
    pattern: tree.TypePattern, array: Array, what: str, bound: dict[str, Array], span: Span, draft: Draft
) -> bool:
    """Binds the names of a type pattern; False where it is not solvable yet."""
    fixed, unknown = 0, []
    counts: list[int | None] = []
    for axes in pattern.axes:
        match axes:
            case tree.Axis():
                counts.append(1)
            case tree.Axes(int() as count):
                counts.append(count)
            case tree.Axes(str() as name) if name in bound:
                counts.append(_number(bound[name], draft))
            case _:
                counts.append(None)
                unknown.append(axes)
        fixed += counts[-1] or 0
    if len(unknown) > 1:
        return False
    rest = array.rank - fixed
    if rest < 0 or (rest > 0 and not unknown) or (unknown and rest < unknown[0].least):
        raise CompileError(
            Code.ARGUMENT_RANK,
            f"{what} has {_axes_wanted(pattern, fixed, unknown)}, this has {array.rank}",
            span,
            help="pass an array of the rank that the type pattern says",
        )
    position = 0
    for axes, known in zip(pattern.axes, counts, strict=True):
        count = rest if known is None else known
        extents = array.shape[position : position + count]
        position += count
        match axes:
            case tree.Axis(None):
                continue
            case tree.Axis(int() as extent):
                _require(draft.number(extents[0]) == extent, what, array, f"{extent}", span, draft)
            case tree.Axis(str() as name):
                if name in bound:
                    wanted = _number(bound[name], draft)
                    _require(draft.number(extents[0]) == wanted, what, array, f"{name} = {wanted}", span, draft)
                else:
                    bound[name] = shape_of(replace(array, shape=extents)).cells[0]  # type: ignore[index]
            case tree.Axes(number, _, name):
                if isinstance(number, str) and number not in bound:
                    bound[number] = scalar(ir.Const(count, "int32"))
                if name is not None:
                    own = literal_vector(shape_of(replace(array, shape=extents)).cells or (), "int32")
                    if name in bound:
                        _require(_same(bound[name], extents, draft), what, array, name, span, draft)
                    else:
                        bound[name] = own
    return True


def _axes_wanted(pattern: tree.TypePattern, fixed: int, unknown: Sequence[tree.Axes]) -> str:
    if unknown:
        return f"at least {fixed + unknown[0].least} axes"
    return "no axes" if not fixed else "1 axis" if fixed == 1 else f"{fixed} axes"


def _number(array: Array, draft: Draft) -> int:
    found = evaluate_static(element(array, (), draft), draft)
    assert isinstance(found, Size)
    return draft.number(found)


def _same(vector: Array, extents: tuple[Size, ...], draft: Draft) -> bool:
    cells = vector.cells or ()
    return [_number(cell, draft) for cell in cells] == list(draft.numbers(extents))


def _require(holds: bool, what: str, array: Array, wanted: str, span: Span, draft: Draft) -> None:
    if not holds:
        raise CompileError(
            Code.VIOLATED_PATTERN,
            f"{what} has the shape {list(draft.numbers(array.shape))}, its type pattern wants {wanted} there",
            span,
            help="return an array of the declared shape, or declare it as `[*]`"
            if what.startswith("the result")
            else "pass arrays that agree, or give the axes different names in the pattern",
        )


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


# ---------------------------------------------------------------- Python functions on cells


def apply_python(name: str, arguments: Sequence[Array], span: Span, draft: Draft) -> tuple[Array, ...]:
    """The results of a function from ``fns``, their shapes found without running it."""
    given = tuple((draft.numbers(a.shape), dtype_of_kind(a.kind)) for a in arguments)
    found = draft.functions[name].results(given)
    free = frozenset().union(*(argument.free for argument in arguments))
    memory: dict[tuple[int, tuple[IndexVar, ...]], tuple[ir.Tensor, ...]] = {}

    def targets() -> tuple[tuple[ir.Tensor, ...], tuple[IndexVar, ...]]:
        # Which indices of the statement the cells depend on, only a reading shows.
        frame = _frame(arguments, draft) if free else ()
        unknown = [index for index in frame if index not in draft.ranges]
        if unknown:
            raise IndexNeeded(unknown[0])
        key = (draft.number_of_statement if frame else 0, frame)
        if key not in memory:
            memory[key] = _apply(name, arguments, found, frame, span, draft)
        return memory[key], frame

    def result(number: int, shape: tuple[int, ...], dtype: str) -> Array:
        def read(place: Place) -> Value:
            tensors, frame = targets()
            lead = tuple(Affine.of(index) - draft.ranges[index][0] for index in frame)
            return ir.Access(tensors[number], (*lead, *place), span=span)

        return Array(dtype, tuple(map(Size.of, shape)), read, free)

    results = [result(number, *entry) for number, entry in enumerate(found)]
    return tuple(results) if free else tuple(array.called(name) for array in results)


def _frame(arguments: Sequence[Array], draft: Draft) -> tuple[IndexVar, ...]:
    """The indices of the statement that the arguments depend on."""
    used: dict[IndexVar, None] = {}
    for argument in arguments:
        if argument.free:
            with draft.statement(inside=True):
                inner = tuple(Affine.of(draft.fresh("_", 0, extent)) for extent in draft.numbers(argument.shape))
                if any(extent == 0 for extent in draft.numbers(argument.shape)):
                    continue
                value = settled(element(argument, inner, draft))
            own = {index for place in inner for index in place.variables}
            used.update(dict.fromkeys(sorted(ir.free_indices(value) - own, key=str)))
    return tuple(used)


def _apply(
    name: str,
    arguments: Sequence[Array],
    found: Sequence[tuple[tuple[int, ...], str]],
    frame: tuple[IndexVar, ...],
    span: Span,
    draft: Draft,
) -> tuple[ir.Tensor, ...]:
    lead = tuple(Size.of(draft.ranges[index][1] - draft.ranges[index][0]) for index in frame)
    tensors: list[ir.Tensor] = []
    varying: list[bool] = []
    for argument in arguments:
        varies = bool(frame) and bool(argument.free)
        whole = _spread(argument, frame, lead, draft) if varies else argument
        tensor = stored(whole, draft).tensor
        assert tensor is not None
        tensors.append(tensor)
        varying.append(varies)
    targets = tuple(
        draft.tensor(draft.unused(name), dtype, (*lead, *map(Size.of, shape)), declared=False, span=span)
        for shape, dtype in found
    )
    # Which of the cells were read is not known here: each of a frame is computed.
    draft.statements.append(
        ir.ApplyForeign(targets, name, tuple(tensors), len(frame), tuple(varying) if frame else (), span=span)
    )
    return targets


def _spread(argument: Array, frame: tuple[IndexVar, ...], lead: tuple[Size, ...], draft: Draft) -> Array:
    """The cells of an argument for all indices of the statement that they depend on."""
    outside = [draft.ranges[index] for index in frame]
    count = len(frame)

    def read(place: Place) -> Value:
        moved = {index: p + lo for index, p, (lo, _) in zip(frame, place, outside, strict=False)}
        for index, (lo, hi) in zip(frame, outside, strict=True):
            draft.adopt(index, lo, hi)
        return _substituted(settled(element(argument, place[count:], draft)), moved)

    return Array(argument.kind, (*lead, *argument.shape), read, names=tuple(index.name for index in frame))


def _substituted(value: ir.Expr, moved: dict[IndexVar, Affine]) -> ir.Expr:
    """The expression at other values of some indices."""

    def visit(node: ir.Expr) -> ir.Expr:
        match node:
            case ir.Index(index) if index in moved:
                return ir.integer(moved[index])
            case ir.Access(_, indices):
                return replace(node, indices=tuple(map(affine, indices)))
            case ir.Reduce(ranges=ranges):
                rebuilt = ir.rebuild(node, visit)
                assert isinstance(rebuilt, ir.Reduce)
                return replace(rebuilt, ranges=tuple(replace(r, lo=affine(r.lo), hi=affine(r.hi)) for r in ranges))
            case _:
                return ir.rebuild(node, visit)

    def affine(index: Affine) -> Affine:
        return index.rewrite(
            lambda atom: (
                moved[atom]
                if isinstance(atom, IndexVar) and atom in moved
                else ir.Data(visit(atom.expr))
                if isinstance(atom, ir.Data)
                else atom
            )
        )

    return visit(value)
