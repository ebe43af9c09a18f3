"""How the flows of a node are, asked again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from mm2.clock import now_ms
from mm2.config.checks.failed_flows import FailedFlow
from mm2.config.flow_config import FlowConfig
from mm2.core.model import SourceAndTarget
from mm2.errors import ClusterError
from mm2.herder.view.flow_views import FlowView
from mm2.herder.view.led_flow import LedFlow
from mm2.herder.view.view_builder import build_view
from mm2.status_page.flow_cards import FlowCard, RestingFlow, SeenFlow, flow_card

_SEEN_WITHIN_S: Final = 1.0
"""A flow whose target answers later is shown as it was seen last."""


class Views(Protocol):
    """How flows are."""

    async def of(self, config: FlowConfig) -> FlowView | RestingFlow:
        """
        The flow as it is now.

        Raises:
            ClusterError: its target does not answer, or refuses.
        """


class WatchedFlows:
    """
    The flows of a node.

    Args:
        flows: as their file has them now.
        views: how they are.
        failed: flows of the file that cannot run.
        led: flows that this node leads.
    """

    def __init__(
        self,
        flows: Callable[[], Sequence[FlowConfig]],
        views: Views,
        failed: Callable[[], Sequence[FailedFlow]],
        led: Callable[[], Sequence[LedFlow]],
    ) -> None:
        self._flows = flows
        self._views = views
        self._failed = failed
        self._led = led
        self._seen: dict[str, SeenFlow] = {}
        self._looks: dict[str, asyncio.Task[None]] = {}

    def configs(self) -> dict[str, FlowConfig]:
        """The flows that have something to do, by their names."""
        return {_name(each): each for each in self._flows() if _has_work(each)}

    def look_at_led(self) -> None:
        """Takes the flows that this node leads as it knows them; asks no cluster."""
        led = {_name(each.config): each for each in self._led()}
        self._seen = {
            name: build_view(config, led[name].snapshot, now_ms())
            for name, config in self.configs().items()
            if name in led
        }

    async def look(self) -> None:
        """Asks how all flows are; takes no longer than a second."""
        for name, config in self.configs().items():
            if name not in self._looks:
                self._looks[name] = asyncio.create_task(self._see(name, config), name="page-look")
        if self._looks:
            await asyncio.wait(list(self._looks.values()), timeout=_SEEN_WITHIN_S)

    async def _see(self, name: str, config: FlowConfig) -> None:
        try:
            self._seen[name] = await self._views.of(config)
        except ClusterError as error:
            self._seen[name] = error
        finally:
            self._looks.pop(name, None)

    def cards(self) -> list[FlowCard]:
        """All flows, as they were seen last."""
        seen: dict[str, tuple[SourceAndTarget, SeenFlow]] = {
            name: (config.flow, self._seen.get(name)) for name, config in self.configs().items()
        }
        seen |= {each.connector or str(each.flow): (each.flow, each) for each in self._failed()}
        return [
            flow_card(flow, name, number, found)
            for number, (name, (flow, found)) in enumerate(seen.items())
        ]

    def close(self) -> None:
        """Ends what is under way."""
        for look in self._looks.values():
            look.cancel()


def _name(config: FlowConfig) -> str:
    return config.herder.names.label


def _has_work(config: FlowConfig) -> bool:
    if not config.is_dedicated:
        return True
    return config.source.enabled or config.heartbeat.emit_heartbeats is not None
