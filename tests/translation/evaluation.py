"""SaC programs by definition: the evaluator of the SaC tests, plus the builtins that it lacks."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from tcjax.interpreter.builtins import builtin
from tcjax.ir import types
from tcjax.ir.builtins import BUILTINS, result_type
from tcjax.syntax.sac import tree
from tests.sac.library import RULES
from tests.sac.reference import evaluate


def run(program: tree.Program, arrays: tuple[np.ndarray, ...], names: list[str]) -> tuple[np.ndarray, ...]:
    """The results for these arguments, which are named as in the expression."""
    if program.result is None:
        names = [parameter.name for parameter in program.functions[-1].parameters]
    with np.errstate(all="ignore"):
        results = evaluate(program, dict(zip(names, arrays, strict=True)), _FUNCTIONS)
    return results if isinstance(results, tuple) else (results,)


def _function(name: str) -> Callable[..., Any]:
    def apply(*values: np.ndarray) -> np.ndarray:
        # A number without a type arrives as a float64.
        dtypes = {"float32" if str(value.dtype) == "float64" else str(value.dtype) for value in values}
        dtype = reduce(types.join, sorted(dtypes))
        compute = builtin(name, dtype, result_type(BUILTINS[name], dtype))
        return np.asarray(compute(*[value.astype(dtype)[()] for value in values]))

    return apply


_FUNCTIONS = {name: _function(name) for name in BUILTINS if name not in RULES}
