"""How tight and how fast the engine is on the tables: ``python -m tests.symbolic.facts.scoreboard [question]``."""

import sys
import time
from collections import Counter, defaultdict

from .asking import Flaw, answer, facts_of, flaw
from .cases import CASES, Case

# A query slower than this is named.
SLOW = 0.005


def tally(cases: tuple[Case, ...]) -> tuple[Counter[tuple[int, str]], list[tuple[Case, Flaw]]]:
    """Counts of results per tier, and the flaws of answers that are not tight."""
    counts: Counter[tuple[int, str]] = Counter()
    flaws = []
    for case in cases:
        found = flaw(case)
        counts[case.tier, found.kind if found else "tight"] += 1
        if found:
            flaws.append((case, found))
    return counts, flaws


def seconds(case: Case) -> float:
    """Time for facts and answer without caches."""
    start = time.process_time()
    try:
        answer(facts_of(case.given), case)
    except Exception:
        return 0.0
    return time.process_time() - start


def main(questions: list[str]) -> int:
    """Prints the flaws, the shares and the slow queries."""
    cases = tuple(case for case in CASES if not questions or case.question in questions)
    counts, flaws = tally(cases)
    for case, found in sorted(flaws, key=lambda pair: (pair[1].kind, pair[0].tier, pair[0].question), reverse=True):
        print(f"tier {case.tier} {case} | {found}")
    for tier in (1, 2):
        total = sum(number for (level, _), number in counts.items() if level == tier)
        shown = ", ".join(f"{kind} {number}" for (level, kind), number in sorted(counts.items()) if level == tier)
        print(f"tier {tier}: {shown}; {100 * counts[tier, 'tight'] / max(1, total):.1f} % of {total} tight")
    spent = {case: seconds(case) for case in cases}
    by_question = defaultdict(list)
    for case, time_spent in spent.items():
        by_question[case.question].append(time_spent)
    for question, times in by_question.items():
        print(f"{question}: mean {1e3 * sum(times) / len(times):.2f} ms, worst {1e3 * max(times):.1f} ms")
    for case in sorted(cases, key=spent.__getitem__, reverse=True)[:25]:
        if spent[case] > SLOW:
            print(f"SLOW {1e3 * spent[case]:.1f} ms: {case}")
    return 1 if any(found.kind != "LOOSE" for _, found in flaws) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
