"""The states of a worker's connectors, from their target states and the views of their flows."""

from __future__ import annotations

from collections.abc import Mapping

from mm2.connect.connector import Connector, read_connector
from mm2.connect.connector_store import ConnectorStore
from mm2.connect.running_connectors import RunningConnectors
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_status_topic import WorkerStatusTopic
from mm2.core.connect.config_records import TargetState
from mm2.core.connect.status_records import ConnectorKey, RunState
from mm2.core.connect.status_table import StatusTable, changes_without_worker
from mm2.errors import ClusterError, ConfigErrors
from mm2.herder.view.flow_views import FlowView
from mm2.herder.view.followed_flows import FollowedFlows
from mm2.rest.connector_protocol import ConnectorStatus, ConnectorType
from mm2.rest.documents import status_of, status_without_tasks
from mm2.rest.rest_errors import unknown_connector


class ConnectorStates:
    """
    States, types and topics of connectors.

    Args:
        topic: the group's status topic, for idle connectors; None for none.
    """

    def __init__(
        self,
        worker: WorkerConfig,
        store: ConnectorStore,
        running: RunningConnectors,
        views: FollowedFlows,
        topic: WorkerStatusTopic | None = None,
    ) -> None:
        self._worker = worker
        self._store = store
        self._running = running
        self._views = views
        self._topic = topic

    def config(self, name: str) -> Mapping[str, str]:
        """
        A connector's stored configuration.

        Raises:
            RestError: there is no such connector.
        """
        try:
            return self._store.contents.configs[name]
        except KeyError:
            raise unknown_connector(name) from None

    def known(self, name: str) -> Connector:
        """
        The connector that a configuration describes.

        Raises:
            RestError: there is no such connector.
            ConfigErrors: its configuration is not valid.
        """
        config, running = self.config(name), self._running.known.get(name)
        if running is not None and running.config == config:
            return running
        return read_connector(config, self._worker)

    def type(self, name: str) -> ConnectorType:
        """Connect's type of a connector; source if its configuration is not valid."""
        try:
            is_sink = self.known(name).kind.is_sink
        except ConfigErrors:
            return ConnectorType.SOURCE
        return ConnectorType.SINK if is_sink else ConnectorType.SOURCE

    async def topics(self, name: str) -> list[str]:
        """
        The topics to which a connector copies now; none if it copies no records.

        Raises:
            RestError: there is no such connector.
            ConfigErrors: its configuration is not valid.
            ClusterError: its target does not answer, or refuses.
        """
        self.config(name)
        return sorted({each.remote for each in (await self._view(name)).partitions})

    async def status(self, name: str) -> ConnectorStatus:
        """
        The status of a connector.

        A connector that is to pause or stop runs until its leader has drained and released it.
        """
        self.config(name)
        target = self._store.contents.state(name)
        try:
            if failure := self._running.failure(name):
                return self._as(name, _failed_or(target), self._running.worker_id, failure)
            view = await self._view(name)
        except ConfigErrors as errors:
            return self._as(name, _failed_or(target), self._running.worker_id, str(errors))
        except ClusterError as error:
            # The configuration can be shown, and corrected, all the same.
            return self._as(name, RunState.UNASSIGNED, trace=str(error))
        if target is TargetState.STARTED or view.is_led:
            return self._from_view(name, view)
        last_leader = view.leader.worker_id if view.leader is not None else ""
        return self._idle(name, target, last_leader)

    def _idle(self, name: str, target: TargetState, worker_id: str) -> ConnectorStatus:
        """As in the status topic, after the corrections that a worker will write there."""
        table = self._topic.table_of(name, name) if self._topic is not None else StatusTable()
        for change in changes_without_worker(table, target):
            table.apply(*change)
        if (status := table.statuses.get(ConnectorKey(name))) is None:
            return self._as(name, RunState[target.name], worker_id)
        return ConnectorStatus(
            name=name,
            type=self.type(name),
            connector=status,
            tasks=table.tasks(name),
        )

    async def _view(self, name: str) -> FlowView:
        # The same configuration object gets the same follower.
        connector = self._running.known.get(name) or self.known(name)
        return await self._views.of(connector.flow)

    def _as(
        self, name: str, state: RunState, worker_id: str = "", trace: str | None = None
    ) -> ConnectorStatus:
        trace = None if state is RunState.STOPPED else trace
        return status_without_tasks(
            name, state, kind=self.type(name), worker_id=worker_id, trace=trace
        )

    def _from_view(self, name: str, view: FlowView) -> ConnectorStatus:
        connector = view.connector(self.known(name).kind.part)
        if connector is None:
            return self._as(name, RunState.UNASSIGNED)
        return status_of(name, connector, self.type(name))


def _failed_or(target: TargetState) -> RunState:
    """The state of a connector that cannot run; a pause does not end FAILED."""
    return RunState.STOPPED if target is TargetState.STOPPED else RunState.FAILED
