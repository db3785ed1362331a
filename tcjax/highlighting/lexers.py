"""Lexers for Pygments. They only colour; the readers in `syntax` decide what is valid."""

from collections.abc import Sequence
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, Whitespace

from .. import ir
from ..symbolic import BOUNDARIES
from ..syntax.sac.spelling import TYPES as SAC_TYPES
from ..syntax.tc.spelling import TYPES as TC_TYPES

NAME = r"[A-Za-z_]\w*"
REDUCERS = tuple(reducer.value for reducer in ir.Reducer)
BUILTINS = (*ir.builtins.BUILTINS, "min", "max", *BOUNDARIES, "pad")

_NUMBERS = [
    (r"0[xX][0-9a-fA-F]+", Number.Hex),
    (r"(?:[0-9]+\.(?!\.)[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[A-Za-z]*", Number.Float),
    (r"[0-9]+[eE][+-]?[0-9]+[A-Za-z]*", Number.Float),
    # With a type suffix in SaC, with an `i` in TC.
    (r"[0-9]+[A-Za-z]*", Number.Integer),
]


class TensorComprehensionLexer(RegexLexer):
    """Facebook's Tensor Comprehensions, with what tcjax adds to them."""

    name = "Tensor Comprehensions"
    aliases: ClassVar[Sequence[str]] = ["tc", "tensor-comprehensions"]
    filenames: ClassVar[Sequence[str]] = ["*.tc"]
    url = "https://facebookresearch.github.io/TensorComprehensions"

    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"#.*", Comment.Single),
            (rf"(def)(\s+)({NAME})", bygroups(Keyword.Declaration, Whitespace, Name.Function)),
            (words(("where", "in", "exists", "for"), prefix=r"\b", suffix=r"\b"), Keyword),
            (words(("and", "or", "not"), prefix=r"\b", suffix=r"\b"), Operator.Word),
            # `max=!` and the other reductions of whole statements; `any =` defines a tensor of that name.
            (rf"({'|'.join(REDUCERS)})(=!?)(?![=<])", bygroups(Name.Builtin, Operator)),
            (rf"({NAME})(=!)(?![=])", bygroups(Name.Builtin, Operator)),
            (rf"({NAME})(?=\[)", Name.Builtin),
            (words(tuple(TC_TYPES), prefix=r"\b", suffix=r"\b"), Keyword.Type),
            (words(BUILTINS, prefix=r"\b", suffix=r"\b(?=\s*\()"), Name.Builtin),
            (rf"({NAME})(\.[0-9]+)", bygroups(Name, Name.Attribute)),
            (NAME, Name),
            *_NUMBERS,
            (r"\.\.\.", Punctuation),
            (r"<=>|->|[+*]=!?|\|\||&&|==|!=|<=|=<|>=|<<|>>|//|\.\.|[-+*/%<>=!~&|^?:]", Operator),
            (r"[(){}\[\],;]", Punctuation),
        ],
    }


class SacLexer(RegexLexer):
    """SaC's array comprehensions."""

    name = "SaC comprehensions"
    aliases: ClassVar[Sequence[str]] = ["sac", "sac-comprehensions"]
    filenames: ClassVar[Sequence[str]] = ["*.sac"]
    url = "https://www.sac-home.org"

    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"//.*", Comment.Single),
            (r"/\*[\s\S]*?\*/", Comment.Multiline),
            (words(("return", "step", "width", "with"), prefix=r"\b", suffix=r"\b"), Keyword),
            (words(("true", "false"), prefix=r"\b", suffix=r"\b"), Keyword.Constant),
            (words(tuple(SAC_TYPES), prefix=r"\b", suffix=r"\b"), Keyword.Type),
            (rf"({NAME})(?=\s*\()", Name.Function),
            (NAME, Name),
            *_NUMBERS,
            (r"->|\+\+\^?|\|\||&&|==|!=|<=|>=|<<|>>|\.\.\.|[-+*/%<>=!~&|^?:.]", Operator),
            (r"[(){}\[\],;]", Punctuation),
        ],
    }


__all__ = ["BUILTINS", "NAME", "REDUCERS", "SAC_TYPES", "TC_TYPES", "SacLexer", "TensorComprehensionLexer"]
