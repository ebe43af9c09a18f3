"""Requests that change a cluster: each of their items succeeds or fails for itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, TypeVar

from mm2.errors import AuthenticationFailed, ClusterError, Unavailable
from mm2.kafka.client_errors import from_code
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.wire.error_codes import Code

K = TypeVar("K")

Outcome = tuple[K, int, str | None]
"""An item, Kafka's error code, and the broker's own words."""

MOST_MS: Final = 30_000
"""For so long a broker may wait for a change to take effect: less than clients wait for answers."""


async def change(
    link: ClusterClient,
    what: str,
    items: Collection[K],
    request: object,
    read: Callable[[Any], Iterable[Outcome[K]]],
    *,
    within_s: float,
) -> dict[K, ClusterError]:
    """
    Has the controller change items; returns what failed, by item.

    It is asked alone: another broker that is asked as well would take what is done for a mistake.

    Args:
        within_s: the time for all attempts, after which the items failed as ``Unavailable``.

    Raises:
        AuthenticationFailed: our credentials are refused.
    """

    async def attempt() -> list[Outcome[K]]:
        outcomes = list(read(await link.send(await link.controller(), what, request)))
        if any(code == Code.NOT_CONTROLLER for _, code, _ in outcomes):
            raise Unavailable(link.alias, f"{what}: the controller has just changed")
        return outcomes

    if not items:
        return {}
    try:
        outcomes = await link.retry(what, attempt, within_s=within_s)
    except AuthenticationFailed:
        raise
    except ClusterError as error:
        return dict.fromkeys(items, error)
    return {
        item: from_code(link.alias, code, f"{what} {item}", message)
        for item, code, message in outcomes
        if code != Code.NONE
    }
