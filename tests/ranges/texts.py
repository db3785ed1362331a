"""Programs as text, for the tests of this room."""

import warnings

from tcjax import ir
from tcjax.diagnostics import CompileWarning
from tcjax.elaboration import elaborate
from tcjax.syntax import tc


def function(text: str) -> ir.Function:
    """The last definition of the text, elaborated without its warnings; every parameter has a declared type."""
    program = tc.read(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        return elaborate(program.definitions[-1], program, {}, {})
