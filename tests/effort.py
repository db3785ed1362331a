"""The effort of property tests: few examples in `make test`, many random ones in `make deep`."""

import os
from collections.abc import Mapping

from hypothesis import Phase, settings

from .sampling import VARIABLE

SMALL, DEEP = "small", "deep"
# Examples of a property without its own settings in `make test`.
FEW = 10
# The same in `make deep`.
EXAMPLES = "DEEP_EXAMPLES"


def deep() -> bool:
    """Whether this is `make deep`: every case, more examples and new ones every time, compiled as for users."""
    return settings.get_current_profile_name().startswith(DEEP)


def deep_examples(environment: Mapping[str, str]) -> int:
    """Examples of a property without its own settings in `make deep`."""
    value = environment.get(EXAMPLES, "") or "100"
    if not (value.isdecimal() and value.isascii() and int(value) > 0):
        raise ValueError(f"{EXAMPLES}={value}: write how many examples each property tries, as {EXAMPLES}=100")
    return int(value)


def examples(few: int) -> int:
    """For a property that tries `few` examples in `make test`; in `make deep` it scales like all others."""
    return max(1, few * settings().max_examples // FEW)


def phases() -> list[Phase]:
    """Failures are shrunk only in `make deep`, or when a sample is repeated."""
    return [phase for phase in Phase if deep() or os.environ.get(VARIABLE) or phase is not Phase.shrink]
