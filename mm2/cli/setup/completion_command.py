"""``mm2 completion``: completion of commands and options in shells."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

_SHELLS: Final = ("bash", "zsh", "fish")
_VARIABLE: Final = "_MM2_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """
    Prints what a shell needs to complete commands, options and the names of flows.

    In ~/.bashrc: source <(mm2 completion bash). In ~/.zshrc: source <(mm2 completion zsh). For
    fish: mm2 completion fish > ~/.config/fish/completions/mm2.fish.

    Exit status: 0.
    """
    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - click has all of the choices
    click.echo(found(context.find_root().command, {}, "mm2", _VARIABLE).source())
