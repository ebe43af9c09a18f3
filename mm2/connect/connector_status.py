"""What a worker's status topic says of one connector, as the worker that leads it keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mm2.connect.connector import Connector
from mm2.connect.worker_status_topic import WorkerStatusTopic
from mm2.core.connect.config_records import TargetState
from mm2.core.connect.status_table import statuses_when_idle
from mm2.herder.status.status_diff import StatusDiff, Written
from mm2.herder.view.flow_snapshot import FlowSnapshot


class ConnectorStatusStore:
    """
    Does for a connector what ``mm2.herder.status.status_topic`` does for a flow of dedicated nodes.

    Args:
        connector: the connector.
        board: the worker's status topic.
        wanted: what is wanted of the connector; None if it was deleted.
    """

    def __init__(
        self,
        connector: Connector,
        board: WorkerStatusTopic,
        wanted: Callable[[], TargetState | None],
    ) -> None:
        self._connector = connector
        self._board = board
        self._wanted = wanted

    @property
    def is_there(self) -> bool:
        """Whether the worker has such a topic; standalone workers have none."""
        return self._board.is_there

    async def look(self, snapshot: FlowSnapshot) -> None:
        """Has the snapshot show what the topic says, once it was read."""
        await self._board.loaded()
        connector = self._connector
        snapshot.statuses = self._board.table_of(connector.name, connector.kind.part)

    def last_words(self, snapshot: FlowSnapshot, ledger: StatusDiff) -> Iterable[Written]:
        """Final status records: the target state, or UNASSIGNED."""
        wanted = self._wanted()
        if wanted is TargetState.STARTED:
            return ledger.ends(snapshot)
        return statuses_when_idle(snapshot.statuses, wanted)

    async def write(self, snapshot: FlowSnapshot, records: Iterable[Written]) -> None:
        """
        Writes under the connector's own name.

        Raises:
            ClusterError: the worker's cluster does not answer, or refuses.
        """
        del snapshot  # which shows it at the next look
        await self._board.write(self._connector.name, records)

    async def close(self) -> None:
        """Nothing is open: the board is there for all connectors."""
