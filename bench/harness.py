"""Measures the candidates of one case in one process: time, compile time, temporary memory, agreement."""

from __future__ import annotations

import ctypes
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from .cases import Case, Skipped

MINIMUM_ROUNDS = 7
MAXIMUM_ROUNDS = 150
SAMPLE_SECONDS = 5e-4  # A sample repeats a short call until it lasts this long.
MOST_DIGITS_LOST = 4.0  # A form whose error exceeds tcjax's by this factor is not comparable.
ROUNDING = 1e-7  # Errors below this are float32's rounding.
HOPELESS = 8.0  # A candidate this much slower than the best is timed for only `MINIMUM_ROUNDS // 2` rounds.
TEMPORARY_LIMIT = 6 << 30  # Bytes; a candidate that needs more is not run.
SMALLEST_LIMIT = 16 << 20  # Bytes of temporaries that are always acceptable.


@dataclass(slots=True)
class Candidate:
    """One way to compute a case, ready to be called."""

    name: str
    call: Callable[[], Any]
    compile_seconds: float
    temporary_bytes: int
    limit_bytes: int = 0
    samples: list[float] = field(default_factory=list)
    calls_per_sample: int = 1

    def sample(self) -> None:
        """Adds one sample: seconds per call, finished results."""
        start = time.perf_counter()
        for _ in range(self.calls_per_sample):
            jax.block_until_ready(self.call())
        self.samples.append((time.perf_counter() - start) / self.calls_per_sample)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)


def keep_pages() -> bool:
    """Asks glibc to reuse large blocks: else outputs of 32 MB or more measure page faults. False if it cannot."""
    trim_threshold, mmap_threshold, arena_max = -1, -3, -8
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    settings = ((mmap_threshold, 1 << 30), (trim_threshold, (1 << 31) - 1), (arena_max, 1))
    return all(mallopt(option, value) == 1 for option, value in settings)


def prepare(name: str, function: Callable[..., Any], arrays: Sequence[jax.Array], *, jitted: bool = False) -> Candidate:
    """`function` compiled for `arrays`; a `jitted` one is called as it is, as a user calls a kernel.

    Raises `Skipped` when its temporaries would not fit.
    """
    start = time.perf_counter()
    outer = jax.jit(function)
    compiled = outer.lower(*arrays).compile()
    seconds = time.perf_counter() - start
    analysis = compiled.memory_analysis()
    temporary = int(analysis.temp_size_in_bytes) if analysis is not None else 0
    moved = analysis.argument_size_in_bytes + analysis.output_size_in_bytes if analysis is not None else 0
    if temporary > TEMPORARY_LIMIT:
        raise Skipped(f"needs {temporary / 1e9:.1f} GB of temporaries")
    target = function if jitted else outer
    return Candidate(name, lambda: target(*arrays), seconds, temporary, max(4 * int(moved), SMALLEST_LIMIT))


def prepare_peer(name: str, peer: Callable[..., Callable[[], Any]], arrays: Sequence[np.ndarray]) -> Candidate:
    """Another library's computation, after its first call; its temporaries are unknown."""
    start = time.perf_counter()
    call = peer(*arrays)
    call()
    return Candidate(name, call, time.perf_counter() - start, 0)


def disagreement(case: Case, result: Any, expected: Any) -> float:
    """The error of `result` relative to the largest expected value; infinite if the shapes differ."""
    results, expecteds = jax.tree.leaves(result), jax.tree.leaves(expected)
    if len(results) != len(expecteds):
        return math.inf
    return max(_relative_error(np.asarray(got), want) for got, want in zip(results, expecteds, strict=True))


def _relative_error(got: np.ndarray, want: np.ndarray) -> float:
    if got.shape != want.shape or not np.isfinite(got).all():
        return math.inf
    if not want.size:
        return 0.0
    if want.dtype == bool:
        return float((got != want).mean())
    return float(np.abs(got - want).max() / max(1.0, np.abs(want).max()))


def time_interleaved(candidates: Sequence[Candidate], seconds: float) -> None:
    """Fills in the samples: every round times each candidate once, so that noise affects all of them alike.

    Each round has a different order, the same in every run: a call starts with the caches and pages that the previous
    call left, and with one or two orders that would always be the same call.

    At least `MINIMUM_ROUNDS` rounds, then until the best candidate has used `seconds`.
    """
    for candidate in candidates:
        candidate.sample()  # First call: warms caches and sets the number of calls in a sample.
        candidate.calls_per_sample = max(1, math.ceil(SAMPLE_SECONDS / max(candidate.samples.pop(), 1e-7)))
    spent: dict[str, float] = {candidate.name: 0.0 for candidate in candidates}
    shuffled = random.Random(0)
    for round_number in range(MAXIMUM_ROUNDS):
        best = min((min(c.samples) for c in candidates if c.samples), default=math.inf)
        running = [c for c in candidates if not _is_hopeless(c, best)]
        if round_number >= MINIMUM_ROUNDS:
            running = [c for c in running if spent[c.name] < seconds]
        if not running:
            return
        for candidate in shuffled.sample(running, len(running)):
            candidate.sample()
            spent[candidate.name] += candidate.samples[-1] * candidate.calls_per_sample


def _is_hopeless(candidate: Candidate, best: float) -> bool:
    if not candidate.samples or min(candidate.samples) <= HOPELESS * best:
        return False
    return len(candidate.samples) >= MINIMUM_ROUNDS // 2 or min(candidate.samples) > 10 * HOPELESS * best


@dataclass(frozen=True, slots=True)
class Measurement:
    """The cost of one candidate; `problem` says why there are no numbers."""

    name: str
    median: float = math.nan
    minimum: float = math.nan
    samples: int = 0
    compile_seconds: float = math.nan
    temporary_bytes: int = 0
    limit_bytes: int = 0
    error: float = math.nan
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One line of the table: every hand-written form, tcjax (None if it was not measured) and other libraries."""

    case: str
    forms: tuple[Measurement, ...]
    tcjax: Measurement | None
    peers: tuple[Measurement, ...] = ()
    slack: int = 0

    @property
    def plain(self) -> Measurement | None:
        """The usual hand-written form, which comes first."""
        return self.forms[0] if self.forms else None

    @property
    def peer(self) -> Measurement | None:
        """The fastest of the other libraries."""
        return min((peer for peer in self.peers if not peer.problem), key=lambda peer: peer.median, default=None)

    @property
    def rivals(self) -> list[Measurement]:
        """The forms that run and lose no more than `MOST_DIGITS_LOST` times the digits that tcjax loses."""
        return as_exact(self.forms, self.tcjax)

    @property
    def rough(self) -> list[Measurement]:
        """The forms that run but trade digits for speed, and are no rivals."""
        return [form for form in self.forms if not form.problem and form not in self.rivals]

    @property
    def best(self) -> Measurement | None:
        """The rival with the smallest median."""
        return min(self.rivals, key=lambda form: form.median, default=None)

    @property
    def ratio(self) -> float:
        """tcjax's median over the best form's; infinite when tcjax has none."""
        if self.tcjax is None or self.tcjax.problem or self.best is None:
            return math.inf
        return self.tcjax.median / self.best.median

    @property
    def minimum_ratio(self) -> float:
        """tcjax's minimum over the smallest minimum of any rival; infinite when tcjax has none."""
        minima = [form.minimum for form in self.rivals]
        if self.tcjax is None or self.tcjax.problem or not minima:
            return math.inf
        return self.tcjax.minimum / min(minima)


def as_exact(forms: Iterable[Measurement], one: Measurement | None) -> list[Measurement]:
    """The forms that run and lose no more than `MOST_DIGITS_LOST` times the digits that `one` loses; all without it."""
    error = math.inf if one is None or math.isnan(one.error) else max(one.error, ROUNDING)
    return [form for form in forms if not form.problem and not form.error > MOST_DIGITS_LOST * error]


def measure(case: Case, kernel: Callable[..., Any] | Exception | None, *, seconds: float = 1.0) -> CaseResult:
    """Checks and times every form of `case` and `kernel`; an exception in place of `kernel` becomes its problem."""
    arrays = case.arrays()
    expected = jax.tree.map(np.asarray, case.reference(*(as_double(array) for array in arrays)))
    device_arrays = [jax.device_put(array) for array in arrays]
    candidates: list[Candidate] = []
    problems: dict[str, str] = {}
    errors: dict[str, float] = {}
    functions: Mapping[str, Any] = {**case.forms, **({} if kernel is None else {"tcjax": kernel}), **case.peers}
    for name, function in functions.items():
        try:
            if isinstance(function, Exception):
                raise function
            if name in case.peers:
                candidate = prepare_peer(name, function, arrays)
            else:
                candidate = prepare(name, function, device_arrays, jitted=name == "tcjax")
            errors[name] = disagreement(case, candidate.call(), expected)
        except Exception as problem:  # A failing candidate becomes a line of the report and does not end the run.
            problems[name] = f"{type(problem).__name__}: {problem}".splitlines()[0][:200]
            continue
        if errors[name] > case.tolerance:
            problems[name] = f"wrong: relative error {errors[name]:.1e}"
            continue
        candidates.append(candidate)
    time_interleaved(candidates, seconds)
    measured = {candidate.name: measurement(candidate, errors[candidate.name]) for candidate in candidates}
    measured |= {name: Measurement(name, problem=problem) for name, problem in problems.items()}
    forms, peers = (tuple(measured[name] for name in names) for names in (case.forms, case.peers))
    return CaseResult(case.name, forms, measured.get("tcjax"), peers, case.slack)


def as_double(array: np.ndarray) -> np.ndarray:
    """Floats in 64 bits; other types unchanged."""
    return array.astype(np.float64) if array.dtype == np.float32 else array


def measurement(candidate: Candidate, error: float) -> Measurement:
    """Summarises a candidate's samples."""
    return Measurement(
        name=candidate.name,
        median=candidate.median,
        minimum=min(candidate.samples),
        samples=len(candidate.samples),
        compile_seconds=candidate.compile_seconds,
        temporary_bytes=candidate.temporary_bytes,
        limit_bytes=candidate.limit_bytes,
        error=error,
    )
