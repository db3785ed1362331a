"""Throw mutated programs and random texts at the TC reader: ``python -m tests.fuzz.fuzz_tc_text --seconds 30``.

Only `CompileError` may escape, within a second, with a help; and what reads must write and read back equal.
"""

import argparse
import random
import sys
import time
from collections import Counter

from tcjax.diagnostics import CompileError
from tcjax.syntax import tc
from tests.syntax.tc.programs import PROGRAMS

_PIECES = (
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "->",
        "<=>",
        "=",
        "+=!",
        "*=",
        "min",
        "max=!",
        "any=!",
        "where",
        "in",
        "exists",
        ":",
    ),
    *("..", ",", ";", "?", "def", "float", "half", "int", "and", "not", "x", "A(i)", "3", "2.5", "A.1", "+", "-", "*"),
    *(
        "/",
        "//",
        "%",
        "!",
        "~",
        "&&",
        "|",
        "<",
        "==",
        "<<",
        "1.5f",
        ".",
        "#",
        "\n",
        "$",
        "é",
        "\0",
        " ",
        "\u2028",
        "2i",
    ),
)


def text(rng: random.Random) -> str:
    """A program with a few mutations, a soup of tokens, or a soup of characters."""
    match rng.randrange(8):
        case 0:
            return rng.choice(("", " ")).join(rng.choices(_PIECES, k=rng.randrange(60)))
        case 1:
            return "".join(
                chr(rng.choice((rng.randrange(128), rng.randrange(0x11000)))) for _ in range(rng.randrange(40))
            )
        case 2:
            piece = rng.choice(("", "O = ")) + rng.choice(_PIECES) + rng.choice(_PIECES)
            return f"{piece}{(rng.choice(_PIECES) + rng.choice(_PIECES)) * rng.randrange(20_000)}{rng.choice(_PIECES)}"
        case _:
            program = rng.choice(PROGRAMS)
            for _ in range(rng.randrange(1, 5)):
                program = mutated(program, rng)
            return program


def mutated(program: str, rng: random.Random) -> str:
    start = rng.randrange(len(program) + 1)
    end = min(len(program), start + rng.randrange(8))
    other = rng.choice(PROGRAMS)
    cut = rng.randrange(len(other))
    match rng.randrange(4):
        case 0:
            return program[:start] + program[end:]
        case 1:
            return program[:start] + rng.choice(_PIECES) + program[end:]
        case 2:
            return program[:start] + program[start:end] * rng.randrange(2, 5) + program[end:]
        case _:
            return program[:start] + other[cut : cut + rng.randrange(20)] + program[end:]


def check(program: str) -> str:
    """The code of the mistake in a text, or ``ok``; raises AssertionError where the reader breaks its promises."""
    start = time.process_time()
    try:
        tree = tc.read(program)
    except CompileError as error:
        assert error.message and error.help, "no help"
        assert str(error), "not shown"
        return error.code
    finally:
        seconds = time.process_time() - start
        assert seconds < 1.0, f"{seconds:.1f} s"
    again = tc.read(tc.write(tree))
    assert again == tree and repr(again) == repr(tree), "does not read back"
    return "ok"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    seed = random.randrange(2**32) if arguments.seed is None else arguments.seed
    rng = random.Random(seed)

    outcomes: Counter[str] = Counter()
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        program = text(rng)
        try:
            outcomes[check(program)] += 1
        except Exception as error:
            print(f"seed {seed}, text {sum(outcomes.values())}: {type(error).__name__}: {error}\n{program[:2000]!r}")
            return 1
    print(f"seed {seed}: {sum(outcomes.values())} texts, {dict(outcomes.most_common())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
