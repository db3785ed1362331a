"""``python -m bench.compare before.json after.json``: how tcjax's time, ratio and memory changed, for each case."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

from .report import table

NOTICEABLE = 1.15  # A smaller change of the time may be noise.
HEADER = (
    *("case", "change", "before ms", "after ms", "after/before"),
    *("ratio before", "ratio after", "MB before", "MB after"),
)


def main(arguments: list[str]) -> int:
    """Prints the table; 1 if a case became noticeably slower relative to its best hand-written form."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    before, after = (_load(Path(name)) for name in arguments)
    for name, result in zip(arguments, (before, after), strict=True):
        print(f"{name}: {', '.join(f'{key} {value}' for key, value in result['environment'].items())}")
    rows = compare(before, after)
    print(table(rows, HEADER))
    return 1 if any(row[1] == "slower" for row in rows) else 0


def compare(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, ...]]:
    """One row for each case in either result."""
    first = {case["case"]: case for case in before["cases"]}
    second = {case["case"]: case for case in after["cases"]}
    return [_row(name, first.get(name), second.get(name)) for name in dict.fromkeys([*first, *second])]


def _row(name: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> tuple[str, ...]:
    old, new = _median(before), _median(after)
    old_ratio, new_ratio = _ratio(before), _ratio(after)
    return (
        name,
        _change(new_ratio / old_ratio),
        _milliseconds(old),
        _milliseconds(new),
        _factor(new / old),
        _factor(old_ratio),
        _factor(new_ratio),
        _megabytes(before),
        _megabytes(after),
    )


def _change(factor: float) -> str:
    """Judged by the ratio to the best form of the same run, which does not depend on the machine's speed."""
    if math.isnan(factor):
        return "-"
    return "slower" if factor > NOTICEABLE else "faster" if factor < 1 / NOTICEABLE else "same"


def _median(case: dict[str, Any] | None) -> float:
    tcjax = (case or {}).get("tcjax")
    return math.nan if tcjax is None or tcjax["problem"] else tcjax["median"]


def _ratio(case: dict[str, Any] | None) -> float:
    medians = [form["median"] for form in (case or {}).get("forms", ()) if not form["problem"]]
    return _median(case) / min(medians, default=math.nan)


def _milliseconds(seconds: float) -> str:
    return "-" if math.isnan(seconds) else f"{seconds * 1e3:.3f}"


def _factor(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def _megabytes(case: dict[str, Any] | None) -> str:
    tcjax = (case or {}).get("tcjax")
    return "-" if tcjax is None else f"{tcjax['temporary_bytes'] / 1e6:.1f}"


def _load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
