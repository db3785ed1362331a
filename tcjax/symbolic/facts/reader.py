"""Reads expressions and conditions from text; every mistake is a `CompileError` with the place."""

import re
from dataclasses import dataclass

from ...diagnostics import Code, CompileError, Source, Span
from .trees import FALSE, MAX_DEPTH, TRUE, And, Binary, Compare, Const, Expr, Not, Or, Select, Var, is_condition

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9][0-9_]*)|(?P<name>[^\W\d]\w*(?:\.\w+)*'*)|(?P<sign>//|<=|>=|==|!=|[-+*%<>(),]))", re.UNICODE
)
_FUNCTIONS = {"tdiv": 2, "tmod": 2, "min": 2, "max": 2, "select": 3}
_WORDS = {"and", "or", "not", "true", "false", "True", "False", *_FUNCTIONS}
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_MAX_DIGITS = 1000
_MAX_NESTING = 60
# Equalities of conditions inside each other: each level doubles its contents.
_MAX_COMPARISONS = 256


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def read_expression(text: str, name: str = "<expression>") -> Expr:
    """The expression or condition that `text` stands for.

    Integers, names (``n``, ``A.0``, ``i'``), ``+ - * // %``, ``tdiv tmod min max select(c, a, b)``, comparisons and
    their chains, ``and or not``, ``true false``. Between conditions, ``==`` means that both or neither hold, ``!=``
    that exactly one does.
    """
    reader = _Reader(text, name)
    expr = reader.disjunction(0)
    if reader.now.kind != "end":
        raise reader.unexpected()
    if expr.depth > MAX_DEPTH:
        raise reader.too_deep()
    return expr


class _Reader:
    """The tokens of one text and the position in them; a method for each level of the grammar."""

    def __init__(self, text: str, name: str) -> None:
        self.source = Source(text, name)
        self.tokens = self._tokens()
        self.position = 0
        self.written: dict[Expr, int] = {}

    @property
    def now(self) -> _Token:
        return self.tokens[self.position]

    def disjunction(self, depth: int) -> Expr:
        if depth > _MAX_NESTING:
            raise self.too_deep()
        return self._joined("or", Or, self.conjunction, depth)

    def conjunction(self, depth: int) -> Expr:
        return self._joined("and", And, self.negation, depth)

    def _joined(self, word: str, node: type[And] | type[Or], part, depth: int) -> Expr:
        start = self.now
        first = part(depth)
        if self.now.text != word:
            return first
        parts = [self._condition(first, start)]
        while self._take(word):
            start = self.now
            parts.append(self._condition(part(depth), start))
        # `c and true` is how a lone part prints.
        neutral = TRUE if node is And else FALSE
        if len(parts) == 2 and parts[1] is neutral:
            return node((parts[0],))
        return node(tuple(parts))

    def negation(self, depth: int) -> Expr:
        start = self.now
        count = 0
        while self._take("not"):
            count += 1
        if count > _MAX_NESTING:
            raise self.too_deep()
        place = self.now
        expr = self.comparison(depth)
        for _ in range(count):
            expr = Not(self._condition(expr, place))
        assert start is not None
        return expr

    def comparison(self, depth: int) -> Expr:
        start = self.now
        left = self.sum(depth)
        parts: list[Expr] = []
        while self.now.text in _COMPARISONS:
            op = self._next().text
            place = self.now
            right = self.sum(depth)
            if op in ("==", "!=") and is_condition(left) and is_condition(right):
                parts.append(
                    self._chosen(left, right if op == "==" else Not(right), Not(right) if op == "==" else right)
                )
            else:
                parts.append(Compare(op, self._number(left, start), self._number(right, place)))
            left, start = right, place
        if not parts:
            return left
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def sum(self, depth: int) -> Expr:
        return self._operators(("+", "-"), self.product, depth)

    def product(self, depth: int) -> Expr:
        return self._operators(("*", "//", "%", "tdiv", "tmod"), self.unary, depth)

    def _operators(self, ops: tuple[str, ...], operand, depth: int) -> Expr:
        start = self.now
        left = operand(depth)
        while self.now.text in ops:
            left = self._number(left, start)
            op = self._next().text
            place = self.now
            left = Binary(op, left, self._number(operand(depth), place))
        return left

    def unary(self, depth: int) -> Expr:
        signs = []
        while self.now.text in ("-", "+"):
            signs.append(self._next())
        if len(signs) > _MAX_NESTING:
            raise self.too_deep()
        place = self.now
        expr = self.atom(depth)
        for sign in reversed(signs):
            expr = self._number(expr, place)
            if sign.text == "-":
                expr = Const(-expr.value) if isinstance(expr, Const) and expr.value else Binary("-", Const(0), expr)
        return expr

    def atom(self, depth: int) -> Expr:
        token = self.now
        if token.kind == "number":
            self._next()
            if len(token.text) > _MAX_DIGITS:
                raise self._error(Code.BAD_NUMBER, "a number is too long", token, f"write at most {_MAX_DIGITS} digits")
            return Const(int(token.text.replace("_", "")))
        if self._take("("):
            expr = self.disjunction(depth + 1)
            self._expect(")")
            return expr
        if token.text in _FUNCTIONS:
            return self._call(depth)
        if token.text in ("true", "True", "false", "False"):
            self._next()
            return TRUE if token.text in ("true", "True") else FALSE
        if token.kind == "name" and token.text not in _WORDS:
            self._next()
            return Var(token.text)
        raise self.unexpected()

    def _call(self, depth: int) -> Expr:
        function = self._next()
        self._expect("(")
        places, arguments = [self.now], [self.disjunction(depth + 1)]
        while self._take(","):
            places.append(self.now)
            arguments.append(self.disjunction(depth + 1))
        self._expect(")")
        wanted = _FUNCTIONS[function.text]
        variadic = function.text in ("min", "max")
        if len(arguments) != wanted and not variadic:
            raise self._error(
                Code.UNEXPECTED_TOKEN,
                f"`{function.text}` takes {wanted} arguments, not {len(arguments)}",
                function,
                f"write {wanted} arguments between the parentheses",
            )
        if function.text == "select":
            condition = self._condition(arguments[0], places[0])
            if is_condition(arguments[1]):
                return self._chosen(condition, arguments[1], self._condition(arguments[2], places[2]))
            return Select(condition, arguments[1], self._number(arguments[2], places[2]))
        numbers = [self._number(argument, place) for argument, place in zip(arguments, places, strict=True)]
        result = numbers[0]
        for number in numbers[1:]:
            result = Binary(function.text, result, number)
        return result

    def _chosen(self, condition: Expr, then: Expr, otherwise: Expr) -> Expr:
        """A choice between two conditions; `condition` occurs on both sides, so nested choices double."""
        chosen = Or((And((condition, then)), And((Not(condition), otherwise))))
        self.written[chosen] = sum(map(self._comparisons, chosen.parts))
        if self.written[chosen] > _MAX_COMPARISONS:
            raise self.too_deep()
        return chosen

    def _comparisons(self, condition: Expr) -> int:
        """The number of comparisons in a condition once it is written out."""
        match condition:
            case And(parts) | Or(parts):
                return self.written.get(condition) or sum(map(self._comparisons, parts))
            case Not(operand):
                return self._comparisons(operand)
            case _:
                return 1

    def _tokens(self) -> list[_Token]:
        text = self.source.text
        tokens: list[_Token] = []
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                rest = text[position:]
                if not rest.strip():
                    break
                start = len(text) - len(rest.lstrip())
                token = _Token("sign", text[start], start, start + 1)
                raise self._error(
                    Code.UNEXPECTED_CHARACTER,
                    f"`{token.text}` has no meaning here",
                    token,
                    "write integers, names, `+ - * // %`, comparisons and `and or not`",
                )
            kind = match.lastgroup
            assert kind is not None
            tokens.append(_Token(kind, match.group(kind), match.start(kind), match.end(kind)))
            position = match.end()
        tokens.append(_Token("end", "", len(text), len(text) + 1))
        return tokens

    def _next(self) -> _Token:
        token = self.now
        self.position += 1
        return token

    def _take(self, text: str) -> bool:
        if self.now.text != text or self.now.kind == "end":
            return False
        self.position += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise self.unexpected(f"`{text}`")

    def _condition(self, expr: Expr, place: _Token) -> Expr:
        if is_condition(expr):
            return expr
        raise self._error(
            Code.WRONG_TYPE, "a number where a condition is wanted", place, "compare it, for instance with `!= 0`"
        )

    def _number(self, expr: Expr, place: _Token) -> Expr:
        if not is_condition(expr):
            return expr
        raise self._error(
            Code.WRONG_TYPE, "a condition where a number is wanted", place, "write `select(condition, 1, 0)`"
        )

    def unexpected(self, wanted: str = "an integer, a name or an operator") -> CompileError:
        token = self.now
        found = "the text ends" if token.kind == "end" else f"`{token.text}`"
        return self._error(Code.UNEXPECTED_TOKEN, f"{found} where {wanted} is wanted", token, f"write {wanted} here")

    def too_deep(self) -> CompileError:
        return self._error(
            Code.TOO_DEEP, "this expression nests too deeply", self.now, "give a part of it a name with `define`"
        )

    def _error(self, code: Code, message: str, token: _Token, help: str) -> CompileError:
        text = self.source.text
        line = text.count("\n", 0, token.start)
        begin = text.rfind("\n", 0, token.start) + 1
        span = Span(line + 1, token.start - begin + 1, max(token.end, token.start + 1) - begin + 1, self.source)
        return CompileError(code, message, span, help=help)
