"""Most likely path of a hidden Markov model (Viterbi)

A hidden process jumps between states, and each moment gives a noisy hint of the current one. The first loop keeps the
score of the best path to each state and where that path came from. The second one runs backwards and follows these
pointers. The gradient of the best score says which transitions the path makes, and how often.

Rabiner, "A tutorial on hidden Markov models and selected applications in speech recognition" (1989).
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

import tcjax
from tcjax.gallery import Program

viterbi = tcjax.kernel("""
def viterbi(float(S) start, float(S,S) move, float(T,S) hint) -> (best, path) {
    score(0,s) = start(s) + hint(0,s)
    for t in 1:T {
        from(t,s)  = argmax[r](score(t-1,r) + move(r,s))
        score(t,s) = max[r](score(t-1,r) + move(r,s)) + hint(t,s)
    }
    best() = max[s](score(T-1,s))
    path(T-1) = argmax[s](score(T-1,s))
    for t in T-2:-1:-1 { path(t) = from(t+1, path(t+1)) }
}""")

NOISE = 0.7


def signal(length, states):
    """An ion channel: a current that stays at a level and jumps now and then, in noise."""
    random = np.random.default_rng(3)
    jumps = random.random(length) < 0.03
    level = np.where(jumps, random.integers(0, states, length), -1)
    level[0] = states // 2
    level = level[np.maximum.accumulate(np.where(level >= 0, np.arange(length), 0))]
    return level, level + NOISE * random.normal(size=length)


def data(length: int, states: int) -> tuple[np.ndarray, ...]:
    """Logarithms of probabilities: to start anywhere, to stay or jump, and of the current at each level."""
    _, current = signal(length, states)
    start = np.full(states, -np.log(states))
    move = np.log(np.where(np.eye(states) > 0, 0.97, 0.03 / max(1, states - 1)))
    hint = -0.5 * ((current[:, None] - np.arange(states)) / NOISE) ** 2
    return start.astype(np.float32), move.astype(np.float32), hint.astype(np.float32)


def reference(start, move, hint):
    score, came = start + hint[0], []
    for now in hint[1:]:
        ways = score[:, None] + move
        came.append(ways.argmax(0))
        score = ways.max(0) + now
    path = [int(score.argmax())]
    for pointers in reversed(came):
        path.append(pointers[path[-1]])
    return score.max(), np.array(path[::-1], np.int32)


def scans(start, move, hint):
    def forward(score, now):
        ways = score[:, None] + move
        return ways.max(0) + now, ways.argmax(0)

    score, came = lax.scan(forward, start + hint[0], hint[1:])
    last = score.argmax()

    def back(state, pointers):
        return pointers[state], state

    first, path = lax.scan(back, last, came, reverse=True)
    return score.max(), jnp.concatenate([first[None], path]).astype("int32")


def draw(figure, arrays, found):
    """The current that was measured, where it was, and where the path is."""
    length, states = arrays[2].shape
    level, current = signal(length, states)
    axes = figure.subplots()
    axes.plot(current, ".", markersize=3, alpha=0.6, label="measured")
    axes.plot(level, linewidth=4, alpha=0.35, label="true")
    axes.plot(found[1], linewidth=1.2, label="most likely")
    axes.set(xlabel="time", ylabel="level")
    axes.legend(loc="upper right", ncols=3)


program = Program(
    viterbi,
    data,
    reference,
    {"lax.scan, twice": scans},
    draw,
    small={"length": 40, "states": 4},
    full={"length": 4096, "states": 24},
    picture={"length": 400, "states": 5},
    gradient=(0, 1, 2),
)

if __name__ == "__main__":
    program.main()
