"""The operations that can compute a reduction, one per file and independent of each other.

Each has a function ``propose(reduction, scope)``, which gives the ways to compute the reduction with this operation, as
nodes, or none. `planning.choice` takes the one with the lowest price (`planning.cost`). A loop over blocks (`loop`)
stores nothing, and is used if all others would exceed the memory contract. Scatter operations have
``propose(placement)``, which gives planned statements.
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

# On equal prices the first operation is used.
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
