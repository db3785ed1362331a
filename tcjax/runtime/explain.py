"""Explains to the user what the compiler did."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Final

from .. import ir, planning, ranges
from ..diagnostics.phrases import bytes_text, count_text, place_text, time_text
from ..keeping import cached_property
from ..planning.blocked.gpu_kernels import on_cuda
from ..planning.blocked.loop_schedules import parts
from ..planning.cost.costs import plan_cost
from ..planning.cost.growth import in_words
from ..planning.cost.hints import hints_of
from ..planning.cost.meter import loop_bytes
from ..planning.data.groups import Blocks, Extrema, KernelSums
from ..planning.data.nests import LoopSchedule, Nest
from .depth import within_depth
from .gradients import reverse_mode

if TYPE_CHECKING:
    from ..lowering.traced import Run
    from ..planning.data.groups import Group
    from ..planning.data.stages import Elsewhere
    from ..planning.data.steps import Steps
    from ..planning.sharding import Message


@dataclass(frozen=True)
class Explanation:
    """Ranges and what determined them, operations and why, costs. `str()` is the text, `to_dict()` the data.

    Whether there is a derivative is determined when first asked, which takes as long as tracing it. All costs are the
    planner's estimates, except those in `compiled`, which are XLA's.
    """

    program: str
    plan: planning.Plan = field(repr=False)
    fns: Mapping[str, Callable[..., Any]] = field(default_factory=dict, compare=False, repr=False)
    compiled: Mapping[str, Any] | None = None
    collectives: "Sequence[Message] | None" = None
    memory_limit: int | None = None

    @staticmethod
    def of(program: str, plan: planning.Plan, fns: Mapping[str, Callable[..., Any]] | None = None) -> "Explanation":
        return Explanation(program, plan, fns or {})

    @property
    def no_gradient(self) -> str:
        """Why reverse mode with respect to all float parameters is impossible; empty where it is possible."""
        return self._reverse_mode[0]

    @cached_property
    def _reverse_mode(self) -> tuple[str, Sequence["Run"]]:
        return reverse_mode(self.plan, self.fns)

    @property
    def data(self) -> dict[str, Any]:
        """What `to_dict` returns."""
        return self._data

    @cached_property
    def _data(self) -> dict[str, Any]:
        described = {"program": self.program, **_describe(self.plan)}
        if self.memory_limit is not None:
            described["memory_limit"] = self.memory_limit
        if self.no_gradient:
            described["no_gradient"] = self.no_gradient
        else:
            described["gradient_loops"] = [_gradient_loop(*run) for run in self._reverse_mode[1] if _is_loop(run)]
        if self.collectives is not None:
            described["collectives"] = [asdict(message) for message in self.collectives]
        return described if self.compiled is None else {**described, "compiled": self.compiled}

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain dicts, lists, strings and numbers.

        For the whole and for each of `statements`: `flops` scalar operations, `bytes` that are moved at least once,
        `temporary_bytes` that XLA is expected to need in addition to arguments and results. Where there is no
        derivative with respect to any float parameter, `no_gradient` says why. A statement's `growth` gives the power
        of each size with which its operations grow, `{"N": 2}` if they are quadratic in N; `stored_growth` does so for
        the bytes that it writes; `hints` says what to change where a better form is known. `seconds` is its price on a
        CPU, and `spent` has its parts: ``compute``, ``memory``, and ``overhead`` (starts of kernels, trips of loops).
        `bound_by` says where most of it goes (``memory``, ``compute``), and `runner_up` is the `operation`, `seconds`
        and, where known, `spent` of the second-best plan, or None. The plan's `memory` has for each step of it the
        `target`, the temporary bytes that it keeps for others (`kept`) and those of its own (`own`); `memory_limit` is
        the limit in bytes that the memory contract sets for the temporaries of a statement.

        A statement of another definition has its name in `inside`, one that a loop computes the loop's `steps`.

        A statement's `loops` describe each of its loop nests: the index of the loop (`loop`), how many values are
        vectorised (`rows`) and unrolled (`unroll`), the tile of an axis if there is one (`tile`: axis and extent),
        whether a block is combined `inside`, into how many `parts` a guard cuts it, and the bytes that it needs
        (`temporary_bytes`). `cuda` says for each loop nest, or group of nests computed together,
        which `operation` it is on a CUDA device, and the `reason`. For a statement computed some rows at a time on a
        CPU, `row_parts` is the number of parts; its costs are those of all parts. `gradient_loops` are the loops of
        reverse mode with respect to all float parameters, including those of the forward pass that it needs: the
        `reductions` that one loop computes, and how it runs; `a.0` is its first operand, and `rare` is what runs only
        where several points share an extremum.

        All of these are estimates. After ``k.explain(..., compiled=True)``, `compiled` has XLA's own figures, from
        `memory_analysis` and `cost_analysis` of the compiled program: `temporary_bytes`, `operations` and `bytes` of
        the `forward` pass, and of the `vjp` with given cotangents (where there is none it is None, and `no_vjp` says
        why). XLA counts the body of a loop once, however often it runs, and does not count functions such as `exp`. On
        a mesh the figures are those of one device.

        For a mesh, `collectives` are the exchanges between devices in the forward pass: the XLA `operation`, the
        `tensor` exchanged, the `axes` of the mesh, how many `bytes` each device receives per exchange, how many `times`
        it runs, and the `reason`. The statements are those of one device. `compiled` then also has the `collectives` of
        the compiled forward pass, as `operation` and `bytes`.
        """
        return self.data

    def __str__(self) -> str:
        lines = [self.data["program"], ""]
        if self.data["facts"]:
            lines += [f"facts: {', '.join(self.data['facts'])}, as assumed", ""]
        for statement in self.data["statements"]:
            lines += _statement_lines(statement)
        total = self.data
        lines.append(
            f"total: {count_text(total['flops'])} operations, {bytes_text(total['bytes'])} moved, "
            f"{bytes_text(total['temporary_bytes'])} temporary (estimates)"
        )
        if "no_gradient" in total:
            lines.append(f"gradient: none: {total['no_gradient']}")
        for loop in total.get("gradient_loops", ()):
            lines.append(f"gradient loop{' in rare cases' if loop['rare'] else ''}: {_run(loop)}")
            lines += [f"  {reduction}" for reduction in loop["reductions"]]
            lines.append(f"  on CUDA    {loop['cuda']['operation']}: {loop['cuda']['reason']}")
        lines += _collective_lines(total.get("collectives"), total.get("compiled"))
        if "no_gradient" not in total and "compiled" not in total:
            lines.append("gradient: for its costs, pass compiled=True (or --compiled)")
        return "\n".join([*lines, *_compiled_lines(total.get("compiled"))])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from ..display import show_explanation

        return show_explanation(self.data, self.plan)

    @property
    def html(self) -> str:
        """A page for a browser, which needs nothing else: no scripts, nothing loaded from elsewhere."""
        from ..markup import document

        return document(f"tcjax: {self.plan.name}", self._repr_html_())


def _collective_lines(collectives: Sequence[Mapping[str, Any]] | None, compiled: Any) -> Iterator[str]:
    if collectives is None:
        return
    if not collectives:
        yield "devices: exchange nothing"
    for each in collectives:
        often = f", {each['times']} times" if each["times"] > 1 else ""
        axes = ", ".join(map(repr, each["axes"]))
        yield (
            f"devices: {each['operation']} of {bytes_text(each['bytes'])} of {each['tensor']} along {axes}{often}: "
            f"{each['reason']}"
        )
    for each in (compiled or {}).get("collectives", ()):
        yield f"compiled: {each['operation']} of {bytes_text(each['bytes'])}"


# The entry of a statement that computes nothing here.
_UNCOUNTED: Final[dict[str, Any]] = {
    "seconds": 0.0,
    "spent": {"compute": 0.0, "memory": 0.0, "overhead": 0.0},
    "bound_by": "",
    "runner_up": None,
    "flops": 0,
    "bytes": 0,
    "temporary_bytes": 0,
    "growth": {},
    "stored_growth": {},
    "hints": [],
}


def _describe(plan: planning.Plan) -> dict[str, Any]:
    """The data of a plan."""
    statements: list[dict[str, Any]] = []
    numbers = {stage.target: number for number, stage in enumerate(plan.stages) if isinstance(stage, planning.Compute)}

    with within_depth(plan.name, plan.bound.function.span):
        growth = planning.growth_of(plan)

    for number, stage in enumerate(plan.stages if plan.scheduled is None else plan.scheduled):
        match stage:
            case planning.Compute():
                at = number if plan.scheduled is None else plan.stages.index(stage)
                computed = {**_compute(stage, plan.bound, at), **_in_parts(plan, at)}
                statements.append({**computed, **_verdict(plan, at, growth[at]), **_left_whole(plan, at)})
            case planning.Tiled(number=at):
                for compute, loops in stage.computes():
                    own = at if compute.target == stage.target else numbers[compute.target]
                    statements.append({**_tile(compute, loops, plan.bound, own), **_verdict(plan, own, growth[own])})
            case planning.Call(_, inner, _, steps, elsewhere=elsewhere):
                described = _describe(inner)
                statements += [_inside(each, inner, steps, elsewhere) for each in described["statements"]]
            case planning.Unstored():
                statements.append(_unstored(stage, plan.bound, number))
            case planning.CallForeign(targets, function, _, results, frame):
                shapes = ", ".join(f"{dtype}{list(shape)}" for dtype, shape in results)
                statements.append(
                    {
                        "target": ", ".join(targets),
                        "statement": f"{', '.join(targets)} = {function}(...)",
                        "result": shapes,
                        "ranges": {},
                        "operation": "python function",
                        "reason": "mapped over the cells" if frame else "called as it is, on whole arrays",
                        **_UNCOUNTED,
                    }
                )
    cost = plan_cost(plan)
    return {
        "statements": statements,
        "facts": list(plan.bound.assumptions),
        "flops": cost.flops,
        "bytes": cost.bytes,
        "temporary_bytes": cost.temporary,
        "memory": [asdict(each) for each in planning.memory_of(plan)],
        "memory_limit": planning.allowance(planning.given_bytes(plan.bound)),
    }


def _inside(
    described: dict[str, Any], inner: planning.Plan, steps: "Steps | None", elsewhere: "Elsewhere | None"
) -> dict[str, Any]:
    """A statement of a call or a loop: the definition that it is `inside`, and the `steps` that compute it.

    The parts that planning makes of a program have names that mean nothing to its writer.
    """
    if not inner.bound.is_part:
        described = {**described, "inside": described.get("inside", inner.name)}
    if steps is not None:
        outer = [described["steps"]] if "steps" in described else []
        described = {**described, "steps": ", each of ".join([planning.describe_steps(steps, elsewhere), *outer])}
    return described


def _written(stage: planning.Compute | planning.Unstored, bound: ranges.Bound, number: int) -> dict[str, Any]:
    """The text and the ranges of a stage's statement."""
    reasons = bound.reasons[number]
    box = {} if ir.is_copy(bound.function.statements[number]) else bound.boxes[number]
    origin = bound.origins[stage.target]
    from_origin = f", first element at {list(origin)}" if any(origin) else ""
    return {
        "target": ir.plain_name(stage.target),
        "statement": _shown(bound, number),
        "result": f"{stage.dtype}{list(stage.shape)}{from_origin}",
        "ranges": {
            ir.index_name(index): {"lo": lo, "hi": hi, "fixed_by": reasons.get(index, "")}
            for index, (lo, hi) in box.items()
        },
    }


def _unstored(stage: planning.Unstored, bound: ranges.Bound, number: int) -> dict[str, Any]:
    """A statement that its readers recompute."""
    return {
        **_written(stage, bound, number),
        **_UNCOUNTED,
        "operation": "in place",
        "reason": f"never stored: {_computed_by(stage.readers)}{_compared(stage.seconds, stage.stored)}",
        "seconds": stage.seconds,
        "runner_up": {"operation": "stored", "seconds": stage.stored},
        "facts": [],
        "loops": [],
    }


def _computed_by(readers: tuple[str, ...]) -> str:
    names = ", ".join(f"`{ir.plain_name(reader)}`" for reader in readers)
    return f"{names} computes it where it reads it" if len(readers) == 1 else f"{names} compute it where they read it"


def _compared(seconds: float, other: float) -> str:
    """How a price compares with another one; empty if it is higher, since then the choice has other reasons."""
    if time_text(seconds) == time_text(other):
        return ", which costs the same"
    return ", which costs less" if seconds < other else ""


def _compute(stage: planning.Compute, bound: ranges.Bound, number: int) -> dict[str, Any]:
    cost, price = planning.cost_of(stage), planning.price(stage, shapes=bound.shapes)
    return {
        **_written(stage, bound, number),
        "operation": planning.operation_of(stage),
        "reason": planning.reason_of(stage.value),
        **_proviso(stage),
        "seconds": price.seconds,
        "spent": _spent(price),
        "bound_by": price.limit(),
        "runner_up": _runner_up(stage, price),
        "facts": list(planning.facts_of(stage)),
        "loops": [_loops(node) for node in _nests(stage.value)],
        "cuda": [_on_cuda(whole.group, whole.backend) for whole in _groups(stage.value)],
        "flops": cost.flops,
        "bytes": cost.bytes,
        "temporary_bytes": cost.temporary,
    }


def _in_parts(plan: planning.Plan, number: int) -> dict[str, Any]:
    """What differs for a statement computed some rows at a time: the total costs of all parts."""
    pieces = plan.pieces(number)
    if not pieces:
        return {}
    costs = [planning.cost_of(stage) for _, stage in pieces]
    price = sum((planning.price(stage, shapes=part.bound.shapes) for part, stage in pieces), planning.NOTHING)
    return {
        "row_parts": len(pieces),
        "seconds": price.seconds,
        "spent": _spent(price),
        "flops": sum(cost.flops for cost in costs),
        "bytes": sum(cost.bytes for cost in costs),
        "temporary_bytes": max(cost.temporary for cost in costs),
        "runner_up": None,
        "loops": [],
    }


def _runner_up(stage: planning.Compute, price: planning.Price) -> dict[str, Any] | None:
    """The next best plan of a statement of this price."""
    if stage.runner_up is None:
        return None
    operation, dearer = stage.runner_up
    other = price + dearer
    return {"operation": operation, "seconds": other.seconds, "spent": _spent(other)}


def _spent(price: planning.Price) -> dict[str, float]:
    """What the seconds of a price are spent on."""
    return {"compute": max(0.0, price.compute), "memory": max(0.0, price.memory), "overhead": max(0.0, price.overhead)}


def _proviso(stage: planning.Compute) -> dict[str, Any]:
    """The condition (finite or sorted data) of a statement's plan, and the plan used if it fails."""
    if stage.proviso is None:
        return {}
    otherwise = planning.operations_of(stage.proviso.otherwise)
    what = "ordered" if stage.proviso.of_order else "finite"
    return {"proviso": {what: list(map(ir.plain_name, stage.proviso.named)), "otherwise": otherwise}}


def _verdict(plan: planning.Plan, number: int, growth: planning.Growth) -> dict[str, Any]:
    """How the cost of a statement grows, and what the user can change."""
    with within_depth(plan.name, plan.bound.function.span):
        hints = list(hints_of(plan, number, growth))
    return {
        "growth": {str(size): degree for size, degree in growth.operations.items()},
        "stored_growth": {str(size): degree for size, degree in growth.stored.items()},
        "hints": hints,
    }


def _nests(node: planning.nodes.Node) -> Iterator[planning.nodes.LoopNest]:
    if isinstance(node, planning.nodes.LoopNest) and node.is_alone and not node.form.whole:
        yield node
    for operand in planning.nodes.operands(node):
        yield from _nests(operand)


def _on_cuda(group: "Group", backend: planning.Backend) -> dict[str, Any]:
    """The operation that computes the results of a group on a CUDA device, and why."""
    kernel, reason = on_cuda(group, backend)
    operation = "Triton kernels" if isinstance(group, KernelSums) else "a Triton kernel"
    if not kernel:
        alone = not isinstance(group, Nest) and any(on_cuda(nest, backend)[0] for nest in group.results)
        operation = "a Triton kernel for each result" if alone else "XLA operations"
    return {"operation": operation, "reason": reason}


def _groups(node: planning.nodes.Node) -> Iterator[planning.nodes.FusedReduction]:
    """The reductions below a node that are computed together."""
    for one in planning.nodes.below(node):
        if isinstance(one, planning.nodes.LoopNest) and one.first:
            yield one.whole


def _loops(node: planning.nodes.LoopNest) -> dict[str, Any]:
    """How a loop nest runs on a CPU."""
    memory = node.whole.backend.memory
    return {**_walked(node.nest, node.form, memory), "temporary_bytes": loop_bytes(node.whole)}


def _is_loop(run: "Run") -> bool:
    form = run[1]
    return not (isinstance(form, LoopSchedule) and form.whole)


def _gradient_loop(group: "Group", form: LoopSchedule | Blocks, backend: planning.Backend) -> dict[str, Any]:
    """How reductions of a derivative run on a CPU: one nest, or several computed by one loop."""
    match group, form:
        case Nest(), LoopSchedule():
            walked = _walked(group, form, backend.memory)
        case Extrema(), _:
            walked = _walked(group.place, group.form, backend.memory)
        case _, Blocks():
            tiles = [[str(axis), extent] for axis, extent in form.tile]
            walked = {"loop": str(form.loop), "rows": form.width, "tiles": tiles}
        case _:
            raise AssertionError(form)
    reductions = [ir.show_expr(nest.reduce) for nest in group.results]
    return {"reductions": reductions, "rare": backend.rare, **walked, "cuda": _on_cuda(group, backend)}


def _walked(nest: Nest, form: LoopSchedule, memory: int | None) -> dict[str, Any]:
    _, found = parts(nest, form, memory)
    return {
        "loop": str(form.loop),
        "rows": found[0][1].rows,
        "unroll": found[0][1].unroll,
        "tile": None if form.tile is None else [str(form.tile[0]), form.tile[1]],
        "inside": form.inside,
        "parts": len(found),
    }


def _tile(
    stage: planning.Compute, loops: tuple[planning.Loop, ...], bound: ranges.Bound, number: int
) -> dict[str, Any]:
    """A statement computed tile by tile; its costs are those of all tiles together."""
    described = _compute(stage, bound, number)
    count = prod(loop.extent for loop in loops)
    steps = [{"loop": str(loop.index), "extent": loop.extent} for loop in loops]
    described |= {name: count * described[name] for name in ("flops", "bytes", "seconds")}
    described["spent"] = {name: count * seconds for name, seconds in described["spent"].items()}
    described["result"] = f"{stage.dtype}{list(bound.shapes[stage.target])}"
    return {**described, "tiles": {"loops": steps, "shape": list(stage.piece)}}


def _left_whole(plan: planning.Plan, number: int) -> dict[str, Any]:
    return {"whole": plan.whole[number]} if number in plan.whole else {}


def _shown(bound: ranges.Bound, number: int) -> str:
    return ir.show_written(bound.function.statements[number])


def _statement_lines(statement: dict[str, Any]) -> list[str]:
    place = place_text(statement)
    lines = [f"{statement['statement']}{place and f' ({place})'}", f"  result     {statement['result']}"]
    for name, given in statement["ranges"].items():
        why = f"  {given['fixed_by']}" if given["fixed_by"] else ""
        lines.append(f"  {name:<10} {given['lo']}:{given['hi']}{why}")
    if "tiles" in statement:
        loops = ", ".join(f"{step['loop']} in 0:{step['extent']}" for step in statement["tiles"]["loops"])
        lines.append(f"  tiles      {loops}; {statement['tiles']['shape']} at a time")
    if "whole" in statement:
        lines.append(f"  tiles      none: {statement['whole']}")
    lines.append(f"  operation  {statement['operation']}")
    lines.append(f"  because    {statement['reason']}")
    if "row_parts" in statement:
        lines.append(
            f"  parts      {statement['row_parts']}, some rows at a time: a condition leaves less in most of them"
        )
    if "proviso" in statement:
        given = statement["proviso"]
        names = [f"`{name}`" for name in given.get("finite", given.get("ordered"))]
        what = "finite" if "finite" in given else "in order"
        provided = f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} {what}"
        lines.append(f"  provided   {provided}; otherwise {given['otherwise']}")
    lines += [f"  known      {fact}" for fact in statement.get("facts", ()) if fact != statement["reason"]]
    lines.append(
        f"  estimate   {count_text(statement['flops'])} operations, {bytes_text(statement['bytes'])} moved, "
        f"{bytes_text(statement['temporary_bytes'])} temporary"
    )
    if statement["seconds"]:
        lines.append(f"  time       {_price(statement)}")
    lines += [
        f"  loops      {_run(loops)}; {bytes_text(loops['temporary_bytes'])}" for loops in statement.get("loops", ())
    ]
    lines += [f"  on CUDA    {one['operation']}: {one['reason']}" for one in statement.get("cuda", ())]
    grows = (("operations", "growth"), ("bytes stored", "stored_growth"))
    grown = [f"{what} {in_words(statement[name])}" for what, name in grows if statement.get(name)]
    lines += [f"  grows      {'; '.join(grown)}"] if grown else []
    lines += [f"  hint       {hint}" for hint in statement.get("hints", ())]
    return [*lines, ""]


def _price(statement: dict[str, Any]) -> str:
    """The price of a statement, its bottleneck, and the next best plan's price."""
    limit = f", bounded by {statement['bound_by']}" if statement["bound_by"] else " where it is read"
    other = statement["runner_up"]
    runner = f"; {other['operation']}: {time_text(other['seconds'])}" if other else ""
    return f"{time_text(statement['seconds'])}{limit}{runner} (estimates for a CPU)"


def _run(loops: dict[str, Any]) -> str:
    """How a loop runs, in words."""
    rows = f"{loops['rows']} values of `{loops['loop']}`"
    rows += " vectorised" if loops.get("inside") is False else " in one operation"
    trip = f", unrolled {loops['unroll']} times" if loops.get("unroll", 1) > 1 else ""
    tiles = loops["tiles"] if "tiles" in loops else [loops["tile"]] if loops["tile"] else []
    tile = f", for {', '.join(f'{extent} of `{axis}`' for axis, extent in tiles)} at a time" if tiles else ""
    cut = f", in {loops['parts']} parts" if loops.get("parts", 1) > 1 else ""
    return f"{rows}{trip}{tile}{cut}"


def _compiled_lines(compiled: Mapping[str, Any] | None) -> Iterator[str]:
    """XLA's figures, in words."""
    if compiled is None:
        return
    yield f"compiled: {_figures(compiled['forward'])} (by XLA)"
    if compiled["vjp"] is None:
        yield f"compiled vjp: none: {compiled['no_vjp']}"
    else:
        yield f"compiled vjp: {_figures(compiled['vjp'])}, by all float parameters (by XLA)"


def _figures(figures: Mapping[str, int | None]) -> str:
    operations, moved, temporary = (figures[name] for name in ("operations", "bytes", "temporary_bytes"))
    said = f"{_known(operations, count_text)} operations, {_known(moved, bytes_text)} moved"
    return f"{said}, {_known(temporary, bytes_text)} temporary"


def _known(figure: int | None, shown: Callable[[int], str]) -> str:
    return "unknown" if figure is None else shown(figure)


__all__ = ["Explanation"]
