"""``tcjax gallery``: programs of one page, listed, shown and copied."""

from pathlib import Path

import click

from ..failures import Failure, files


def _names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from ...gallery import entries

    return [each.name for each in entries() if each.name.startswith(incomplete)]


@click.group(short_help="Programs of one page: list, show or copy them.", invoke_without_command=True)
@click.pass_context
def gallery(ctx: click.Context) -> None:
    """Programs of one page, each with data, a reference, what one writes by hand, and a picture; alone, the list.

    \b
    Example:
      tcjax gallery
      tcjax gallery show alibi
      tcjax gallery copy alibi attention.py
    """
    if ctx.invoked_subcommand is not None:
        return
    from ...gallery import GROUPS, entries

    width = max(len(each.name) for each in entries())
    for group, title in GROUPS.items():
        click.echo(title)
        for each in entries():
            if each.group == group:
                click.echo(f"  {each.name:{width}}  {each.title}")
    click.echo("\n`tcjax gallery show NAME` prints one, `tcjax gallery copy NAME` writes it to a file.")


@gallery.command(short_help="Print a program.")
@click.argument("name", shell_complete=_names)
def show(name: str) -> None:
    """The source of a program, on standard output."""
    from ...gallery import entry

    click.echo(entry(name).source, nl=False)


@gallery.command(short_help="Write a program to a file.")
@click.argument("name", shell_complete=_names)
@click.argument("file", required=False)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def copy(name: str, file: str | None, force: bool) -> None:
    """The source of a program as FILE, which is NAME.py unless given: `python FILE` checks it.

    A folder gets NAME.py. A file that is there stays, unless --force is given.
    """
    from ...files import replacing
    from ...gallery import entry

    found = entry(name)
    path = Path(file or ".")
    if path.is_dir():
        path /= f"{found.name}.py"
    if path.exists() and not force:
        raise Failure(f"{path} exists; --force replaces it")
    with files(str(path)), replacing(path, follow=True) as written:
        written.write(found.source.encode("utf-8"))
    click.echo(f"wrote {path}; `python {path}` checks it")
