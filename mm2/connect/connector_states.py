"""How the connectors of a worker are: what is wanted of them, and what is seen of their flows."""

from __future__ import annotations

from collections.abc import Mapping

from mm2.connect.connector import Connector, read_connector
from mm2.connect.connector_store import ConnectorStore
from mm2.connect.running_connectors import RunningConnectors
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_status_topic import WorkerStatusTopic
from mm2.core.connect.config_records import TargetState
from mm2.core.connect.status_records import ConnectorKey
from mm2.core.connect.status_table import StatusTable, statuses_when_idle
from mm2.errors import ClusterError, ConfigErrors
from mm2.herder.view.flow_follower import FlowView
from mm2.rest.connector_protocol import ConnectorStatus, ConnectorType, State
from mm2.rest.flow_documents import state_of, status_of
from mm2.rest.followed_flows import FlowViews
from mm2.rest.rest_errors import unknown_connector


class ConnectorStates:
    """
    States, types and topics of connectors.

    Args:
        worker: the worker's configuration.
        store: the connectors.
        running: what runs of them here.
        views: follow their flows.
        board: the group's status topic, for idle connectors; None for none.
    """

    def __init__(
        self,
        worker: WorkerConfig,
        store: ConnectorStore,
        running: RunningConnectors,
        views: FlowViews,
        board: WorkerStatusTopic | None = None,
    ) -> None:
        self._worker = worker
        self._store = store
        self._running = running
        self._views = views
        self._board = board

    def config(self, name: str) -> Mapping[str, str]:
        """
        A connector's configuration as it is stored.

        Raises:
            RestError: there is no such connector.
        """
        try:
            return self._store.contents.configs[name]
        except KeyError:
            raise unknown_connector(name) from None

    def known(self, name: str) -> Connector:
        """
        What a connector's configuration means.

        Raises:
            RestError: there is no such connector.
            ConfigErrors: it makes no sense.
        """
        return read_connector(self.config(name), self._worker)

    def type(self, name: str) -> ConnectorType:
        """Which way a connector carries records; source, if that cannot be told."""
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
            ConfigErrors: its configuration makes no sense.
            ClusterError: its target does not answer, or refuses.
        """
        self.config(name)
        return sorted({each.remote for each in (await self._view(name)).partitions})

    async def status(self, name: str) -> ConnectorStatus:
        """
        How a connector is.

        One that is to rest runs until its leader has drained and released it, which any worker
        sees; what cannot be seen is not known.
        """
        self.config(name)
        wanted = self._store.contents.state(name)
        try:
            if failure := self._running.failure(name):
                return self._as(name, _failed_or(wanted), self._running.worker_id, failure)
            view = await self._view(name)
        except ConfigErrors as errors:
            return self._as(name, _failed_or(wanted), self._running.worker_id, str(errors))
        except ClusterError as error:
            # Its configuration can be seen, and put right, all the same.
            return self._as(name, "UNASSIGNED", "", str(error))
        if wanted is TargetState.STARTED or view.is_led:
            return self._seen(name, view)
        led = view.leader.worker_id if view.leader is not None else ""
        return self._at_rest(name, wanted, led)

    def _at_rest(self, name: str, wanted: TargetState, led: str) -> ConnectorStatus:
        """As the status topic says, or will as soon as somebody has put it right."""
        said = self._board.table_of(name, name) if self._board is not None else StatusTable()
        for key, value in list(statuses_when_idle(said, wanted)):
            said.take(key, value)
        if (status := said.statuses.get(ConnectorKey(name))) is None:
            return self._as(name, wanted.value, led)
        return ConnectorStatus(
            name=name,
            type=self.type(name),
            connector=state_of(status),
            tasks={number: state_of(task) for number, task in said.tasks(name).items()},
        )

    async def _view(self, name: str) -> FlowView:
        # What runs here, if it does: who asks again for the same is answered by the same follower.
        connector = self._running.known.get(name) or self.known(name)
        return await self._views.of(connector.flow)

    def _as(self, name: str, state: str, worker_id: str, trace: str = "") -> ConnectorStatus:
        """A connector of which no more is known than one state; why it failed, only if it has."""
        trace = trace if state in {"FAILED", "UNASSIGNED"} else ""
        return ConnectorStatus(
            name=name,
            type=self.type(name),
            connector=State(state=state, worker_id=worker_id, trace=trace),
        )

    def _seen(self, name: str, view: FlowView) -> ConnectorStatus:
        seen = view.connector(self.known(name).kind.part)
        if seen is None:
            return self._as(name, "UNASSIGNED", "")
        return status_of(name, seen, self.type(name))


def _failed_or(wanted: TargetState) -> str:
    """The state of a connector that cannot run, about which a pause changes nothing."""
    return wanted.value if wanted is TargetState.STOPPED else "FAILED"
