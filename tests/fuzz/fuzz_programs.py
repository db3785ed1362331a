"""Random programs of every kind: values, maps and derivatives against the interpreter, with infinities and options.

``python -m tests.fuzz.fuzz_programs --seconds 60`` stops at the first program that disagrees; ``--all`` continues and
lists them.
"""

from random import Random

from hypothesis import strategies as st

from tests.agreement import comparing, lines, unread
from tests.agreement.compiling import quickly
from tests.agreement.options import with_options
from tests.strategies.nests import nests
from tests.strategies.products import products
from tests.strategies.programs import chains, programs
from tests.strategies.random_expressions import Flavour
from tests.strategies.recurrences import recurrences

from .searching import Check, Setting, main

SMOOTH = Flavour(smooth=True)
ODD = Flavour(odd=True)
DOUBLE = Flavour(floats=("double", "float"), integers=("int64", "uint64", "int32"))
KINDS = {"programs": programs, "nests": nests, "products": products}
ANY = st.one_of(programs(Flavour(ragged=True)), nests(), products(), chains(), recurrences())
ANY_SMOOTH = st.one_of(programs(Flavour(smooth=True, ragged=True)), nests(SMOOTH), chains(SMOOTH))
CHECKS = (
    Check("values", comparing.values, programs()),
    *(Check(f"odd values of {name}", comparing.odd, cases(ODD)) for name, cases in KINDS.items()),
    *(Check(f"unread values of {name}", unread.values, cases()) for name, cases in KINDS.items()),
    Check("values in 64 bits", comparing.values, programs(DOUBLE), wide=True),
    Check("jitted", comparing.jitted, programs()),
    Check("vmapped", comparing.vmapped, programs()),
    Check("gradients", comparing.grads, programs(SMOOTH)),
    Check("first derivatives", lines.first, programs(SMOOTH)),
    *(Check(f"unread derivatives of {name}", unread.gradients, cases(SMOOTH)) for name, cases in KINDS.items()),
    Check("values with options", with_options(comparing.values), ANY),
    Check("exported with options", with_options(comparing.exported), ANY),
    Check("vmapped with options", with_options(comparing.vmapped), ANY),
    Check("gradients with options", with_options(comparing.grads), ANY_SMOOTH),
)


def compiled(rng: Random) -> Setting:
    """Compiling takes most of the time: one batch in eight is compiled as for users."""
    return Setting() if rng.randrange(8) == 0 else Setting("quickly()", quickly)


if __name__ == "__main__":
    raise SystemExit(main(__doc__, CHECKS, compiled))
