"""Operators, division and casts."""

import numpy as np

from ..program import Program


def value(name: str, expression: str, wanted: object, dtype: str = "int32") -> Program:
    """A program that computes one expression of the tensors a = 7, b = -3 (int32), x = 0.5, y = -1.5, p and q."""
    text = f"def f(int32 a, int32 b, float x, float y, bool p, bool q) -> (r) {{ r = {expression} }}"
    return Program(
        name,
        text,
        [np.int32(7), np.int32(-3), np.float32(0.5), np.float32(-1.5), np.bool_(True), np.bool_(False)],
        lambda *_: np.asarray(wanted),
        dtype,
    )


PRECEDENCE = [
    value("sums and products from the left", "-3%2+4*5+7-a", 21),
    value("minus binds tighter than the remainder", "-a%4", 1),
    value("differences from the left", "a-b-2", 8),
    value("quotients from the left", "100/a/2", 7),
    value("product and quotient from the left", "a/2*2", 6),
    value("quotient and remainder from the left", "a*a%10/2", 4),
    value("two minus signs", "--a", 7),
    value("two minus signs apart", "- -a", 7),
    value("minus of a difference", "-(a - b)", -10),
    value("minus after an operator", "a * -b", 21),
    value("two negations", "!!p", True, "bool"),
    value("negation before and", "!q && p", True, "bool"),
    value("and before or", "p || p && q", True, "bool"),
    value("or after and, the other way", "q && p || p", True, "bool"),
    value("comparison before and", "a > 3 && b < 0", True, "bool"),
    value("comparisons from the left", "a == 7 == p", True, "bool"),
    value("a comparison of comparisons", "a==1==(b==2)", True, "bool"),
    value("sum before comparison", "a + b < 5", True, "bool"),
    value("not equal", "a != 7 || x != 0.5", False, "bool"),
    value("at most and at least", "a <= 7 && b >= -3", True, "bool"),
    value("conditionals from the right", "q ? 1 : p ? 2 : 3", 2),
    value("a conditional in the middle", "p ? q ? 1 : 2 : 3", 2),
    value("a conditional after everything", "q || p ? 1 + 1 : 2 * 2", 2),
    value("a conditional in a sum needs brackets", "1 + (p ? 10 : 20)", 11),
    value("a conditional takes the whole sum", "p ? 10 : 20 + 1", 10),
    value("min and max of two", "min(a, b) * 10 + max(a, b)", -23),
    value("nested min and max", "min(a, max(b, 2))", 2),
    value("a call binds tightest", "-fabs(y)", -1.5, "float32"),
    value("bits after comparisons as in C", "a & 5 | 8 ^ 1", 13),
    value("shifts before comparisons", "1 << 2 + 1", 8),
    value("complement", "~a + 1", -7),
]

DIVISION = [
    value("a quotient of a negative number", "b / 2", -2),
    value("a quotient by a negative number", "a / b", -3),
    value("a remainder of a negative number", "b % 5", 2),
    value("a remainder by a negative number", "a % b", -2),
    value("a quotient of literals", "-7 / 2", -4),
    value("a remainder of literals", "-7 % 2", 1),
    value("a quotient with a float", "a / 2.0", 3.5, "float32"),
    value("a quotient of floats", "y / x", -3.0, "float32"),
    value("a remainder of floats", "y % x", 0.0, "float32"),
    value("a remainder of a negative float", "y % 1.0", 0.5, "float32"),
    value("an integer size's quotient as a factor", "x * (7 // 2)", 1.5, "float32"),
]

CASTS = [
    value("to an integer, towards zero", "int32(1.5 + 4)", 5),
    value("to an integer from below zero", "int32(y)", -1),
    value("to an integer from above", "int32(x + 1.4)", 1),
    value("to a float", "float(a) / 2", 3.5, "float32"),
    value("from a comparison", "float(a > b)", 1.0, "float32"),
    value("from a boolean", "int32(p) + int32(q)", 1),
    value("to a boolean", "bool(a) && !bool(a - 7)", True, "bool"),
    value("of a literal", "float(0)", 0.0, "float32"),
    value("to a byte and back", "int32(uint8(a))", 7),
    value("wraps", "uint8(a * 100)", 700 % 256, "uint8"),
    value("to a short", "int16(b)", -3, "int16"),
    value("of a condition", "float(!(x < .5) || y > .5)", 1.0, "float32"),
    value("of another condition", "float(!(x < .5) && y > .5)", 0.0, "float32"),
]
