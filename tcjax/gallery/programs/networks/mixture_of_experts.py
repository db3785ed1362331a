"""A mixture of experts

A router scores every expert for every token, the R best are asked, and their answers are added with the softmax of
their scores. `argmink` finds them (of what is turned around), and each token then reads the weights of its experts by
their numbers. The work grows with the tokens times R, not with the experts, and no array of weights is made for each token.

Shazeer and others, "Outrageously Large Neural Networks" (2017); Fedus, Zoph and Shazeer, "Switch Transformers" (2022).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

CHOSEN = 2
mixture_of_experts = tcjax.kernel(
    """
def mixture_of_experts(float(T,D) x, float(X,D) router, float(X,D,F) up, float(X,F,D) down) -> (y) {
    score(t,e)    = sum[d](x(t,d) * router(e,d))
    expert(t,r)   = argmaxk[e](score(t,e), r) where r in 0:R
    share(t,r)    = exp(score(t,expert(t,r)) - logsumexp[s in 0:R](score(t,expert(t,s))))
    hidden(t,r,f) = relu(sum[d](x(t,d) * up(expert(t,r),d,f)))
    y(t,d)        = sum[r](share(t,r) * sum[f](hidden(t,r,f) * down(expert(t,r),f,d)))
}""",
    consts={"R": CHOSEN},
)
