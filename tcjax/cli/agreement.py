"""Whether results agree with the reference interpreter, up to rounding."""

from collections.abc import Iterator, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from ..runtime import Kernel
from .failures import Failure


class Disagreement(Failure):
    """Results that differ from the interpreter's; exit code 1."""

    exit_code = 1


def compared(kernel: Kernel, given: Mapping[str, Any], results: Mapping[str, np.ndarray]) -> Iterator[str]:
    """A line for every result that agrees. Raises `Disagreement` for one that does not."""
    expected = kernel.interpret(**given)
    wanted = expected if isinstance(expected, tuple) else (expected,)
    for (name, ours), theirs in zip(results.items(), map(np.asarray, wanted), strict=True):
        worst, allowed = difference(ours, theirs)
        if not worst <= allowed:
            raise Disagreement(f"`{name}` differs from the interpreter by {worst:.3g}: this is a mistake in tcjax")
        yield f"{name} agrees with the interpreter: largest difference {worst:.3g}"


def difference(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """The largest difference, and the largest that reordering additions may cause; none for integers."""
    wide = np.complex128 if theirs.dtype.kind == "c" else np.float64
    one, two = ours.astype(wide), theirs.astype(wide)
    with np.errstate(invalid="ignore"):
        distance = np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, np.abs(one - two))
    worst = float(np.max(distance, initial=0.0))
    if ours.dtype.kind in "biu":
        return worst, 0.0
    scale = float(np.max(np.abs(two), initial=1.0, where=np.isfinite(two)))
    # Slightly more than half of the digits: 7e-5 in float32, 4e-10 in float64, 2e-2 in float16.
    return worst, float(ml_dtypes.finfo(ours.dtype).eps) ** 0.6 * scale
