"""One program of the gallery: the formula, and everything to see that it is right and what it is good for."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from ..runtime import Kernel
    from .checking import Report

Size = Literal["small", "full", "picture"]


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel with its data and its references.

    All functions take the arrays of `data` in its order, which for a kernel is that of its parameters.

    function   the kernel, or a function of arrays that calls kernels
    data       from a size, the arrays: float32 for real numbers, int32 for whole ones, the same in every call
    reference  the result by NumPy or SciPy, independent of tcjax; it gets float64 for real numbers
    by_hand    the JAX that people write for it, by what it is made of; the first is what most would write
    small      the size of the checks, as arguments of `data`: a second or two, the reference included
    full       the size that is measured
    gradient   the numbers of the arrays by which one derives, in the order of `data`
    draw       fills a figure of matplotlib from the arrays and the result, both NumPy's
    picture    the size of the picture; `small` unless given
    kernels    the kernels whose formulas are shown, where `function` is none itself
    peers      other libraries, as functions of the arrays that return a result
    tolerance  of values, relative to the largest; gradients may be ten times as far off
    """

    function: "Callable[..., Any]"
    data: "Callable[..., tuple[np.ndarray, ...]]"
    reference: Callable[..., Any]
    by_hand: Mapping[str, Callable[..., Any]]
    draw: "Callable[[Figure, tuple[np.ndarray, ...], Any], None]"
    small: Mapping[str, Any]
    full: Mapping[str, Any]
    gradient: tuple[int, ...] = ()
    picture: Mapping[str, Any] | None = None
    kernels: "tuple[Kernel, ...]" = ()
    peers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    tolerance: float = 1e-4

    def size(self, name: Size) -> Mapping[str, Any]:
        """The arguments of `data` at one of its sizes."""
        return {"small": self.small, "full": self.full, "picture": self.picture or self.small}[name]

    def arrays(self, size: Size = "small") -> "tuple[np.ndarray, ...]":
        """The arrays at one of its sizes."""
        return self.data(**self.size(size))

    @property
    def formulas(self) -> "tuple[Kernel, ...]":
        """The kernels that the program is made of."""
        return self.kernels or (self.function,)  # type: ignore[return-value]

    def check(self) -> "Report":
        """Values against the reference, gradients against its differences, and memory, at the small size."""
        from .checking import check

        return check(self)

    def figure(self) -> "Figure":
        """The picture. Needs matplotlib (`tcjax[examples]`)."""
        from .drawing import figure

        return figure(self)

    def main(self, arguments: list[str] | None = None) -> None:
        """What `python FILE` does: the checks, and the picture where one is asked for; leaves with 1 if one fails."""
        parser = argparse.ArgumentParser(description="Checks values, gradients and memory of this program.")
        parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the picture (.png, .svg), too")
        options = parser.parse_args(arguments)
        report = self.check()
        print(report)
        if options.picture is not None:
            self.figure().savefig(options.picture)
            print(f"picture    {options.picture}")
        raise SystemExit(0 if report.holds else 1)
