"""``mm2 verify``: of a flow's copies, or, with a second word, of replicas and of groups."""

from __future__ import annotations

from typing import Final

import click

from mm2.cli.verify_command import verify as copies
from mm2.cli.verify_rebalance_command import rebalance
from mm2.cli.verify_replicas_command import replicas

_COPIES: Final = "copies"


class VerifyGroup(click.Group):
    """A group of which ``copies`` is meant where no other command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts the name of the command before its arguments, where it is left out."""
        if not args or args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [_COPIES, *args]
        return super().parse_args(ctx, args)


@click.group("verify", cls=VerifyGroup)
def verify() -> None:
    """
    Compares copies with their source, replicas with each other, or checks who owns partitions.

    ``mm2 verify FILE`` is ``mm2 verify copies FILE``; a file of a command's name is ``./replicas``.
    """


verify.add_command(copies)
verify.add_command(replicas)
verify.add_command(rebalance)
