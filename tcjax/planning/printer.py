"""Prints plans as text."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from .. import ir
from ..symbolic import IndexVar
from .blocked.softmax_blocks import rows_of
from .data.assembly import describe as assembly_of
from .data.groups import Blocks, Extrema, KernelSums, Softmax
from .data.nests import LoopSchedule, Nest
from .data.nodes import (
    Apply,
    Band,
    Block,
    CallBuiltin,
    Contract,
    Convolve,
    Deviations,
    Fill,
    Fold,
    FusedReduction,
    Iota,
    Lookup,
    LoopNest,
    MonoidFold,
    Node,
    OrderStatistic,
    Pool,
    Position,
    Read,
    Scan,
    Step,
    Strip,
    Unroll,
    below,
    looks_up,
    operands,
)
from .data.repeats import Repeats
from .data.stages import (
    Begin,
    Call,
    CallForeign,
    Cast,
    Compute,
    Elsewhere,
    Loop,
    Parts,
    Plan,
    ScheduledStage,
    Tiled,
    TiledStep,
    Unstored,
)
from .data.steps import Steps
from .data.views import describe_view


def show_plan(plan: Plan) -> str:
    """The stages in order, each computation as an indented tree; repeated ones are printed once, with a name."""
    text = _Text.of(plan)
    lines = [f"plan {plan.name}({text.names(plan.parameters)}) -> ({text.names(plan.returns)})"]
    for number, stage in plan.units():
        if plan.scheduled is None and number in plan.assemblies:
            assembly = plan.assemblies[number]
            lines.append(f"  the next {assembly.stages} {assembly_of(assembly.whole)}:")
        match stage:
            case Compute():
                lines += [f"  {line}" for line in _show_compute(stage, text)]
            case Parts(row=row, spans=spans, plans=plans):
                lo, hi = spans[-1]
                lines.append(
                    f"  the next {stage.stages} in {len(spans)} parts of `{row}`, the last with {row} in {lo}:{hi}:"
                )
                lines += [f"  {line}" for line in show_plan(plans[-1]).splitlines()[1:]]
                text.repeats.write(*plans[-1].returns)
            case Tiled(target=target, dtype=dtype, shape=shape, steps=steps, kernel=kernel):
                once = "" if kernel is None else "; on a GPU one Pallas kernel"
                lines.append(f"  {text.name(target)}: {dtype}{list(shape)} in tiles{once}")
                lines += [f"    {line}" for step in steps for line in _show_step(step, text)]
            case Call(targets, inner, arguments, steps, elsewhere=elsewhere):
                many = "" if steps is None else f"{describe_steps(steps, elsewhere)}: "
                lines.append(f"  {text.names(targets)} = {many}{inner.name}({text.names(arguments)})")
                lines += [f"    {line}" for line in show_plan(inner).splitlines()]
                text.repeats.write(*targets)
            case Unstored(target, dtype, shape, readers):
                verb = "computes" if len(readers) == 1 else "compute"
                lines.append(
                    f"  {text.name(target)}: {dtype}{list(shape)} is not stored: {text.names(readers)} {verb} it"
                )
            case CallForeign(targets, function, arguments, _):
                lines.append(f"  {text.names(targets)} = python {function}({text.names(arguments)})")
                text.repeats.write(*targets)
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Text:
    """What the lines of one plan share: its repeated computations, and its tensors by name, where they begin."""

    repeats: Repeats
    tensors: Mapping[str, ir.Tensor]
    origins: Mapping[str, tuple[int, ...]]

    @staticmethod
    def of(plan: Plan) -> "_Text":
        function = plan.bound.function
        local = (tensor for statement in function.statements for tensor in ir.targets(statement))
        tensors = {tensor.name: tensor for tensor in (*local, *function.parameters)}
        return _Text(Repeats.of(_computed(stage for _, stage in plan.units())), tensors, plan.bound.origins)

    def name(self, name: str) -> str:
        """A tensor as its writer calls it, or the part of one: ``h[t - 1, :]``."""
        tensor = self.tensors.get(name)
        return ir.plain_name(name) if tensor is None else ir.show_part(tensor)

    def names(self, names: Iterable[str]) -> str:
        return ", ".join(map(self.name, names))

    def describe(self, node: Node) -> str:
        """The node alone, in a few words."""
        return self.read(node) if isinstance(node, Read) else describe(node)

    def read(self, node: Read) -> str:
        """A read in the writer's names: ``read h[t - 1, 0+3]`` of a row, and of the value of an index ``t``."""
        tensor = self.tensors.get(node.tensor)
        if tensor is None or tensor.source is None:
            return describe(node)
        if isinstance(tensor.source, IndexVar):
            return self.name(node.tensor)
        name, subscripts, own = ir.part_of(tensor)
        origin = self.origins.get(node.tensor, ())
        shown = list[str]()
        for subscript in subscripts:
            along = [number for number, index in enumerate(own) if index in subscript.variables]
            if not along:
                shown.append(str(subscript))
                continue
            first, dimension = subscript - own[along[0]] + origin[along[0]], node.dimensions[along[0]]
            if along[1:] or first.variables & set(own) or first.is_data or node.views:
                return _read(self.name(node.tensor), node)
            moved = replace(dimension, start=dimension.start + first) if isinstance(dimension, Strip) else dimension
            shown.append(_dimension(moved))
        return f"read {name}[{', '.join(shown)}]"


def describe_steps(steps: Steps, elsewhere: Elsewhere | None = None) -> str:
    """``99 steps down along t``, and how a GPU runs them."""
    along = str(steps.index)
    # The number of a diagonal is a formula in the indices of two loops.
    along = along if along.isidentifier() else f"the diagonals {along}"
    said = f"{steps.count} steps {'down ' * steps.backwards}along {along}"
    if elsewhere is not None:
        others = [stage.steps for stage in elsewhere.plan.stages if isinstance(stage, Call) and stage.steps is not None]
        return f"{said}, on a GPU {' and '.join(map(describe_steps, others))}"
    if steps.at_once is None or not set(steps.at_once.platforms) - {"cpu"}:
        return said
    block = steps.at_once.block
    return f"{said}, on a GPU {'all' if block >= steps.count else block} at once"


def _computed(stages: Iterable[ScheduledStage | Parts]) -> Iterator[Node | str]:
    """The computations of a plan's text in order, each before the name of its target."""
    for stage in stages:
        match stage:
            case Compute():
                yield from _computed_in(stage)
            case Tiled(steps=steps):
                yield from (part for step in steps for part in _computed_in(step))
            case Call(targets=targets) | CallForeign(targets=targets):
                yield from targets
            case Parts(plans=plans):
                yield from plans[-1].returns


def _computed_in(step: TiledStep) -> Iterator[Node | str]:
    match step:
        case Begin(compute) | (Compute() as compute):
            yield from (part for before in compute.before for part in _computed_in(before))
            yield compute.value
            yield compute.target
            if compute.proviso is not None:
                yield from _computed_in(compute.proviso.otherwise)
        case Loop(_, _, body):
            yield from (part for inner in body for part in _computed_in(inner))
        case Cast():
            return


def _show_compute(stage: Compute, text: _Text) -> list[str]:
    store = stage.store
    how = "" if store.combine is None or not store.keeps or store.restart else f" {store.combine.value}="
    before = [f"  {line}" for part in stage.before for line in _show_compute(part, text)]
    tree = [f"  {line}" for line in _show_node(stage.value, text)]
    text.repeats.write(stage.target)
    where, otherwise = "", list[str]()
    if stage.proviso is not None:
        what = "in order" if stage.proviso.of_order else "finite"
        where = f", where {_listed(tuple(map(text.name, stage.proviso.named)))} {what}"
        otherwise = ["otherwise:", *_show_compute(stage.proviso.otherwise, text)[1:]]
    return [f"{text.name(stage.target)}: {stage.dtype}{list(stage.shape)}{how}{where}", *before, *tree, *otherwise]


def _listed(names: tuple[str, ...]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last} are" if most else f"{last} is"


def _show_step(step: TiledStep, text: _Text) -> list[str]:
    match step:
        case Begin(compute):
            value = " ".join(_show_node(compute.value, text))
            text.repeats.write(compute.target)
            return [f"{text.name(compute.target)} begins as {value}"]
        case Loop(index, extent, body):
            return [
                f"for {index} in 0:{extent}",
                *(f"  {line}" for inner in body for line in _show_step(inner, text)),
            ]
        case Cast(target, dtype):
            return [f"{text.name(target)} as {dtype}"]
        case _:
            return _show_compute(step, text)


def _show_node(node: Node, text: _Text) -> list[str]:
    if isinstance(node, (Fill, Iota, Step)):
        return [describe(node)]
    name, shown = text.repeats.name(node)
    if shown:
        return [name]
    own = f"{text.describe(node)} -> {node.dtype}[{', '.join(map(ir.index_name, node.axes))}]"
    inner = [f"  {line}" for operand in operands(node) for line in _show_node(operand, text)]
    return [f"{name} = {own}" if name else own, *inner]


def describe(node: Node) -> str:
    """The node alone, in a few words."""
    match node:
        case Fill(value):
            return f"{value}"
        case Iota(index, start, extent):
            return f"{ir.index_name(index)} = {start}..{start + extent - 1}"
        case Step(index):
            return f"step {ir.index_name(index)}"
        case Read(tensor):
            return _read(ir.plain_name(tensor), node)
        case Apply(operator) | CallBuiltin(operator):
            return operator
        case Contract():
            return "dot_general"
        case Convolve(windows=windows):
            return f"conv {len(windows)}-D"
        case Band(window=window, rows=rows):
            return (
                f"dot_general of {rows} rows of {window.output} at a time: {window.kernel} slides along {window.output}"
            )
        case Fold(reducer, _, indices, shifts=shifts):
            steps = ", ".join(f"{ir.index_name(index)} in {lo}:{hi}" for index, lo, hi in shifts)
            every = f" for {steps}, in one pass" if shifts else ""
            return f"reduce {reducer.value} over {', '.join(map(ir.index_name, indices))}{every}"
        case Pool(reducer, _, windows):
            ways = [f"{'reduce_window' if native else 'slices'} {extent}" for _, extent, native in windows]
            return f"pool {reducer.value} by {', then '.join(ways)}"
        case Scan(reducer, _, index, output, rising=rising, looped=looped):
            way = f"{'up' if rising else 'down'} to {ir.index_name(output)}{', block after block' if looped else ''}"
            return f"running {reducer.value} over {ir.index_name(index)} {way}"
        case Deviations(_, indices):
            return f"squares about the mean, summed over {', '.join(map(ir.index_name, indices))}"
        case Unroll(reducer, box, rolled=rolled):
            steps = ", ".join(f"{ir.index_name(index)} in {lo}:{hi}" for index, lo, hi in box)
            rank = f" {node.rank}" if reducer.is_ranked else ""
            return f"{'rolled' if rolled else 'unrolled'} {reducer.value}{rank} for {steps}"
        case Position(reducer, _, indices) | OrderStatistic(reducer, _, _, indices):
            return f"{reducer.value} over {', '.join(map(ir.index_name, indices))}"
        case MonoidFold(monoid, _, indices, _, _, blocks):
            over = [*(block.index for block in blocks), *(index for index in indices if not _is_row(index, blocks))]
            return f"registered {monoid.name} over {', '.join(map(str, over))}{_blocks(blocks)}"
        case LoopNest(whole, shown=shown):
            return f"{_named(whole)}: {_blocks_of(whole)}: {shown or ir.show_expr(ir.written_expr(node.nest.reduce))}"


def _blocks_of(whole: FusedReduction) -> str:
    """How the loops run, in words."""
    match whole.group, whole.schedule:
        case Softmax() as group, Blocks() as blocks:
            return f"blocks of {rows_of(group, blocks)} x {blocks.width}"
        case KernelSums(), Blocks() as blocks:
            return f"{blocks.width} rows of `{blocks.loop}`"
        case _, Blocks() as blocks:
            return f"{blocks.width} points at a time"
        case _, LoopSchedule() as form:
            return _form(form)


def _named(whole: FusedReduction) -> str:
    match whole.group:
        case Softmax():
            return "online softmax"
        case KernelSums():
            return "shared matrix"
        case Extrema():
            return "shared search"
        case Nest():
            return "loop nest"


def _form(form: LoopSchedule) -> str:
    """How the loops run, in words."""
    if form.whole:
        return "unrolled"
    if form.sieve:
        return f"blocks of {form.sieve} of `{form.loop}`, then what the first of them have"
    rows = f"{form.rows} rows of `{form.loop}`"
    rows = f"{rows}, {form.unroll} times," if form.unroll > 1 else rows
    tile = f", {form.tile[1]} of `{form.tile[0]}` at a time" if form.tile is not None else ""
    return f"{rows} at a time{tile}".replace(", at", " at")


def _is_row(index: IndexVar, blocks: tuple[Block, ...]) -> bool:
    return any(index == block.row for block in blocks)


def _blocks(blocks: tuple[Block, ...]) -> str:
    """How the blocks run, in words."""
    return "".join(f", {block.steps} blocks of {block.rows} of `{block.index}`" for block in blocks)


def _read(name: str, node: Read) -> str:
    viewed = f" ({', '.join(map(describe_view, node.views))})" if node.views else ""
    return f"read {name}{viewed}[{', '.join(map(_dimension, node.dimensions))}]"


def _dimension(dimension: Strip | Lookup) -> str:
    match dimension:
        case Lookup(_, clamp):
            return "looked up, clamped" if clamp else "looked up"
        case Strip(start, stride, count, low, high, factors):
            pads = f" padded {low},{high}" if low or high else ""
            if not factors:
                return f"{start}{pads}"
            first = f"({start})" if " " in str(start) else str(start)
            step = "" if stride == 1 else f":{stride}"
            split = "" if len(factors) == 1 else f" as {' x '.join(str(extent) for _, extent, _ in factors)}"
            return f"{first}+{count}{step}{split}{pads}"


def operations_of(stage: Compute) -> str:
    """The operations of a statement, in a few words."""
    own = operation_of(stage)
    return own if not stage.before else f"{', '.join(map(operation_of, stage.before))}, then {own}"


def operation_of(stage: Compute) -> str:
    """The operation that computes a statement's values, and the one that scatters them."""
    own, scatter = name_of(stage.value), stage.store.scatter
    if scatter is None:
        return own
    way = "scatter by rows" if scatter.rows else "scatter"
    way = "sort and segments" if scatter.is_sorted else way if scatter.along is None else f"{way}, slice by slice"
    return way if own in ("slice", "constant") else f"{own}, {way}"


def name_of(node: Node) -> str:
    """The one operation that a user would name for this computation."""
    main = _main(node)
    match main:
        case Read():
            if any(isinstance(dimension, Lookup) for dimension in main.dimensions):
                return "gather"
            return "slice" if main is node else "elementwise"
        case Apply() | CallBuiltin():
            return "elementwise"
        case Fill() | Iota() | Step():
            return "constant" if main is node else "elementwise"
        case Contract():
            return "dot_general"
        case Convolve():
            return "conv_general_dilated"
        case Band():
            return "dot_general by blocks"
        case Fold(reducer=reducer, shifts=shifts):
            return f"{prod(hi - lo for _, lo, hi in shifts)} reductions" if shifts else f"reduce {reducer.value}"
        case Scan(reducer=reducer):
            return f"running {reducer.value}"
        case Deviations():
            return "sum of squares about the mean"
        case Pool(windows=windows):
            return "reduce_window" if any(native for _, _, native in windows) else "shifted slices"
        case Unroll():
            if looks_up(main):
                return "unrolled gather"
            return "shifted slices" if _shifts(main) else "unrolled sum"
        case Position():
            return main.reducer.value
        case OrderStatistic():
            return "sort" if main.first is None else f"the first {main.first} in order"
        case MonoidFold(blocks=blocks):
            return f"blocks of {main.monoid.name}" if blocks else f"tree of {main.monoid.name}"
        case LoopNest(whole):
            return f"{_named(whole)} ({main.nest.reduce.reducer.value})"


def _main(node: Node) -> Node:
    """The heaviest operation in the computation."""
    best = node
    pending, seen = [node], set[int]()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if _weight(current) > _weight(best):
            best = current
        if not isinstance(current, Unroll):
            pending.extend(operands(current))
    return best


def _weight(node: Node) -> int:
    """The significance of a kind of operation within a computation."""
    return _WEIGHT.get(type(node), 0) + (isinstance(node, LoopNest) and not node.is_alone)


_WEIGHT = {
    Read: 0,
    Apply: 1,
    CallBuiltin: 1,
    Fold: 3,
    Deviations: 4,
    Position: 4,
    OrderStatistic: 5,
    Pool: 5,
    Scan: 5,
    Unroll: 6,
    Convolve: 8,
    Contract: 7,
    Band: 7,
    LoopNest: 9,
    MonoidFold: 9,
}


def _shifts(node: Node) -> bool:
    """Whether some read slides along an axis as the loop steps."""
    steps = (d for part in below(node) if isinstance(part, Read) for d in part.dimensions if isinstance(d, Strip))
    return any(bool(strip.start.terms) and bool(strip.factors) for strip in steps)


def facts_of(stage: Compute) -> tuple[str, ...]:
    """The facts about subscripts and guards that the computation relies on."""
    reasons = list(stage.decided)
    pending: list[Node] = [stage.value]
    seen = set[int]()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Read) and node.why:
            reasons.append(node.why)
        pending.extend(reversed(operands(node)))
    return tuple(dict.fromkeys(reasons))


def reason_of(node: Node) -> str:
    """Why this operation was chosen, and not a better one."""
    main = _main(node)
    if main.why:
        return main.why
    match main:
        case Fold(reducer=ir.Reducer.SUM):
            return "not a contraction: the summand is not a product of operands with fewer indices"
        case Fold(reducer=reducer):
            return f"{reducer.value} is not a sum of products: an elementwise body, reduced"
        case Read():
            if any(isinstance(d, Lookup) for d in main.dimensions):
                return "a subscript is data, or not affine"
            return "affine subscripts with one index each: slices"
        case Position() | OrderStatistic():
            return "it is found in an array of all values"
        case _:
            return "XLA fuses it into one loop"


# A plan prints as this text; plans themselves are only data.
Plan.__str__ = lambda self: show_plan(self)
