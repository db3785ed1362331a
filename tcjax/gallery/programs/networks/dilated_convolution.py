"""A dilated, causal convolution with gates (WaveNet)

One layer of a WaveNet: two convolutions look back over every D-th sample, one gates the other, and the result is added
to the input. `pad` says that there is silence before the beginning, and the subscript `t - D*k` never reads ahead. You
do not pad, shift or slice arrays by hand.

Van den Oord and others, "WaveNet: A Generative Model for Raw Audio" (2016).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

DILATION = 8
dilated_convolution = tcjax.kernel(
    """
def layer(float(T,C) x, float(K,C,F) filter, float(K,C,F) gate, float(F,C) mix) -> (y) {
    past(t,k,c)  = pad(x(t - D*k, c), 0) where t in 0:T, k in 0:K
    signal(t,f)  = sum[k,c](past(t,k,c) * filter(k,c,f))
    opening(t,f) = sum[k,c](past(t,k,c) * gate(k,c,f))
    y(t,c)       = x(t,c) + sum[f](tanh(signal(t,f)) * sigmoid(opening(t,f)) * mix(f,c))
}""",
    consts={"D": DILATION},
)


def data(length: int, channels: int, filters: int) -> tuple[np.ndarray, ...]:
    """Whistles that rise, one in each channel, and random filters of two taps."""
    random = np.random.default_rng(0)
    t = np.arange(length)[:, None] / length
    x = np.sin(2 * np.pi * (2 + np.arange(channels)) * t * (1 + 4 * t)) * np.sin(np.pi * t)
    filter, gate = random.normal(size=(2, 2, channels, filters)) / np.sqrt(channels)
    mix = random.normal(size=(filters, channels)) / np.sqrt(filters)
    return tuple(a.astype(np.float32) for a in (x, filter, gate, mix))


def reference(x, filter, gate, mix):
    """Tap by tap: the signal, later."""

    def convolved(w):
        return sum(np.vstack([np.zeros((DILATION * k, x.shape[1])), x])[: len(x)] @ w[k] for k in range(len(w)))

    return x + np.tanh(convolved(filter)) / (1 + np.exp(-convolved(gate))) @ mix


def by_convolution(x, filter, gate, mix):
    def convolved(w):
        pad = [(DILATION * (len(w) - 1), 0)]
        dimensions = ("NTC", "TIO", "NTC")
        return jax.lax.conv_general_dilated(
            x[None], w[::-1], (1,), pad, rhs_dilation=(DILATION,), dimension_numbers=dimensions
        )[0]

    return x + jnp.tanh(convolved(filter)) * jax.nn.sigmoid(convolved(gate)) @ mix


def by_taps(x, filter, gate, mix):
    """A product of matrices for each tap, of both convolutions at once."""
    both = jnp.concatenate([filter, gate], 2)
    shifted = (jnp.pad(x, ((DILATION * k, 0), (0, 0)))[: len(x)] for k in range(len(both)))
    signal, opening = jnp.split(sum(part @ tap for part, tap in zip(shifted, both, strict=True)), 2, 1)
    return x + jnp.tanh(signal) * jax.nn.sigmoid(opening) @ mix


def last(x, weights, layers: int):
    """The last sample of the first channel, after the same layer several times."""
    for _ in range(layers):
        x = dilated_convolution(x, *weights)
    return x[-1, 0]


def draw(figure, arrays, y):
    """A whistle and what comes out; and which samples the last one hears, through one layer and through three."""
    x, *weights = arrays
    left, right = figure.subplots(1, 2)
    left.plot(x[:, 0], label="in")
    left.plot(y[:, 0], label="out")
    left.set(xlabel="sample", title="one channel")
    left.legend()
    for layers, width in ((3, 2.0), (1, 0.8)):
        slope = np.abs(jax.grad(lambda x, layers=layers: last(x, weights, layers))(x)).max(1)
        back = 4 * DILATION
        right.bar(np.arange(-back, 1), slope[-back - 1 :], width, label=f"through {layers} layers")
    right.set(xlabel="samples back", title="slope of the last sample by the others")
    right.legend()


program = Program(
    dilated_convolution,
    data,
    reference,
    {"conv_general_dilated": by_convolution, "taps as products": by_taps},
    draw,
    small={"length": 40, "channels": 3, "filters": 4},
    full={"length": 16000, "channels": 32, "filters": 32},
    picture={"length": 400, "channels": 4, "filters": 8},
    gradient=(0, 1, 2, 3),
)

if __name__ == "__main__":
    program.main()
