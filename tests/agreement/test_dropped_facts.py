"""Correctness never depends on facts: kernels compute the same without them, and every claim is true."""

import importlib.util
import itertools
import math
import random
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tcjax
from tcjax import symbolic
from tcjax.symbolic import AllOf, AnyOf, AtLeastZero, Condition, Facts, Given, IndexVar, Interval
from tests.golden.pages import pages

pytestmark = pytest.mark.usefixtures("quickly_compiled")

ROOT = Path(__file__).parents[2]
SUBSETS = 2
POINTS = 300

Program = tuple[str, str, dict[str, tuple[str, tuple[int, ...]]]]

# Programs in which guards, floors and windows decide what is computed: text, notation, arguments.
GUARDED: list[tuple[str, str, list[tuple[int, ...]]]] = [
    (
        "def f(float(H,W) I) -> (O) { O(h,w) = (h >= 1 && h <= H && w >= 1 && w <= W) ? I(h-1,w-1) : 0.0 "
        "where h in 0:H+2, w in 0:W+2 }",
        "tc",
        [(5, 6)],
    ),
    ("def f(float(N,N) A) -> (B) { B(i) = A(i % N, i // N) where i in 0:N*N }", "tc", [(5, 5)]),
    (
        "def f(float(C,H,W) I) -> (O) { O(p,q) = I(q // 9, p // 6 + q % 9 // 3, p % 6 + q % 3) "
        "where p in 0:36, q in 0:C*9 }",
        "tc",
        [(2, 8, 8)],
    ),
    ("def f(float(N) A) -> (B) { B(i) = A((i + 3) % N) where i in 0:N }", "tc", [(7,)]),
    ("def f(float(N) A) -> (B) { B(i) = A((i - 3) % N) where i in 0:2*N }", "tc", [(7,)]),
    (
        "def f(float(C,H,W) A) -> (B) { B(h,w) = A(h % 2 * 2 + w % 2, h // 2, w // 2) where h in 0:6, w in 0:8 }",
        "tc",
        [(4, 3, 4)],
    ),
    ("def f(float(N,N) A) -> (B) { B(i) +=! A(i,j) where j <= i }", "tc", [(6, 6)]),
    ("def f(float(N,N) A) -> (B) { B(i) +=! A(i,k) where k in i:N }", "tc", [(6, 6)]),
    ("def f(float(N,M) A) -> (B) { B(i,j) = i + j < N ? A(i + j, j) : A(i, j) }", "tc", [(7, 5)]),
    (
        "def f(float(N) A) -> (B) { B(i) = A(min(i, N - 1)) + A(max(i - 3, 0)) where i in 0:N+2 }".replace(
            "max(i - 3, 0)", "max(min(i - 3, N - 1), 0)"
        ),
        "tc",
        [(6,)],
    ),
    ("def f(float(N) A, int32(M) I) -> (B) { B(j) = I(j) > 2 ? A(j // 2) : A(I(j) % N) }", "tc", [(6,), (9,)]),
    ("{ [i,j] -> i + j < 6 ? a[i,j] * a[j,i] : a[j,i] }", "sac", [(6, 6)]),
    ("{ [i] -> a[i-1] + a[i+1] | [1] <= [i] < [7]; [i] -> a[i] | [i] < shape(a) }", "sac", [(8,)]),
    ("{ [i] -> i % 3 == 0 ? a[i / 3] : a[i] }", "sac", [(9,)]),
]


def guarded() -> Iterator[Any]:
    for number, (text, notation, shapes) in enumerate(GUARDED):
        named = {
            str(position): ("int32" if f"int32(M) {'AI'[position]}" in text else "float32", shape)
            for position, shape in enumerate(shapes)
        }
        yield pytest.param((text, notation, named), id=f"guarded {number}")


def golden() -> Iterator[Any]:
    for path in pages():
        page = path.read_text(encoding="utf-8")
        notation, text = re.findall(r"```(tc|sac)\n(.*?)```", page, re.DOTALL)[0]
        listed = re.findall(r"`(\w+): (\w+)\[([\d, ]*)\]`", re.findall(r"^Arguments: (.*)$", page, re.MULTILINE)[0])
        named = {n: (dtype, tuple(int(e) for e in shape.split(",") if e.strip())) for n, dtype, shape in listed}
        if sum(math.prod(shape) for _, shape in named.values()) < 1_000_000:
            yield pytest.param((text, notation, named), id=path.stem)


def arrays(program: Program) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    made: list[np.ndarray] = []
    for dtype, shape in program[2].values():
        kind = np.dtype(dtype)
        made.append(
            rng.integers(0, 3, shape).astype(kind) if kind.kind in "iub" else rng.normal(size=shape).astype(kind)
        )
    return made


def compiled(program: Program) -> tcjax.Kernel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        return tcjax.kernel(program[0], dialect=program[1])


def results(found: Any) -> list[np.ndarray]:
    return [np.asarray(each) for each in (found if isinstance(found, tuple) else (found,))]


def forgetful(seed: int) -> Callable[[Given], bool]:
    """Drops every fact, or a random half of them."""
    rng = random.Random(seed)
    return lambda given: seed == 0 or rng.random() < 0.5


@pytest.mark.parametrize("program", [*guarded(), *golden()])
def test_dropping_facts_changes_no_result(program: Program) -> None:
    given = arrays(program)
    expected = results(compiled(program)(*given))

    for seed in range(SUBSETS):
        with symbolic.dropping(forgetful(seed)):
            found = results(compiled(program)(*given))

        for one, other in zip(found, expected, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            # Sums may be added in another order.
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("program", [*guarded(), *golden()])
def test_every_claim_holds_at_every_point(program: Program) -> None:
    claims: dict[tuple[str, str], tuple[Facts, Condition]] = {}

    def audit(facts: Facts, claim: Condition) -> None:
        claims.setdefault((f"{facts.defined}{facts.given}", str(claim)), (facts, claim))

    with symbolic.auditing(audit):
        compiled(program).plan(*arrays(program))

    assert claims
    for facts, claim in claims.values():
        for point in points(facts, claim):
            assert holds(claim, point, outcome=False), f"{claim} at {point}"


def test_an_audit_catches_a_wrong_claim() -> None:
    index = IndexVar("i")
    facts = Facts.over({index: (0, 9)}, symbolic.compare(">", index, 3))
    claim = symbolic.compare(">", index, 4)

    assert not all(holds(claim, point, outcome=False) for point in points(facts, claim))


def points(facts: Facts, claim: Condition) -> Iterator[Mapping[IndexVar, int]]:
    """Points of the box where all given facts hold: all of a small box, corners and random ones of a large box."""
    guards = [
        g.condition for g in facts.given if not g.dropped and isinstance(g.condition, (AtLeastZero, AllOf, AnyOf))
    ]
    wanted = frozenset[IndexVar]().union(*(variables(condition) for condition in (claim, *guards)))
    # Queries without a `defined` range had no guards.
    box = {index: (facts.defined or facts.ranges)[index] for index in wanted}
    spans = {index: numbers(given) for index, given in box.items()}
    if math.prod(map(len, spans.values())) <= POINTS:
        chosen: Any = itertools.product(*spans.values())
    else:
        rng = random.Random(0)
        corners = itertools.product(*({span[0], span[-1]} for span in spans.values() if span))
        chosen = itertools.chain(corners, ([rng.choice(s) for s in spans.values()] for _ in range(POINTS)))
    for values in chosen:
        point = dict(zip(spans, values, strict=True))
        if all(holds(guard, point, outcome=True) for guard in guards):
            yield point


def numbers(given: tuple[int, int] | Interval) -> range:
    if isinstance(given, tuple):
        return range(*given)
    assert given.lo.constant is not None and given.hi.constant is not None, "the planner's ranges are numbers"
    return range(given.lo.constant, given.hi.constant)


def variables(condition: Condition) -> frozenset[IndexVar]:
    match condition:
        case AtLeastZero(affine):
            return affine.variables if not affine.is_data else frozenset()
        case AllOf(parts) | AnyOf(parts):
            return frozenset[IndexVar]().union(*map(variables, parts))


def holds(condition: Condition, point: Mapping[IndexVar, int], *, outcome: bool) -> bool:
    """Whether a condition holds, with this outcome for parts that depend on data."""
    match condition:
        case AtLeastZero(affine):
            return outcome if affine.is_data else affine.evaluate(lambda atom: point[atom], {}) >= 0  # type: ignore[index]
        case AllOf(parts):
            return all(holds(part, point, outcome=outcome) for part in parts)
        case AnyOf(parts):
            return any(holds(part, point, outcome=outcome) for part in parts)


# ---------------------------------------------------------------- examples


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{name} without facts", ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def photo() -> list[np.ndarray]:
    crop = np.random.default_rng(0).uniform(size=(24, 32, 3)).astype(np.float32)
    return [np.asarray(each) for each in example("photo").filtered(crop).values()]


def stencil() -> list[np.ndarray]:
    noisy = np.random.default_rng(0).uniform(size=(3, 12, 14)).astype(np.float32)
    return [np.asarray(example("stencil").smoothed(noisy, 2))]


def multigrid() -> list[np.ndarray]:
    return [np.asarray(example("multigrid").solve(4, 1))]


@pytest.mark.parametrize("run", [photo, stencil, multigrid], ids=lambda run: run.__name__)
def test_examples_compute_the_same_without_facts(run: Callable[[], list[np.ndarray]]) -> None:
    expected = run()

    for seed in range(SUBSETS):
        with symbolic.dropping(forgetful(seed)):
            found = run()

        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
