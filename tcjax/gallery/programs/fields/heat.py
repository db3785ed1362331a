"""Heat in a plate of changing conductivity

Explicit steps in a `for`: the flux between two neighbours is the mean of their conductivities times the difference of
their temperatures, and through the rim nothing flows, because `clamp` makes the neighbour beyond it the cell itself. The
whole simulation is one kernel, so its gradient says how the last temperatures depend on the first ones and on what
the plate is made of. That is the inverse problem of conduction.

Patankar, "Numerical Heat Transfer and Fluid Flow" (1980), chapter 4.
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

heat = tcjax.kernel("""
def heat(float(N,M) start, float(N,M) c, int32(T) step) -> (u) {
    u(i,j) = start(i,j)
    for t in 0:T {
        change(i,j) = (c(i,j) + c(clamp(i+1), j)) * (u(clamp(i+1), j) - u(i,j))
                    + (c(i,j) + c(clamp(i-1), j)) * (u(clamp(i-1), j) - u(i,j))
                    + (c(i,j) + c(i, clamp(j+1))) * (u(i, clamp(j+1)) - u(i,j))
                    + (c(i,j) + c(i, clamp(j-1))) * (u(i, clamp(j-1)) - u(i,j))
        u(i,j) = u(i,j) + change(i,j) / 2
    }
}""")
