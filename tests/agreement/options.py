"""A check of a program with options that change no result: the same values, or a refusal that the option explains."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from jax.experimental import checkify

from tcjax.diagnostics import Code, CompileError, DataError
from tests.strategies.programs import Case

OPTIONS: tuple[Mapping[str, object], ...] = (
    {"memory_limit": 1 << 12},
    {"memory_limit": 1 << 16},
    {"memory_limit": 1 << 24},
    {"checked": True},
    {"deterministic": True},
)


def with_options(check: Callable[[Case], object]) -> Callable[[Case], object]:
    """The check of the program with one of the options, which its text chooses, so that examples are reproducible."""

    def run(case: Case) -> object:
        options = Random(case.text).choice(OPTIONS)
        try:
            return check(replace(case, options=options))
        except (CompileError, DataError, checkify.JaxRuntimeError) as error:
            if not _explained(error, options):
                raise
            return "refused"

    return run


def _explained(error: Exception, options: Mapping[str, object]) -> bool:
    """A limit is too small, or random data leave their arrays."""
    if isinstance(error, CompileError) and not isinstance(error, DataError):
        return "memory_limit" in options and error.code == Code.MEMORY_LIMIT
    return "checked" in options
