"""``tcjax gallery``: example programs of one page each, to list, show and copy."""

from pathlib import Path

import click

from ..failures import Failure, files


def _names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from ...gallery import entries

    return [each.name for each in entries() if each.name.startswith(incomplete)]


@click.group(short_help="Example programs of one page each: list, show or copy them.", invoke_without_command=True)
@click.pass_context
def gallery(ctx: click.Context) -> None:
    """Example programs of one page, each with data, a reference, a hand-written version and a picture. Without a
    subcommand, lists them.

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
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def copy(name: str, file: str | None, force: bool) -> None:
    """Writes the source of a program to FILE (NAME.py by default); `python FILE` checks it.

    If FILE is a folder, writes NAME.py there. An existing file is kept, unless --force is given.
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
