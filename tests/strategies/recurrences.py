"""Random loops as texts: linear or not, up or down, with several tensors, orders, reductions and guards."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from .programs import Case

# Terms of a step; `{p}` is the previous row, `{o}` the one before it, `{t}` this one.
_TERMS = (
    "x({t},d)",
    "0.5 * h({p},d)",
    "x({t},d) * h({p},d)",
    "0.25 * sum[e](W(d,e) * h({p},e))",
    "max(h({o},d), x({p},d))",
    "tanh(h({p},d) + x({t},d))",
    "x(q({t}),d)",
    "0.1 * t",
    "min(g({p},d), 2.0)",
    "0.125 * sum[s where {earlier}](h(s,d))",
    "(h({o},d) > 0.0 ? h({p},d) : x({o},d))",
    "z(d)",
    "x(wrap({t}+3), d)",
    "pad(x({t}-2, d+1), 0.5)",
    "0.5 * h({p}, mirror(d+1))",
    "0.25 * sum[e in 0:3](pad(h({p}, d+e-1), 0.0) * x(clamp({t}+e), d))",
    "0.25 * sum[s in q({t}):q({p})](x(s,d))",
)
# What a step may do with rows that are there already.
_IN_PLACE = (
    "",
    "",
    "",
    "h(s,d) = h(s,d) + 0.25 * h({t},d) where s in {rows}",
    "h(s,d) = h(s,d) - 0.5 * x(s,d) * g({p},d) where s in 0:T",
)
_SECOND = ("0.5 * g({p},d) + h({t},d)", "max(g({p},d), h({t},d))", "x({t},d) - 0.5 * h({p},d)")


@st.composite
def recurrences(draw: st.DrawFn) -> Case:
    """A loop after given rows; reads ``x: float(T,D)``, ``W: float(D,D)`` and ``q: int32(T)``, places in ``x``."""
    steps, extent, down = draw(st.integers(0, 5)), draw(st.integers(1, 3)), draw(st.booleans())
    rows = steps + 2
    names = {"t": "t", "p": "t+1", "o": "t+2", "earlier": "s > t, s < T", "rows": "t+1:T"} if down else {}
    names = names or {"t": "t", "p": "t-1", "o": "t-2", "earlier": "s < t", "rows": "0:t"}
    terms = draw(st.lists(st.sampled_from(_TERMS), min_size=1, max_size=3))
    guard = draw(st.sampled_from(("", "", " where x(t,d) > 0.0", " where d <= t")))
    first = [f"T-{n}" if down else f"{n - 1}" for n in (1, 2)]
    before = " ".join(f"h({n},d) = x({n},d) g({n},d) = 0.5 * x({n},d)" for n in first)
    state = "z(d) = 0.5 * h({p},d) + x({t},d)" if draw(st.booleans()) else "z(d) = 0.5 * z(d) + x({t},d)"
    body = " ".join(
        [
            state.format(**names),
            f"h(t,d) = {' + '.join(terms).format(**names)}{guard}",
            f"g(t,d) = {draw(st.sampled_from(_SECOND)).format(**names)}",
            draw(st.sampled_from(_IN_PLACE)).format(**names),
        ]
    )
    loop = "for t in T-3:-1:-1" if down else "for t in 2:T"
    text = (
        "def f(float(T,D) x, float(D,D) W, int32(T) q) -> (h, g, z) {"
        f" {before} z(d) = 0.0 * x(0,d) {loop} {{ {body} }} }}"
    )
    random = np.random.default_rng(draw(st.integers(0, 99)))
    x = random.integers(-8, 9, (rows, extent)).astype(np.float32) / 8
    W = random.integers(-8, 9, (extent, extent)).astype(np.float32) / 8
    return Case(text, {"x": x, "W": W, "q": random.integers(0, rows, rows).astype(np.int32)})


def texts() -> SearchStrategy[str]:
    """The programs without arguments."""
    return recurrences().map(lambda recurrence: recurrence.text)
