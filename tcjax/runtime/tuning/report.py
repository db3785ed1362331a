"""What a search tried, as a report for the user."""

from dataclasses import dataclass
from pathlib import Path

from .choices import Choice


@dataclass(frozen=True, slots=True)
class Trial:
    """One way to run the kernel: seconds per call (the best of `rounds`), or the `problem` that excluded it."""

    name: str
    seconds: float | None
    rounds: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of `Kernel.tune`. `str()` is a table.

    `planned` and `best` are seconds per call before and after, `choice` is what the kernel now does, `trials` is
    everything that was tried, in order; `gradient_planned` and `gradient_best` are the same for the derivative, if it
    was tuned. `stopped` says why the search ended early, empty if it did not; `saved` is the file that stores the
    choice, None if there is none.
    """

    kernel: str
    device: str
    planned: float | None
    best: float | None
    choice: Choice
    trials: tuple[Trial, ...]
    stopped: str = ""
    saved: Path | None = None
    gradient_planned: float | None = None
    gradient_best: float | None = None

    @property
    def gradient_speedup(self) -> float:
        """The same for reverse mode with respect to all float parameters; 1 if it was not tuned."""
        planned, best = self.gradient_planned, self.gradient_best
        return planned / best if planned and best else 1.0

    @property
    def speedup(self) -> float:
        """How many times faster the choice is than the planner's."""
        return self.planned / self.best if self.planned and self.best else 1.0

    def __str__(self) -> str:
        width = max((len(trial.name) for trial in self.trials), default=0)
        lines = [f"{self.kernel} on {self.device}: {self.choice}, {self.speedup:.2f} times as fast as planned"]
        if self.gradient_best is not None:
            lines.append(f"its gradient: {self.gradient_speedup:.2f} times as fast as planned")
        lines += [f"  {trial.name:{width}}  {_measured(trial)}" for trial in self.trials]
        if self.stopped:
            lines.append(f"stopped early: {self.stopped}")
        lines.append(f"remembered in {self.saved}" if self.saved else "not remembered on disk")
        return "\n".join(lines)


def _measured(trial: Trial) -> str:
    if trial.seconds is None:
        return trial.problem or "not measured"
    return f"{show_seconds(trial.seconds)} (best of {trial.rounds})"


def show_seconds(seconds: float) -> str:
    """A duration with its unit: ``3.10 ms``."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
