"""Keeps our workers and those of Kafka's own Connect from running the same connectors."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import structlog

from mm2.errors import ClusterError, FatalError
from mm2.kafka.groups.membership import Membership, MemberTimes, OtherProtocol

log = structlog.get_logger()

_RETRY_S: Final = 2.0


class WorkerGroup:
    """
    One worker's membership in the group that Connect's workers would be in.

    Its broker lets in either them or us, whoever comes first: both would run all connectors. Our
    workers agree on nothing there.

    Args:
        topic: an existing topic of one partition.

    Attributes:
        entered: set once this worker is a member.
        trouble: what kept it from becoming one the last time; None if nothing did.
    """

    def __init__(
        self,
        alias: str,
        properties: Mapping[str, str],
        *,
        group_id: str,
        topic: str,
        times: MemberTimes,
    ) -> None:
        self.entered = asyncio.Event()
        self._group_id = group_id
        self.trouble: str | None = None
        self._membership = Membership(
            alias,
            properties,
            group_id=group_id,
            topic=topic,
            assignor=_ExclusiveAssignor(self.entered),
            times=times,
        )

    async def run(self) -> None:
        """
        Is a member until cancelled, and leaves the group then; waits for others who are in it.

        Raises:
            FatalError: others have come in after this worker had been there: it runs connectors.
        """
        while True:
            try:
                await self._membership.run()
            except OtherProtocol:
                self._refused()
            except ClusterError as error:
                self._not_joined(str(error))
            await asyncio.sleep(_RETRY_S)

    def _refused(self) -> None:
        reason = (
            f"the group {self._group_id} has members of another program: workers of Kafka's own "
            "Connect run its connectors. Stop them, and this worker takes over; or give it another "
            "group.id"
        )
        if self.entered.is_set():
            raise FatalError(reason)
        if self.trouble != reason:
            log.error("connect.refused", group=self._group_id, reason=reason)
        self.trouble = reason

    def _not_joined(self, error: str) -> None:
        if self.trouble != error:
            log.warning("connect.not_joined", group=self._group_id, error=error)
        self.trouble = error


class _ExclusiveAssignor:
    """Has nothing to say to the other workers; only who is in the group matters."""

    name = "mm2-workers"

    def __init__(self, entered: asyncio.Event) -> None:
        self._entered = entered

    def subscription_user_data(self) -> bytes:
        """Nothing."""
        return b""

    def decide(self, user_data: Mapping[str, bytes]) -> tuple[str, bytes]:
        """Assigns the single partition arbitrarily."""
        return min(user_data), b""

    def decided(self, decision: bytes) -> None:
        """The group has let this worker in."""
        del decision
        self._entered.set()
