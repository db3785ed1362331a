"""The pages that explain the mistakes, one for each code."""

from pathlib import Path
from typing import Final

from .codes import Code

_PAGES: Final = Path(__file__).with_name("explanations")


def explanation(code: Code) -> str:
    """The page of a code, in Markdown."""
    return (_PAGES / f"{code.value}.md").read_text(encoding="utf-8")


def title(code: Code) -> str:
    """The title of a code's page: ``a missing reduction``."""
    return explanation(code).partition("\n")[0].removeprefix(f"# {code.value}: ")
