"""The settings of a node's file, with where each value comes from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Protocol

from mm2.config.flow_config import FlowConfig
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.pages.explain import Section, explain
from mm2.config.text.expressions import hide
from mm2.errors import ConfigErrors


class Explained(Protocol):
    """
    Settings with their origins.

    Attributes:
        problems: why some are not known.
    """

    problems: tuple[str, ...]

    async def look(self) -> None:
        """Learns what has changed."""

    def flows(self) -> list[tuple[str, list[Section]]]:
        """The parts of each flow, by its name."""


class ExplainedConfig:
    """
    What ``mm2 config explain`` says of the file, computed once for each reading of it.

    Args:
        flows: as the file has them now.
    """

    def __init__(self, flows: Callable[[], Sequence[FlowConfig]]) -> None:
        self._flows = flows
        self._maker: MirrorMakerConfig | None = None
        self._sections: list[Section] = []
        self.problems: tuple[str, ...] = ()

    async def look(self) -> None:
        """Computes it anew if the file was read again."""
        maker = next((each.maker for each in self._flows() if each.maker is not None), None)
        if maker is None or maker is self._maker:
            return
        try:
            # In another thread: a provider may take its time.
            self._sections = await asyncio.to_thread(explain, maker)
            self.problems = ()
        except ConfigErrors as errors:
            self.problems = tuple(hide(str(each)) for each in errors.problems)
        self._maker = maker

    def flows(self) -> list[tuple[str, list[Section]]]:
        """The parts of each flow."""
        return [
            (flow, list(parts)) for flow, parts in groupby(self._sections, lambda each: each.flow)
        ]
