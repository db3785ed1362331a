"""Random reductions run as loop nests in random blocks: values, maps and derivatives against the interpreter.

``python -m tests.fuzz.fuzz_nests --seconds 60`` stops at the first program that disagrees; ``--all`` continues and
lists them, once for every kind of failure.
"""

from functools import partial
from random import Random

from tests.agreement import comparing, lines
from tests.agreement.nesting import nesting
from tests.strategies.nests import nests
from tests.strategies.random_expressions import Flavour

from .searching import Check, Setting, main

SMOOTH = Flavour(smooth=True)
DOUBLE = Flavour(floats=("double",), integers=("int64", "uint64", "int32"))
CHECKS = (
    Check("values", comparing.values, nests()),
    Check("jitted", comparing.jitted, nests()),
    Check("vmapped", comparing.vmapped, nests()),
    Check("values in 64 bits", comparing.values, nests(DOUBLE), wide=True),
    Check("first derivatives", lines.first, nests(SMOOTH)),
    Check("second derivatives", lines.second, nests(SMOOTH)),
)


def blocks(rng: Random) -> Setting:
    rows, unroll = rng.choice((1, 2, 3, 4, 8)), rng.choice((1, 1, 2, 3))
    tile, written = rng.choice((None, None, 1, 2, 3)), rng.choice((None, None, 0, 3))
    text = f"nesting({rows}, {unroll}, tile={tile}, written={written})"
    return Setting(text, partial(nesting, rows, unroll, tile=tile, written=written))


if __name__ == "__main__":
    raise SystemExit(main(__doc__, CHECKS, blocks))
