"""The messages for a text that does not parse: what was expected, what was found, and what to write instead."""

from difflib import get_close_matches
from typing import Final

from ...diagnostics import Code, CompileError
from ..lexing import REDUCTIONS, Token, closing_bracket, open_brackets, short, token_after, token_before
from ..wording import either, unknown_character
from .habits import habit, sign, start_of_target, target_of


def mistake(tokens: list[Token], position: int, found: Token, accepted: set[str]) -> CompileError:
    """The error at `found`, which is ``tokens[position]`` or a part of it, where only `accepted` tokens are valid."""
    if found.type == "UNKNOWN":
        instead = sign(tokens, position)
        return unknown_character(found, _INSTEAD | ({found.text: instead} if instead else {}), "#")
    shown = f"'{short(found.text)}'" if found.text else "the end of the text"
    before, after = token_before(tokens, position), token_after(tokens, position)
    instead = habit(tokens, position, accepted)
    if not instead and "UPDATE" in accepted and found.type in _ENDS and after.type != "EQUAL":
        missing = _missing_operator(tokens[:position])
        if missing is not None:
            return missing
    help = (
        instead
        or _keyword(found, accepted)
        or _assignment(tokens, position, accepted)
        or _type_behind(tokens, position, accepted)
        or _bracket(tokens[:position], found, accepted)
        or _place(before, found, accepted)
        or f"write {_expected(accepted)} here"
    )
    return CompileError(
        Code.UNEXPECTED_TOKEN, f"expected {_expected(accepted)} but found {shown}", found.span, help=help
    )


# ---------------------------------------------------------------- what was expected

_STATEMENT: Final = frozenset(("NAME", "TYPE", "TYPE_WORD"))
_SPELLINGS: Final = {
    "NAME": "a name",
    "NUMBER": "a number",
    "TYPE": "a type",
    "DEF": "'def'",
    "WHERE": "'where'",
    "IN": "'in'",
    "ARROW": "'->'",
    "EQUAL": "'='",
    "COLON": "':'",
    "COMMA": "','",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "$END": "the end of the text",
}


def _expected(accepted: set[str]) -> str:
    """`accepted` in words: named as a writer would, not token by token."""
    closing = [_SPELLINGS[terminal] for terminal in ("COLON", "COMMA", "RPAR", "RSQB") if terminal in accepted]
    if "EXISTS" in accepted:
        return "a range, a let or a guard"
    if "MINUS" in accepted and "NUMBER" in accepted:
        return either(["an expression", *closing])
    if "UPDATE" in accepted:
        return "an assignment such as '=' or '+=!'"
    if "BINARY" in accepted:
        return either(["an operator", *(closing if "SEMICOLON" not in accepted else ["the end of the statement"])])
    if "DEF" in accepted and "NAME" in accepted:
        return "a 'def' or a statement"
    if "SEMICOLON" in accepted and accepted >= _STATEMENT:
        return "the next statement, or '}'" if "RBRACE" in accepted else "the next statement"
    if accepted >= _STATEMENT:
        return "a statement or '}'" if "RBRACE" in accepted else either(["a parameter", *closing])
    return either([words for terminal, words in _SPELLINGS.items() if terminal in accepted])


# ---------------------------------------------------------------- what to write instead


_KEYWORDS: Final = frozenset(("DEF", "WHERE", "IN", "EXISTS", "EXTREMUM", "TYPE"))


def _keyword(found: Token, accepted: set[str]) -> str:
    """Help for a keyword where a name is expected, and for a second ``where``."""
    if found.type == "WHERE" and "SEMICOLON" in accepted:
        return "a statement has one `where`: write a comma between its clauses"
    if found.type in _KEYWORDS and "NAME" in accepted and "NUMBER" not in accepted:
        return f"`{found.text}` is a keyword of TC: choose another name"
    return ""


# Tokens that may follow a factor, but not the left side of a statement.
_ENDS: Final = frozenset(("$END", "RBRACE", "SEMICOLON", "WHERE", "MINUS", "BINARY", "NAME"))


def _missing_operator(before: list[Token]) -> CompileError | None:
    """Help for ``C(m,n) +=! A(m,k) B(k,n)``, which parses as a statement and the left side of another."""
    start = start_of_target(before)
    factor, here = token_before(before, start), before[start]
    if factor.type not in ("RPAR", "NAME", "NUMBER", "SIZE") or factor.line != here.line:
        return None
    if not any(token.type in ("EQUAL", "UPDATE") for token in before[:start]):
        return None
    text = target_of(before)
    meant = "did you mean `where`? Otherwise, to" if get_close_matches(text, ("where",)) else "to"
    return CompileError(
        Code.UNEXPECTED_TOKEN,
        f"there is no operator between `{short(factor.text)}` and `{text}`",
        here.span_to(before[-1]),
        help=f"{meant} multiply write `* {text}`",
    )


def _assignment(tokens: list[Token], position: int, accepted: set[str]) -> str:
    """Help for a statement whose left side is not followed by ``=`` or ``+=!``."""
    if "UPDATE" not in accepted:
        return ""
    before, found, after = tokens[:position], tokens[position], token_after(tokens, position)
    target, start = target_of(before), start_of_target(before)
    match found.type, after.type:
        case "BINARY", "EQUAL" if found.text in _COMBINING:
            return f"TC has no `{found.text}=`: write {_COMBINING[found.text].format(target)}"
        case "MINUS", "EQUAL":
            # An existing tensor is kept; a new one begins at zero.
            written = any(_writes(tokens, at, before[start].text) for at in range(start))
            sign = "+=" if written else "+=!"
            return f"TC has no `-=`: write `{target} {sign} -({_right_side(tokens, position + 2)})`"
        case "BINARY", "EQUAL":
            right = _right_side(tokens, position + 2)
            return f"TC has no `{found.text}=`: write `{target} = {target} {found.text} ({right})`"
        case "NAME", "EQUAL":
            return f"write `{target} {found.text}= ...` with nothing between `{found.text}` and `=`"
        case "COLON" | "BINARY", _ if found.text in (":", "=="):
            return f"one `=` defines a tensor: `{target} = ...`"
        case "LSQB", _:
            closing = closing_bracket(tokens, position) or position
            listed = "".join(", " if t.type == "COMMA" else t.text for t in tokens[position + 1 : closing])
            return f"the indices of a tensor go in parentheses: `{target}({short(listed) or 'i, j'}) = ...`"
        case _:
            if any(t.text == "//" and (at == 0 or before[at - 1].line < t.line) for at, t in enumerate(before)):
                return "a comment begins with `#` and ends with its line; `//` divides integers"
            return f"a statement reads `{target} = ...`, or `{target} +=! ...` for a sum"


def _writes(tokens: list[Token], position: int, name: str) -> bool:
    """Whether a statement that writes this tensor begins here."""
    if tokens[position].text != name:
        return False
    behind = position + 1
    if tokens[behind].type == "LPAR":
        behind = (closing_bracket(tokens, behind) or behind) + 1
    return tokens[min(behind, len(tokens) - 1)].type in ("EQUAL", "UPDATE")


def _right_side(tokens: list[Token], start: int) -> str:
    """The right side that begins here, as written if it is short and ends with its line."""
    first = tokens[min(start, len(tokens) - 1)]
    end = next(
        at for at in range(start, len(tokens)) if tokens[at].type in _ENDS_A_SIDE or tokens[at].line != first.line
    )
    last = tokens[end - 1]
    text = first.source.line(first.line)[first.column - 1 : last.end - 1] if end > start else ""
    return text if 0 < len(text) <= 60 else "..."


_ENDS_A_SIDE: Final = frozenset(("$END", "RBRACE", "SEMICOLON", "WHERE"))


# What a logic sign combines, and what to write for it.
_COMBINING: Final = {
    "&": "`{0} all=! ...` where every value has to hold",
    "|": "`{0} any=! ...` where one value is enough",
}


def _bracket(before: list[Token], found: Token, accepted: set[str]) -> str:
    """Help for brackets that are open, that close nothing, or that are of the wrong kind."""
    opened = open_brackets(before)
    innermost = before[opened[-1]] if opened else None
    if (innermost and innermost.type == "LSQB") or (before and before[-1].type == "RSQB" and "LPAR" in accepted):
        read = _read_in_brackets(before)
        reduces = "`r[k, l in 0:3](e)` reduces over k and l"
        if found.text in _COMPARISONS and innermost is not None:
            return "a condition in the brackets of a reduction goes after `where`: `sum[s where s <= t](e)`"
        if read is None:
            return f"{reduces}; a tensor's indices go in parentheses: `A(i, j)`"
        return f"a tensor's indices go in parentheses: `{read}`; {reduces}"
    if found.type == "LBRACE" and before and before[-1].text in REDUCTIONS:
        return f"the indices of a reduction go in square brackets: `{before[-1].text}[k](e)`"
    if found.type in ("RPAR", "RSQB", "RBRACE") and (innermost is None or innermost.type == "LBRACE"):
        return "" if "NUMBER" in accepted else f"this `{found.text}` closes nothing: leave it out"
    if innermost is None:
        return ""
    if found.type in ("$END", "DEF") or (innermost.type == "LPAR" and found.type in _PAST_PARENTHESIS):
        return f"close the `{innermost.text}` of line {innermost.line}, column {innermost.column}"
    if accepted == {"COMMA", "RPAR"} and before[opened[-1] - 1].type in ("TYPE", "TYPE_WORD"):
        return "a dimension is a name or a whole number: `float(N, 3) A`"
    if accepted == {"COMMA", "RPAR"} and found.type in _STATEMENT:
        return f"a comma is missing before `{short(found.text)}`"
    if {"COMMA", "RPAR"} <= accepted and found.type in ("NAME", "NUMBER", "SIZE", "LPAR"):
        return f"a comma or an operator is missing before `{short(found.text)}`"
    return ""


def _read_in_brackets(before: list[Token]) -> str | None:
    """``A(i, j)`` for ``A[i, j]`` at the end of `before`; None if it is long or looks like a reduction."""
    start = next((at for at in range(len(before) - 1, 0, -1) if before[at].type == "LSQB"), 0)
    inside = before[start + 1 : -1] if before[-1].type == "RSQB" else []
    plain = all(token.type in ("NAME", "NUMBER", "COMMA") for token in inside)
    if not 0 < len(inside) < 8 or not plain or before[start - 1].text in REDUCTIONS:
        return None
    listed = "".join(", " if token.type == "COMMA" else token.text for token in inside)
    return f"{before[start - 1].text}({listed})"


_COMPARISONS: Final = frozenset(("<", ">", "<=", ">=", "==", "!="))


def _type_behind(tokens: list[Token], position: int, accepted: set[str]) -> str:
    """Help for a parameter written as ``A float(N)``."""
    if accepted != {"COMMA", "RPAR"} or tokens[position].type not in ("TYPE", "TYPE_WORD"):
        return ""
    end = position + 1
    if tokens[end].type == "LPAR":
        end = next((at for at in range(end, len(tokens)) if tokens[at].type == "RPAR"), end) + 1
    if end < len(tokens) and tokens[end].type in ("COMMA", "RPAR"):
        return "a type goes before its tensor: `float(M, K) A`"
    return ""


_PAST_PARENTHESIS: Final = frozenset(("RBRACE", "LBRACE", "RSQB", "WHERE", "EQUAL", "UPDATE", "SEMICOLON"))


def _place(before: Token, found: Token, accepted: set[str]) -> str:
    """Help for everything else: what this place of a text may contain."""
    if "EXISTS" in accepted:
        return "write `where i in 0:N`, `where t = e`, `where exists e`, `where unique J(i)` or `where i <= j`"
    if found.type == "ELLIPSIS":
        return "`...` is the first subscript of a tensor, `A(..., i)`, or its first dimension, `float(..., N) A`"
    if before.type in ("TYPE", "TYPE_WORD") and accepted == {"LPAR"}:
        return f"a cast reads `{before.text}(e)`"
    if "NUMBER" in accepted and "MINUS" in accepted:
        return f"a value is missing before `{short(found.text)}`" if found.text else "finish the last statement"
    if "NUMBER" in accepted:
        return "a dimension is a name or a whole number: `float(N, 3) A`"
    if accepted == {"ARROW"}:
        return "name the outputs: `-> (C) {`"
    if accepted == {"LBRACE"}:
        return "the statements of a def go in braces: `def f(float(N) A) -> (C) { ... }`"
    if "DEF" in accepted and "NAME" not in accepted:
        return "next to a def there can only be other defs: put every statement in the `{ }` of one"
    if "DEF" in accepted or "SEMICOLON" in accepted or "RBRACE" in accepted:
        return _statement(before, found, accepted)
    if {"COLON", "DOTS"} <= accepted or accepted == {"COLON"}:
        return "a range reads `i in 0:N`, a choice `c ? a : b`"
    if accepted <= {"EQUAL", "COMMA"} or (before.type == "EQUAL" and accepted == {"NAME"}):
        return "several tensors come from a call: `O1, O2 = f(A, B)`"
    if accepted >= _STATEMENT:
        return "a parameter reads `float(M, K) A`, or only `A` for any type"
    if accepted == {"NAME"} and before.type in ("TYPE", "TYPE_WORD", "RPAR"):
        return "name the tensor after its type: `float(N) A`"
    return ""


def _statement(before: Token, found: Token, accepted: set[str]) -> str:
    """Help for a token that neither continues a statement nor begins one."""
    if found.type == "EQUAL" and "BINARY" in accepted:
        name = before.text if before.type == "NAME" else "t"
        return f"compare with `==`; a let goes after `where`: `where {name} = e`"
    if found.type == "EQUAL" and before.type == "NAME":
        return f"declare first, then define: `float(N) {before.text}` and `{before.text}(i) = ...`"
    return "a statement begins with the tensor that it defines: `O(i) = ...`"


# ---------------------------------------------------------------- characters

_INSTEAD: Final = {
    **{quote: "TC has no quotes: a text holds names, numbers, operators and brackets" for quote in "\"'`"},
    ".": "a point belongs to a size, `A.0`, to a number, `0.5`, or to a range, `0..N`",
    "\\": "a statement goes on by itself on the next line: leave the `\\` out",
    "∈": "write `in`",
    "∑": "write `sum[k](e)`",
    "Σ": "write `sum[k](e)`",
    "∏": "write `prod[k](e)`",
    "…": "write `...` for leading dimensions, `..` in a range",
    "²": "write a power as `pow(a, 2)`",
    "³": "write a power as `pow(a, 3)`",
    "√": "write `sqrt(e)`",
    "∞": "write `inf`",
    "π": "write the number, `3.141592653589793`",
    "∂": "a kernel is differentiated by `jax.grad`, or by `k.adjoint()`",
}
