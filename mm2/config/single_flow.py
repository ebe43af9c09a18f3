"""
Makes the typed settings of one flow from the layers of its configuration.

Expressions are resolved here, and older spellings take effect here. A mistake ends nothing: the
next part is read all the same, so that all mistakes are told together, each with the key and line
where the user wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from mm2.config.checks.client_override_policy import ALLOWLIST_KEY, POLICY_KEY, forbidden
from mm2.config.checks.ignored_keys import unobeyed, unobeyed_by_process
from mm2.config.clients import (
    Side,
    client_properties,
    with_prefix,
)
from mm2.config.connector_reading import (
    Parsed,
    parse_connector,
    provided_to_code,
    read_checkpoint,
    read_heartbeat,
    read_herder,
    read_source,
    read_transform_settings,
)
from mm2.config.credentials import is_of_connection, without_borrowed
from mm2.config.flow_settings import FlowConfig
from mm2.config.keys.definition import Definition, Support, by_line, parse_all
from mm2.config.keys.key_aliases import effective_settings
from mm2.config.keys.key_table import CONNECTOR_DEFINITION, WORKER_AND_POLICY, keys_of
from mm2.config.keys.key_types import split_list
from mm2.config.layers import (
    CONNECTOR_LEVEL,
    FlowLayers,
    Setting,
    plain,
    resolved,
    spark_properties,
    with_written_key,
)
from mm2.config.record_clients import DataSettings, read_data
from mm2.config.transaction_settings import WORKER_KEY, exactly_once_mistakes, misplaced
from mm2.config.transforms.dropped_records import dropped_records
from mm2.config.transforms.origin_checks import origin_mistakes
from mm2.core.model import (
    CHECKPOINT_CONNECTOR,
    CONNECTORS,
    HEARTBEAT_CONNECTOR,
    SOURCE_CONNECTOR,
    SourceAndTarget,
)
from mm2.errors import ConfigError, ConfigErrors

# Whether there are servers to talk to is asked of each cluster, in words that name it.
_WORKER_KEYS: Final = {
    name: key for name, key in WORKER_AND_POLICY.items() if name != "bootstrap.servers"
}
_CLIENT_KEYS: Final = {
    name: key for name, key in keys_of(Definition.CLIENT).items() if name != "bootstrap.servers"
}


def single_flow(layers: FlowLayers, flow: SourceAndTarget) -> FlowConfig:
    """
    The settings of one flow by itself, from wherever they come.

    Raises:
        ConfigErrors: every mistake in what the flow uses.
    """
    draft = _Draft(layers, flow)
    worker = draft.worker()
    connectors = {connector: draft.connector(connector) for connector in CONNECTORS}
    draft.check_obeyed(worker, connectors)
    draft.check_overrides(worker, connectors[SOURCE_CONNECTOR].properties)
    draft.check_cluster("source", flow.source, connectors[SOURCE_CONNECTOR].properties)
    draft.check_cluster("target", flow.target, connectors[SOURCE_CONNECTOR].properties)
    data = draft.data_clients(worker, connectors[SOURCE_CONNECTOR])
    draft.check_origins(connectors[SOURCE_CONNECTOR])
    draft.check_exactly_once(worker, connectors[SOURCE_CONNECTOR].properties)
    if draft.mistakes:
        raise ConfigErrors(sorted(draft.mistakes.values(), key=by_line))
    return FlowConfig(
        flow=flow,
        worker=worker.properties,
        herder=read_herder(worker, layers.flow_names(flow, worker.text("group.id"))),
        source=read_source(flow, connectors[SOURCE_CONNECTOR], layers.clusters),
        checkpoint=read_checkpoint(flow, connectors[CHECKPOINT_CONNECTOR]),
        heartbeat=read_heartbeat(flow, connectors[HEARTBEAT_CONNECTOR]),
        spark=spark_properties(layers),
        data=data,
        warnings=tuple(dict.fromkeys([*draft.warnings, *map(str, draft.unread_keys.values())])),
        unread_keys=tuple(draft.unread_keys.values()),
    )


@dataclass(slots=True)
class _Draft:
    layers: FlowLayers
    flow: SourceAndTarget
    mistakes: dict[tuple[str | None, str], ConfigError] = field(default_factory=dict)
    unread_keys: dict[tuple[str | None, str], ConfigError] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def worker(self) -> Parsed:
        try:
            settings = self.layers.worker_settings(self.flow)
        except ConfigErrors as errors:
            self._add(errors.problems, {})
            settings = {}
        values, mistakes = parse_all(_WORKER_KEYS, plain(settings))
        self._add(mistakes if settings else [], settings)
        self._check_expressions(settings)
        return Parsed(values=values, properties=plain(settings))

    def connector(self, connector: str) -> Parsed:
        settings = effective_settings(self.layers, self.flow, connector, self.warnings)
        properties: Mapping[str, str] = plain(settings)
        try:
            properties = resolved(self.layers, settings)
            if any(map(is_of_connection, own := self._own(settings))):
                handed_down = self.layers.inherited_settings(self.flow, connector)
                inherited = resolved(self.layers, handed_down)
                properties, lost = without_borrowed(properties, inherited, own)
                self.warnings += lost
        except ConfigErrors as errors:
            self._add(errors.problems, settings)
        except ConfigError as error:
            self._add([error], settings)
        values, mistakes = parse_connector(CONNECTOR_DEFINITION[connector], properties)
        self._add(mistakes, settings)
        self._check_expressions(settings)
        provided = provided_to_code(settings, properties)
        return Parsed(values=values, properties=properties, provided=provided)

    def _own(self, settings: Mapping[str, Setting]) -> set[str]:
        levels = {CONNECTOR_LEVEL, f"flow {self.flow}"}
        return {key for key, setting in settings.items() if setting.level in levels}

    def data_clients(self, worker: Parsed, source: Parsed) -> DataSettings:
        data, mistakes = read_data(worker.properties, source.properties)
        of_cluster = self.layers.cluster_settings(self.flow.target)
        of_flow = self.layers.connector_settings(self.flow, SOURCE_CONNECTOR)
        self._add(
            mistakes,
            {
                **with_prefix(of_cluster, "producer."),
                **with_prefix(of_flow, "consumer."),
                **with_prefix(of_flow, "source.consumer."),
                **with_prefix(of_flow, "producer.override."),
            },
        )
        return data

    def check_cluster(self, side: Side, alias: str, properties: Mapping[str, str]) -> None:
        """Checks what the clients of one cluster are given."""
        prefix = f"{side}.cluster."
        settings = {
            key.removeprefix(prefix): setting
            for key, setting in self.layers.connector_settings(self.flow, SOURCE_CONNECTOR).items()
        }
        self._add(parse_all(_CLIENT_KEYS, with_prefix(properties, prefix))[1], settings)
        servers = client_properties(properties, side, "admin", None).get("bootstrap.servers", "")
        if self.layers.needs(side) and not any(split_list(servers)):
            if "#" in alias:
                message = f"clusters: '{alias}' is no alias: give what follows # a line of its own"
                self._add([ConfigError(message, key="clusters", value=alias)], {})
                return
            key = self.layers.written(self.flow, side, "bootstrap.servers")
            message = f"cluster {alias} has no {key}: write {key} = host:port"
            self._add([ConfigError(message, key=key)], {})

    def check_obeyed(self, worker: Parsed, connectors: Mapping[str, Parsed]) -> None:
        """Refuses what would change the result and is not done; remembers what is harmless."""
        for connector, parsed in connectors.items():
            own = effective_settings(self.layers, self.flow, connector, [])
            self._tell(unobeyed(own, parsed.properties, self.layers.raw))
            dropped = dropped_records(connector, parsed.properties)
            self._tell((Support.NO_EFFECT, with_written_key(each, own)) for each in dropped)
        self._tell(unobeyed_by_process(self.layers.raw))
        of_source = connectors[SOURCE_CONNECTOR].properties
        settings = (
            {
                name: setting
                for name, setting in self.layers.worker_settings(self.flow).items()
                # A connector's converter wins over its worker's.
                if not (name in of_source and name.endswith(".converter"))
            }
            if worker.properties
            else {}
        )
        self._tell(unobeyed(settings, worker.properties, self.layers.raw, of_worker=True))

    def check_overrides(self, worker: Parsed, connector: Mapping[str, str]) -> None:
        """Checks that the worker allows what the connector overrides."""
        if {POLICY_KEY, ALLOWLIST_KEY} <= worker.values.keys():
            policy, listed = worker.values[POLICY_KEY], worker.values[ALLOWLIST_KEY]
            policy_key = self.layers.written(self.flow, "worker", POLICY_KEY)
            own = self.layers.connector_settings(self.flow, SOURCE_CONNECTOR)
            self._add(forbidden(connector, policy, listed, policy_key), own)

    def _tell(self, found: Iterable[tuple[Support, ConfigError]]) -> None:
        for support, problem in found:
            if support is Support.REFUSED:
                self._add([problem], {})
            else:
                self.unread_keys.setdefault(
                    (problem.key, problem.message), self.layers.located(problem)
                )

    def check_origins(self, source: Parsed) -> None:
        """Checks names of clusters; not if the connector's keys are wrong."""
        if "provenance.origins" in source.values:
            own = self.layers.connector_settings(self.flow, SOURCE_CONNECTOR)
            known = self.layers.clusters if "clusters" in self.layers.raw else None
            settings = read_transform_settings(source, self.layers.clusters)
            self._add(origin_mistakes(self.flow, settings, known), own)

    def check_exactly_once(self, worker: Parsed, properties: Mapping[str, str]) -> None:
        """Checks what only Connect's framework looks at; not if the worker's keys are wrong."""
        if {WORKER_KEY, "offset.storage.topic"} <= worker.values.keys():
            mode = worker.text(WORKER_KEY).lower()
            mode_key = self.layers.written(self.flow, "worker", WORKER_KEY)
            self.warnings += misplaced(self.layers.raw, self.flow, mode, mode_key)
            mistakes = exactly_once_mistakes(
                properties,
                mode=mode,
                mode_key=mode_key,
                offsets_topic=worker.text("offset.storage.topic"),
            )
            own = self.layers.connector_settings(self.flow, SOURCE_CONNECTOR)
            self._add(mistakes, own)

    def _check_expressions(self, settings: Mapping[str, Setting]) -> None:
        """Java goes on with the text of an expression that has no value, to no use."""
        for key in dict.fromkeys(each.key for each in settings.values()):
            text = self.layers.raw.get(key or "", "")
            try:
                expression = self.layers.unanswered(text) if "${" in text else None
            except ConfigError as error:
                self._add([ConfigError(f"{key}: {error.message}", key=key, value=text)], {})
                continue
            if expression is not None:
                message = f"{key}: nobody has a value for {expression}"
                self._add([ConfigError(message, key=key, value=expression)], {})

    def _add(self, mistakes: Iterable[ConfigError], settings: Mapping[str, Setting]) -> None:
        """Remembers mistakes once each, under the keys that the user wrote."""
        for mistake in mistakes:
            written = with_written_key(mistake, settings)
            self.mistakes.setdefault((written.key, written.message), self.layers.located(written))
