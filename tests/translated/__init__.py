"""Kernels of NPBench, a public benchmark of NumPy programs, in index notation."""

from tests.translated import dynamic_programming, learning, linear_algebra, others, solvers, spellings, stencils

FAMILIES = (linear_algebra, stencils, solvers, dynamic_programming, learning, others, spellings)
CASES = tuple(case for family in FAMILIES for case in family.CASES)
