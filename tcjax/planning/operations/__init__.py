"""What a reduction can be: an operation a file, none of which knows another.

Each has a function ``propose(reduction, scope)``, which gives the ways in which the operation computes the reduction,
as nodes: none where it cannot. `planning.choice` takes the one with the least price (`planning.cost`). A
loop over blocks (`loop`) stores nothing, and is taken where all others would store more than the memory contract lets
them. Those that send values to places of their own have ``propose(placement)``, which gives planned statements.
"""

from . import (
    band,
    contraction,
    convolution,
    deviations,
    elementwise,
    one_hot,
    pool,
    received,
    scan,
    scatter,
    shifts,
    sorted_scatter,
    unrolled,
)

# Of operations with equal prices the first is taken.
OPERATIONS = (
    pool.propose,
    scan.propose,
    deviations.propose,
    unrolled.propose,
    shifts.propose,
    contraction.propose,
    convolution.propose,
    band.propose,
    elementwise.propose,
    unrolled.propose_terms,
)

PLACEMENTS = (scatter.propose, sorted_scatter.propose, one_hot.propose, received.propose)
