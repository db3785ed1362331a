"""The content of a trace: values, and the values they were computed from."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..keeping import cached_property
from .scalars import Value


@dataclass(frozen=True, eq=False)
class Step:
    """``text = value``, and the `parts` from which the value was computed.

    `label` says which of several points this is, `note` what happened, `omitted` how many points are missing from the
    parts; `again` means that it was shown before. A step without a value (None) only groups parts.
    """

    text: str
    value: Value | None
    label: str = ""
    note: str = ""
    parts: tuple["Step", ...] = ()
    omitted: int = 0
    statement: str = ""
    again: bool = False

    @property
    def oddity(self) -> str:
        """``NaN``, ``infinity``, or nothing for a finite value."""
        if self.value is None:
            return ""
        value = np.asarray(self.value)
        wide = value.astype(complex) if value.dtype.kind in "fcV" else np.zeros(())
        return "NaN" if np.isnan(wide) else "infinity" if np.isinf(wide) else ""

    @property
    def begins(self) -> str:
        """The oddity, if it first appears here: no part has it, and for an infinity no part is NaN either."""
        if self.again or not self.oddity:
            return ""
        inside = {self.oddity, "NaN"} & frozenset().union(*(part.oddities for part in self.parts))
        return "" if inside else self.oddity

    @cached_property
    def oddities(self) -> frozenset[str]:
        """The oddities of the value and of all parts."""
        own = frozenset((self.oddity,)) if self.oddity else frozenset[str]()
        return own.union(*(part.oddities for part in self.parts))


def show_value(value: Any) -> str:
    """A scalar as text: seven digits of a float."""
    scalar = np.asarray(value)
    if scalar.dtype.kind in "fV":
        return f"{float(scalar):.7g}"
    if scalar.dtype.kind == "c":
        return f"{complex(scalar):.7g}"
    return str(scalar.item())
