"""The search: one statement after another, each time all its candidates against the best so far."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .choices import Choice
from .progress import Bar
from .report import Trial
from .timing import Contender, Timer, Watch, race

# A candidate must be faster than the best so far by more than noise.
MARGIN = 0.97
# The share of a statement's time in which candidates may still be compiled.
COMPILING = 0.6


class Unusable(Exception):
    """A candidate that is excluded, and why."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One change of a choice, and its name in the report."""

    name: str
    change: Callable[[Choice], Choice]


@dataclass(slots=True)
class Outcome:
    """The state of a search: the `best` so far, what was tried, and why it ended early (empty if it did not)."""

    planned: Contender
    best: Contender
    trials: list[Trial] = field(default_factory=list)
    stopped: str = ""

    def note(self, contender: Contender) -> None:
        """Records a contender's time in the report."""
        if contender.samples:
            self.trials.append(Trial(contender.name, contender.best, len(contender.samples)))


def search(
    planned: Contender,
    statements: Sequence[Sequence[Candidate]],
    build: Callable[[str, Choice], Contender],
    timer: Timer,
    watch: Watch,
    bar: Bar,
) -> Outcome:
    """The best choice: tries each statement's candidates in turn, with the best known choices for the others.

    `build` compiles a choice and checks its results; it raises `Unusable` if they are wrong. Ctrl-C and the time limit
    keep the best so far.
    """
    outcome = Outcome(planned, planned)
    try:
        for number, candidates in enumerate(statements):
            share = max(0.0, watch.left) / (len(statements) - number)
            _settle(outcome, candidates, build, timer, watch, max(0.0, watch.left) - share, bar)
            if watch.left <= 0:
                outcome.stopped = "the time limit was reached"
                break
        if not statements or (len(statements) > 1 and watch.left > 0):
            # Check that the gains of the statements hold when combined.
            field = [planned] if outcome.best is planned else [planned, outcome.best]
            for contender in field:
                contender.samples = []
            race(field, timer, watch)
            outcome.best = _winner(planned, field[1:])
    except KeyboardInterrupt:
        outcome.stopped = "interrupted"
    trials, outcome.trials = outcome.trials, []
    outcome.note(planned)
    outcome.trials += trials
    return outcome


def _settle(
    outcome: Outcome,
    candidates: Sequence[Candidate],
    build: Callable[[str, Choice], Contender],
    timer: Timer,
    watch: Watch,
    until: float,
    bar: Bar,
) -> None:
    """One statement: its fastest candidate becomes part of the best."""
    incumbent = outcome.best
    contenders: list[Contender] = []
    begun = watch.left
    try:
        for candidate in candidates:
            if begun - watch.left > COMPILING * (begun - until):
                outcome.trials.append(Trial(candidate.name, None, problem="no time left to try it"))
                continue
            bar.says(candidate.name)
            try:
                contenders.append(build(candidate.name, candidate.change(incumbent.choice)))
            except Unusable as problem:
                outcome.trials.append(Trial(candidate.name, None, problem=str(problem)))
            bar.advance()
        # Samples of another race were taken under other conditions.
        earlier, incumbent.samples = incumbent.samples, []
        try:
            race([incumbent, *contenders], timer, watch, until)
        finally:
            incumbent.samples = incumbent.samples or earlier
    finally:
        # Also after Ctrl-C: any contender measured as often as the others may win.
        outcome.best = _winner(incumbent, contenders)
        for contender in contenders:
            outcome.note(contender)


def _winner(incumbent: Contender, contenders: Sequence[Contender]) -> Contender:
    if not incumbent.samples:
        return incumbent
    fastest = min(contenders, key=lambda contender: contender.best, default=incumbent)
    return fastest if fastest.best < MARGIN * incumbent.best else incumbent
