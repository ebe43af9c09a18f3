"""The status page of a node: looks at its flows, keeps their history, and renders what changes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Final

from mm2.clock import now_ms
from mm2.config.checks.failed_flows import FailedFlow
from mm2.config.flow_config import FlowConfig
from mm2.core.status_page.sample_history import SampleHistory
from mm2.herder.view.led_flow import LedFlow
from mm2.status_page import rendering
from mm2.status_page.explained_config import Explained, ExplainedConfig
from mm2.status_page.flow_cards import FlowCard
from mm2.status_page.watched_flows import Views, WatchedFlows
from mm2.status_page.watched_groups import EVERY_S, WatchedGroups
from mm2.supervision import is_set_within
from mm2.telemetry.recent_events import RECENT_EVENTS, RecentEvents

MOST_WATCHERS: Final = 32
"""So many pages are kept up to date; others show how it was when they were loaded."""

_WATCHED_EVERY_S: Final = 2.0
_UNWATCHED_EVERY_S: Final = 10.0
_MOST_OF_A_CORE: Final = 0.0002
"""For samples that nobody may ever see: those of thousands of partitions are taken less often."""

_EVENTS: Final = 60
_PLOTTED: Final = 16
"""Plots of more flows cannot be read."""


class StatusPage:
    """
    The page of one node.

    Args:
        flows: the flows as their file has them now.
        views: how they are.
        failed: flows of the file that cannot run.
        led: flows that this node leads; the history has these while nobody watches.
        config: the settings that it shows; those of the flows' file if left out.
        events: of this process.
    """

    def __init__(
        self,
        flows: Callable[[], Sequence[FlowConfig]],
        views: Views,
        failed: Callable[[], Sequence[FailedFlow]] = tuple,
        led: Callable[[], Sequence[LedFlow]] = tuple,
        *,
        config: Explained | None = None,
        events: RecentEvents = RECENT_EVENTS,
    ) -> None:
        self._flows = WatchedFlows(flows, views, failed, led)
        self._groups = WatchedGroups(self._flows.configs)
        self._config = config or ExplainedConfig(flows)
        self._events = events
        self._history = SampleHistory()
        self._cards: list[FlowCard] = []
        self._sections: Mapping[str, str] = {}
        self._watchers = 0
        self._wake = asyncio.Event()
        self._watched = asyncio.Event()
        self._changed = asyncio.Event()
        self._is_closed = False

    async def run(self) -> None:
        """Looks at everything while somebody watches, else at what it knows; until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._look_at_groups(), name="page-groups")
                while True:
                    self._wake.clear()
                    if self._watchers:
                        await self._look()
                        self._render()
                        pause_s = _WATCHED_EVERY_S
                    else:
                        pause_s = self._sample_of_led()
                    await is_set_within(self._wake, pause_s)
        finally:
            self._flows.close()

    def close(self) -> None:
        """Ends the updates of all pages."""
        self._is_closed = True
        self._changed.set()

    async def html(self) -> str:
        """The whole page, as the flows are now."""
        await self._look()
        self._render()
        return rendering.render_page(self._sections)

    async def updates(self) -> AsyncGenerator[str]:
        """What changes on the page, as JSON, from now on; first all that it shows."""
        sent: dict[str, str] = {}
        plotted_ms = 0
        self._watchers += 1
        self._wake.set()
        self._watched.set()
        try:
            while not self._is_closed:
                changed = self._changed
                news = {n: text for n, text in self._sections.items() if sent.get(n) != text}
                sent |= news
                flows = [card.name for card in self._cards[:_PLOTTED]]
                history = self._history.since(plotted_ms, flows)
                plotted_ms = self._history.newest_ms
                yield json.dumps({"sections": news, "history": history})
                await changed.wait()
        finally:
            self._watchers -= 1
            if not self._watchers:
                self._watched.clear()

    @property
    def is_full(self) -> bool:
        """Whether no more pages can be kept up to date."""
        return self._watchers >= MOST_WATCHERS

    async def _look(self) -> None:
        await self._config.look()
        await self._flows.look()
        self._take_sample()

    def _sample_of_led(self) -> float:
        """Takes a sample of what this node knows; returns when the next one is due, in seconds."""
        began = time.thread_time()
        self._flows.look_at_led()
        self._take_sample()
        return max(_UNWATCHED_EVERY_S, (time.thread_time() - began) / _MOST_OF_A_CORE)

    def _take_sample(self) -> None:
        self._cards = self._flows.cards()
        time_ms = now_ms()
        if self._history.is_due(time_ms):
            self._history.add(time_ms, {card.name: card.sample for card in self._cards})

    def _render(self) -> None:
        self._sections = self._rendered(now_ms())
        self._changed.set()
        self._changed = asyncio.Event()

    async def _look_at_groups(self) -> None:
        while True:
            await self._watched.wait()
            await self._groups.look()
            await asyncio.sleep(EVERY_S)

    def _rendered(self, now_ms: int) -> Mapping[str, str]:
        return {
            "summary": rendering.render_summary(self._cards),
            "topology": rendering.render_topology(self._cards),
            "flows": rendering.render_flows(self._cards),
            "figures": rendering.render_figures(self._cards, self._history, now_ms),
            "groups": rendering.render_groups(self._groups.found()),
            "events": rendering.render_events(list(self._events.newest(_EVENTS))),
            "configuration": rendering.render_config(self._config.flows(), self._config.problems),
        }
