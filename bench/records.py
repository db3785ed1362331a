"""Files of measurements, which ``bench.run --json`` writes, read back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from .harness import CaseResult, Measurement
from .overhead import Cost


@dataclass(frozen=True, slots=True)
class Record:
    """One run: the machine and the versions, the result of every case, and the costs around a kernel."""

    environment: dict[str, str]
    results: tuple[CaseResult, ...]
    costs: tuple[Cost, ...]

    @property
    def machine(self) -> str:
        """``Intel(R) Xeon(R) ... (2 cores), jax 0.12.0, Python 3.12.11, full sizes``."""
        said = self.environment
        return f"{said['device']}, jax {said['jax']}, Python {said['python']}, {said['sizes']} sizes"

    @property
    def made(self) -> str:
        """``NVIDIA H200, JAX 0.11.2, 26 November 2026``: the caption of a picture."""
        return made(self.environment)

    def chosen(self, names: Iterable[str]) -> list[CaseResult]:
        """The results of these families, or of cases named with their size, in the order of `names`.

        Raises `LookupError` for a name that the file does not have.
        """
        found: list[CaseResult] = []
        for name in names:
            matching = [result for result in self.results if name in (result.case, result.case.partition("/")[0])]
            if not matching:
                raise LookupError(f"no case is called `{name}`")
            found += matching
        return found

    def slower(self, factor: float) -> list[CaseResult]:
        """The cases in which tcjax takes more than `factor` times as long as the best form, the slowest first.

        Noise seldom moves the median and the minimum alike: the smaller of their two ratios counts.
        """
        found = {result.case: min(result.ratio, result.minimum_ratio) for result in self.results}
        slow = [result for result in self.results if found[result.case] > factor]
        return sorted(slow, key=lambda result: -found[result.case])


def made(environment: dict[str, str]) -> str:
    """The device, the version of JAX, and the date if the file has it."""
    said = [environment["device"], f"JAX {environment['jax']}"]
    if "date" in environment:
        day = date.fromisoformat(environment["date"])
        said.append(f"{day.day} {day:%B %Y}")
    return ", ".join(said)


def read(path: Path) -> Record:
    """The run that a file of ``bench.run --json`` holds. Raises `LookupError` for any other file."""
    try:
        text = json.loads(path.read_text(encoding="utf-8"))
        costs = tuple(Cost(**cost) for cost in text["costs"])
        return Record(text["environment"], tuple(_result(case) for case in text["cases"]), costs)
    except (ValueError, KeyError, TypeError) as problem:
        raise LookupError(f"{path} was not written by `python -m bench.run --json`") from problem


def _result(case: dict[str, Any]) -> CaseResult:
    forms, peers = (tuple(Measurement(**form) for form in case[name]) for name in ("forms", "peers"))
    tcjax = Measurement(**case["tcjax"]) if case["tcjax"] is not None else None
    return CaseResult(case["case"], forms, tcjax, peers, case["slack"])
