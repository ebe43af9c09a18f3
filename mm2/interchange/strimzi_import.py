"""Reads Strimzi's ``KafkaMirrorMaker2`` resources as properties of mm2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from mm2.errors import ConfigError

KIND: Final = "KafkaMirrorMaker2"
SECRETS_FOLDER: Final = "/etc/mm2/secrets"
_DIRECTORY: Final = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
_VERSIONS: Final = ("kafka.strimzi.io/v1", "kafka.strimzi.io/v1beta2")
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SASL: Final = {
    "scram-sha-256": ("SCRAM-SHA-256", _SCRAM),
    "scram-sha-512": ("SCRAM-SHA-512", _SCRAM),
    "plain": ("PLAIN", _PLAIN),
}
_PATTERNS: Final = {
    "topicsPattern": "topics",
    "topicsExcludePattern": "topics.exclude",
    "topicsBlacklistPattern": "topics.exclude",
    "groupsPattern": "groups",
    "groupsExcludePattern": "groups.exclude",
    "groupsBlacklistPattern": "groups.exclude",
}
_SWITCHES: Final = {
    "checkpointConnector": "emit.checkpoints.enabled",
    "heartbeatConnector": "emit.heartbeats.enabled",
}
_ELSEWHERE: Final = {"config", "tasksMax", "state", "pause"}

Node = Mapping[str, Any]


@dataclass(slots=True)
class Imported:
    """
    What a resource is as properties.

    Attributes:
        name: of the resource.
        properties: in the order of the resource; secrets are expressions.
        notes: what could not be taken over, and what remains to be done; sentences.
    """

    name: str
    properties: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_strimzi(text: str, folder: str = SECRETS_FOLDER) -> Imported:
    """
    Reads the one ``KafkaMirrorMaker2`` of a YAML file, v1 or v1beta2.

    Args:
        text: one or more documents; others than that one are passed over.
        folder: where Kubernetes' secrets will be mounted, each in a folder of its name.

    Raises:
        ConfigError: the text is no YAML, or has none or several, or one without what it needs.
    """
    try:
        documents = [each for each in yaml.safe_load_all(text) if isinstance(each, dict)]
    except yaml.YAMLError as error:
        raise ConfigError(f"this is no YAML: {error}") from error
    found = [each for each in documents if each.get("kind") == KIND]
    if len(found) != 1:
        raise ConfigError(f"there must be one {KIND} in the file, and there are {len(found)}")
    (resource,) = found
    if resource.get("apiVersion") not in _VERSIONS:
        known = " and ".join(_VERSIONS)
        raise ConfigError(f"apiVersion {resource.get('apiVersion')} is not known: {known} are")
    imported = Imported(str(_section(resource, "metadata").get("name", "mirror")))
    _Import(imported, folder).run(_section(resource, "spec"))
    return imported


class _Import:
    def __init__(self, imported: Imported, folder: str) -> None:
        self._out = imported.properties
        self._notes = imported.notes
        self._folder = folder
        self._has_secrets = False

    def run(self, spec: Node) -> None:
        target, sources = self._clusters(spec)
        clusters = {each["alias"]: each for each in [*sources, target]}
        self._out["clusters"] = ", ".join(clusters)
        for alias, cluster in clusters.items():
            self._cluster(alias, cluster)
        for mirror in _items(spec, "mirrors"):
            self._mirror(mirror, target["alias"])
        if self._has_secrets:
            self._out["config.providers"] = "directory"
            self._out["config.providers.directory.class"] = _DIRECTORY
        self._notes.append(
            "Positions are not taken over from Strimzi's Connect cluster: topics are copied from"
            " where source.start.offsets says, by default from their beginning."
        )

    def _clusters(self, spec: Node) -> tuple[Node, list[Node]]:
        """The target and the sources of either version."""
        if "target" in spec:
            target = _section(spec, "target")
            sources = [_section(each, "source") for each in _items(spec, "mirrors")]
        else:
            listed = {str(each.get("alias")): each for each in _items(spec, "clusters")}
            name = str(spec.get("connectCluster"))
            if name not in listed:
                raise ConfigError(f"connectCluster {name} is none of spec.clusters")
            target = listed[name]
            sources = [each for alias, each in listed.items() if alias != name]
        for each in [target, *sources]:
            for key in ("alias", "bootstrapServers"):
                if not isinstance(each.get(key), str):
                    raise ConfigError(f"a cluster has no {key}")
        return target, sources

    def _cluster(self, alias: str, cluster: Node) -> None:
        self._out[f"{alias}.bootstrap.servers"] = cluster["bootstrapServers"]
        trusted = self._tls(alias, cluster)
        self._authentication(alias, cluster, has_tls=trusted)
        for key, value in _section(cluster, "config").items():
            self._out[f"{alias}.{key}"] = _text(value)

    def _tls(self, alias: str, cluster: Node) -> bool:
        if cluster.get("tls") is None:
            return False
        self._out[f"{alias}.security.protocol"] = "SSL"
        certificates = _items(_section(cluster, "tls"), "trustedCertificates")
        if certificates:
            found = [self._certificate(alias, each) for each in certificates]
            self._out[f"{alias}.ssl.truststore.type"] = "PEM"
            self._out[f"{alias}.ssl.truststore.certificates"] = "".join(filter(None, found))
        return True

    def _certificate(self, alias: str, trusted: Node) -> str | None:
        secret, file = trusted.get("secretName"), trusted.get("certificate")
        if file is None:
            pattern = trusted.get("pattern")
            file = "ca.crt"
            self._notes.append(
                f"{alias}: the certificates {pattern} of secret {secret} are taken to be {file};"
                " name others in ssl.truststore.certificates."
            )
        return self._secret(secret, file)

    def _authentication(self, alias: str, cluster: Node, *, has_tls: bool) -> None:
        login = _section(cluster, "authentication")
        kind = login.get("type")
        if kind is None:
            return
        if kind == "tls":
            pair = _section(login, "certificateAndKey")
            secret = pair.get("secretName")
            self._out[f"{alias}.security.protocol"] = "SSL"
            self._out[f"{alias}.ssl.keystore.type"] = "PEM"
            chain = self._secret(secret, pair.get("certificate"))
            self._out[f"{alias}.ssl.keystore.certificate.chain"] = chain
            self._out[f"{alias}.ssl.keystore.key"] = self._secret(secret, pair.get("key"))
        elif kind in _SASL:
            mechanism, module = _SASL[kind]
            password = _section(login, "passwordSecret")
            text = self._secret(password.get("secretName"), password.get("password"))
            user = str(login.get("username", "")).replace("\\", "\\\\").replace('"', '\\"')
            self._out[f"{alias}.security.protocol"] = "SASL_SSL" if has_tls else "SASL_PLAINTEXT"
            self._out[f"{alias}.sasl.mechanism"] = mechanism
            jaas = f'{module} required username="{user}" password="{text}";'
            self._out[f"{alias}.sasl.jaas.config"] = jaas
        else:
            known = ", ".join(["tls", *_SASL])
            self._notes.append(
                f"{alias}: authentication {kind} is not known here: {known} are; set sasl.* by"
                " hand."
            )

    def _secret(self, name: object, file: object) -> str:
        self._has_secrets = True
        return f"${{directory:{self._folder}/{name}:{file}}}"

    def _mirror(self, mirror: Node, target: str) -> None:
        source = _section(mirror, "source").get("alias", mirror.get("sourceCluster"))
        if mirror.get("targetCluster") not in (None, target):
            raise ConfigError(f"targetCluster {mirror['targetCluster']} is not {target}")
        flow = f"{source}->{target}"
        self._out[f"{flow}.enabled"] = "true" if "sourceConnector" in mirror else "false"
        for written, key in _PATTERNS.items():
            if written in mirror:
                self._out[f"{flow}.{key}"] = _text(mirror[written])
        for connector in ("sourceConnector", *_SWITCHES):
            self._connector(flow, connector, mirror)
        for connector, key in _SWITCHES.items():
            self._out.setdefault(f"{flow}.{key}", str(connector in mirror).lower())
        back = f"{target}->{source}.emit.heartbeats.enabled"
        self._out.setdefault(back, "false")

    def _connector(self, flow: str, name: str, mirror: Node) -> None:
        section = _section(mirror, name)
        settings = {key: _text(value) for key, value in _section(section, "config").items()}
        if "tasksMax" in section:
            settings["tasks.max"] = _text(section["tasksMax"])
        for key, value in settings.items():
            before = self._out.setdefault(f"{flow}.{key}", value)
            if before != value:
                self._notes.append(
                    f"{flow}: {name} has {key} = {value}, but one flow has one value, {before}."
                )
        for written, value in section.items():
            if written in {"state", "pause"} and value not in ("running", False):
                self._notes.append(
                    f"{flow}: {name} has {written}: {value}; after the start:"
                    f" mm2 flows {'stop' if value == 'stopped' else 'pause'} --flow '{flow}'"
                )
            elif written not in _ELSEWHERE:
                self._notes.append(f"{flow}: {written} of {name} is not taken over.")


def _section(node: Node, key: str) -> Node:
    value = node.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{key} must be a mapping")
    return value


def _items(node: Node, key: str) -> Sequence[Node]:
    return list(_checked(node.get(key) or [], key))


def _checked(value: object, key: str) -> Iterator[Node]:
    if not isinstance(value, list):
        raise ConfigError(f"{key} must be a list")
    for each in value:
        if not isinstance(each, dict):
            raise ConfigError(f"{key} must be a list of mappings")
        yield each


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
