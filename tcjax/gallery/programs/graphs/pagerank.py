"""PageRank over a list of edges

Each page hands its rank to the pages that it links to, in equal parts, and with a small probability the reader starts
anew somewhere. A step is a scatter over the edges, a `for` makes the power iteration, and there is no matrix. The
gradient by the weights of the links says which of them a page owes its rank to.

Page, Brin, Motwani and Winograd, "The PageRank citation ranking" (1999).
"""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

import tcjax
from tcjax.gallery import Program

STEPS = 30

pagerank = tcjax.kernel(
    """
def pagerank(float(N) anew, float(E) weight, int32(E) source, int32(E) target) -> (float(N) rank) {
    float(N) out
    float(N) come
    out(source(e)) +=! weight(e)
    share(e) = weight(e) / out(source(e))
    rank(n) = anew(n)
    for t in 0:steps {
        come(target(e)) +=! share(e) * rank(source(e))
        lost() = 1.0 - sum[n](come(n))
        rank(n) = damping * (come(n) + lost * anew(n)) + (1 - damping) * anew(n)
    }
}""",
    consts={"steps": STEPS, "damping": 0.85},
)
