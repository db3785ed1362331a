"""What the compiler did, told to its user."""

from dataclasses import dataclass
from math import prod
from typing import Any

from .. import planning, ranges
from ..planning.cost import plan_cost


@dataclass(frozen=True, slots=True)
class Explanation:
    """Ranges and what fixed each, operations and why, costs. `str()` is the text, `to_dict()` the data.

    Costs: `flops` scalar operations, `bytes` and `temporary_bytes` in bytes.
    """

    data: dict[str, Any]

    @staticmethod
    def of(program: str, plan: planning.Plan) -> "Explanation":
        return Explanation({"program": program, **_describe(plan)})

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain dicts, lists, strings and numbers."""
        return self.data

    def __str__(self) -> str:
        lines = [self.data["program"], ""]
        if self.data["facts"]:
            lines += [f"facts: {', '.join(self.data['facts'])}, as assumed", ""]
        for statement in self.data["statements"]:
            lines += _statement_lines(statement)
        total = self.data
        lines.append(
            f"total: {_count(total['flops'])} operations, {_bytes(total['bytes'])} moved, "
            f"{_bytes(total['temporary_bytes'])} temporary"
        )
        return "\n".join(lines)

    __repr__ = __str__


def _describe(plan: planning.Plan) -> dict[str, Any]:
    statements = []
    numbers = {stage.target: number for number, stage in enumerate(plan.stages) if isinstance(stage, planning.Compute)}
    for number, stage in enumerate(plan.stages if plan.scheduled is None else plan.scheduled):
        match stage:
            case planning.Compute():
                at = number if plan.scheduled is None else plan.stages.index(stage)
                statements.append({**_compute(stage, plan.bound, at), **_left_whole(plan, at)})
            case planning.Tiled(number=at):
                for compute, loops in stage.computes():
                    own = at if compute.target == stage.target else numbers[compute.target]
                    statements.append(_tile(compute, loops, plan.bound, own))
            case planning.Call(targets, inner, _):
                described = _describe(inner)
                statements += [{**inside, "inside": inner.name} for inside in described["statements"]]
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
                        "flops": 0,
                        "bytes": 0,
                        "temporary_bytes": 0,
                    }
                )
    cost = plan_cost(plan)
    return {
        "statements": statements,
        "facts": list(plan.bound.assumptions),
        "flops": cost.flops,
        "bytes": cost.bytes,
        "temporary_bytes": cost.temporary,
    }


def _compute(stage: planning.Compute, bound: ranges.Bound, number: int) -> dict[str, Any]:
    cost = planning.cost_of(stage)
    reasons = bound.reasons[number]
    origin = bound.origins[stage.target]
    from_origin = f", first element at {list(origin)}" if any(origin) else ""
    return {
        "target": stage.target,
        "statement": _shown(bound, number),
        "result": f"{stage.dtype}{list(stage.shape)}{from_origin}",
        "ranges": {
            str(index): {"lo": lo, "hi": hi, "fixed_by": reasons.get(index, "")}
            for index, (lo, hi) in bound.boxes[number].items()
        },
        "operation": planning.name_of(stage.value),
        "reason": planning.reason_of(stage.value),
        "facts": list(planning.facts_of(stage)),
        "flops": cost.flops,
        "bytes": cost.bytes,
        "temporary_bytes": cost.temporary,
    }


def _tile(
    stage: planning.Compute, loops: tuple[planning.Loop, ...], bound: ranges.Bound, number: int
) -> dict[str, Any]:
    """A statement that is computed tile by tile; its costs are those of all tiles together."""
    described = _compute(stage, bound, number)
    count = prod(loop.extent for loop in loops)
    steps = [{"loop": str(loop.index), "extent": loop.extent} for loop in loops]
    described |= {name: count * described[name] for name in ("flops", "bytes")}
    described["result"] = f"{stage.dtype}{list(bound.shapes[stage.target])}"
    return {**described, "tiles": {"loops": steps, "shape": list(stage.piece)}}


def _left_whole(plan: planning.Plan, number: int) -> dict[str, Any]:
    return {"whole": plan.whole[number]} if number in plan.whole else {}


def _shown(bound: ranges.Bound, number: int) -> str:
    from ..ir.printer import show_statement

    return show_statement(bound.function.statements[number])


def _statement_lines(statement: dict[str, Any]) -> list[str]:
    inside = f" (inside {statement['inside']})" if "inside" in statement else ""
    lines = [f"{statement['statement']}{inside}", f"  result     {statement['result']}"]
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
    lines += [f"  known      {fact}" for fact in statement.get("facts", ()) if fact != statement["reason"]]
    lines.append(
        f"  cost       {_count(statement['flops'])} operations, {_bytes(statement['bytes'])} moved, "
        f"{_bytes(statement['temporary_bytes'])} temporary"
    )
    return [*lines, ""]


def _count(number: int) -> str:
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return str(number)


def _bytes(number: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number} B"


__all__ = ["Explanation"]
