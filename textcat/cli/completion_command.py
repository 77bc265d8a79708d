"""`textcat completion`: print the completion script of a shell."""

from __future__ import annotations

from typing import Any

import click

from textcat.cli.options import add_folder_options, add_verbosity_options, read_command_settings

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", epilog='Example:  eval "$(textcat completion bash)"')
@click.argument("shell", type=click.Choice(SHELLS))
@add_folder_options
@add_verbosity_options
def command(shell: str, **settings: Any) -> None:
    """Print a completion script for commands, options, experiments, collections, tables and models.

    \b
    bash   eval "$(textcat completion bash)"              in ~/.bashrc
    zsh    eval "$(textcat completion zsh)"               in ~/.zshrc, after compinit
    fish   textcat completion fish > ~/.config/fish/completions/textcat.fish
    """
    from click.shell_completion import get_completion_class

    from textcat.cli.main import group

    read_command_settings(settings)
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"Completion is not available for {shell}.")
    click.echo(kind(group, {}, "textcat", "_TEXTCAT_COMPLETE").source())
