"""Decides where `|`, `<`, `step` and `width` belong to a generator, and where `|` begins a guard of a function."""

from typing import Final

from ..lexing import CLOSED_BY, Token

_CLOSING: Final = frozenset(CLOSED_BY.values())
_OPERAND_ENDS: Final = frozenset(("NAME", "NUMBER", "BOOL", "RPAR", "RSQB", "RBRACE"))

# The innermost construct around a token: a parenthesis or a square bracket, the text, the head of a function, its
# braces, or a part of a comprehension.
_BRACKET, _TEXT, _HEAD, _BLOCK, _INDEX, _BODY, _GENERATOR, _STRIDE = range(8)


def name_by_context(tokens: list[Token]) -> None:
    """Gives tokens that mean something else in a generator the types BAR, REL, STEP and WIDTH.

    A ``|`` directly in a body begins the generator; directly in a bound, ``<`` and ``<=`` separate bound and index.
    Inside any bracket they are operators. `step` and `width` stay names wherever an operand can occur.
    """
    contexts = [_TEXT]
    before = "SEMICOLON"
    for position, token in enumerate(tokens):
        context, type = contexts[-1], token.type
        if type in CLOSED_BY:
            contexts.append(_inside(type, context, before))
        elif type in _CLOSING:
            if len(contexts) > 1:
                contexts.pop()
                # A function's braces follow its head: what comes after is text again.
                if context == _BLOCK and contexts == [_HEAD]:
                    contexts = [_TEXT]
                    before = "SEMICOLON"
                    continue
        elif context == _TEXT:
            if type == "TYPE" and before == "SEMICOLON" and tokens[position + 1].type != "LPAR":
                contexts = [_HEAD]
        elif context == _HEAD:
            if token.text == "|":
                token.type = "BAR"
        elif context == _INDEX:
            if type == "ARROW":
                contexts[-1] = _BODY
        elif context in (_BODY, _GENERATOR, _STRIDE):
            contexts[-1] = _beside(token, context, before)
        before = token.type


def _inside(opening: str, context: int, before: str) -> int:
    if opening != "LBRACE":
        return _BRACKET
    return _BLOCK if context == _HEAD and before in _OPERAND_ENDS else _INDEX


def _beside(token: Token, context: int, before: str) -> int:
    """The context after `token`, which occurs directly in a body or a generator."""
    if token.type == "SEMICOLON":
        return _INDEX
    if context == _BODY and token.text == "|":
        token.type = "BAR"
        return _GENERATOR
    if context == _GENERATOR and token.text in ("<", "<="):
        token.type = "REL"
    elif token.type == "NAME" and (before in _OPERAND_ENDS or before == "DOT"):
        if context == _GENERATOR and token.text == "step":
            token.type = "STEP"
            return _STRIDE
        if context == _STRIDE and token.text == "width":
            token.type = "WIDTH"
    return context
