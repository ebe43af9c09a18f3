"""Makes events happen, and measures until the flows have recovered."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from tests.harness.chaos.chaos_clusters import ChaosClusters
from tests.harness.chaos.event_outcomes import EventOutcome, faults_of, sum_of
from tests.harness.chaos.node import Node
from tests.harness.chaos.plan import CUT, KILL, PAUSE, RESTART, ROLL, Event
from tests.harness.chaos.proxy import Link

_AFTERWARDS_S: Final = 3.0
"""A node that wakes up, or is reachable again, gets time to do harm."""


def strike(
    place: ChaosClusters, event: Event, *, mode: str, seed: int = 0, number: int = 0
) -> EventOutcome:
    """
    Lets an event happen and waits until all nodes run and all flows have recovered.

    Raises:
        AssertionError: they do not recover.
    """
    before = place.tolls()
    place.measure()
    _STRIKES[event.kind](place, _struck(place, event), event)
    place.wait_until_level()
    toll = sum_of([toll.since(before[flow]) for flow, toll in place.tolls().items()])
    return EventOutcome(
        mode=mode,
        seed=seed,
        number=number,
        event=event,
        toll=toll,
        faults=faults_of(mode, event, toll, rate=place.rate),
    )


def _struck(place: ChaosClusters, event: Event) -> Node:
    """Another node is one that leads nothing, if there is one."""
    leaders = [place.leader(str(route)) for route in place.routes]
    if event.leader:
        return leaders[0]
    idle = [node for node in place.nodes if node not in leaders]
    others = idle or [node for node in place.nodes if node is not leaders[0]] or leaders
    return others[int(event.choice * len(others))]


def _kill(place: ChaosClusters, node: Node, event: Event) -> None:
    node.kill(whole=event.how == "machine")
    if len(place.nodes) > 1:
        place.wait_until_level()
    _start(place, node)


def _pause(place: ChaosClusters, node: Node, event: Event) -> None:
    node.pause()
    time.sleep(event.seconds)
    node.resume()
    place.wait_until_level()
    time.sleep(_AFTERWARDS_S)


def _restart(place: ChaosClusters, node: Node, event: Event) -> None:
    del event
    node.stop()
    _start(place, node)


def _cut(place: ChaosClusters, node: Node, event: Event) -> None:
    links = _links(node, event.how)
    for link in links:
        if event.how == "refused":
            link.refuse()
        else:
            link.cut()
    time.sleep(event.seconds)
    for link in links:
        link.heal()
    place.wait_until_level()
    time.sleep(_AFTERWARDS_S)


def _roll(place: ChaosClusters, node: Node, event: Event) -> None:
    del node
    for each in place.nodes:
        _restart(place, each, event)


_STRIKES: Final[Mapping[str, Callable[[ChaosClusters, Node, Event], None]]] = {
    KILL: _kill,
    PAUSE: _pause,
    RESTART: _restart,
    CUT: _cut,
    ROLL: _roll,
}


def _links(node: Node, how: str) -> list[Link]:
    sides = {"source": "A", "target": "B"}.get(how, "AB")
    return [node.links[alias] for alias in sides]


def _start(place: ChaosClusters, node: Node) -> None:
    """Starts a node, and lets it find its place before anything else happens."""
    node.start()
    node.wait_until_warm()
    place.wait_until_joined()
    place.wait_until_level()
