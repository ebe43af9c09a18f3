"""The status page of a Connect worker: each of its group's connectors is a flow of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mm2.config.checks.failed_flows import FailedFlow
from mm2.config.flow_config import FlowConfig
from mm2.config.pages.explain import Line, Section
from mm2.config.text.redact import redacted
from mm2.connect.connector_store import ConnectorStore
from mm2.connect.running_connectors import RunningConnectors
from mm2.connect.worker_config import WorkerConfig
from mm2.core.connect.config_records import TargetState
from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.errors import ConfigError
from mm2.herder.view.flow_views import FlowView
from mm2.status_page.flow_cards import RestingFlow
from mm2.status_page.status_page import StatusPage
from mm2.status_page.watched_flows import Views

_UNKNOWN = "?"


def worker_page(
    worker: WorkerConfig, store: ConnectorStore, running: RunningConnectors, views: Views
) -> StatusPage:
    """
    The page of one worker, which shows the connectors of its whole group.

    Args:
        worker: the worker's configuration.
        store: the connectors.
        running: what runs of them here.
        views: how their flows are.
    """
    shown = _Connectors(store, running, views)
    return StatusPage(
        shown.flows, shown, shown.failed, running.led, config=_Settings(worker, store, running)
    )


class _Connectors:
    """How connectors are, from their flows and from what operators want of them."""

    def __init__(self, store: ConnectorStore, running: RunningConnectors, views: Views) -> None:
        self._store = store
        self._running = running
        self._views = views

    def flows(self) -> list[FlowConfig]:
        """Of the connectors whose configuration makes sense."""
        return [each.flow for _, each in sorted(self._running.known.items())]

    async def of(self, config: FlowConfig) -> FlowView | RestingFlow:
        """
        A connector as it is now; one that is to rest runs until its leader has drained it.

        Raises:
            ClusterError: its target does not answer, or refuses.
        """
        state = self._store.contents.state(config.herder.names.label)
        view = await self._views.of(config)
        if state is TargetState.STARTED or isinstance(view, RestingFlow) or view.is_led:
            return view
        return RestingFlow(state.name.lower())

    def failed(self) -> list[FailedFlow]:
        """Connectors that do not run although they should."""
        return list(self._failed())

    def _failed(self) -> Iterator[FailedFlow]:
        for name, config in sorted(self._store.contents.configs.items()):
            if (reason := self._running.failure(name)) is not None:
                yield FailedFlow(
                    flow=_clusters(config),
                    is_enabled=True,
                    problems=[ConfigError(reason)],
                    connector=name,
                )


def _clusters(config: Mapping[str, str]) -> SourceAndTarget:
    """As far as a configuration says, that may be wrong."""
    source, target = (config.get(f"{each}.cluster.alias", "") for each in ("source", "target"))
    return SourceAndTarget(ClusterAlias(source or _UNKNOWN), ClusterAlias(target or _UNKNOWN))


class _Settings:
    """The settings of the worker's file, and those of connectors, as users have written them."""

    def __init__(
        self, worker: WorkerConfig, store: ConnectorStore, running: RunningConnectors
    ) -> None:
        self._worker = worker
        self._store = store
        self._running = running
        self.problems: tuple[str, ...] = ()

    async def look(self) -> None:
        """Has nothing to learn: the store follows the connectors."""

    def flows(self) -> list[tuple[str, list[Section]]]:
        """The worker, then the connectors by their names."""
        lines = self._worker.lines
        origins = {key: f"line {lines[key]}" if key in lines else "" for key in self._worker.raw}
        sections = [_section("worker", "worker", self._worker.raw, origins)]
        for name, config in sorted(self._store.contents.configs.items()):
            connector = self._running.known.get(name)
            part = connector.kind.name if connector is not None else "connector"
            origins = dict.fromkeys(config, "configuration of the connector")
            sections.append(_section(name, part, config, origins))
        return [(each.flow, [each]) for each in sections]


def _section(
    name: str, part: str, config: Mapping[str, str], origins: Mapping[str, str]
) -> Section:
    shown = sorted(redacted(config).items())
    lines = (Line(key=key, value=value, origin=origins[key]) for key, value in shown)
    return Section(flow=name, part=part, lines=tuple(lines))
