"""Sums, products and conjunctions are split in one place, and mean the same when they are rebuilt."""

import math
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from tcjax import ir
from tcjax.symbolic import Affine, IndexVar
from tcjax.transforms.factors import summands

I, J = IndexVar("i"), IndexVar("j")
ATOMS = [ir.Access(ir.Tensor(name, "float64", ()), (Affine.of(index),)) for name in "ABC" for index in (I, J)]
VALUES = {atom: value for atom, value in zip(ATOMS, (2.0, 3.0, -5.0, 7.0, 0.5, -1.25), strict=True)}
CONDITIONS = [ir.Binary("<", ir.Index(index), ir.Const(bound, "int32"), "bool") for index in (I, J) for bound in (2, 5)]


def binary(operator: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return ir.Binary(operator, left, right, left.dtype)


def _larger(parts: st.SearchStrategy[ir.Expr], operators: tuple[str, ...]) -> st.SearchStrategy[ir.Expr]:
    signs = st.builds(ir.Unary, st.just("-"), parts, st.just("float64"))
    return st.builds(binary, st.sampled_from(operators), parts, parts) | signs


def expressions(*operators: str) -> st.SearchStrategy[ir.Expr]:
    return st.recursive(st.sampled_from(ATOMS), lambda parts: _larger(parts, operators), max_leaves=10)


def evaluated(expr: ir.Expr, values: Mapping[ir.Expr, float]) -> float:
    match expr:
        case ir.Const(value):
            return float(value.real)
        case ir.Unary("-", operand):
            return -evaluated(operand, values)
        case ir.Binary(operator, left, right):
            a, b = evaluated(left, values), evaluated(right, values)
            return {"+": a + b, "-": a - b, "*": a * b}[operator] if operator != "/" else a / b if b else math.nan
        case _:
            return values[expr]


def agrees(found: ir.Expr, expr: ir.Expr) -> bool:
    wanted = evaluated(expr, VALUES)
    return not math.isfinite(wanted) or math.isclose(evaluated(found, VALUES), wanted, rel_tol=1e-9, abs_tol=1e-9)


@given(expressions("+", "-", "*", "/"))
def test_factors_multiply_to_what_they_are_of(expr: ir.Expr) -> None:
    assert agrees(ir.multiply(ir.factors(expr)), expr)


@given(expressions("+", "-", "*", "/"))
def test_factors_have_no_factors(expr: ir.Expr) -> None:
    assert all(ir.factors(factor) == [factor] for factor in ir.factors(expr))


@given(expressions("+", "-", "*", "/"))
def test_terms_add_up_to_what_they_are_of(expr: ir.Expr) -> None:
    assert agrees(ir.summed(ir.terms(expr), expr.dtype), expr)


@given(expressions("+", "-", "*", "/"))
def test_summands_add_up_to_what_they_are_of(expr: ir.Expr) -> None:
    products = [(product.negative, ir.multiply(product.factors)) for product in summands(expr)]

    assert agrees(ir.summed(products, expr.dtype), expr)


@given(st.recursive(st.sampled_from(ATOMS), lambda p: st.builds(binary, st.sampled_from("*/"), p, p), max_leaves=8))
def test_a_product_has_the_same_factors_for_all_who_ask(expr: ir.Expr) -> None:
    (product,) = summands(expr)

    assert sorted(map(ir.show_expr, product.factors)) == sorted(map(ir.show_expr, ir.factors(expr)))


@given(st.lists(st.sampled_from(CONDITIONS), max_size=4), st.lists(st.sampled_from(CONDITIONS), max_size=4))
def test_both_conditions_ask_nothing_twice(first: list[ir.Expr], second: list[ir.Expr]) -> None:
    first, second = list(dict.fromkeys(first)), list(dict.fromkeys(second))

    found = ir.both(ir.conjunction(first), ir.conjunction(second))

    assert list(ir.conjuncts(found)) == list(dict.fromkeys([*first, *second]))


def test_a_negated_comparison_of_integers_is_the_opposite_one_and_of_floats_is_not() -> None:
    number, float_ = ir.Const(3, "int64"), ir.Const(3.0, "float32")

    assert ir.negated(ir.Binary("<=", number, number, "bool")) == ir.Binary(">", number, number, "bool")
    assert isinstance(ir.negated(ir.Binary("<=", float_, float_, "bool")), ir.Unary)
    assert ir.negated(ir.Const(True, "bool")) == ir.Const(False, "bool")


def test_a_long_chain_is_taken_apart() -> None:
    chain = ATOMS[0]
    for _ in range(5_000):
        chain = binary("*", ATOMS[1], chain)

    assert len(ir.factors(chain)) == len(ir.operands(chain, "*")) == 5_001
