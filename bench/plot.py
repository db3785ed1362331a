"""``python -m bench.plot results.json rbf nearest -o times.svg``: measured cases as a picture, one row a case."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from .harness import CaseResult, Measurement
from .records import read

# Narrow, so that letters stay readable on a phone; Okabe and Ito's colours, which everybody can tell apart.
WIDTH, RIGHT, TOP, ROW, LETTER = 470, 30, 62, 22, 5.7
BLUE = "#0072b2"
COLOURS = {"best by hand": "#009e73", "usual by hand": "#d55e00", "KeOps": "#cc79a7"}


def main(arguments: list[str] | None = None) -> int:
    """Writes the picture; 2 when the file has no such case."""
    parser = argparse.ArgumentParser(prog="python -m bench.plot", description=__doc__)
    parser.add_argument("file", type=Path, help="what `python -m bench.run --json FILE` wrote")
    parser.add_argument("cases", nargs="+", help="families, or cases with their sizes")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="SVG")
    options = parser.parse_args(arguments)
    try:
        record = read(options.file)
        drawn = picture(record.chosen(options.cases), record.machine)
        options.output.write_text(drawn, encoding="utf-8")
    except LookupError as problem:
        print(f"bench.plot: {problem}", file=sys.stderr)
        return 2
    except OSError as problem:
        print(f"bench.plot: {problem.filename}: {problem.strerror}", file=sys.stderr)
        return 2
    return 0


def picture(results: Sequence[CaseResult], machine: str) -> str:
    """SVG: times relative to tcjax's on a logarithmic axis; what lies to the right of the line is slower than tcjax."""
    rows = [(name, _ratios(result)) for name, result in zip(_names(results), results, strict=True)]
    shown = {name for _, ratios in rows for name in ratios}
    least = min((ratio for _, ratios in rows for ratio in ratios.values()), default=1.0)
    most = max((ratio for _, ratios in rows for ratio in ratios.values()), default=1.0)
    low, high = math.floor(math.log10(least / 1.2)), math.ceil(math.log10(most * 1.2))
    left = 24 + LETTER * max(len(name) for name, _ in rows)
    height = TOP + ROW * len(rows) + 12

    def across(ratio: float) -> float:
        return left + (WIDTH - left - RIGHT) * (math.log10(ratio) - low) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="11" role="img">',
        f"<title>Time relative to tcjax: {escape(machine)}</title>",
        # A ground of its own: a page may be dark.
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#fff"/>',
        *_legend([name for name in COLOURS if name in shown]),
    ]
    for power in range(low, high + 1):
        x = across(10.0**power)
        colour, wide = (BLUE, 1.6) if power == 0 else ("#ddd", 1)
        ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{height - 8}"'
        parts.append(f'<line {ends} stroke="{colour}" stroke-width="{wide}"/>')
        label = "1" if power == 0 else f"{10**power} x" if power > 0 else f"1/{10**-power}"
        parts.append(f'<text x="{x:.1f}" y="{TOP - 13}" text-anchor="middle" fill="#555">{label}</text>')
    for number, (name, ratios) in enumerate(rows):
        y = TOP + ROW * number + ROW / 2
        parts.append(f'<text x="{left - 10:.1f}" y="{y + 4:.1f}" text-anchor="end" fill="#222">{escape(name)}</text>')
        parts.append(f'<line x1="{left:.1f}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eee"/>')
        parts += [_mark(kind, across(ratio), y) for kind, ratio in ratios.items()]
    return "\n".join([*parts, "</svg>", ""])


def _names(results: Sequence[CaseResult]) -> list[str]:
    """``nearest place``; with the sizes, where a family comes twice."""
    families = [result.case.partition("/")[0] for result in results]
    shown = zip(families, results, strict=True)
    return [(one if families.count(one) == 1 else result.case).replace("_", " ") for one, result in shown]


def _ratios(result: CaseResult) -> dict[str, float]:
    """Each candidate's time over tcjax's; a candidate that did not run is left out."""
    if result.tcjax is None or not math.isfinite(result.tcjax.median):
        return {}
    candidates: Iterable[tuple[str, Measurement | None]] = (
        ("KeOps", result.peer),
        ("usual by hand", result.plain),
        ("best by hand", result.best),
    )
    return {
        name: form.median / result.tcjax.median
        for name, form in candidates
        if form is not None and math.isfinite(form.median)
    }


def _legend(names: Sequence[str]) -> list[str]:
    parts = [
        '<text x="14" y="18" fill="#555">time relative to tcjax, which is the blue line; right of it is slower</text>'
    ]
    x = 20
    for name in names:
        parts.append(_mark(name, x, 33))
        parts.append(f'<text x="{x + 9}" y="37" fill="#222">{escape(name)}</text>')
        x += 24 + 6 * len(name)
    return parts


def _mark(kind: str, x: float, y: float) -> str:
    colour = COLOURS[kind]
    match kind:
        case "best by hand":
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>'
        case "usual by hand":
            return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>'
        case _:
            points = f"{x:.1f},{y - 5.5:.1f} {x + 5.5:.1f},{y:.1f} {x:.1f},{y + 5.5:.1f} {x - 5.5:.1f},{y:.1f}"
            return f'<polygon points="{points}" fill="{colour}"/>'


if __name__ == "__main__":
    sys.exit(main())
