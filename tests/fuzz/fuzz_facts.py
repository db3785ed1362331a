"""Random questions to the facts engine, checked by enumeration: ``python -m tests.fuzz.fuzz_facts --seconds 60``.

Exits with 1 at the first wrong answer, shrunk; with ``--all``, prints every kind of mistake once and continues. At the
end it prints how tight the answers over finite ranges are.
"""

import argparse
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

from tests.symbolic.facts import questions, smt
from tests.symbolic.facts.asking import Flaw, answer, facts_of, judged, tightest
from tests.symbolic.facts.cases import Case
from tests.symbolic.facts.enumeration import Domain, Given, sample

# A query slower than this is counted, and the slowest are printed.
SLOW = 0.02


def shortened(case: Case, flaw: Flaw) -> tuple[Case, Flaw]:
    """A smaller case with the same kind of flaw: facts dropped, operations replaced by operands."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(case):
            try:
                area = sample(candidate.given, *candidate.words, *candidate.variables, limit=4000)
                found = judged(area, candidate)
                if found is None and flaw.words.startswith("z3"):
                    found = _second_opinion(area, candidate)
            except SyntaxError:
                continue
            if found is not None and found.kind == flaw.kind and (found.kind != "CRASH" or found.answer == flaw.answer):
                case, flaw, smaller = candidate, found, True
                break
    return case, flaw


def _smaller(case: Case) -> Iterator[Case]:
    parts = Given(case.given).parts
    for index in range(len(parts)):
        yield replace(case, given="; ".join(parts[:index] + parts[index + 1 :]))
    for index, text in enumerate(case.words):
        for shorter in _shorter(text):
            yield replace(case, words=(*case.words[:index], shorter, *case.words[index + 1 :]))
    for shorter in _shorter(case.given):
        yield replace(case, given=shorter)


def _shorter(text: str) -> Iterator[str]:
    """The text with one bracket's operation replaced by an operand, or without a needless bracket."""
    for match in re.finditer(r"\(", text):
        end = _closing(text, match.start())
        inside = text[match.start() + 1 : end]
        head = re.search(r"[a-z]+$", text[: match.start()])
        start = head.start() if head and head[0] in ("tdiv", "tmod", "min", "max", "select") else match.start()
        for operand in sorted(_operands(inside), key=len):
            shorter = text[:start] + operand + text[end + 1 :]
            if len(shorter) < len(text):
                yield shorter
    for match in re.finditer(r"\d+", text):
        if int(match[0]) > 2:
            yield text[: match.start()] + str(int(match[0]) // 2) + text[match.end() :]


def _closing(text: str, start: int) -> int:
    depth = 0
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index
    return len(text) - 1


def _operands(inside: str) -> set[str]:
    """The pieces of a bracket's text between operators and commas of its own level."""
    pieces, depth, piece = set(), 0, ""
    for token in re.findall(r"\s(?:and|or|[-+*%<>=!/]+)\s|,\s|.", inside):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0 and len(token) > 1:
            pieces.add(piece)
            piece = ""
        else:
            piece += token
    pieces.add(piece)
    return {found.removeprefix("not ").removeprefix("-") for found in pieces}


def main() -> int:
    """Runs for ``--seconds``; 0, or 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--all", action="store_true", help="go on after a wrong answer")
    parser.add_argument("--z3", action="store_true", help="ask z3 too about variables without ends")
    parser.add_argument("--loose", action="store_true", help="print answers over finite ranges that could be tighter")
    arguments = parser.parse_args()
    seed = random.randrange(2**32) if arguments.seed is None else arguments.seed
    rng = random.Random(seed)

    asked: Counter[str] = Counter()
    tight: Counter[str] = Counter()
    judged_tight: Counter[str] = Counter()
    spent: defaultdict[str, float] = defaultdict(float)
    slow: list[tuple[float, Case]] = []
    seen: set[tuple[str, ...]] = set()
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        names = questions.NAMES[: rng.choice((1, 2, 2, 3))]
        given = questions.given(rng, names)
        for case, area in (*questions.questions(rng, given, names), questions.maps(rng)):
            start = time.process_time()
            found = judged(area, case)
            seconds = time.process_time() - start
            asked[case.question] += 1
            spent[case.question] += seconds
            if seconds > SLOW and not (case.question == "simplify" and len(area.points) > 1000):
                slow.append((seconds, case))
            if found is None and arguments.z3:
                found = _second_opinion(area, case)
            if found is not None:
                short, flaw = shortened(case, found)
                mark = ("CRASH", flaw.answer) if flaw.kind == "CRASH" else (flaw.kind, short.question, *_shape(short))
                if mark not in seen:
                    seen.add(mark)
                    print(f"seed {seed}, question {sum(asked.values())}: {short} | {flaw}", flush=True)
                    if not arguments.all:
                        return 1
            elif case.question in ("bounds", "modulus", "prove", "compare") and area.whole and area.points:
                judged_tight[case.question] += 1
                exact = tightest(case, area)
                given_answer = answer(facts_of(case.given), case)
                if given_answer == exact:
                    tight[case.question] += 1
                elif arguments.loose:
                    print(f"LOOSE {case} | {given_answer}, not {exact}", flush=True)

    print(f"seed {seed}: {sum(asked.values())} questions, {len(seen)} kinds of mistake")
    for question, number in asked.most_common():
        print(f"{question}: {number}, {1e3 * spent[question] / number:.2f} ms with judging", end="")
        finite = judged_tight[question]
        print(f", {100 * tight[question] / finite:.1f} % of {finite} tight" if finite else "")
    for seconds, case in sorted(slow, key=lambda pair: -pair[0])[:10]:
        print(f"SLOW {1e3 * seconds:.0f} ms: {case}")
    return 1 if seen else 0


def _second_opinion(area: Domain, case: Case) -> Flaw | None:
    """Errors that z3 finds in an answer, outside the window of the enumeration."""
    if area.whole or not area.points or case.question not in smt.QUESTIONS:
        return None
    given_answer = answer(facts_of(case.given), case)
    if not smt.says_something(case, given_answer):
        return None
    opinion = smt.opinion(case, given_answer, milliseconds=300)
    return None if opinion in ("right", "unknown") else Flaw("UNSOUND", given_answer, f"z3: {opinion}")


def _shape(case: Case) -> tuple[str, ...]:
    """A case without its names and numbers: cases of equal shape count as one mistake."""
    return tuple(re.sub(r"[a-z]\b|\d+", "_", text) for text in (case.given, *case.words))


if __name__ == "__main__":
    sys.exit(main())
