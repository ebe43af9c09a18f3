"""One showing: traffic, the mirror's numbers and the proof, while a mirror runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Final

from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.demo.demo_traffic import TOPICS, DemoTraffic
from mm2.demo.demo_view import View
from mm2.demo.flow_numbers import FlowNumbers, follow
from mm2.demo.processes import Watched
from mm2.demo.raw_cluster import RawCluster
from mm2.demo.record_comparison import Verification

FIRST_WITHIN_S: Final = 90.0
"""Something is wrong if nothing is mirrored by then."""

PROVED_WITHIN_S: Final = 90.0
"""Something is wrong if the copies are not complete so long after the traffic has ended."""

_LOOK_EVERY_S: Final = 0.1
_DRAW_EVERY_S: Final = 0.25


class Failed(RuntimeError):
    """The demo cannot go on; the message says why."""


class Session:
    """
    Runs between a started pair of clusters with a started mirror.

    Args:
        bootstraps: addresses by alias.
        driver: the mirror.
        view: shows it; its flows are those to follow and to prove.
        began: when the demo began, on the monotonic clock.
        rate: records a second into each cluster.
        stop: set when the user wants an end.
    """

    def __init__(
        self,
        bootstraps: Mapping[str, str],
        driver: Watched,
        view: View,
        *,
        began: float,
        rate: int,
        stop: asyncio.Event,
    ) -> None:
        self._bootstraps = bootstraps
        self._driver = driver
        self._view = view
        self._began = began
        self._stop = stop
        self._missing: dict[SourceAndTarget, int] = {}
        self._traffic = [DemoTraffic(alias, at, rate=rate) for alias, at in bootstraps.items()]

    def prepare(self) -> None:
        """Creates the topics."""
        for traffic in self._traffic:
            traffic.prepare()

    async def run(self, traffic_s: float | None) -> None:
        """
        Shows everything until the user stops it, or until all is proved.

        Args:
            traffic_s: how long there is traffic once records arrive; None is until stopped.

        Raises:
            Failed: the mirror ended, or does not get on.
        """
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            clusters = {
                alias: await stack.enter_async_context(RawCluster(alias, at))
                for alias, at in self._bootstraps.items()
            }
            writing = [group.create_task(traffic.run()) for traffic in self._traffic]
            showing = [
                group.create_task(self._prove(clusters)),
                group.create_task(self._watch()),
                *(
                    group.create_task(follow(numbers, self._bootstraps[numbers.flow.target]))
                    for numbers, _ in self._view.flows
                ),
            ]
            await self._show(traffic_s, lambda: asyncio.gather(*writing))
            for task in (*showing, *writing):
                task.cancel()

    async def _show(
        self, traffic_s: float | None, written: Callable[[], Awaitable[object]]
    ) -> None:
        self._view.status = "The mirror is starting ..."
        await self._until(self._has_begun, FIRST_WITHIN_S, "nothing is mirrored")
        if self._stop.is_set():
            return
        first_s = time.monotonic() - self._began
        self._view.say(f"Records arrive in both clusters, {first_s:.1f} s after the start.")
        self._view.status = (
            "Every record is compared with its original as it comes. Ctrl-C ends the demo."
        )
        await self._wait(traffic_s)
        if self._stop.is_set():
            return
        self._view.say("The traffic ends; what is under way is compared.")
        for traffic in self._traffic:
            traffic.stop()
        await written()
        await self._until(self._is_proved, PROVED_WITHIN_S, "the copies are not complete")

    def _has_begun(self) -> bool:
        return all(verification.equal for _, verification in self._view.flows)

    def _is_proved(self) -> bool:
        return bool(self._missing) and not any(self._missing.values())

    async def _wait(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stop.wait()
        except TimeoutError:
            return

    async def _until(self, is_reached: Callable[[], bool], within_s: float, problem: str) -> None:
        self._missing.clear()
        deadline = time.monotonic() + within_s
        while not is_reached() and not self._stop.is_set():
            if any(verification.differences for _, verification in self._view.flows):
                return
            if time.monotonic() > deadline:
                raise Failed(f"{problem} after {within_s:.0f} s")
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _prove(self, clusters: Mapping[str, RawCluster]) -> None:
        while True:
            for _, verification in self._view.flows:
                flow = verification.flow
                self._missing[flow] = await verification.proceed(
                    clusters[flow.source], clusters[flow.target]
                )
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _watch(self) -> None:
        while True:
            if self._driver.status is not None:
                raise Failed(f"the mirror ended with status {self._driver.status}")
            self._view.refresh()
            await asyncio.sleep(_DRAW_EVERY_S)


def flows_of(aliases: tuple[str, str]) -> list[tuple[FlowNumbers, Verification]]:
    """Both directions between two clusters, with nothing seen yet."""
    topics = {name: partitions for name, (partitions, _) in TOPICS.items()}
    pairs = (aliases, aliases[::-1])
    flows = [SourceAndTarget(ClusterAlias(s), ClusterAlias(t)) for s, t in pairs]
    return [(FlowNumbers(flow), Verification(flow=flow, topics=topics)) for flow in flows]
