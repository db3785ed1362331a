"""How far the index of a partition runs: what its generator says, and what its selections show."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from ...diagnostics import Code, CompileError
from ...symbolic import Affine, Size, SizeVar
from ...syntax.sac import tree
from ..signature import ValueNeeded
from .arrays import Array
from .boxes import Grid
from .draft import Draft, IndexNeeded
from .scope import LengthUnknown, Scope
from .statics import static_vector

# The lengths of index vectors are looked for inside each other, so many deep.
_DEEPEST: Final = 5

# The free names of nodes, which are asked for again and again; each with its node, so that its `id` stays its own.
_FREE: Final[dict[int, tuple[tree.Expr, dict[str, None]]]] = {}
_MOST_REMEMBERED: Final = 10_000

Evaluate = Callable[[tree.Expr, Scope], Array]


@dataclass(frozen=True, slots=True)
class Result:
    """What the last partition decided: the length of its index, and the extents of the axes of this one's."""

    frame: int
    extents: tuple[Size, ...]


def grids(partition: tree.Partition, scope: Scope, evaluate: Evaluate, result: Result | None) -> tuple[Grid, ...]:
    """The index set of a partition, one `Grid` for each component of its index.

    `result` is None for the last partition, which decides the shape. Raises `CompileError`: TC0406 where nothing gives
    an upper bound, TC0506 for vectors of other lengths, TC1101 and TC1102 for bad steps.
    """
    generator = partition.generator or tree.Generator(None, None)
    lower = _vector(generator.lower, "the lower bound", scope, evaluate)
    upper = _vector(generator.upper, "the upper bound", scope, evaluate)
    step = None if generator.step is None else _explicit(generator.step, "the step", scope, evaluate)
    width = None if generator.width is None else _explicit(generator.width, "the width", scope, evaluate)
    count = _count(partition, [lower, upper, step, width], scope, evaluate, result)
    draft = scope.draft
    _check_lengths(partition, count, {"lower bound": lower, "upper bound": upper, "step": step, "width": width})
    lows = _lows(generator.lower, lower, count)
    highs = _highs(partition, generator, upper, lower, count, scope, evaluate, result)
    steps = _steps(partition, step, width, count, draft)
    return tuple(Grid(lo, hi, *given) for lo, hi, given in zip(lows, highs, steps, strict=True))


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
    bound = generator.upper
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
                f"the step {own} with the width {wide} names no regular set of indices",
                generator.step.span,
                help="steps are at least 1, and widths from 1 to the step",
            )
    # With the width of the step nothing is left out.
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
            # `< .` alone: the error about the dot says more.
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
    """An explicit bound; None for none, and for ``.``."""
    if bound is None or isinstance(bound.value, tree.Dot):
        return None
    return _explicit(bound.value, what, scope, evaluate)


def _explicit(node: tree.Expr, what: str, scope: Scope, evaluate: Evaluate) -> tuple[Size, ...]:
    array = evaluate(node, scope)
    if array.rank != 1:
        raise CompileError(
            Code.WRONG_TYPE,
            f"{what} must be a vector of ints, this has {array.rank} axes" if array.rank else f"{what} is a scalar",
            node.span,
            help="bounds, steps and widths are vectors: `[3]`, `[2, 2]`, `shape(a)`",
        )
    return static_vector(array, what, node.span, scope.draft)


# ---------------------------------------------------------------- what selections show


@dataclass(slots=True)
class Observed:
    """Upper bounds that selections show: of an index vector, or of each component by name; `seen` in words."""

    vector: tuple[Size, ...] | None
    scalars: dict[str, Size]
    names: tuple[str, ...]
    seen: list[str]
    failed: CompileError | None = None

    def complete(self, count: int, prefix: bool) -> bool:
        """Whether every component has a bound; with `prefix` the first `count` of a longer vector are enough."""
        if self.names:
            return all(name in self.scalars for name in self.names)
        if self.vector is None:
            return count == 0
        return len(self.vector) >= count if prefix else len(self.vector) == count

    def sizes(self, count: int) -> tuple[Size, ...]:
        if self.names:
            return tuple(self.scalars[name] for name in self.names)
        return (self.vector or ())[:count]


def observed(partition: tree.Partition, scope: Scope, evaluate: Evaluate) -> Observed:
    """What the selections of a body show of the bounds of its index."""
    index = partition.index
    names = index.names if isinstance(index, tree.IndexPattern) else ()
    found = Observed(None, {}, names, [])
    own = frozenset(names or ([index.name] if isinstance(index, tree.IndexVector) else []))
    if not own:
        return found
    _Walk(found, own, evaluate, scope.draft).walk(partition.body, _bound_abstractly(partition, scope, evaluate), own)
    return found


class _Walk:
    def __init__(self, found: Observed, own: frozenset[str], evaluate: Evaluate, draft: Draft) -> None:
        self.found = found
        self.own = own
        self.evaluate = evaluate
        self.draft = draft

    def walk(self, node: tree.Expr, scope: Scope, visible: frozenset[str]) -> None:
        """Adds what the node shows; `visible` are the partition's variables that nothing inside hides."""
        if not visible:
            return
        match node:
            case tree.Select(array, index):
                self.walk(array, scope, visible)
                for part in index:
                    if not isinstance(part, tree.Dot):
                        self.walk(part, scope, visible)
                self.select(array, index, scope, visible)
            case tree.Call("sel", (index, array)):
                self.walk(array, scope, visible)
                self.walk(index, scope, visible)
                self.select(array, (index,), scope, visible)
            case tree.Comprehension(partitions):
                for partition in partitions:
                    self.inside(partition, scope, visible)
            case _:
                for child in children(node):
                    self.walk(child, scope, visible)

    def inside(self, partition: tree.Partition, scope: Scope, visible: frozenset[str]) -> None:
        generator = partition.generator
        if generator is not None:
            for bound in (generator.lower, generator.upper):
                if bound is not None and not isinstance(bound.value, tree.Dot):
                    self.walk(bound.value, scope, visible)
            for part in (generator.step, generator.width):
                if part is not None:
                    self.walk(part, scope, visible)
        index = partition.index
        hidden = {index.name} if isinstance(index, tree.IndexVector) else set(index.names)
        self.walk(partition.body, _bound_abstractly(partition, scope, self.evaluate), visible - hidden)

    def select(
        self, array: tree.Expr, index: tuple[tree.Expr | tree.Dot, ...], scope: Scope, visible: frozenset[str]
    ) -> None:
        spelt = len(index) == 1 and isinstance(index[0], tree.Vector)
        if len(index) == 1 and isinstance(index[0], tree.Vector):
            index = index[0].elements
        vector = len(index) == 1 and not spelt and not self.found.names
        if not vector and not self.found.names:
            self.refuse_vectors(index, visible)
        places = self.vector_place(index, visible) if vector else self.scalar_places(index, visible)
        if not places or (self.draft.strict and mentions(array, self.own)):
            return
        try:
            shape = self.evaluate(array, scope).shape
        except LengthUnknown:
            return
        except CompileError as error:
            self.found.failed = self.found.failed or error
            return
        for name, position, count, behind in places:
            if not name:
                self.take_vector(shape)
            else:
                axis = len(shape) - (count - position) if behind else position
                if 0 <= axis < len(shape):
                    self.take(name, shape[axis])

    def refuse_vectors(self, index: tuple[tree.Expr | tree.Dot, ...], visible: frozenset[str]) -> None:
        """Raises `CompileError` (TC0301) for an index vector as one of several components."""
        for part in index:
            if isinstance(part, tree.Name) and part.id in visible:
                raise CompileError(
                    Code.WRONG_TYPE,
                    f"an index vector in a scalar context: `{part.id}` is one component of this index",
                    part.span,
                    help=f"select with the vector alone, `a[{part.id}]`, or join vectors first: `a[[0] ++ {part.id}]`",
                )

    def vector_place(
        self, index: tuple[tree.Expr | tree.Dot, ...], visible: frozenset[str]
    ) -> list[tuple[str, int, int, bool]]:
        match index:
            case (tree.Name(name),) if name in visible:
                return [("", 0, 1, False)]
            case _:
                return []

    def scalar_places(
        self, index: tuple[tree.Expr | tree.Dot, ...], visible: frozenset[str]
    ) -> list[tuple[str, int, int, bool]]:
        places, behind = [], False
        for position, part in enumerate(index):
            if isinstance(part, tree.Dot):
                behind = behind or part.many
            elif isinstance(part, tree.Name) and part.id in visible and part.id in self.found.names:
                places.append((part.id, position, len(index), behind))
        return places

    def take(self, name: str, extent: Size) -> None:
        before = self.found.scalars.get(name)
        self.found.scalars[name] = extent if before is None else self.smaller(before, extent)

    def take_vector(self, shape: tuple[Size, ...]) -> None:
        before = self.found.vector
        if before is None:
            self.found.vector = shape
        else:
            # A vector that selects from arrays of several ranks runs over the axes that all have.
            self.found.vector = tuple(map(self.smaller, before, shape))

    def smaller(self, first: Size, second: Size) -> Size:
        return first if self.draft.number(first) <= self.draft.number(second) else second


def children(node: tree.Expr) -> Iterator[tree.Expr]:
    """The direct sub-expressions, those of partitions included."""
    match node:
        case tree.Number() | tree.Name():
            return
        case tree.Unary(_, operand):
            yield operand
        case tree.Binary(_, left, right):
            yield left
            yield right
        case tree.Conditional(condition, then, otherwise):
            yield condition
            yield then
            yield otherwise
        case tree.Call(_, arguments):
            yield from arguments
        case tree.Vector(elements):
            yield from elements
        case tree.Select(array, index):
            yield array
            for part in index:
                if not isinstance(part, tree.Dot):
                    yield part
        case tree.Comprehension(partitions):
            for partition in partitions:
                yield from generator_parts(partition)
                yield partition.body


def generator_parts(partition: tree.Partition) -> Iterator[tree.Expr]:
    """The expressions of a generator."""
    generator = partition.generator
    if generator is None:
        return
    for bound in (generator.lower, generator.upper):
        if bound is not None and not isinstance(bound.value, tree.Dot):
            yield bound.value
    for part in (generator.step, generator.width):
        if part is not None:
            yield part


def mentions(node: tree.Expr, names: frozenset[str]) -> bool:
    """Whether a name of the set occurs free in the expression."""
    return not names.isdisjoint(free_names(node))


def free_names(node: tree.Expr) -> dict[str, None]:
    """The names that the expression does not bind itself, as they appear."""
    known = _FREE.get(id(node))
    if known is None or known[0] is not node:
        found: dict[str, None] = {}
        match node:
            case tree.Name(name):
                found[name] = None
            case tree.Comprehension(partitions):
                for partition in partitions:
                    own = _own_names(partition.index)
                    # In the order of the text: the body stands before the generator.
                    found.update((name, None) for name in free_names(partition.body) if name not in own)
                    for part in generator_parts(partition):
                        found.update(free_names(part))
            case _:
                for child in children(node):
                    found.update(free_names(child))
        if len(_FREE) > _MOST_REMEMBERED:
            _FREE.clear()
        known = _FREE[id(node)] = (node, found)
    return known[1]


def _bound_abstractly(partition: tree.Partition, scope: Scope, evaluate: Evaluate) -> Scope:
    """The scope of a body with an index of which only the number of components is known."""
    index, draft = partition.index, scope.draft
    if isinstance(index, tree.IndexPattern):
        return scope.at(index, [Affine.of(draft.abstract(name)) for name in index.names])
    for part in generator_parts(partition):
        try:
            shape = evaluate(part, scope).shape
        except (CompileError, LengthUnknown, IndexNeeded, ValueNeeded):
            continue
        if len(shape) == 1:
            return scope.at(index, [Affine.of(draft.abstract(index.name)) for _ in range(draft.number(shape[0]))])
    hidden = scope.child({index.name: None})
    if draft.depth >= _DEEPEST:
        return hidden
    draft.depth += 1
    found = Observed(None, {}, (), [])
    own = frozenset((index.name,))
    _Walk(found, own, evaluate, draft).walk(partition.body, hidden, own)
    draft.depth -= 1
    if found.vector is None:
        return hidden
    return scope.at(index, [Affine.of(draft.abstract(index.name)) for _ in found.vector])


def _no_upper_bound(partition: tree.Partition, found: Observed, count: int) -> CompileError:
    if found.failed is not None:
        return found.failed
    index = partition.index
    selections = [_selection(node) for node in _selects(partition.body) if mentions(node, frozenset(_own_names(index)))]
    seen = f"; selections seen: {', '.join(dict.fromkeys(selections))}" if selections else "; nothing is selected by it"
    if isinstance(index, tree.IndexVector):
        return CompileError(
            Code.NO_UPPER_BOUND,
            f"last partition: no upper bound for {index.name}{seen}",
            partition.span,
            help=f"add `| {index.name} < shape(...)`: only `a[{index.name}]` itself shows how far it runs",
        )
    missing = [name for name in index.names if name not in found.scalars]
    bound = ",".join(".." if name in missing else _as_sac(found.scalars[name]) for name in index.names)
    return CompileError(
        Code.NO_UPPER_BOUND,
        f"last partition: no upper bound for {', '.join(missing)}{seen}",
        partition.span,
        help=f"add `| [{','.join(index.names)}] < [{bound}]`: only a bare index in a selection, on an axis that the "
        "array has, shows how far it runs",
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


def _own_names(index: tree.IndexVector | tree.IndexPattern) -> tuple[str, ...]:
    return (index.name,) if isinstance(index, tree.IndexVector) else index.names


def _shown(partition: tree.Partition) -> str:
    index = partition.index
    if isinstance(index, tree.IndexVector):
        return index.name
    return f"[{','.join(index.names)}]"


def _components(count: int) -> str:
    return f"{count} component" if count == 1 else f"{count} components"
