"""What shells complete beside commands and options: the flows of the file that is meant."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from mm2.config.mirror_maker_config import load_maker
from mm2.errors import ConfigErrors


def flow_option(help_: str, *more: str, **settings: Any) -> Callable[[Any], Any]:
    """The option ``--flow`` of a command that has a FILE; shells complete its flows."""
    return click.option("--flow", *more, help=help_, shell_complete=_flows_of_file, **settings)


def _flows_of_file(
    context: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The flows that exist; none if the file cannot be read, for nobody could be told why."""
    # An option that lacks its value ends the parsing before any argument is taken.
    typed = [*context.args, context.params.get("file"), os.environ.get("MM2_CONFIG")]
    try:
        flows = load_maker(Path(next(filter(None, typed), "mm2.properties"))).cluster_pairs()
    except ConfigErrors:
        return []
    return [CompletionItem(str(each)) for each in flows if str(each).startswith(incomplete)]
