"""The messages for a text that does not parse: what was expected, what was found, and what to write instead."""

from typing import Final

from ...diagnostics import Code, CompileError
from ..lexing import REDUCTIONS, Token, closing_bracket, open_brackets, short, token_after, token_before
from ..rearranging import pattern
from ..wording import either, unknown_character


def mistake(tokens: list[Token], position: int, accepted: set[str]) -> CompileError:
    """The error at ``tokens[position]``, where only `accepted` tokens are valid."""
    found = tokens[position]
    before, after = token_before(tokens, position), token_after(tokens, position)
    opened = open_brackets(tokens[:position])
    if found.type == "UNKNOWN":
        return unknown_character(found, _INSTEAD, "//")
    if found.type == "COMMENT_OPENING":
        return _error(found, "this comment never ends", "end it with `*/`")
    if before.text == "with" and found.type == "LBRACE":
        return _with_loop(before)
    if _in_pattern(tokens, opened) and found.type not in ("$END", "ARROW", "RBRACE", "SEMICOLON", "RPAR"):
        return _pattern(before, found)
    shown = f"'{short(found.text)}'" if found.text else "the end of the text"
    help = (
        _subscripts(tokens, position)
        or _reduction(tokens, position)
        or _other_language(before, found)
        or _control(tokens[:position], found)
        or _dot(before, found, after, tokens[opened[-1] - 1 :] if opened else [])
        or _function(before, found, accepted)
        or _comprehension(found, accepted)
        or _generator(tokens[:position], before, found, accepted)
        or _bracket(tokens, opened, found, accepted)
        or _statement(before, found, accepted)
        or f"write {_expected(accepted)} here"
    )
    return _error(found, f"expected {_expected(accepted)} but found {shown}", help)


def _error(found: Token, message: str, help: str) -> CompileError:
    return CompileError(Code.UNEXPECTED_TOKEN, message, found.span, help=help)


# ---------------------------------------------------------------- what was expected

_OPERATORS: Final = frozenset(("BINARY", "PLUS", "MINUS", "STAR", "GREATER", "QUESTION"))
_OPERANDS: Final = frozenset(("NAME", "NUMBER", "BOOL", "TYPE", "LPAR", "LSQB", "LBRACE", "MINUS", "PLUS", "NOT"))
_AXES: Final = frozenset(("NAME", "NUMBER", "DOT", "STAR", "PLUS"))
_DOTS: Final = frozenset(("DOT", "DOTS"))
_GROUPS: Final = (
    ("an expression", "BOOL", _OPERANDS),
    ("an operator", "BINARY", _OPERATORS | {"LPAR", "LSQB"}),
    ("an axis", "STAR", _AXES),
    ("a dot", "DOT", _DOTS),
)
_SPELLINGS: Final = {
    "NAME": "a name",
    "NUMBER": "a number",
    "TYPE": "a type",
    "ARROW": "'->'",
    "EQUAL": "'='",
    "REL": "'<'",
    "GREATER": "'>'",
    "STEP": "'step'",
    "WIDTH": "'width'",
    "RETURN": "'return'",
    "BAR": "'|'",
    "COLON": "':'",
    "COMMA": "','",
    "SEMICOLON": "';'",
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
    words: list[str] = []
    left = set(accepted)
    for word, chief, terminals in _GROUPS:
        if chief in left:
            words.append(word)
            left -= terminals
    return either(words + [word for terminal, word in _SPELLINGS.items() if terminal in left])


# ---------------------------------------------------------------- patterns


def _in_pattern(tokens: list[Token], opened: list[int]) -> bool:
    """Whether the innermost bracket is that of a pattern, which comes directly after ``{`` or a partition's ``;``."""
    return (
        len(opened) > 1
        and tokens[opened[-1]].type == "LSQB"
        and tokens[opened[-2]].type == "LBRACE"
        and tokens[opened[-1] - 1].type in ("LBRACE", "SEMICOLON")
    )


def _pattern(before: Token, found: Token) -> CompileError:
    if before.type == "NAME" and found.type in ("NAME", "DOT", "DOTS"):
        help = f"a comma is missing before `{short(found.text)}`"
    elif before.type == "DOT" and found.type in ("DOT", "DOTS", "NUMBER"):
        help = "write `...` for any number of axes, `., .` for two"
    elif found.type == "COMMA":
        help = "a name or a dot is missing before the comma"
    elif found.type == "COLON":
        help = "bounds go after a `|`: `{ [i] -> a[i] | [0] <= [i] < [3] }`"
    else:
        help = (
            "name the axis and bound it, `{ [i, j] -> e | [0, 1] <= [i, j] < [m, 2] }`; `.` is an axis without a name"
        )
    message = f"a pattern holds names and dots, and here is '{short(found.text)}'"
    return CompileError(Code.BAD_PATTERN, message, found.span, help=help)


# ---------------------------------------------------------------- what other languages write

_FOREIGN: Final = {
    "if": "write a choice as `c ? a : b`",
    "else": "write a choice as `c ? a : b`",
    "for": "SaC's comprehensions have no loops: `{ [i] -> e | [i] < [n] }` is `e` at every `i`",
    "while": "SaC's comprehensions have no loops: `{ [i] -> e | [i] < [n] }` is `e` at every `i`",
    "where": "bounds go after a `|`: `{ [i] -> e | [0] <= [i] < [n] }`; a choice is the function `where(p, a, b)`",
    "in": "bounds go after a `|`: `{ [i] -> e | [0] <= [i] < [n] }`",
    "and": "write `&&` for scalars, `&` for the bits of every element",
    "or": "write `||` for scalars, and `(a | b)` for the bits of every element",
    "not": "write `!a`",
    "lambda": "write a function before the text: `float f(float x) { return x; }`",
    "def": "a function reads `float[n] f(float[n] x) { return x; }`",
    "fn": "a function reads `float[n] f(float[n] x) { return x; }`",
    "let": "a definition reads `x = e;`",
    "var": "a definition reads `x = e;`",
    "const": "a definition reads `x = e;`",
}


def _other_language(before: Token, found: Token) -> str:
    """Help for what other languages write and SaC does not."""
    if before.type == "NAME" and before.text in _FOREIGN:
        return _FOREIGN[before.text]
    if found.type == "NAME" and found.text in _FOREIGN:
        return _FOREIGN[found.text]
    match before.text, found.text:
        case "*", "*":
            return "write a power as `pow(a, b)`"
        case "axis" | "axes" | "keepdims", "=":
            return "a fold takes one array, and folds all of it; along an axis: `{ [i] -> sum({ [j] -> a[i,j] }) }`"
        case _, "=" if before.type in _OPERATORS:
            return "nothing is changed in SaC: give the new value a name, `y = x + 1;`; a sum is `sum({ [k] -> a[k] })`"
        case "++", _ if found.type in ("SEMICOLON", "$END", "RPAR", "BAR", "RBRACE"):
            return "nothing is changed in SaC: give the new value a name, `y = x + 1;`; `a ++ b` concatenates"
        case _, "=" if found.source.line(found.line)[found.end - 1 : found.end] == ">":
            return "the arrow of a comprehension is `->`: `{ [i] -> e }`"
        case "]", "=":
            return "an array is not changed: `modarray(a, [i], x)`, or `{ [i] -> x | [1] <= [i] < [2]; iv -> a[iv] }`"
        case ")", "=":
            return "a function reads `float[n] f(float[n] x) { return x; }`, a definition `x = e;`"
        case _:
            return ""


def _subscripts(tokens: list[Token], position: int) -> str:
    """Help for the subscripts of an einsum, ``ij,jk->ik``, and the patterns of einops, ``b h w c -> b (h w) c``."""
    found, earlier = tokens[position], tokens[:position]
    types = {token.type for token in earlier}
    if {token.type for token in tokens[:-1]} in _PATTERNS and found.type == "NAME" and earlier[-1].type != "COMMA":
        return pattern(tokens)
    letters = {letter for token in earlier for letter in token.text}
    among = all(letter in letters for token in tokens[position + 1 : -1] for letter in token.text)
    if found.type != "ARROW" or not (types == {"NAME", "COMMA"} or (types == {"NAME"} and among)):
        return ""
    text = "".join(token.text for token in tokens[:-1])
    operands = ", ".join("ABCDEFGH"[: 1 + sum(token.type == "COMMA" for token in earlier)])
    return f'such subscripts are for `tcjax.einsum("{text}", {operands})`' if len(text) <= 40 else ""


# The words of an einops pattern; parentheses are omitted if it needs none.
_PATTERNS: Final = ({"NAME", "ARROW"}, {"NAME", "ARROW", "LPAR", "RPAR"})
_FOLDS: Final = {"min": "minval", "max": "maxval"}


def _reduction(tokens: list[Token], position: int) -> str:
    """Help for a reduction of TC, ``sum[k](e)``."""
    opening = next((at for at in range(position - 1, 0, -1) if tokens[at].type == "LSQB"), 0)
    if tokens[position].type != "LPAR" or tokens[position - 1].type != "RSQB" or not opening:
        return ""
    name, indices = tokens[opening - 1].text, "".join(token.text for token in tokens[opening:position])
    closing = closing_bracket(tokens, position)
    if name not in REDUCTIONS or closing is None or tokens[closing].line != tokens[position].line:
        return ""
    text = tokens[position].source.line(tokens[position].line)[tokens[position].end - 1 : tokens[closing].column - 1]
    return f"a fold takes an array, here a comprehension: `{_FOLDS.get(name, name)}({{ {indices} -> {text} }})`"


def _control(earlier: list[Token], found: Token) -> str:
    """Help for ``if (c) {`` and ``for (i = ``."""
    behind = bool(earlier) and earlier[-1].type == "RPAR" and found.type == "LBRACE"
    opened = open_brackets(earlier[:-1] if behind else earlier)
    word = earlier[opened[-1] - 1].text if opened and opened[-1] else ""
    return _FOREIGN[word] if word in ("if", "for", "while") else ""


def _with_loop(word: Token) -> CompileError:
    return CompileError(
        Code.NOT_IN_THE_NOTATION,
        "with-loops are not part of this notation",
        word.span,
        help="write `{ iv -> e | lower <= iv < upper }` for `genarray`, with `; iv -> a[iv]` behind it for "
        "`modarray(a)`, and `sum({ iv -> e })` for `fold(+, 0)`",
    )


def _dot(before: Token, found: Token, after: Token, around: list[Token]) -> str:
    """Help for a misplaced dot; `around` begins before the innermost bracket."""
    if found.type not in _DOTS:
        return ""
    if before.type == "DOT":
        return "write `...` for any number of axes"
    if found.type == "DOT" and after.type == "NAME":
        return f"SaC has functions, no attributes: `{short(after.text)}({short(before.text)})`"
    if around and around[0].type in ("BAR", "REL"):
        return "between its bounds an index has names alone: `{ [i, .] -> e | [i] < [n] }`"
    return "dots go in a pattern, `{ [i, .] -> e }`, in a selection, `a[., 1]`, or alone as a bound, `iv < .`"


# ---------------------------------------------------------------- comprehensions


def _comprehension(found: Token, accepted: set[str]) -> str:
    """Help for a partition without its index or its arrow."""
    if accepted == {"ARROW"}:
        match found.text:
            case ",":
                return "several indices go in brackets: `{ [i, j] -> e }`"
            case "=" | ":" | "<=" | ">=" | "-" | "<":
                return "an arrow `->` goes between the index and the body: `{ [i] -> e }`"
            case "|":
                return "the body goes before the `|`: `{ [i] -> e | [i] < [n] }`"
            case _:
                return "a `{` begins a comprehension, `{ index -> body }`: write `{ [i] -> e }` or `{ iv -> e }`"
    if {"NAME", "LSQB"} <= accepted <= {"NAME", "LSQB", "RBRACE"}:
        match found.text:
            case "}":
                return "a comprehension has a partition: `{ [i] -> e }`"
            case ";":
                return "leave this `;` out: one goes between two partitions"
            case "(":
                return "an index is a name, or a pattern in square brackets: `{ [i, j] -> e }`"
            case _:
                return "a partition begins with its index, `[i, j] ->` or `iv ->`"
    if found.type == "ARROW" and "RBRACE" in accepted:
        return "a `;` goes between two partitions: `{ [i] -> e | [i] < [n]; iv -> 0 }`"
    if found.type == "COMMA" and "RBRACE" in accepted and "SEMICOLON" in accepted:
        return "partitions are parted by `;`, an index has brackets: `{ [i] -> e | [i] < [n]; iv -> 0 }`"
    return ""


def _generator(earlier: list[Token], before: Token, found: Token, accepted: set[str]) -> str:
    """Help for mistakes after the ``|`` of a partition."""
    if found.text == "width":
        return "a `width` follows a `step`: `step [4] width [2]`"
    if found.text == "step":
        return "a generator ends with one `step`, and one `width` after it: `[0] <= [i] < [n] step [4] width [2]`"
    if found.type == "REL":
        return "a generator has two bounds at most, `lower <= iv < upper`; a comparison in a bound goes in parentheses"
    if "REL" in accepted:
        bars = [position for position, token in enumerate(earlier) if token.type == "BAR"]
        if bars and any(token.text in (">", ">=") for token in earlier[bars[-1] :]):
            return "a generator is written with `<` and `<=`: `lower <= iv < upper`"
        return "a generator reads `lower <= iv < upper`, or one half of it; a bit-or in a body reads `(a | b)`"
    if before.type in ("BAR", "REL") and found.type in ("RBRACE", "SEMICOLON", "$END"):
        return "a generator reads `lower <= iv < upper`, or one half of it"
    return ""


# ---------------------------------------------------------------- functions


def _function(before: Token, found: Token, accepted: set[str]) -> str:
    """For what is wrong in the head or the body of a function."""
    if found.type == "ARROW" and "LBRACE" in accepted:
        return "the type of the result goes in front: `float[n] f(float[n] x) { return x; }`"
    if "RETURN" in accepted:
        if found.type == "TYPE":
            return "a definition has no type: `x = e;`"
        return "a function holds definitions, `x = e;`, and ends with `return e;`"
    if accepted <= {"EQUAL", "COMMA"} and found.type in ("RBRACE", "SEMICOLON"):
        return "a function holds definitions, `x = e;`, and ends with `return e;`"
    if accepted == {"RBRACE"}:
        return "nothing may follow `return e;` but the `}`"
    if before.type == "NAME" and accepted == {"LPAR"}:
        return "a definition has no type: `x = e;`; a function reads `float[n] f(float[n] x) { return x; }`"
    if before.type == "TYPE" and "LPAR" in accepted:
        if found.type == "NAME":
            return "functions go before the definitions, which have no type: `x = e;`"
        return f"a cast reads `{before.text}(a)`, a function `{before.text} f(float[n] x) {{ return x; }}`"
    if "TYPE" in accepted and "NUMBER" not in accepted:
        return "a parameter reads `float[m, n] a`, a type and a name"
    if accepted >= _AXES - {"PLUS"} and "BINARY" not in accepted:
        return "an axis of a type is a number, a name, `.`, `*`, `+`, `d:shp` or `d > 0:shp`"
    if before.type in ("TYPE", "RSQB") and "NAME" in accepted and "NUMBER" not in accepted:
        return "name the parameter after its type: `float[n] a`"
    if "LBRACE" in accepted and "BAR" in accepted:
        return "the statements of a function go in braces: `{ return e; }`"
    if before.type == "NAME" and "COLON" in accepted and "GREATER" in accepted:
        return "an axis of a type is a number, a name, `.`, `*`, `+`, `d:shp` or `d > 0:shp`"
    if found.type == "TYPE" and "NAME" in accepted and "BOOL" not in accepted:
        return f"`{found.text}` is a type: choose another name"
    return ""


# ---------------------------------------------------------------- brackets and statements


def _bracket(tokens: list[Token], opened: list[int], found: Token, accepted: set[str]) -> str:
    """For slices, and for brackets that are open, that close nothing, or that are of the wrong kind."""
    innermost = tokens[opened[-1]] if opened else None
    if found.type == "COLON" and innermost and innermost.type == "LSQB":
        return "SaC has no slices: write `drop([1], take([3], a))`; a whole axis is a dot, `a[., 1]`"
    if found.type in ("RPAR", "RSQB", "RBRACE") and innermost is None:
        return "" if "BOOL" in accepted else f"this `{found.text}` closes nothing: leave it out"
    if innermost is None:
        return ""
    if found.type == "ARROW" and innermost.type == "LPAR":
        return "a comprehension goes in braces, in a fold too: `sum({ [i] -> e })`"
    if found.type == "$END" or (found.type in _PAST[innermost.type] and "BOOL" not in accepted):
        return f"close the `{innermost.text}` of line {innermost.line}, column {innermost.column}"
    if found.type in _OPERANDS and any(token.text == "if" for token in tokens[opened[-1] :]):
        return _FOREIGN["if"]
    if found.type in _OPERANDS and innermost.type == "LBRACE" and "RBRACE" in accepted:
        return f"an operator is missing before `{short(found.text)}`, or a `;` between two partitions"
    if found.type in _OPERANDS and "COMMA" in accepted:
        return f"a comma or an operator is missing before `{short(found.text)}`"
    if found.type == "COMMA" and innermost.type == "LPAR":
        return "parentheses hold one value; a vector reads `[a, b]`"
    if accepted == {"RSQB"}:
        return "write all elements of the selection in one pair of brackets: `a[i, ., 1]`"
    if accepted == {"SEMICOLON"} and found.type == "COMMA":
        return "several results go in parentheses: `return (a, b);`"
    if "SEMICOLON" in accepted and "RBRACE" not in accepted:
        return "in a function every definition, and `return e`, ends with a `;`"
    return ""


_PAST: Final = {
    "LPAR": frozenset(("RSQB", "RBRACE", "SEMICOLON", "ARROW", "BAR", "REL")),
    "LSQB": frozenset(("RPAR", "RBRACE", "SEMICOLON", "ARROW", "BAR", "REL")),
    "LBRACE": frozenset(("RPAR", "RSQB")),
}


def _statement(before: Token, found: Token, accepted: set[str]) -> str:
    """For what is left: what this place of a text holds."""
    if found.type == "ARROW":
        return "an arrow belongs in a comprehension: `{ [i] -> e }`"
    if found.type == "RETURN":
        return "`return` goes at the end of a function; a text ends with its expression alone"
    if found.type == "EQUAL" and "BOOL" not in accepted:
        return "compare with `==`; a definition, `x = e;`, goes before the expression that the text is for"
    if found.type == "$END" and "BOOL" in accepted and before.type == "SEMICOLON":
        return "a text ends with the expression that it is for: `x = a + b; x * x`"
    if found.type == "$END" and accepted & {"SEMICOLON"}:
        return "a definition ends with `;`, and a text with an expression: `x = a + b; x * x`"
    if "BOOL" in accepted:
        return f"a value is missing before `{short(found.text)}`" if found.text else "finish the last expression"
    if "QUESTION" not in accepted and accepted == {"COLON"}:
        return "a choice reads `c ? a : b`"
    if found.type == "LPAR" and before.type in ("RPAR", "RSQB"):
        return "only a name is called, `f(a)`; an element is selected in brackets, `a[i]`"
    if before.type == "SEMICOLON" and accepted == {"$END"}:
        return "a text ends with its one expression; the definitions before it read `x = e;`"
    if found.type == "COMMA" and "$END" in accepted:
        return "a text has one result; several come from a function: `return (a, b);`"
    if accepted <= {"EQUAL", "COMMA"} or (before.type == "COMMA" and accepted == {"NAME"}):
        return "several values come from a function: `a, b = f(x);`"
    if found.type in _OPERANDS and "$END" in accepted:
        return f"an operator is missing before `{short(found.text)}`, or a `;` after a definition, `x = e;`"
    return ""


# ---------------------------------------------------------------- characters

_INSTEAD: Final = {
    **{quote: "SaC's comprehensions have no texts: write names, numbers, operators and brackets" for quote in "\"'`"},
    "#": "a comment begins with `//`",
    "\\": "an expression goes on by itself on the next line: leave the `\\` out",
    "∈": "bounds go after a `|`: `{ [i] -> e | [0] <= [i] < [n] }`",
    "∑": "write `sum({ [k] -> e })`",
    "Σ": "write `sum({ [k] -> e })`",
    "∏": "write `prod({ [k] -> e })`",
    "…": "write `...`",
}
