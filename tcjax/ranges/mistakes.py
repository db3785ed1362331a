"""The error messages of range inference."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from .. import ir
from ..diagnostics import Code, CompileError, Span, phrases
from ..symbolic import Affine, AffineLike, IndexVar, Interval, Size, SizeLike, SizeVar, maximum, minimum
from .rounds import Constraint, Solution, is_solvable, show_access, written_name
from .survey import Comprehension, Read, Test


def unbound_index(function: ir.Function, statement: Comprehension, solution: Solution) -> CompileError:
    """TC0401 for the first unsolved index."""
    sizes = _meant_as_sizes(statement, solution)
    waiting = (i for i, r in solution.survey.ranges.items() if sizes & (r.lo.variables | r.hi.variables))
    index = next(waiting, solution.unsolved[0])
    given = solution.survey.ranges.get(index)
    if given is not None:
        ends = given.lo.variables | given.hi.variables
        waits = sorted(map(str, ends & set(solution.unsolved)))
        size = f"; a size is a number, or stands in a type: {phrases.typed('float', waits[:1], 'a', given.span)}"
        shown = phrases.limits(index, given.lo, given.hi, given.span)
        return CompileError(
            Code.UNBOUND_INDEX,
            f"the range {shown} waits for {_listed(waits)}, which nothing bounds",
            given.span,
            help=f"give {_listed(waits)} a range of its own that does not use `{index}`: "
            + phrases.ranged(waits[0], 0, _some_size(function, solution), given.span)
            + (size if ends & sizes else ""),
        )
    ragged = next((solution.survey.ragged[i] for i in solution.unsolved if i in solution.survey.ragged), None)
    if ragged is not None:
        return _unbound_hull(function, ragged)
    mentions = [read for read in solution.reads if index in read.subscript.variables]
    seen = list(dict.fromkeys(_why_not(index, constraint, solution) for constraint in mentions))
    later = None if mentions else _read_before_written(function, statement, index)
    unknown = "no tensor is read at it" if later is None else f"the loop gives the size of `{later.name}` only later"
    shown = "; ".join(seen[:3]) or unknown
    span = mentions[0].read.access.span if mentions else statement.span.part(index.name)
    own = {each: size for each in solution.unsolved if (size := _own_size(each, solution)) is not None}
    if index in own and not own.keys() & solution.survey.inline:
        range = phrases.all_ranged([(each, 0, size) for each, size in own.items()], span)
    else:
        range = _range(index, 0, own.get(index) or _some_size(function, solution), solution, span)
    close = get_close_matches(index.name, _names(function), 1) if index not in _left_indices(statement) else []
    inner = index in solution.survey.inline
    if not mentions and not close and not inner and index not in _left_indices(statement):
        return CompileError(
            Code.UNBOUND_INDEX,
            f"nothing says how far `{index}` runs: {shown}",
            span,
            help=f"if `{index}` is a number, make it a parameter: {phrases.typed('float', (), index.name, span)}. "
            f"Otherwise add {range}",
        )
    hint = f", or did you mean `{close[0]}`?" if close else ", or read a tensor at it"
    if later is not None and not close:
        hint = f", or {_sized(function, later, span)}"
    return CompileError(
        Code.UNBOUND_INDEX,
        f"nothing says how far `{index}` runs: {shown}",
        span,
        help=f"add {range}{hint}",
    )


def _own_size(index: IndexVar, solution: Solution) -> str | None:
    """The likely extent of an index that may run beyond the ends: that of the dimension it runs along."""
    for constraint in solution.reads:
        subscript = constraint.subscript
        inner = subscript if subscript.bounded is None else subscript.bounded.argument
        free = subscript.bounded is not None or constraint.read.guarded
        if free and not inner.is_data and index in inner.variables:
            return str(constraint.read.access.tensor.shape[constraint.dimension])
    return None


def _unbound_hull(function: ir.Function, given: ir.Range) -> CompileError:
    """TC0405 for a ragged range whose index has no other bound: the range filters values, but none are given."""
    index, span = given.index, given.span
    ends = [read.tensor for end in ir.ragged_ends((given,)) for read in ir.accesses(end)]
    rows = [tensor for tensor in function.parameters if tensor.rank == 1 and tensor not in ends]
    example = phrases.element(rows[0].name if rows else "x", [index], span)
    exists = f"`with exists({example}):`" if span.source.is_python else f"`exists {example}`"
    return CompileError(
        Code.READ_IN_BOUND,
        f"nothing says how far `{index}` can run: the end of its range reads `{ends[0].name}`",
        span,
        help=f"read a tensor at `{index}`, or name one whose elements `{index}` counts: {exists}",
    )


def _some_size(function: ir.Function, solution: Solution) -> str:
    """A size for an example: of a tensor that the statement reads, else of a parameter."""
    read = [constraint.read.access.tensor for constraint in solution.reads]
    shapes = [tensor.shape for tensor in (*read, *function.parameters) if tensor.rank]
    return str(shapes[0][0]) if shapes else "8"


def _meant_as_sizes(statement: Comprehension, solution: Solution) -> frozenset[IndexVar]:
    """Unsolved indices that occur only in ends of ranges and in values: ``where k in 0:W`` without a typed `W`."""
    ends = frozenset().union(*(r.lo.variables | r.hi.variables for r in solution.survey.ranges.values()))
    read = frozenset().union(*(read.subscript.variables for read in solution.reads))
    return (ends & frozenset(solution.unsolved)) - read - _left_indices(statement)


def _read_before_written(function: ir.Function, statement: Comprehension, index: IndexVar) -> ir.Tensor | None:
    """The tensor read at an index that is first written by the same or a later statement."""
    written = {tensor.name for each in function.statements for tensor in ir.targets(each)}
    found = (read for read in ir.accesses_of(statement) if any(index in each.variables for each in read.indices))
    return next((read.tensor for read in found if read.tensor.name in written), None)


def _sized(function: ir.Function, tensor: ir.Tensor, span: Span) -> str:
    """Where to write the sizes of a tensor."""
    scalar, letters = phrases.scalar(tensor.dtype), phrases.letters(tensor.rank)
    if tensor.name in {returned.name for returned in function.returns}:
        return f"annotate the return with its sizes, such as {phrases.returned(scalar, letters, tensor.name, span)}"
    declared = phrases.typed(scalar, letters, tensor.name, span)
    return f"declare it with its sizes, such as {declared}, in a statement before this one"


def unbound_target(function: ir.Function, statement: Comprehension, dimension: int) -> CompileError:
    """TC0401 for a computed left side whose extent is not given."""
    target = statement.target
    remedy = _sized(function, target, statement.span)
    return CompileError(
        Code.UNBOUND_INDEX,
        f"nothing says how large dimension {dimension} of `{target.name}` is: "
        f"the data decides where `{_left(statement)}` writes",
        statement.span.applied(target.name),
        help=remedy,
    )


def negative_extent(solution: Solution, statement: Comprehension, index: IndexVar, interval: Interval) -> CompileError:
    """TC0602 for a range that ends before it starts."""
    given = solution.survey.ranges.get(index)
    reads = [read for read in solution.reads if index in read.subscript.variables]
    span = given.span if given is not None else reads[0].read.access.span if reads else statement.span.part(index.name)
    if given is not None:
        advice = f"write the smaller end first, or use ends whose difference is not negative for `{index}`"
    else:
        advice = f"pass larger arrays, or give the range yourself: {phrases.ranged(index, 0, 'N', span)}"
    return CompileError(
        Code.NEGATIVE_EXTENT,
        f"`{index}` would run over {interval}, an extent of {interval.extent}: {solution.reasons[index]} makes it so",
        span,
        help=advice,
    )


def too_large(statement: Comprehension, what: str, interval: Interval) -> CompileError:
    """TC0604 for a range or a dimension that int32 cannot count."""
    return CompileError(
        Code.TOO_LARGE,
        f"{what} would run over {interval}, more than an int32 can count",
        statement.span,
        help="use ranges of at most 2147483647 elements: " + phrases.ranged("i", 0, "N", statement.span),
    )


def unbound_size(span: Span, sizes: Iterable[SizeVar]) -> CompileError:
    """TC0404 for a size that no argument determines."""
    names = sorted(size.name for size in sizes)
    return CompileError(
        Code.UNBOUND_SIZE,
        f"no argument gives the size {_listed(names)}",
        span,
        help=f"pass it by keyword at the call: `{names[0]}=...`",
    )


def output_size(
    statement: Comprehension, dimension: int, found: Interval, wanted: Size, given_by: str, meant: IndexVar | None
) -> CompileError:
    """TC0603 if the writes do not fill the declared or passed tensor; `meant` is an index that would."""
    name = statement.target.name
    index = statement.indices[dimension]
    part = found.intersect(Interval(Size.of(0), wanted))
    return CompileError(
        Code.OUTPUT_SIZE,
        f"{given_by} dimension {dimension} of `{name}` {_elements(wanted)}, but `{index}` runs over {found} here",
        statement.span.applied(name),
        help=("" if meant is None else f"did you mean `{meant}` there? Otherwise ")
        + f"give dimension {dimension} of `{name}` the extent {found.extent}, "
        f"or say which part is written: {phrases.ranged(index, part.lo, part.hi, statement.span)}",
    )


def call_output_size(
    statement: ir.Statement, tensor: ir.Tensor, found: tuple[int, ...], wanted: tuple[int, ...]
) -> CompileError:
    """TC0603 if a call returns another shape than was declared or exists already."""
    return CompileError(
        Code.OUTPUT_SIZE,
        f"`{tensor.name}` has the shape {wanted}, but the call returns the shape {found}",
        statement.span.part(tensor.name),
        help=f"declare `{tensor.name}` with the shape {found}, or write to another name",
    )


def out_of_range(
    constraint: Constraint,
    solution: Solution,
    point: Mapping[IndexVar, int] | None,
    sizes: Mapping[SizeVar, int],
    tightened: tuple[IndexVar, Interval] | None,
    *,
    writes: bool,
) -> CompileError:
    """TC0701 for a read, TC0702 for a write that leaves the tensor at `point` (or maybe, when it is None).

    `tightened` is the range of one index that would fix it.
    """
    access, region = constraint.read.access, constraint.region
    assert region is not None
    verb = "writes" if writes else "reads"
    name = written_name(access)
    if point is None:
        message = f"no proof was found that `{show_access(access)}` stays inside `{name}` wherever its guard holds"
    else:
        inside = [index for index in solution.ranges if index in constraint.subscript.variables]
        at = ", ".join(f"{index} = {point[index]}" for index in inside if index in point)
        where = f"at {at} this" if at else "this"
        message = f"{where} {verb} {name}[{_values(access, point, sizes)}]"
    return CompileError(
        Code.OUT_OF_RANGE_WRITE if writes else Code.OUT_OF_RANGE_READ,
        f"{message}; {_size_of(name, access.tensor.rank, constraint.dimension, region)}",
        access.span,
        help=_remedy(constraint, solution, region, tightened, writes=writes),
    )


def read_while_written(
    function: ir.Function,
    statement: Comprehension,
    read: Read,
    twins: Mapping[IndexVar, IndexVar],
    point: Mapping[IndexVar, Size] | None,
    sizes: Mapping[SizeVar, SizeLike],
    ranges: Mapping[IndexVar, Interval | None],
    *,
    inside: bool,
) -> CompileError:
    """TC0708 if a statement reads at `point` an element that it writes at the point given by the `twins`.

    The message suggests the old values as an alternative if all accesses of the target stay `inside`.
    """
    access, span, name = read.access, read.access.span, written_name(read.access)
    left = ir.Access(statement.target, statement.indices)
    if point is None:
        message = f"no proof was found that no other point writes the element that `{show_access(access)}` reads"
    else:
        seen = frozenset[IndexVar]().union(*(index.variables for index in (*left.indices, *access.indices)))
        around = statement.domain.loops
        own = ", ".join(f"{index} = {point[index]}" for index in (*around, *twins, *read.inner) if index in seen)
        others = ", ".join(f"{i} = {point[twins[i]]}" for i in twins if i in _left_indices(statement))
        wrote, reads = _values(left, point, sizes), _values(access, point, sizes)
        surely = not any(index.is_data for index in (*left.indices, *access.indices))
        writes = f"writes at {others}" if surely else "may write at another point"
        message = f"at {own} this writes {name}[{wrote}] and reads {name}[{reads}], which the same statement {writes}"
    return CompileError(
        Code.READ_WHILE_WRITTEN,
        phrases.condition(message, span),
        span,
        help=_in_turn(statement, ranges, span, _copied(function, access, "this") if inside else ""),
    )


def _in_turn(statement: Comprehension, ranges: Mapping[IndexVar, Interval | None], span: Span, copied: str) -> str:
    """How to compute the points one after another, and how to keep the old values, if that is an alternative."""
    if copied and statement.domain.loops:
        return f"all points of a step are computed at once: to read the old values, {copied}"
    return (_as_loop(statement, ranges, span) or phrases.steps(span)) + (
        f"; if the old values are meant, {copied}" if copied else ""
    )


def _copied(function: ir.Function, access: ir.Access, where: str) -> str:
    """How to keep the old values of a tensor: a copy `where`, and a read of it."""
    span, name, rank = access.span, written_name(access), access.tensor.rank
    old = _unused(f"{name}_old", function)
    indices = [_unused("ijklmnopqr"[d] if rank <= 10 else f"i{d}", function) for d in range(rank)]
    copy = f"{phrases.element(old, indices, span)} = {phrases.element(name, indices, span)}"
    return f"copy them before {where}, `{copy}`, and read `{old}{show_access(access).removeprefix(name)}`"


def _as_loop(statement: Comprehension, ranges: Mapping[IndexVar, Interval | None], span: Span) -> str:
    """The loop that computes the statement step by step; empty unless a single index determines the order."""
    offsets: dict[IndexVar, set[int | None]] = {}
    for access in ir.accesses_of(statement):
        if access.tensor != statement.target:
            continue
        for left, index in zip(statement.indices, access.indices, strict=True):
            if left.bare is None:
                return ""
            if left != index:
                offsets.setdefault(left.bare, set()).add((index - left).constant)
    if len(offsets) != 1 or statement.domain.loops:
        return ""
    [(index, found)] = offsets.items()
    numbers = [offset for offset in found if offset is not None]
    step = 1 if all(offset < 0 for offset in numbers) else -1 if all(offset > 0 for offset in numbers) else 0
    interval = ranges.get(index)
    if len(numbers) < len(found) or not step or interval is None:
        return ""
    given = {each.index: each for each in statement.domain.ranges}.get(index)
    lo, hi = (interval.lo, interval.hi) if given is None else (given.lo, given.hi)
    first, last = (lo, hi) if step > 0 else (hi - 1, lo - 1)
    body, _, clauses = " ".join(statement.span.text.split()).partition(" where ")
    own = "" if given is None else " ".join(given.span.text.split())
    if clauses != own and not span.source.is_python:
        return ""
    loop = phrases.stepped(index, first, last, step, body, span)
    return f"steps that need the one before stand in a loop: {loop}"


def read_before_step(
    function: ir.Function,
    statement: Comprehension,
    writes: Comprehension,
    read: Read,
    loops: Sequence[ir.Loop],
    twins: Mapping[IndexVar, IndexVar],
    point: Mapping[IndexVar, int] | None,
    sizes: Mapping[SizeVar, int],
) -> CompileError:
    """TC0708 if a step of the `loops` reads an element that a later step, given by the `twins`, writes."""
    access, span, name = read.access, read.access.span, written_name(read.access)
    if point is None:
        message = f"no proof was found that an earlier step wrote the element that `{show_access(access)}` reads"
    else:
        seen = frozenset[IndexVar]().union(*(index.variables for index in access.indices))
        indices = dict.fromkeys((*statement.domain.loops, *sorted(seen, key=str)))
        own = ", ".join(f"{index} = {point[index]}" for index in indices if index in point)
        then = ", ".join(f"{loop.index} = {point[twins[loop.index]]}" for loop in loops)
        element = _values(access, {index: Size.of(value) for index, value in point.items()}, sizes)
        surely = not any(index.is_data for index in (*writes.indices, *access.indices))
        when = f"is written at {then}" if surely else "may be written at a later step"
        message = f"at {own} this reads {name}[{element}], which {when}: a step reads what earlier ones wrote"
    loop = loops[-1]
    offset = "-" if loop.step > 0 else "+"
    way = "upwards" if loop.step > 0 else "downwards"
    help = f"`{loop.index}` runs {way} here: read at `{loop.index}{offset}1`, or let it run the other way"
    if any(access.tensor in ir.targets(above) for above in function.statements[: loops[0].first]):
        help += f"; if the old values are meant, {_copied(function, access, 'the loop')}"
    return CompileError(
        Code.READ_WHILE_WRITTEN,
        phrases.condition(message, span),
        span,
        help=help,
    )


def _unused(name: str, function: ir.Function) -> str:
    """The name, or a similar one that the function does not use."""
    written = (target.name for statement in function.statements for target in ir.targets(statement))
    taken = {*_names(function), *written}
    while name in taken:
        name += "_"
    return name


def shared_target(
    statement: ir.Define,
    indices: Iterable[IndexVar],
    twins: Mapping[IndexVar, IndexVar],
    point: Mapping[IndexVar, int] | None,
    sizes: Mapping[SizeVar, int],
) -> CompileError:
    """TC0704 if an ``=`` writes an element twice: at `point` and at the point given by the `twins`."""
    name, left = statement.target.name, ir.Access(statement.target, statement.indices)
    if point is None:
        message = "nothing says that these targets are distinct: two values may go to one element"
    else:
        first = ", ".join(f"{index} = {point[index]}" for index in indices)
        second = ", ".join(f"{index} = {point[twins[index]]}" for index in indices)
        message = f"both {first} and {second} write {name}[{_values(left, point, sizes)}]"
    return CompileError(
        Code.AMBIGUOUS_TARGET,
        message,
        statement.span.applied(name),
        help=f"say how to combine them: {phrases.reductions(name, ['...'], statement.span)}, or another reduction",
    )


def _why_not(index: IndexVar, constraint: Constraint, solution: Solution) -> str:
    shown = f"`{show_access(constraint.read.access)}`"
    subscript = constraint.subscript
    others = sorted(str(other) for other in subscript.variables if other != index and other in solution.unsolved)
    if subscript.is_data:
        reads = any(isinstance(node, ir.Access) for data in ir.data_atoms(subscript) for node in ir.walk(data.expr))
        return f"in {shown} the data decides" if reads else f"{shown} multiplies or divides indices"
    if constraint.read.guarded and subscript.bare is None:
        return f"{shown} is read under a condition, where only a bare `{index}` limits it"
    if others:
        return f"{shown} depends on {_listed(others)} too"
    if not is_solvable(subscript, index):
        return f"`{subscript}` in {shown} does not limit it"
    return f"{shown} gives it no end"


def _remedy(
    constraint: Constraint,
    solution: Solution,
    region: Interval,
    tightened: tuple[IndexVar, Interval] | None,
    *,
    writes: bool,
) -> str:
    access, subscript = constraint.read.access, constraint.subscript
    if region.extent == Size.of(0):
        return f"pass arrays for which `{access.tensor.name}` has elements"
    if not subscript.variables:
        larger = f", or declare `{access.tensor.name}` with larger extents" if writes else ""
        wraps = "; negative ones do not count from the end" if str(subscript).startswith("-") else ""
        return f"use a subscript from {region.lo} to {region.hi - 1}{larger}{wraps}"
    inside = _inside(subscript, region, solution)
    if constraint.read.path is not None and tightened is not None and tightened[0] not in solution.survey.ranges:
        index, interval = tightened
        end = _symbolic_end(index, interval, constraint, region)
        added = _range(index, interval.lo, end, solution, access.span)
        return f"add {added}, or a condition that does not read a tensor: `{phrases.condition(inside, access.span)}`"
    if constraint.read.path is not None:
        reading = " without reading a tensor" if _depends_on_data(constraint.read.path) else ""
        return f"make its condition imply `{phrases.condition(inside, access.span)}`{reading}"
    swapped = _swapped(access, solution)
    if tightened is not None and swapped:
        return f"write {phrases.all_ranged(swapped, access.span)} instead"
    if tightened is not None:
        index, interval = tightened
        if index in solution.survey.loops:
            return f"let the loop run over {phrases.limits(index, interval.lo, interval.hi, access.span)}"
        clause = _range(index, interval.lo, interval.hi, solution, access.span)
        larger = f", or declare `{access.tensor.name}` with larger extents" if writes else ""
        return (f"write {clause} instead" if index in solution.survey.ranges else f"add {clause}") + larger
    if writes:
        guard = phrases.guarded(inside, access.span)
        return f"add the guard {guard}, or declare `{access.tensor.name}` with larger extents"
    chosen = phrases.chosen(inside, access.tensor.name, access.indices, access.span)
    return f"read it under a condition: {chosen}"


def _swapped(access: ir.Access, solution: Solution) -> list[tuple[IndexVar, Size, Size]]:
    """The ranges that read the whole tensor if the given ones read its transpose; else empty."""
    regions = {c.subscript: c.region for c in solution.reads if c.read.access is access}
    wanted = [(subscript.bare, regions.get(subscript)) for subscript in access.indices]
    given: list[Interval] = []
    found: list[tuple[IndexVar, Size, Size]] = []
    for index, region in wanted:
        if index is None or index not in solution.survey.ranges or index in solution.survey.inline:
            return []
        run = solution.ranges[index]
        if region is None or run is None:
            return []
        given.append(run)
        found.append((index, region.lo, region.hi))
    ends = [(interval.lo, interval.hi) for interval in given]
    read = [(lo, hi) for _, lo, hi in found]
    return found if ends != read and sorted(map(str, ends)) == sorted(map(str, read)) else []


def _symbolic_end(index: IndexVar, interval: Interval, constraint: Constraint, region: Interval) -> Size:
    """The end of a range, in sizes of the text if ``index + c`` reads a whole dimension, else as a number."""
    rest = constraint.subscript - Affine.of(index)
    if rest.terms or region.lo != Size.of(0) or region.hi - rest.base != interval.hi:
        return interval.hi
    return constraint.read.access.tensor.shape[constraint.dimension] - rest.base


def _range(index: IndexVar, lo: object, hi: object, solution: Solution, span: Span) -> str:
    """A range as written at its place: after the statement, or in the brackets of a reduction."""
    if index in solution.survey.inline:
        return f"{phrases.limits(index, lo, hi, span)} in the brackets"
    return phrases.ranged(index, lo, hi, span)


def _inside(subscript: Affine, region: Interval, solution: Solution) -> str:
    """The condition that keeps the subscript in the region, only for the sides where it can leave."""
    values = solution.facts.interval(subscript)
    sides: list[str] = []
    if values is None or values.lo != maximum(values.lo, region.lo):
        sides.append(f"{subscript} >= {region.lo}")
    if values is None or values.hi != minimum(values.hi, region.hi):
        sides.append(f"{subscript} < {region.hi}")
    return " && ".join(sides)


def _depends_on_data(path: Test | None) -> bool:
    while path is not None:
        if any(True for _ in ir.accesses(path.condition)):
            return True
        path = path.before
    return False


def _values(access: ir.Access, point: Mapping[IndexVar, AffineLike], sizes: Mapping[SizeVar, SizeLike]) -> str:
    shown = (index.substitute_sizes(sizes) for index in access.indices)
    return ", ".join(str(index if index.is_data else index.substitute(point)) for index in shown)


def _size_of(name: str, rank: int, dimension: int, region: Interval) -> str:
    extent = region.extent.constant
    noun = "row" if dimension == 0 and rank <= 2 else "element"
    start = "" if region.lo == Size.of(0) else f", numbered from {region.lo}"
    plural = noun if extent == 1 else f"{noun}s"
    owner = name if noun == "row" else f"dimension {dimension} of {name}"
    return f"{owner} has {extent} {plural}{start}"


def _elements(extent: Size) -> str:
    return "1 element" if extent.constant == 1 else f"{extent} elements"


def _left(statement: Comprehension) -> str:
    return show_access(ir.Access(statement.target, statement.indices, span=statement.span))


def _left_indices(statement: Comprehension) -> frozenset[IndexVar]:
    return frozenset().union(*(index.variables for index in statement.indices))


def _names(function: ir.Function) -> list[str]:
    sizes = {v.name for tensor in function.parameters for size in tensor.shape for v in size.variables()}
    sizes |= {size.name for size in function.free_sizes}
    return sorted(name for name in sizes if "." not in name) + [tensor.name for tensor in function.parameters]


def _listed(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)
