"""``python -m bench.plot results.json rbf nearest -o times.svg``: measured cases as a picture, one row per case.

``--against best`` counts all cases of the file by how they compare with the best hand-written form, ``--against usual``
with the usual one.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from . import svg
from .harness import CaseResult, Measurement
from .records import Record, read
from .report import NEAR, is_gradient

TOP, ROW = 64, 22
KINDS = {"best": "best by hand", "usual": "usual by hand", "peer": "KeOps"}
AGAINST = {"best": "the best hand-written JAX", "usual": "the usual hand-written JAX"}
# The other form's time over tcjax's: the minimum of a class, its name and its colour.
CLASSES = (
    (10.0, "over 10x faster", "tcjax"),
    (3.0, "3x to 10x faster", "tcjax"),
    (NEAR, f"{NEAR:g}x to 3x faster", "tcjax"),
    (1 / NEAR, f"within {NEAR:g}x", "same"),
    (0.5, f"{NEAR:g}x to 2x slower", "usual"),
    (0.0, "over 2x slower", "usual"),
)


def main(arguments: list[str] | None = None) -> int:
    """Writes the picture; 2 if the file has no such case."""
    parser = argparse.ArgumentParser(prog="python -m bench.plot", description=__doc__)
    parser.add_argument("file", type=Path, help="what `python -m bench.run --json FILE` wrote")
    parser.add_argument("cases", nargs="*", help="families, or cases with their sizes (all)")
    parser.add_argument("--against", choices=AGAINST, help="count the cases instead of showing a row for each")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="SVG")
    options = parser.parse_args(arguments)
    try:
        record = read(options.file)
        chosen = record.chosen(options.cases) if options.cases else list(record.results)
        drawn = picture(chosen, record) if options.against is None else counts(chosen, record, options.against)
        options.output.write_text(drawn, encoding="utf-8")
    except LookupError as problem:
        print(f"bench.plot: {problem}", file=sys.stderr)
        return 2
    except OSError as problem:
        print(f"bench.plot: {problem.filename}: {problem.strerror}", file=sys.stderr)
        return 2
    return 0


def picture(results: Sequence[CaseResult], record: Record) -> str:
    """SVG: times relative to tcjax's on a logarithmic axis; marks to the right of the line are slower than tcjax."""
    rows = [(name, _ratios(result)) for name, result in zip(_names(results), results, strict=True)]
    shown = {name for _, ratios in rows for name in ratios}
    least = min((ratio for _, ratios in rows for ratio in ratios.values()), default=1.0)
    most = max((ratio for _, ratios in rows for ratio in ratios.values()), default=1.0)
    low, high = math.floor(math.log10(least / 1.2)), math.ceil(math.log10(most * 1.2))
    left = 20 + svg.LETTER * max(len(name) for name, _ in rows)
    right = svg.WIDTH - 28
    bottom = TOP + ROW * len(rows)

    def across(ratio: float) -> float:
        return left + (right - left) * (math.log10(ratio) - low) / (high - low)

    parts = [
        svg.text(12, 18, "time relative to tcjax; right of the blue line: slower", "faint"),
        *_legend([name for name in KINDS if name in shown]),
    ]
    for power in range(low, high + 1):
        x = across(10.0**power)
        parts.append(svg.line((x, TOP - 8), (x, bottom), "tcjax" if power == 0 else ""))
        label = "1" if power == 0 else f"{10**power}x" if power > 0 else f"1/{10**-power}"
        parts.append(svg.text(x, TOP - 12, label, "faint", anchor="middle"))
    for number, (name, ratios) in enumerate(rows):
        y = TOP + ROW * (number + 0.5)
        parts.append(svg.text(left - 8, y + 4, name, anchor="end"))
        parts.append(svg.line((left, y), (right, y)))
        parts += [svg.mark(kind, across(ratio), y) for kind, ratio in ratios.items()]
    parts.append(svg.text(12, bottom + 18, record.made, "faint"))
    return svg.document(f"Time relative to tcjax: {record.made}", bottom + 28, parts)


def counts(results: Sequence[CaseResult], record: Record, against: str) -> str:
    """SVG: how many results and gradients are faster or slower than another form, and the worst ones."""
    sides = {
        "forward": [result for result in results if not is_gradient(result.case)],
        "with gradient": [result for result in results if is_gradient(result.case)],
    }
    left, room = 122, (svg.WIDTH - 122) / 2
    parts = [svg.text(12, 20, f"tcjax beside {AGAINST[against]}", "head"), svg.text(12, 44, "tcjax is", "faint")]
    bottom = 52 + ROW * len(CLASSES)
    parts += [svg.text(12, 52 + ROW * row + 16, name) for row, (_, name, _) in enumerate(CLASSES)]
    found = {side: ratios_against(inside, against) for side, inside in sides.items()}
    many = {side: _counted(ratios.values()) for side, ratios in found.items()}
    scale = (room - 40) / max(1, *(number for numbers in many.values() for number in numbers))
    for place, (side, numbers) in enumerate(many.items()):
        x = left + room * place
        parts.append(svg.text(x, 44, f"{side}: {len(found[side])}", "faint"))
        for row, (number, (_, _, colour)) in enumerate(zip(numbers, CLASSES, strict=True)):
            y = 52 + ROW * row
            parts.append(svg.bar(x, y + 4, scale * number, 15, colour))
            parts.append(svg.text(x + scale * number + 5, y + 16, str(number)))
        parts.append(svg.line((x, 52), (x, bottom), "axis"))
    slowest = sorted((ratio, case) for ratios in found.values() for case, ratio in ratios.items())[:2]
    named = ", ".join(f"{case.partition('/')[0]} {1 / ratio:.1f}x" for ratio, case in slowest)
    parts.append(svg.text(12, bottom + 20, f"slowest: {named}"))
    parts.append(svg.text(12, bottom + 40, record.made, "faint"))
    return svg.document(f"tcjax beside {AGAINST[against]}: {record.made}", bottom + 50, parts)


def ratios_against(results: Sequence[CaseResult], against: str) -> dict[str, float]:
    """The other form's time over tcjax's, for each case that has both."""
    found = {result.case: _ratios(result) for result in results}
    return {case: ratios[against] for case, ratios in found.items() if against in ratios}


def _counted(ratios: Iterable[float]) -> list[int]:
    """The number of cases in each class."""
    numbers = [0] * len(CLASSES)
    for ratio in ratios:
        numbers[next(number for number, (least, _, _) in enumerate(CLASSES) if ratio >= least)] += 1
    return numbers


def _names(results: Sequence[CaseResult]) -> list[str]:
    """``nearest place``, with the sizes if a family appears twice."""
    families = [result.case.partition("/")[0] for result in results]
    shown = zip(families, results, strict=True)
    return [(one if families.count(one) == 1 else result.case).replace("_", " ") for one, result in shown]


def _ratios(result: CaseResult) -> dict[str, float]:
    """Each candidate's time over tcjax's; a candidate that did not run is left out."""
    if result.tcjax is None or not math.isfinite(result.tcjax.median):
        return {}
    candidates: Iterable[tuple[str, Measurement | None]] = (
        ("peer", result.peer),
        ("usual", result.plain),
        ("best", result.best),
    )
    return {
        name: form.median / result.tcjax.median
        for name, form in candidates
        if form is not None and math.isfinite(form.median)
    }


def _legend(names: Sequence[str]) -> list[str]:
    parts, x = [], 18.0
    for name in names:
        parts.append(svg.mark(name, x, 34))
        parts.append(svg.text(x + 9, 38, KINDS[name]))
        x += 30 + svg.LETTER * len(KINDS[name])
    return parts


if __name__ == "__main__":
    sys.exit(main())
