"""How far the index of a partition runs, from its generator and its selections."""

from collections.abc import Iterator
from dataclasses import dataclass

from ...diagnostics import Code, CompileError
from ...symbolic import Size, SizeVar
from ...syntax.sac import tree
from .boxes import Grid
from .draft import Draft
from .evidence import Evaluate, Observed, observed
from .scope import Scope
from .statics import static_vector
from .walks import children, mentions, own_names


@dataclass(frozen=True, slots=True)
class Result:
    """What the last partition determined: the length of its index, and the extents of this partition's axes."""

    frame: int
    extents: tuple[Size, ...]


def grids(partition: tree.Partition, scope: Scope, evaluate: Evaluate, result: Result | None) -> tuple[Grid, ...]:
    """The index set of a partition, one `Grid` per component of its index.

    `result` is None for the last partition, which determines the shape. Raises `CompileError`: TC0406 if nothing gives
    an upper bound, TC0506 for vectors of different lengths, TC1101 and TC1102 for bad steps.
    """
    generator = partition.generator or tree.Generator(None, None)
    lower = _vector(generator.lower, "the lower bound", scope, evaluate)
    upper = _vector(generator.upper, "the upper bound", scope, evaluate)
    step, width = _regularity(partition, scope, evaluate)
    count = _count(partition, [lower, upper, step, width], scope, evaluate, result)
    draft = scope.draft
    _check_lengths(partition, count, {"lower bound": lower, "upper bound": upper, "step": step, "width": width})
    lows = _lows(generator.lower, lower, count)
    highs = _highs(partition, generator, upper, lower, count, scope, evaluate, result)
    steps = _steps(partition, step, width, count, draft)
    return tuple(Grid(lo, hi, *given) for lo, hi, given in zip(lows, highs, steps, strict=True))


def steps_of(partition: tree.Partition, count: int, scope: Scope, evaluate: Evaluate) -> list[tuple[int, int]]:
    """The step and the width of each component of an index of this length."""
    step, width = _regularity(partition, scope, evaluate)
    _check_lengths(partition, count, {"step": step, "width": width})
    return _steps(partition, step, width, count, scope.draft)


def _regularity(
    partition: tree.Partition, scope: Scope, evaluate: Evaluate
) -> tuple[tuple[Size, ...] | None, tuple[Size, ...] | None]:
    """The step and the width that are written."""
    generator = partition.generator
    if generator is None:
        return None, None
    step = None if generator.step is None else _explicit(generator.step, "the step", scope, evaluate)
    return step, None if generator.width is None else _explicit(generator.width, "the width", scope, evaluate)


def _lows(bound: tree.Bound | None, lower: tuple[Size, ...] | None, count: int) -> list[Size]:
    more = 1 if bound is not None and bound.strict else 0
    if lower is None:
        return [Size.of(more)] * count
    return [size + more for size in lower]


def _highs(
    partition: tree.Partition,
    generator: tree.Generator,
    upper: tuple[Size, ...] | None,
    lower: tuple[Size, ...] | None,
    count: int,
    scope: Scope,
    evaluate: Evaluate,
    result: Result | None,
) -> list[Size]:
    bound, draft = generator.upper, scope.draft
    if upper is not None:
        assert bound is not None
        return [size + (0 if bound.strict else 1) for size in upper]
    if bound is not None:
        if result is None:
            raise CompileError(
                Code.NO_UPPER_BOUND,
                "the last partition decides how large the result is, so its upper bound cannot be `.`",
                bound.span,
                help=f"write the bound: `{_shown(partition)} < shape(a)`, or leave it out where selections show it",
            )
        return [extent - (1 if bound.strict else 0) for extent in _whole(partition, result, count)]
    found = observed(partition, scope, evaluate)
    is_prefix = isinstance(partition.index, tree.IndexVector) and lower is not None
    if is_prefix and found.vector is not None and len(found.vector) < count:
        assert generator.lower is not None
        raise CompileError(
            Code.BOUND_LENGTH,
            f"the lower bound has {_components(count)}, but `{_shown(partition)}` selects from an array with "
            f"{len(found.vector)} {'axis' if len(found.vector) == 1 else 'axes'}",
            generator.lower.span,
            help=f"write a bound of {_components(len(found.vector))}",
        )
    if found.complete(count, is_prefix):
        for size in found.sizes(count):
            draft.longer.setdefault(size, set()).update(found.extents)
        return list(found.sizes(count))
    if result is not None:
        return list(_whole(partition, result, count))
    raise _no_upper_bound(partition, found, count)


def _whole(partition: tree.Partition, result: Result, count: int) -> tuple[Size, ...]:
    """The extents of the result along the axes of an index."""
    if len(result.extents) < count:
        raise CompileError(
            Code.UNEQUAL_CELLS,
            f"the index of this partition has {_components(count)}, but the last partition gives the result "
            f"{len(result.extents)} {'axis' if len(result.extents) == 1 else 'axes'}",
            partition.span,
            help="all partitions of a comprehension build one array: shorten the index, or let the last one have more",
        )
    return result.extents[:count]


def _steps(
    partition: tree.Partition,
    step: tuple[Size, ...] | None,
    width: tuple[Size, ...] | None,
    count: int,
    draft: Draft,
) -> list[tuple[int, int]]:
    generator = partition.generator
    steps = [1] * count if step is None else list(draft.numbers(step))
    widths = [1] * count if width is None else list(draft.numbers(width))
    for own, wide in zip(steps, widths, strict=True):
        if not 1 <= wide <= own:
            assert generator is not None and generator.step is not None
            raise CompileError(
                Code.BAD_STEP,
                f"the step {own} with the width {wide} does not describe a regular set of indices",
                generator.step.span,
                help="steps are at least 1, and widths from 1 to the step",
            )
    # A width equal to the step leaves nothing out.
    return [(1, 1) if wide == own else (own, wide) for own, wide in zip(steps, widths, strict=True)]


def _count(
    partition: tree.Partition,
    vectors: list[tuple[Size, ...] | None],
    scope: Scope,
    evaluate: Evaluate,
    result: Result | None,
) -> int:
    """The number of components of the index."""
    if isinstance(partition.index, tree.IndexPattern):
        return len(partition.index.names)
    for given in vectors:
        if given is not None:
            return len(given)
    found = observed(partition, scope, evaluate)
    if found.vector is not None:
        return len(found.vector)
    if result is None:
        generator = partition.generator
        if generator is not None and generator.upper is not None:
            # `< .` alone: the error about the dot is more helpful.
            return 0
        raise _no_upper_bound(partition, found, 0)
    return result.frame


def _check_lengths(partition: tree.Partition, count: int, vectors: dict[str, tuple[Size, ...] | None]) -> None:
    for name, given in vectors.items():
        if given is not None and len(given) != count:
            generator = partition.generator
            assert generator is not None
            raise CompileError(
                Code.BOUND_LENGTH,
                f"the {name} has {_components(len(given))}, `{_shown(partition)}` has {count}",
                generator.span,
                help=f"write a vector of {count}; a scalar bound is a vector of one",
            )


def _vector(bound: tree.Bound | None, what: str, scope: Scope, evaluate: Evaluate) -> tuple[Size, ...] | None:
    """An explicit bound; None if there is none, and for ``.``."""
    if bound is None or isinstance(bound.value, tree.Dot):
        return None
    return _explicit(bound.value, what, scope, evaluate)


def _explicit(node: tree.Expr, what: str, scope: Scope, evaluate: Evaluate) -> tuple[Size, ...]:
    array = evaluate(node, scope)
    if array.rank != 1:
        raise CompileError(
            Code.WRONG_TYPE,
            f"{what} must be a vector of ints, but this has {array.rank} axes" if array.rank else f"{what} is a scalar",
            node.span,
            help="bounds, steps and widths are vectors: `[3]`, `[2, 2]`, `shape(a)`",
        )
    return static_vector(array, what, node.span, scope.draft)


def _no_upper_bound(partition: tree.Partition, found: Observed, count: int) -> CompileError:
    if found.failed is not None:
        return found.failed
    index = partition.index
    selections = [_selection(node) for node in _selects(partition.body) if mentions(node, frozenset(own_names(index)))]
    seen = f"; selections seen: {', '.join(dict.fromkeys(selections))}" if selections else "; nothing is selected by it"
    if isinstance(index, tree.IndexVector):
        return CompileError(
            Code.NO_UPPER_BOUND,
            f"last partition: no upper bound for {index.name}{seen}",
            partition.span,
            help=f"add a bound such as `| {index.name} < [8]`, or the `shape` of an array: only `a[{index.name}]` "
            "itself shows how far it runs",
        )
    missing = [name for name in index.names if name not in found.scalars]
    bound = ",".join("8" if name in missing else _as_sac(found.scalars[name]) for name in index.names)
    return CompileError(
        Code.NO_UPPER_BOUND,
        f"last partition: no upper bound for {', '.join(missing)}{seen}",
        partition.span,
        help=f"add a bound such as `| [{','.join(index.names)}] < [{bound}]`: only a bare index in a selection, on an "
        "axis that the array has, shows how far it runs",
    )


def _as_sac(size: Size) -> str:
    """An extent as a SaC expression."""
    match size.terms:
        case (((SizeVar(name),), 1),) if "." in name:
            array, _, axis = name.rpartition(".")
            return f"shape({array})[{axis}]"
        case _:
            return str(size)


def _selects(node: tree.Expr) -> Iterator[tree.Select]:
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, tree.Select):
            yield current
        pending.extend(children(current))


def _selection(node: tree.Select) -> str:
    from ...syntax.sac import write_expr

    text = write_expr(node)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _shown(partition: tree.Partition) -> str:
    index = partition.index
    if isinstance(index, tree.IndexVector):
        return index.name
    return f"[{','.join(index.names)}]"


def _components(count: int) -> str:
    return f"{count} component" if count == 1 else f"{count} components"
