"""
A flow's own status topic on its target, ``mm2-status.<source>.internal``.

Whoever leads the flow keeps it. A leader that was killed leaves it behind as it is, and if there is
no other node, nobody puts it right, until somebody has something to do with the flow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mm2.config.flow_config import FlowConfig
from mm2.core.connect.status_table import statuses_on_worker_stop
from mm2.core.model import SourceAndTarget
from mm2.herder.status.status_diff import StatusDiff, Written, own_words
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.flow_topics import CONTROL, STATUS, FlowTopics, now_ms
from mm2.kafka.admin import Admin
from mm2.kafka.reconnecting_writer import ReconnectingWriter
from mm2.kafka.writer import Writer


class StatusTopic:
    """
    The status topic of a flow, as its leader keeps it.

    Args:
        config: the flow, as this node's file has it now.
    """

    def __init__(self, config: Callable[[], FlowConfig]) -> None:
        self._config = config
        self._writer: ReconnectingWriter | None = None

    @property
    def is_there(self) -> bool:
        """Whether the flow has one."""
        return bool(self._config().herder.status_topic)

    async def look(self, snapshot: FlowSnapshot) -> None:
        """Nothing is to be done: pictures of flows follow their status topics."""

    def last_words(self, snapshot: FlowSnapshot, ledger: StatusDiff) -> Iterable[Written]:
        """What Connect's workers write when they end."""
        return ledger.ends(snapshot)

    async def write(self, snapshot: FlowSnapshot, records: Iterable[Written]) -> None:
        """
        Writes, and has the snapshot show it at once.

        Raises:
            ClusterError: the target does not answer, or refuses.
        """
        for key, value in records:
            # Not before there is something to write, and where the target is then.
            if self._writer is None:
                self._writer = ReconnectingWriter(
                    self._config().flow.target, _producer(self._config())
                )
            await self._writer.send(self._config().herder.status_topic, key, value)
            snapshot.statuses.take(key, value)

    async def close(self) -> None:
        """Closes the connection."""
        writer, self._writer = self._writer, None
        if writer is not None:
            await writer.close()


async def mark_unassigned(config: FlowConfig, target: Admin) -> None:
    """
    Puts the status topic right if a flow's last leader is gone without a word, and nobody follows.

    Whoever is there for the flow does so without us.

    Args:
        config: the flow.
        target: admin client of its target.

    Raises:
        NotAuthorized: we may not see who is there; then it is not said that nobody is.
        ClusterError: the target does not answer, or refuses.
    """
    topics = FlowTopics(config, target)
    topics.snapshot.members = await target.group_members(config.herder.names.election_group)
    if topics.snapshot.members.members:
        return
    known = await target.list_topics()
    for kind in (CONTROL, STATUS):
        if topics.names.get(kind) in known:
            await topics.read(kind)
    words = list(statuses_on_worker_stop(own_words(topics.snapshot)))
    if words and not topics.snapshot.is_led(now_ms()):
        async with Writer(config.flow.target, _producer(config)) as writer:
            for key, value in words:
                await writer.send(config.herder.status_topic, key, value)


def worker_id_of(owner: str, flow: SourceAndTarget) -> str:
    """
    How Connect names this node: host, flow, and what changes at each start (C480).

    Args:
        owner: of its leases: host and what changes at each start, maybe more.
        flow: the flow.
    """
    host, _, rest = owner.partition("/")
    return "/".join(part for part in (host, str(flow), rest.partition("/")[0]) if part)


def _producer(config: FlowConfig) -> dict[str, str]:
    return config.herder.client("producer", "status")
