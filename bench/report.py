"""Results as a table, and as JSON for `bench.compare`."""

from __future__ import annotations

import json
import math
import platform
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import jax

from .harness import CaseResult, Measurement
from .overhead import Cost

_Row = TypeVar("_Row")

RATIO_LIMIT = 1.1
NEAR = 1.3  # The summary counts the cases within this factor of the best form,
DEAR = 4.0  # and the gradients that cost more than this many forward passes.
HEADER = (
    *("case", "best hand-written form", "ms", "tcjax ms", "ratio", "min ratio"),
    *("plain ms", "x tcjax", "peer ms", "x tcjax"),
    *("MB", "tcjax MB", "limit MB", "compile s", "tcjax s", "verdict"),
)


def verdict(result: CaseResult) -> str:
    """``ok``, or what fails: tcjax itself, its time, or its memory (against the best form or the memory contract)."""
    if result.tcjax is None:
        return "-"
    if result.tcjax.problem:
        return result.tcjax.problem
    faults = []
    if min(result.ratio, result.minimum_ratio) > RATIO_LIMIT:  # Noise seldom moves the median and the minimum alike.
        faults.append("slow")
    if result.best is not None and result.tcjax.temporary_bytes > result.best.temporary_bytes + result.slack:
        faults.append("memory")
    if 0 < result.tcjax.limit_bytes < result.tcjax.temporary_bytes:
        faults.append("contract")
    return "+".join(faults) or "ok"


def row(result: CaseResult) -> tuple[str, ...]:
    """The line of the table for one case."""
    best, tcjax = result.best or Measurement("-"), result.tcjax or Measurement("tcjax")
    plain, peer = result.plain or Measurement("-"), result.peer or Measurement("-")
    return (
        result.case,
        best.name,
        _number(best.median * 1e3),
        _number(tcjax.median * 1e3),
        _number(tcjax.median / best.median, 2),
        _number(result.minimum_ratio, 2),
        _number(plain.median * 1e3),
        _number(plain.median / tcjax.median, 1),
        _number(peer.median * 1e3),
        _number(peer.median / tcjax.median, 1),
        _number(best.temporary_bytes / 1e6, 1),
        _number(tcjax.temporary_bytes / 1e6, 1),
        _number(tcjax.limit_bytes / 1e6, 1),
        _number(best.compile_seconds, 2),
        _number(tcjax.compile_seconds, 2),
        verdict(result) + _rough_forms(result),
    )


def _rough_forms(result: CaseResult) -> str:
    """The faster forms that are no rivals, and what they give up for speed."""
    best = result.best
    if best is None or result.tcjax is None:
        return ""
    faster = [form for form in result.rough if form.median < best.median]
    shown = [f"{form.name} {form.median * 1e3:.3f} ms, error {form.error:.0e}" for form in faster]
    return f" (less exact: {'; '.join(shown)})" if shown else ""


def _number(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"


def table(rows: Iterable[Sequence[str]], header: Sequence[str]) -> str:
    """`rows` under `header` in columns; the first two are left-aligned, numbers right-aligned."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    texts = []
    for line in lines:
        cells = [
            cell.ljust(width) if column < 2 or column == len(header) - 1 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        texts.append("  ".join(cells).rstrip())
    return "\n".join([texts[0], "-" * len(texts[0]), *texts[1:]])


def summary(results: Iterable[CaseResult]) -> str:
    """A line for the results and one for the gradients: the ratio to the best forms, and the worst case.

    A gradient is also compared with its forward pass, if both were timed.
    """
    measured = {result.case: result for result in results if math.isfinite(result.ratio)}
    backward = [case for case in measured if is_gradient(case)]
    forward = [case for case in measured if not is_gradient(case)]
    lines = [
        _summary_line(direction, [measured[case] for case in cases])
        for direction, cases in (("forward", forward), ("gradient", backward))
        if cases
    ]
    passes = {case: _passes(measured, case) for case in backward if _forward_name(case) in measured}
    if passes:
        lines[-1] += f"; {_passes_line(passes)}"
    return "\n".join(lines)


def is_gradient(case: str) -> bool:
    """Whether the case computes a derivative."""
    return case.partition("/")[0].endswith("_gradient")


def _forward_name(case: str) -> str:
    return case.replace("_gradient/", "/", 1)


def _summary_line(direction: str, results: Sequence[CaseResult]) -> str:
    ratios = {result.case: result.ratio for result in results}
    worst = max(ratios, key=lambda case: ratios[case])
    near = sum(ratio <= NEAR for ratio in ratios.values())
    return (
        f"{direction}: geometric mean {statistics.geometric_mean(ratios.values()):.2f}x of the best form, worst "
        f"{ratios[worst]:.2f}x ({worst}), {near} of {len(ratios)} within {NEAR}x"
    )


def _passes(measured: Mapping[str, CaseResult], case: str) -> tuple[float, float]:
    """How many forward passes the gradient takes: tcjax's own, and the best forms'."""
    found = []
    for pick in (lambda result: result.tcjax, lambda result: result.best):
        backward, forward = pick(measured[case]), pick(measured[_forward_name(case)])
        assert backward is not None and forward is not None
        found.append(backward.median / forward.median)
    return found[0], found[1]


def _passes_line(passes: Mapping[str, tuple[float, float]]) -> str:
    own = {case: ours for case, (ours, _) in passes.items()}
    worst = max(own, key=lambda case: own[case])
    dear = sum(ours > DEAR >= best for ours, best in passes.values())
    return (
        f"{statistics.geometric_mean(own.values()):.1f} forward passes, at most {own[worst]:.1f} ({worst}), "
        f"{dear} above {DEAR:g} where the best form is not"
    )


def forms_listing(result: CaseResult) -> str:
    """Every form of a case and every other library, fastest first."""
    lines = []
    for form in sorted((*result.forms, *result.peers), key=lambda form: (bool(form.problem), form.median)):
        numbers = f"{form.median * 1e3:9.3f} ms (min {form.minimum * 1e3:9.3f})  {form.temporary_bytes / 1e6:8.1f} MB"
        lines.append(f"    {form.name:24} {form.problem or numbers}")
    return "\n".join(lines)


def cost_lines(costs: Iterable[Cost]) -> str:
    """The overheads of a kernel, one per line."""
    lines = []
    for cost in costs:
        shown = f"{cost.value:.2f} x" if cost.unit == "x" else f"{cost.value * 1e3:.2f} ms"
        limit = f"{cost.limit:g} x" if cost.unit == "x" else f"{cost.limit * 1e3:g} ms"
        holds = "ok" if cost.holds else "FAILS"
        lines.append(f"{cost.name:36} {shown:>12}  limit {limit:>8}  {holds}  ({cost.detail})")
    return "\n".join(lines)


def device_name() -> str:
    """``Intel(R) Xeon(R) ... (2 cores)``, or the accelerator's name."""
    device = jax.devices()[0]
    if device.platform != "cpu":
        return device.device_kind
    try:
        information = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        information = []
    models = [line.partition(":")[2].strip() for line in information if line.startswith("model name")]
    return f"{models[0]} ({len(models)} cores)" if models else platform.processor()


def environment(sizes: str) -> dict[str, str]:
    """The machine, the version of JAX and the date, for files of measurements."""
    return {"device": device_name(), "jax": jax.__version__, "sizes": sizes, "date": date.today().isoformat()}


def kept_by(module: str, file: Path, key: str, row: Callable[..., _Row]) -> tuple[dict[str, str], list[_Row]]:
    """The machine, and the rows under a key of what ``--json`` of a module wrote.

    Raises `LookupError` for any other file.
    """
    try:
        found: Any = json.loads(file.read_text(encoding="utf-8"))
        return found["environment"], [row(**each) for each in found[key]]
    except (ValueError, KeyError, TypeError) as problem:
        raise LookupError(f"{file} was not written by `python -m {module} --json`") from problem


def as_json(results: Iterable[CaseResult], costs: Iterable[Cost], sizes: str) -> dict[str, Any]:
    """All measurements, with the machine and the versions."""
    return {
        "environment": {**environment(sizes), "python": platform.python_version()},
        "cases": [{**asdict(result), "verdict": verdict(result)} for result in results],
        "costs": [asdict(cost) for cost in costs],
    }
