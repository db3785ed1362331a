"""Random texts for a reader: mutated programs, random tokens and characters, and the properties that must hold.

Only `CompileError` may escape, within a second, with a help; valid texts must be written and read back equal.
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tcjax.diagnostics import CompileError


@dataclass(frozen=True)
class Fuzzer:
    """A notation: its reader and writer, texts that it reads, its tokens, and what may open a text."""

    read: Callable[[str], Any]
    write: Callable[[Any], str]
    programs: Sequence[str]
    pieces: Sequence[str]
    openings: Sequence[str]

    def text(self, rng: random.Random) -> str:
        """A program with a few mutations, random tokens, or random characters."""
        match rng.randrange(8):
            case 0:
                return rng.choice(("", " ")).join(rng.choices(self.pieces, k=rng.randrange(60)))
            case 1:
                return "".join(
                    chr(rng.choice((rng.randrange(128), rng.randrange(0x11000)))) for _ in range(rng.randrange(40))
                )
            case 2:
                one, two, three, four, five = rng.choices(self.pieces, k=5)
                return f"{rng.choice(self.openings)}{one}{two}{(three + four) * rng.randrange(20_000)}{five}"
            case _:
                program = rng.choice(self.programs)
                for _ in range(rng.randrange(1, 5)):
                    program = self.mutated(program, rng)
                return program

    def mutated(self, program: str, rng: random.Random) -> str:
        """`program` with some characters removed, replaced, repeated, or taken from another."""
        start = rng.randrange(len(program) + 1)
        end = min(len(program), start + rng.randrange(8))
        other = rng.choice(self.programs)
        cut = rng.randrange(len(other))
        match rng.randrange(4):
            case 0:
                return program[:start] + program[end:]
            case 1:
                return program[:start] + rng.choice(self.pieces) + program[end:]
            case 2:
                return program[:start] + program[start:end] * rng.randrange(2, 5) + program[end:]
            case _:
                return program[:start] + other[cut : cut + rng.randrange(20)] + program[end:]

    def check(self, program: str) -> str:
        """The code of the mistake in a text, or ``ok``; raises AssertionError if the reader violates a property."""
        start = time.process_time()
        try:
            tree = self.read(program)
        except CompileError as error:
            assert error.message and error.help, "no help"
            assert str(error), "not shown"
            return error.code
        finally:
            seconds = time.process_time() - start
            assert seconds < 1.0, f"{seconds:.1f} s"
        again = self.read(self.write(tree))
        assert again == tree and repr(again) == repr(tree), "does not read back"
        return "ok"

    def main(self, description: str | None) -> int:
        """Runs for ``--seconds``; 0, or 1 at the first text that violates a property."""
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--seconds", type=float, default=30.0)
        parser.add_argument("--seed", type=int, default=None)
        arguments = parser.parse_args()
        seed = random.randrange(2**32) if arguments.seed is None else arguments.seed
        rng = random.Random(seed)

        outcomes: Counter[str] = Counter()
        end = time.monotonic() + arguments.seconds
        while time.monotonic() < end:
            program = self.text(rng)
            try:
                outcomes[self.check(program)] += 1
            except Exception as error:
                print(
                    f"seed {seed}, text {sum(outcomes.values())}: {type(error).__name__}: {error}\n{program[:2000]!r}"
                )
                return 1
        print(f"seed {seed}: {sum(outcomes.values())} texts, {dict(outcomes.most_common())}")
        return 0
