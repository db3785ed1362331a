"""``tcjax completion``: the script that lets a shell complete the command."""

import click


@click.command(short_help="Completion for a shell.")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Prints a script that completes commands, options and file names.

    \b
    Example:
      eval "$(tcjax completion bash)"                                   # in ~/.bashrc
      eval "$(tcjax completion zsh)"                                    # in ~/.zshrc
      tcjax completion fish > ~/.config/fish/completions/tcjax.fish
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None, "click completes these shells"
    source = found(ctx.find_root().command, {}, "tcjax", "_TCJAX_COMPLETE")
    # `source` asks the installed shell for its version, but the script does not depend on it.
    click.echo(source.source_template % source.source_vars())
