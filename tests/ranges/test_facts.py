"""`Facts` about indices and sizes, checked at every point of small boxes."""

import itertools
import random
from collections.abc import Iterator, Mapping

import pytest

from tcjax import CompileError, symbolic
from tcjax.ranges import infer_ranges
from tcjax.symbolic import (
    Affine,
    AllOf,
    AnyOf,
    AtLeastZero,
    Box,
    Condition,
    Facts,
    Given,
    IndexVar,
    Interval,
    Size,
    SizeVar,
    clamp,
    compare,
    maximum,
    negation,
)

from .texts import function

I, J, K = IndexVar("i"), IndexVar("j"), IndexVar("k")
i, j, k = Affine.of(I), Affine.of(J), Affine.of(K)
M, N = Size.of(SizeVar("M")), Size.of(SizeVar("N"))
Point = Mapping[IndexVar, int]


def value(affine: Affine, point: Point) -> int:
    return affine.evaluate(lambda atom: point[atom], {})  # type: ignore[index]


def holds(condition: Condition, point: Point) -> bool:
    match condition:
        case AtLeastZero(affine):
            return value(affine, point) >= 0
        case AllOf(parts):
            return all(holds(part, point) for part in parts)
        case AnyOf(parts):
            return any(holds(part, point) for part in parts)


def points(box: Box, *guards: Condition) -> Iterator[Point]:
    for values in itertools.product(*(range(*ends) for ends in box.values())):
        point = dict(zip(box, values, strict=True))
        if all(holds(guard, point) for guard in guards):
            yield point


def random_affine(rng: random.Random, depth: int) -> Affine:
    if depth == 0:
        total = Affine.of(rng.randint(-5, 5))
        for index in rng.sample([i, j, k], rng.randint(1, 3)):
            total = total + index.scale(rng.choice([-6, -2, -1, 1, 2, 3, 4, 8]))
        return total
    inner, other = random_affine(rng, depth - 1), random_affine(rng, rng.randint(0, depth - 1))
    by = rng.choice([2, 3, 4, 6, 8, 12])
    match rng.randrange(5):
        case 0:
            return inner.quotient(by)
        case 1:
            return inner.remainder(by)
        case 2:
            return clamp(rng.choice(["min", "max"]), (inner, other))
        case 3:
            return inner.quotient(by).scale(by) + inner.remainder(by) + other
        case _:
            return inner.scale(rng.choice([-2, 1, 3])) + other


def random_condition(rng: random.Random, depth: int) -> Condition:
    if depth > 1 and rng.random() < 0.4:
        parts = tuple(random_condition(rng, depth - 1) for _ in range(2))
        return AllOf(parts) if rng.random() < 0.5 else AnyOf(parts)
    operator = rng.choice(["<", "<=", ">", ">=", "==", "!="])
    return compare(operator, random_affine(rng, rng.choice([0, 0, 1])), rng.randint(-8, 8))


@pytest.mark.parametrize("seed", range(150))
def test_answers_hold_at_every_point(seed: int) -> None:
    rng = random.Random(seed)
    box = {index: (lo := rng.randint(-3, 3), lo + rng.randint(1, 5)) for index in (I, J, K)}
    guards = [random_condition(rng, 2) for _ in range(rng.choice([0, 0, 1, 2]))]
    facts = Facts.over(box, *guards)
    affine, asked = random_affine(rng, rng.randint(0, 2)), random_condition(rng, 2)
    inside = list(points(box, *guards))

    ends, simple, proved = facts.values(affine), facts.simplify(affine), facts.prove(asked)
    found = facts.find(asked)

    for point in inside:
        assert ends is not None and ends[0] <= value(affine, point) <= ends[1]
        assert value(simple, point) == value(affine, point)
        assert not proved or holds(asked, point)
        assert all(lo <= point[index] < hi for index, (lo, hi) in (facts.box or {}).items())
    witnesses = [point for point in inside if holds(asked, point)]
    assert found.empty == (not witnesses)
    assert found.empty or found.point in witnesses


@pytest.mark.parametrize("seed", range(60))
def test_proofs_over_boxes_are_complete(seed: int) -> None:
    rng = random.Random(1000 + seed)
    box = {index: (lo := rng.randint(-3, 3), lo + rng.randint(1, 5)) for index in (I, J, K)}
    asked = random_condition(rng, 2)

    proved = Facts.over(box).prove(asked)

    assert proved == all(holds(asked, point) for point in points(box))


@pytest.mark.parametrize(
    ("affine", "box", "expected"),
    [
        (i - i.quotient(4).scale(4), {I: (0, 100)}, (0, 3)),
        (i.quotient(4).scale(4) + i.remainder(4), {I: (3, 9)}, (3, 8)),
        (i.scale(8) + j, {I: (0, 4), J: (0, 8)}, (0, 31)),
        (clamp("min", (i, Affine.of(5))) - clamp("min", (i, Affine.of(3))), {I: (0, 9)}, (0, 2)),
    ],
)
def test_values_are_tight_where_a_variable_meets_itself(
    affine: Affine, box: dict[IndexVar, tuple[int, int]], expected: tuple[int, int]
) -> None:
    assert Facts.over(box).values(affine) == expected


@pytest.mark.parametrize(
    ("affine", "box", "expected"),
    [
        (i.scale(9) + j, {I: (0, 5), J: (0, 9)}, (i, j)),
        (i.scale(3) + j, {I: (0, 5), J: (0, 3)}, (i.scale(3) + j, None)),
        (i, {I: (0, 9)}, (Affine.of(0), i)),
    ],
)
def test_floors_go_that_ranges_decide(
    affine: Affine, box: dict[IndexVar, tuple[int, int]], expected: tuple[Affine, Affine | None]
) -> None:
    facts = Facts.over(box)
    if expected[1] is None:
        assert facts.simplify(affine.quotient(9).scale(9) + affine.remainder(9)) == expected[0]
    else:
        assert (facts.simplify(affine.quotient(9)), facts.simplify(affine.remainder(9))) == expected


def test_guards_narrow_and_relate() -> None:
    facts = Facts.over({I: (0, 10), J: (0, 10)})
    guarded = facts.assume(compare("<", i + j, 5)).assume(compare(">=", i.scale(2), 5))

    assert guarded.box == {I: (3, 10), J: (0, 10)}
    assert guarded.prove(compare("<", i, 5)) and guarded.values(j) == (0, 1)
    assert not facts.prove(compare("<", i, 5)) and facts.values(j) == (0, 9)


def test_facts_can_be_taken_back() -> None:
    facts = Facts.over({I: (0, 10)}).assume(compare("<", i, 5)).assume(compare(">", i, 2), why="legality")

    without = facts.without("guard")

    assert (facts.values(i), without.box) == ((3, 4), {I: (3, 10)})
    assert without.prove(compare(">", i, 2)) and not without.prove(compare("<", i, 5))
    assert facts.without(lambda given: given.why == "legality").box == {I: (0, 5)}
    assert not facts.without(["guard", "legality"]).given


def test_dropped_facts_still_find_mistakes() -> None:
    def everything(given: Given) -> bool:
        return True

    with symbolic.dropping(everything):
        facts = Facts.over({I: (0, 10)}, compare("<", i, 5))

    assert not facts.prove(compare("<", i, 5)) and facts.values(i) == (0, 9)
    assert facts.find(compare(">=", i, 5)).empty


def test_an_audit_sees_every_claim() -> None:
    seen: list[tuple[Facts, Condition]] = []

    with symbolic.auditing(lambda facts, claim: seen.append((facts, claim))):
        facts = Facts.over({I: (0, 10)})
        assert facts.prove(compare("<", i, 10))
        facts.values(i.quotient(3))
        facts.simplify(i.remainder(20))

    assert len(seen) == 3
    for known, claim in seen:
        assert known.find(negation(claim)).empty


# ---------------------------------------------------------------- sizes and names


def test_sizes_are_never_negative_without_saying_so() -> None:
    assert Facts().at_least_zero(N + 3) and not Facts().at_least_zero(N - M)
    assert Facts().prove(compare(">=", Affine.of(N * M), 0))
    assert not Facts().prove(compare(">=", Affine.of(N - 1), 0))


def test_assumptions_decide_formulas() -> None:
    facts = Facts().assume("M <= N", "N % 8 == 0", why="user")

    assert facts.at_least_zero(N - M) and not facts.at_least_zero(M - N)
    assert (facts.minimum(M, N), facts.maximum(M, N)) == (M, N)
    assert facts.simplify(N // 8 * 8) == N
    assert facts.intersection(Interval.of(0, N), Interval.of(0, M)) == Interval.of(0, M)


def test_an_index_and_a_size_of_one_name_are_two() -> None:
    index = Affine.of(IndexVar("N"))
    facts = Facts.over({IndexVar("N"): Interval.of(0, N)})

    assert facts.prove(compare("<", index, Affine.of(N)))
    assert not facts.prove(compare("==", index, Affine.of(N)))
    assert facts.simplify(index.quotient(1) + Affine.of(N) - index) == Affine.of(N)


def test_tagged_and_dotted_names_are_told_apart() -> None:
    tagged, dotted = IndexVar("A", 1), SizeVar("A.1")
    facts = Facts.over({tagged: Interval.of(0, Size.of(dotted)), IndexVar("A", -1): Interval.of(2, 3)})

    assert facts.prove(compare("<", Affine.of(tagged), Affine.of(Size.of(dotted))))
    assert not facts.prove(compare("<=", Affine.of(Size.of(dotted)), Affine.of(tagged)))
    assert facts.prove(compare("==", Affine.of(IndexVar("A", -1)), 2))


def test_symbolic_ranges_are_facts() -> None:
    facts = Facts.over({I: Interval.of(0, N), J: Interval.of(0, M)})

    assert facts.interval(i.scale(3) + j) == Interval.of(0, 3 * N + M - 3)
    assert facts.prove(compare("<", i.scale(M) + j, Affine.of(N * M)))
    assert facts.interval(i.scale(N - M)) is None
    assert facts.assume("M <= N", why="user").interval(i.scale(N - M)) is not None


def test_text_and_objects_are_one() -> None:
    facts = Facts().define("i", 0, None).define("n", 0, None).assume("i < n*n")

    assert facts.prove("i // n < n") and not facts.prove("i // n < n - 1")
    assert facts.bounds("i % 4") == (0, 3) and facts.modulus("4*i + 2") == (4, 2)
    assert Facts.over({I: (0, 8)}).prove("i < 8") and Facts.over({I: (0, 8)}).bounds("i + 1") == (1, 8)
    assert str(Facts.over({I: (0, 8)}).simplify("i % 8")) == "i"


def test_contradictions_are_told() -> None:
    assert Facts().define("n", 0, 3).contradiction is None
    with pytest.raises(CompileError, match="contradicts"):
        Facts().define("n", 0, 3).assume("n > 3", why="user")


# ---------------------------------------------------------------- range inference


def test_inference_uses_what_is_assumed() -> None:
    text = "def f(float(N) A, float(M) B) -> (C) { C(i) = A(i) + B(i) D(i) = C(i) }".replace("-> (C)", "-> (C, D)")

    plain, told = infer_ranges(function(text)), infer_ranges(function(text), Facts().assume("M <= N", why="user"))

    assert str(plain.statements[0].intervals[I]) == "[0, min(M, N))"
    assert [str(statement.intervals[I]) for statement in told.statements] == ["[0, M)", "[0, M)"]


def test_a_moving_range_has_no_maximum_where_it_cannot_be_empty() -> None:
    text = "def f(float(N) A) -> (C) { C(i) +=! A(k) where i in 0:M0, k in i:N }".replace("M0", "4")

    told = infer_ranges(function(text), Facts().assume("N >= 4", why="user"))

    assert "max" not in str(told.statements[0].intervals[K])
    assert maximum(Size.of(0), N) == N


def test_what_calls_need_is_known_before_any_call() -> None:
    text = "def f(float(N) A, float(M) B) -> (C) { C(i) +=! A(i+k) * B(k) }"

    assert infer_ranges(function(text)).needs == (N - M + 1,)
    assert infer_ranges(function(text), Facts().assume("M <= N", why="user")).needs == ()
