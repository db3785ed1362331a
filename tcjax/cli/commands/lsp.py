"""``tcjax lsp``: the language server."""

import click

from ..failures import Failure


@click.command(short_help="The language server for editors, on standard input and output.")
def lsp() -> None:
    """Answers an editor in the Language Server Protocol: mistakes as you type, with fixes; ranges, types and formulas
    under the cursor; definitions of names; completion; formatting. In TC and SaC files, and in the texts and
    @tcjax.kernel functions of Python files, which are read and not run.

    An editor starts it; it needs `pip install "tcjax[lsp]"`.

    \b
    Example, Neovim:
      vim.lsp.config("tcjax", {cmd = {"tcjax", "lsp"}, filetypes = {"tc", "sac", "python"}})
      vim.lsp.enable("tcjax")
    """
    try:
        from ..editing.server import server
    except ImportError as error:
        raise Failure(f'the language server needs pygls: pip install "tcjax[lsp]" ({error})') from None
    server.start_io()
