"""The result of a check: a summary, or the smallest disagreement as a program that shows it."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...diagnostics import ShownToCallers


class CheckError(ShownToCallers, AssertionError):
    """A kernel does not compute what its definition says; `str()` shows the smallest case found, as a program."""


class NotFound(CheckError):
    """No arguments were found that the kernel accepts."""


@dataclass(frozen=True, slots=True)
class Check:
    """A successful check, and what was compared.

    `compared` counts the comparisons of each kind, `skipped` those that could not be made, by reason. `worst` is the
    largest error relative to its tolerance, from 0 to 1, and `worst_in` says where it was.
    """

    kernel: str
    examples: int
    compared: Mapping[str, int]
    skipped: Mapping[str, int]
    worst: float
    worst_in: str

    def to_dict(self) -> dict[str, object]:
        """The same as plain dicts, strings and numbers."""
        return {
            "kernel": self.kernel,
            "examples": self.examples,
            "compared": dict(self.compared),
            "skipped": dict(self.skipped),
            "worst": self.worst,
            "worst_in": self.worst_in,
        }

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {what}" for what, count in self.compared.items()) or "nothing"
        lines = [f"{self.kernel}: {self.examples} examples agree with the interpreter: {counts}"]
        if self.worst_in:
            lines.append(f"largest error: {self.worst:.2g} of what rounding allows, in {self.worst_in}")
        lines += [f"left out: {count} x {reason}" for reason, count in self.skipped.items()]
        return "\n".join(lines)

    __repr__ = __str__
