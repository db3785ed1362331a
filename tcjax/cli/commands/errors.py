"""``tcjax errors``: the page that explains each mistake."""

import re

import click

from ..failures import Failure


@click.command(short_help="What an error code means.")
@click.argument("code", metavar="[CODE|WORD]", required=False)
def errors(code: str | None) -> None:
    """The page of an error code: what it means, a wrong program and a right one. Without a code, the list; with a word,
    the codes whose pages contain it.

    \b
    Example:
      tcjax errors TC0401
      tcjax errors gather
    """
    from ...diagnostics import Code, explanation, title

    listed = list(Code)
    if code is not None and not re.fullmatch(r"\s*(tc)?\d+\s*", code, re.IGNORECASE):
        listed = [each for each in Code if code.casefold().strip() in explanation(each).casefold()]
        if not listed:
            raise Failure(f"no error page mentions {code!r}; `tcjax errors` lists all")
        code = None
    if code is None:
        for each in listed:
            click.echo(f"{each.value}  {each.kind:<11}  {title(each)}")
        return
    wanted = code.strip().upper()
    wanted = wanted if wanted.startswith("TC") else f"TC{wanted:0>4}"
    found = next((each for each in Code if each.value == wanted), None)
    if found is None:
        raise Failure(f"there is no error {code!r}; {_near(wanted)}")
    click.echo(explanation(found).rstrip("\n"))


def _near(wanted: str) -> str:
    from ...diagnostics import Code

    codes = [code.value for code in Code]
    same_kind = [code for code in codes if code[:4] == wanted[:4]]
    near = sorted(same_kind or codes, key=lambda code: (_distance(code, wanted), code))[:3]
    return f"similar codes are {', '.join(near)}; `tcjax errors` lists all"


def _distance(code: str, wanted: str) -> int:
    return sum(a != b for a, b in zip(code, wanted, strict=False)) + abs(len(code) - len(wanted))
