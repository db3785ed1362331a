"""What range inference says when it cannot go on."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from .. import ir
from ..diagnostics import Code, CompileError, Span, phrases
from ..symbolic import Affine, Atom, IndexVar, Interval, Size, SizeVar, maximum, minimum
from .rounds import Constraint, Solution, is_solvable, show_access
from .survey import Comprehension, Test


def unbound_index(function: ir.Function, statement: Comprehension, solution: Solution) -> CompileError:
    """TC0401 for the first index that is left over."""
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
            + phrases.ranged(waits[0], 0, "N", given.span)
            + (size if ends & sizes else ""),
        )
    mentions = [read for read in solution.reads if index in read.subscript.variables]
    seen = list(dict.fromkeys(_why_not(index, constraint, solution) for constraint in mentions))
    shown = "; ".join(seen[:3]) or "no tensor is read at it"
    span = mentions[0].read.access.span if mentions else statement.span
    close = get_close_matches(index.name, _names(function), 1) if index not in _left_indices(statement) else []
    hint = f", or did you mean `{close[0]}`?" if close else ", or read a tensor at it"
    return CompileError(
        Code.UNBOUND_INDEX,
        f"nothing says how far `{index}` runs: {shown}",
        span,
        help=f"add {phrases.ranged(index, 0, 'N', span)}{hint}",
    )


def _meant_as_sizes(statement: Comprehension, solution: Solution) -> frozenset[IndexVar]:
    """Open indices that only ends of ranges and values mention: ``where k in 0:W`` without a `W` in any type."""
    ends = frozenset().union(*(r.lo.variables | r.hi.variables for r in solution.survey.ranges.values()))
    read = frozenset().union(*(read.subscript.variables for read in solution.reads))
    return (ends & frozenset(solution.unsolved)) - read - _left_indices(statement)


def unbound_target(statement: Comprehension, dimension: int) -> CompileError:
    """TC0401 for a computed left side whose extent nothing gives."""
    target = statement.target
    return CompileError(
        Code.UNBOUND_INDEX,
        f"nothing says how large dimension {dimension} of `{target.name}` is: "
        f"the data decides where `{_left(statement)}` writes",
        statement.span,
        help="annotate the return with its sizes, such as "
        + phrases.returned(phrases.scalar(target.dtype), _letters(target.rank), target.name, statement.span),
    )


def negative_extent(solution: Solution, statement: Comprehension, index: IndexVar, interval: Interval) -> CompileError:
    """TC0602 for a range that ends before it starts."""
    given = solution.survey.ranges.get(index)
    reads = [read for read in solution.reads if index in read.subscript.variables]
    span = given.span if given is not None else reads[0].read.access.span if reads else statement.span
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
    """TC0404 for a size that no argument gives."""
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
    """TC0603 where what is written does not fill what was declared or passed; `meant` is an index that would."""
    name = statement.target.name
    index = statement.indices[dimension]
    part = found.intersect(Interval(Size.of(0), wanted))
    return CompileError(
        Code.OUTPUT_SIZE,
        f"{given_by} dimension {dimension} of `{name}` {_elements(wanted)}, but `{index}` runs over {found} here",
        statement.span,
        help=("" if meant is None else f"did you mean `{meant}` there? Otherwise ")
        + f"give dimension {dimension} of `{name}` the extent {found.extent}, "
        f"or say which part is written: {phrases.ranged(index, part.lo, part.hi, statement.span)}",
    )


def call_output_size(
    statement: ir.Statement, tensor: ir.Tensor, found: tuple[int, ...], wanted: tuple[int, ...]
) -> CompileError:
    """TC0603 where a call returns another shape than was declared or is there already."""
    return CompileError(
        Code.OUTPUT_SIZE,
        f"`{tensor.name}` has the shape {wanted}, but the call returns the shape {found}",
        statement.span,
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

    `tightened` is the range of one index that would mend it.
    """
    access, region = constraint.read.access, constraint.region
    assert region is not None
    verb = "writes" if writes else "reads"
    tensor = access.tensor
    if point is None:
        message = (
            f"no proof was found that `{show_access(access)}` stays inside `{tensor.name}` wherever its guard holds"
        )
    else:
        inside = [index for index in solution.ranges if index in constraint.subscript.variables]
        at = ", ".join(f"{index} = {point[index]}" for index in inside if index in point)
        where = f"at {at} this" if at else "this"
        message = f"{where} {verb} {tensor.name}[{_values(access, point, sizes)}]"
    return CompileError(
        Code.OUT_OF_RANGE_WRITE if writes else Code.OUT_OF_RANGE_READ,
        f"{message}; {_size_of(tensor, constraint.dimension, region)}",
        access.span,
        help=_remedy(constraint, solution, region, tightened, writes=writes),
    )


def reads_itself(error: CompileError) -> CompileError:
    """The same TC0701 where a statement reads elements that it has not written: no other range would mend that."""
    return CompileError(error.diagnosis, error.message, error.span, help=phrases.recurrence(error.span))


def shared_target(
    statement: ir.Define,
    indices: Iterable[IndexVar],
    twins: Mapping[IndexVar, IndexVar],
    point: Mapping[IndexVar, int] | None,
    sizes: Mapping[SizeVar, int],
) -> CompileError:
    """TC0704 where an ``=`` writes an element twice: at `point` and at its values for the `twins`."""
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
        statement.span,
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
        return f"{shown} is read under a condition, and then only a bare `{index}` counts"
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
        larger = f", or give `{access.tensor.name}` larger extents in the return annotation" if writes else ""
        wraps = "; negative ones do not count from the end" if str(subscript).startswith("-") else ""
        return f"use a subscript from {region.lo} to {region.hi - 1}{larger}{wraps}"
    inside = _inside(subscript, region, solution)
    if constraint.read.path is not None:
        reading = " without reading a tensor" if _depends_on_data(constraint.read.path) else ""
        return f"make its condition imply `{phrases.condition(inside, access.span)}`{reading}"
    if tightened is not None:
        index, interval = tightened
        clause = phrases.ranged(index, interval.lo, interval.hi, access.span)
        return f"write {clause} instead" if index in solution.survey.ranges else f"add {clause}"
    if writes:
        guard = phrases.guarded(inside, access.span)
        return f"add the guard {guard}, or give `{access.tensor.name}` larger extents in the return annotation"
    chosen = phrases.chosen(inside, access.tensor.name, access.indices, access.span)
    return f"read it under a condition: {chosen}"


def _inside(subscript: Affine, region: Interval, solution: Solution) -> str:
    """The condition that keeps the subscript in the region: the sides on which it can leave."""
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


def _values(access: ir.Access, point: Mapping[IndexVar, int], sizes: Mapping[SizeVar, int]) -> str:
    def value(atom: Atom) -> int:
        assert isinstance(atom, IndexVar)
        return point[atom]

    shown: list[str] = []
    for index in access.indices:
        known = not index.is_data and index.variables <= point.keys()
        shown.append(str(index.substitute_sizes(sizes).evaluate(value, sizes)) if known else str(index))
    return ", ".join(shown)


def _size_of(tensor: ir.Tensor, dimension: int, region: Interval) -> str:
    extent = region.extent.constant
    noun = "row" if dimension == 0 and tensor.rank <= 2 else "element"
    start = "" if region.lo == Size.of(0) else f", numbered from {region.lo}"
    plural = noun if extent == 1 else f"{noun}s"
    owner = tensor.name if noun == "row" else f"dimension {dimension} of {tensor.name}"
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


def _letters(rank: int) -> list[str]:
    """Names for the sizes of a tensor."""
    return ["MNKLPQ"[dimension % 6] for dimension in range(rank)]


def _listed(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)
