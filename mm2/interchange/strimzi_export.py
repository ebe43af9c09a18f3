"""Writes the flows of a file as ``KafkaMirrorMaker2`` resources of Strimzi, version v1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from mm2.config.keys.key_types import lenient_boolean
from mm2.config.layers import plain
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.text.redact import holds_secret, is_secret
from mm2.core.model import HEARTBEAT_CONNECTOR, ClusterAlias, SourceAndTarget
from mm2.errors import ConfigError
from mm2.interchange.strimzi_import import KIND
from mm2.kafka.security.jaas import KEY, parse_jaas

_NOT_FOR_NAMES: Final = re.compile(r"[^a-z0-9]+")
_FLOW_PATTERNS: Final = {
    "topics": "topicsPattern",
    "topics.exclude": "topicsExcludePattern",
    "groups": "groupsPattern",
    "groups.exclude": "groupsExcludePattern",
}
_OF_CHECKPOINTS: Final = (
    "emit.checkpoints.",
    "sync.group.offsets.",
    "refresh.groups.",
    "checkpoints.topic.",
    "group.filter.",
)
_SECURITY: Final = ("security.protocol", "sasl.", "ssl.")
_MECHANISMS: Final = {
    "SCRAM-SHA-512": "scram-sha-512",
    "SCRAM-SHA-256": "scram-sha-256",
    "PLAIN": "plain",
}


class StrimziExport:
    """
    The resources of a file, one for each target.

    Args:
        maker: the file.

    Attributes:
        notes: what has to be done by hand, and what has no place in a resource; sentences.
    """

    def __init__(self, maker: MirrorMakerConfig) -> None:
        self._maker = maker
        self.notes: list[str] = []

    def text(self, only: str | None = None) -> str:
        """The resources as YAML; ``only`` is the name of a flow."""
        named = [flow for flow in self._maker.cluster_pairs() if only in (None, str(flow))]
        flows = [flow for flow in named if self._maker.is_enabled(flow)]
        self._note_heartbeats(named)
        targets = dict.fromkeys(flow.target for flow in flows)
        resources = [
            self._resource(target, [flow for flow in flows if flow.target == target])
            for target in targets
        ]
        return yaml.safe_dump_all(resources, sort_keys=False, explicit_start=True)

    def _note_heartbeats(self, flows: list[SourceAndTarget]) -> None:
        beating = [str(flow) for flow in flows if self._has_heartbeats(flow)]
        if beating:
            self.notes.append(
                f"{', '.join(beating)}: Strimzi's v1 has no heartbeat connector, so no heartbeats"
                " are written."
            )

    def _has_heartbeats(self, flow: SourceAndTarget) -> bool:
        settings = plain(self._maker.connector_settings(flow, HEARTBEAT_CONNECTOR))
        return lenient_boolean(settings.get("emit.heartbeats.enabled", "true"))

    def _resource(self, target: ClusterAlias, flows: list[SourceAndTarget]) -> dict[str, object]:
        name = f"{_label(target)}-mm2"
        return {
            "apiVersion": "kafka.strimzi.io/v1",
            "kind": KIND,
            "metadata": {"name": name},
            "spec": {
                "replicas": 1,
                "target": {
                    **self._cluster(target),
                    "groupId": name,
                    "configStorageTopic": f"{name}-configs",
                    "offsetStorageTopic": f"{name}-offsets",
                    "statusStorageTopic": f"{name}-status",
                },
                "mirrors": [self._mirror(flow) for flow in flows],
            },
        }

    def _cluster(self, alias: ClusterAlias) -> dict[str, Any]:
        settings = {
            key.removeprefix(f"{alias}."): value
            for key, value in self._maker.raw.items()
            if key.startswith(f"{alias}.")
        }
        found: dict[str, Any] = {
            "alias": str(alias),
            "bootstrapServers": settings.pop("bootstrap.servers", ""),
        }
        found |= self._security(alias, settings)
        config = {
            key: value
            for key, value in settings.items()
            if not key.startswith(_SECURITY) and not _is_left_out(key, value)
        }
        return {**found, "config": config} if config else found

    def _security(self, alias: ClusterAlias, settings: Mapping[str, str]) -> dict[str, Any]:
        protocol, found = settings.get("security.protocol", "PLAINTEXT").upper(), dict[str, Any]()
        label = _label(alias)
        if protocol.endswith("SSL"):
            certificates = {"secretName": f"{label}-ca", "pattern": "*.crt"}
            found["tls"] = {"trustedCertificates": [certificates]}
            self.notes.append(f"{alias}: put the authority's certificate into secret {label}-ca.")
        if protocol.startswith("SASL"):
            found["authentication"] = self._login(alias, settings)
        elif any(key.startswith("ssl.keystore.") for key in settings):
            pair = {"secretName": f"{label}-client", "certificate": "user.crt", "key": "user.key"}
            found["authentication"] = {"type": "tls", "certificateAndKey": pair}
            self.notes.append(f"{alias}: put user.crt and user.key into secret {label}-client.")
        return found

    def _login(self, alias: ClusterAlias, settings: Mapping[str, str]) -> dict[str, Any]:
        secret = f"{_label(alias)}-login"
        mechanism = settings.get("sasl.mechanism", "")
        try:
            user = parse_jaas(settings.get(KEY, "")).options.get("username", "")
        except ConfigError:
            user = ""
        if mechanism not in _MECHANISMS or not user or "${" in user:
            self.notes.append(f"{alias}: name the type and the user of authentication by hand.")
        self.notes.append(f"{alias}: put the password into secret {secret}, as password.")
        return {
            "type": _MECHANISMS.get(mechanism, "custom"),
            "username": "" if "${" in user else user,
            "passwordSecret": {"secretName": secret, "password": "password"},
        }

    def _mirror(self, flow: SourceAndTarget) -> dict[str, Any]:
        settings = dict(self._settings(flow))
        patterns = {
            written: settings.pop(key).replace(" ", "")
            for key, written in _FLOW_PATTERNS.items()
            if key in settings
        }
        tasks = self._tasks(flow, settings.pop("tasks.max", "1"))
        settings.pop("enabled", None)
        of_checkpoints = {k: v for k, v in settings.items() if k.startswith(_OF_CHECKPOINTS)}
        of_source = {k: v for k, v in settings.items() if k not in of_checkpoints}
        shared = {k: v for k, v in of_source.items() if k.startswith("replication.policy.")}
        return {
            "source": self._cluster(flow.source),
            "sourceConnector": {"tasksMax": tasks, "config": of_source},
            "checkpointConnector": {"tasksMax": tasks, "config": {**of_checkpoints, **shared}},
            **patterns,
        }

    def _tasks(self, flow: SourceAndTarget, written: str) -> int:
        if written.strip() != "auto":
            return int(written)
        self.notes.append(f"{flow}: tasks.max is auto, which Java does not know; choose tasksMax.")
        return 1

    def _settings(self, flow: SourceAndTarget) -> Iterator[tuple[str, str]]:
        """What the file says of the flow, or of all flows; nothing that is only a cluster's."""
        of_flow = plain(self._maker.connector_settings(flow, "MirrorSourceConnector"))
        written = {key.removeprefix(f"{flow}.") for key in self._maker.raw}
        for key, value in of_flow.items():
            if key not in written or key.startswith(("source.cluster.", "target.cluster.")):
                continue
            if _is_left_out(key, value):
                self.notes.append(f"{flow}: {key} is a secret, and is left out.")
            else:
                yield key, value


def _is_left_out(key: str, value: str) -> bool:
    """A custom resource reads no configuration providers of ours, so that no secret is in it."""
    return is_secret(key) or holds_secret(key, value)


def _label(alias: str) -> str:
    return _NOT_FOR_NAMES.sub("-", alias.lower()).strip("-") or "cluster"
