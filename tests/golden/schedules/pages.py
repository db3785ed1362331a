"""Pages of schedules: a program, and under each heading a schedule with its reference answer and ours.

A section has a line ``Schedule: `...` `` in the syntax of `tests.planning.schedule.commands`; its blocks are computed.
"""

import re
from pathlib import Path

import tcjax
from tests.planning.schedule.commands import schedule_of
from tests.planning.schedule.kernels import specs

HERE = Path(__file__).parent
_TEXT = re.compile(r"```tc\n(.*?)```", re.DOTALL)
_ARGUMENTS = re.compile(r"^Arguments: (.*)$", re.MULTILINE)
_ARGUMENT = re.compile(r"`\w+: (\w+)\[([\d, ]*)\]`")
_SCHEDULE = re.compile(r"^Schedule: `(.*)`$", re.MULTILINE)
# Number of boxes of a stage that are listed one by one.
_MOST_BOXES = 8


def render(page: str) -> str:
    """The updated page: prose, program and schedules are kept, the blocks under each schedule are recomputed."""
    found, listed = _TEXT.search(page), _ARGUMENTS.search(page)
    assert found and listed, "a page has a ```tc block and a line `Arguments: ...`"
    kernel = tcjax.kernel(found.group(1))
    arguments = " ".join(f"{dtype}:{shape.replace(' ', '')}" for dtype, shape in _ARGUMENT.findall(listed.group(1)))
    start, *sections = page.split("\n## ")
    return "\n## ".join([start, *(_section(section, kernel, arguments) for section in sections)])


def _section(section: str, kernel: tcjax.Kernel, arguments: str) -> str:
    kept = section.partition("```text")[0].rstrip("\n")
    found = _SCHEDULE.search(kept)
    assert found, "a section has a line `Schedule: `...``"
    schedule = schedule_of(kernel, found.group(1))
    blocks = [str(schedule), _regions(schedule.infer_bounds(*specs(arguments)))]
    blocks.append(str(schedule.show(*specs(arguments))).strip("\n"))
    return "\n".join([kept, *(f"\n```text\n{block}\n```" for block in blocks), ""])


def _regions(regions: dict[str, tcjax.Region]) -> str:
    loops = {loop: extent for region in regions.values() for loop, extent in region.loops.items()}
    lines: list[str] = []
    for name, region in regions.items():
        times = "once" if region.instances == 1 else f"{region.instances} times"
        lines += [
            f"{name}: {times}" + (f", per ({', '.join(region.prefix)})" if region.prefix else ""),
            f"  min        {', '.join(map(str, region.min))}",
            f"  extent     {', '.join(map(str, region.extent_expr))}",
            f"  at most    {_times(region.extent)}",
            f"  points     {region.total_box} computed, {region.total_exact} needed, {region.distinct} different",
            f"  recompute  {region.recompute:.4g}",
        ]
        if region.prefix and len(region.prefix) == 1 and region.instances <= _MOST_BOXES:
            lines += [f"    {line}" for line in _boxes(region, loops)]
    return "\n".join(lines)


def _boxes(region: tcjax.Region, loops: dict[str, int]) -> list[str]:
    (loop,) = region.prefix
    lines = []
    for value in range(loops[loop]):
        minima = [expr.evaluate({loop: value}) for expr in region.min]
        extents = [expr.evaluate({loop: value}) for expr in region.extent_expr]
        spans = " x ".join(f"[{lo}, {lo + extent})" for lo, extent in zip(minima, extents, strict=True))
        lines.append(f"{loop} = {value}: {spans}")
    return lines


def _times(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))
