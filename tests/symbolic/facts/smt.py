"""A second opinion on answers about unbounded variables: z3, with floor division spelled out by hand."""

import ast
from collections.abc import Sequence
from typing import Any

import z3

from .cases import Case
from .enumeration import Given, mangled

# z3's own measure of work: an answer is the same on every machine, unlike one within a time limit.
_WORK = 2_000_000
# The questions whose answers it can refute.
QUESTIONS = ("simplify", "bounds", "modulus", "prove", "compare")


class Encoding:
    """Texts as z3 terms over shared names, each with the condition that it has a value."""

    def __init__(self) -> None:
        self.axioms: list[Any] = []
        self._fresh = 0

    def term(self, text: str) -> tuple[Any, Any]:
        """The value of a text, and whether it has one."""
        return self._term(ast.parse(mangled(text.strip()), mode="eval").body)

    def _term(self, node: ast.AST) -> tuple[Any, Any]:
        match node:
            case ast.Constant(bool() as value):
                return z3.BoolVal(value), z3.BoolVal(True)
            case ast.Constant(int() as value):
                return z3.IntVal(value), z3.BoolVal(True)
            case ast.Name(name):
                return z3.Int(name), z3.BoolVal(True)
            case ast.UnaryOp(ast.Not(), operand):
                value, defined = self._term(operand)
                return z3.Not(value), defined
            case ast.UnaryOp(ast.USub(), operand):
                value, defined = self._term(operand)
                return -value, defined
            case ast.BoolOp(op, parts):
                return self._connective(isinstance(op, ast.And), parts)
            case ast.Compare(first, ops, rest):
                return self._chain(first, ops, rest)
            case ast.BinOp(left, op, right):
                (a, first), (b, second) = self._term(left), self._term(right)
                return self._arithmetic(type(op).__name__, a, b, z3.And(first, second))
            case ast.Call(ast.Name("select"), [condition, then, otherwise]):
                (test, known), (a, first), (b, second) = map(self._term, (condition, then, otherwise))
                return z3.If(test, a, b), z3.And(known, z3.If(test, first, second))
            case ast.Call(ast.Name(name), [left, right]):
                (a, first), (b, second) = self._term(left), self._term(right)
                return self._arithmetic(name, a, b, z3.And(first, second))
        raise AssertionError(ast.dump(node))

    def _connective(self, conjunction: bool, parts: Sequence[ast.AST]) -> tuple[Any, Any]:
        value, defined = self._term(parts[0])
        for part in parts[1:]:
            other, known = self._term(part)
            defined = z3.And(defined, z3.Implies(value if conjunction else z3.Not(value), known))
            value = z3.And(value, other) if conjunction else z3.Or(value, other)
        return value, defined

    def _chain(self, first: ast.AST, ops: Sequence[ast.cmpop], rest: Sequence[ast.AST]) -> tuple[Any, Any]:
        left, known = self._term(first)
        holds = []
        for op, node in zip(ops, rest, strict=True):
            right, defined = self._term(node)
            known = z3.And(known, z3.Implies(z3.And(holds), defined))
            match op:
                case ast.Lt():
                    holds.append(left < right)
                case ast.LtE():
                    holds.append(left <= right)
                case ast.Gt():
                    holds.append(left > right)
                case ast.GtE():
                    holds.append(left >= right)
                case ast.Eq():
                    holds.append(left == right)
                case _:
                    holds.append(left != right)
            left = right
        return z3.And(holds), known

    def _arithmetic(self, op: str, a: Any, b: Any, known: Any) -> tuple[Any, Any]:
        match op:
            case "Add":
                return a + b, known
            case "Sub":
                return a - b, known
            case "Mult":
                return a * b, known
            case "min":
                return z3.If(a < b, a, b), known
            case "max":
                return z3.If(a > b, a, b), known
            case "FloorDiv":
                return self._floor(a, b), z3.And(known, b != 0)
            case "Mod":
                return a - b * self._floor(a, b), z3.And(known, b != 0)
            case "tdiv" | "tmod":
                magnitude = self._floor(z3.If(a < 0, -a, a), z3.If(b < 0, -b, b))
                quotient = z3.If((a < 0) == (b < 0), magnitude, -magnitude)
                return (quotient if op == "tdiv" else a - b * quotient), z3.And(known, b != 0)
        raise AssertionError(op)

    def _floor(self, a: Any, b: Any) -> Any:
        """The number between ``a/b - 1`` and ``a/b``, named."""
        self._fresh += 1
        quotient = z3.Int(f"q{self._fresh}")
        rest = a - b * quotient
        self.axioms.append(z3.Implies(b > 0, z3.And(rest >= 0, rest < b)))
        self.axioms.append(z3.Implies(b < 0, z3.And(rest <= 0, rest > b)))
        return quotient


def opinion(case: Case, answer: Any, milliseconds: int = 0) -> str:
    """``right``, ``unknown``, or the point at which z3 finds the answer wrong; within a time if one is given."""
    encoding = Encoding()
    solver = z3.Solver()
    solver.set("rlimit", _WORK)
    if milliseconds:
        solver.set("timeout", milliseconds)
    for text in Given(case.given).requirements:
        value, defined = encoding.term(text)
        solver.add(value, defined)
    solver.add(_denial(encoding, case, answer))
    solver.add(*encoding.axioms)
    match str(solver.check()):
        case "unsat":
            return "right"
        case "sat":
            model = solver.model()
            return ", ".join(f"{name} = {model[name]}" for name in model.decls() if str(name).startswith("v_"))
        case _:
            return "unknown"


def _denial(encoding: Encoding, case: Case, answer: Any) -> Any:
    """The claim that at some point the question has a value and the answer is wrong."""
    if case.question == "compare":
        a, b = case.words
        value, defined = encoding.term(f"({a}) {answer} ({b})")
        return z3.And(defined, z3.Not(value))
    value, defined = encoding.term(case.words[0])
    match case.question:
        case "simplify":
            other, known = encoding.term(answer)
            return z3.And(defined, z3.Or(z3.Not(known), value != other))
        case "bounds":
            lo, hi = answer
            below = z3.BoolVal(False) if lo is None else value < lo
            above = z3.BoolVal(False) if hi is None else value > hi
            return z3.And(defined, z3.Or(below, above))
        case "modulus":
            coefficient, base = answer
            return z3.And(defined, (value - base) % coefficient != 0 if coefficient else value != base)
        case "prove":
            return z3.And(defined, z3.Not(value))
    raise AssertionError(case.question)


def says_something(case: Case, answer: Any) -> bool:
    """Can this answer be wrong at all?"""
    return case.question in ("simplify", "modulus") or answer not in (False, None, (None, None))
