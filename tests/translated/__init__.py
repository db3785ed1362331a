"""Kernels of NPBench, a public benchmark of NumPy programs, and of many other systems, in index notation."""

from tests.translated import (
    comprehensions,
    dynamic_programming,
    halide,
    halide_applications,
    learning,
    linear_algebra,
    others,
    solvers,
    spellings,
    stencils,
    topi_layers,
    topi_shapes,
    torch_layers,
    tullio,
)

FAMILIES = (linear_algebra, stencils, solvers, dynamic_programming, learning, others, spellings)
CASES = tuple(case for family in FAMILIES for case in family.CASES)
LIBRARIES = (tullio, halide, halide_applications, topi_layers, topi_shapes, comprehensions, torch_layers)
PROGRAMS = tuple(case for library in LIBRARIES for case in library.CASES)
