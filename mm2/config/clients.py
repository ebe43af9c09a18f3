"""
Settings for each Kafka client of a flow, in Java's key names (C071-C080, C221).

Java's ``MirrorConnectorConfig`` builds six kinds of client for a connector, and Connect's
``Worker`` the producer of the data. Translating the names for our own client libraries is the
business of ``mm2.kafka``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypeVar

from mm2.config.credentials import SERVERS, merged
from mm2.config.keys.key_types import java_trim
from mm2.config.keys.keys_clients import CLIENT_SETTINGS, ClientKind
from mm2.config.keys.keys_security import CLIENT_NAMES

Side: TypeAlias = Literal["source", "target"]
_V = TypeVar("_V")

_SERIALIZER: Final = "org.apache.kafka.common.serialization.ByteArraySerializer"
_DATA_DEFAULTS: Final = {
    "key.serializer": _SERIALIZER,
    "value.serializer": _SERIALIZER,
    "max.block.ms": str(2**63 - 1),
    "enable.idempotence": "false",
    "acks": "all",
    "max.in.flight.requests.per.connection": "1",
    "delivery.timeout.ms": str(2**31 - 1),
}


def client_properties(
    properties: Mapping[str, str],
    side: Side,
    kind: ClientKind,
    role: str | None,
    task: int | None = None,
) -> dict[str, str]:
    """
    Settings of one client of a connector, from the connector's resolved configuration.

    From low to high: the cluster's client names, ``<kind>.*``, ``<side>.<kind>.*``. Client names
    that the connector has without a prefix are not used. Unlike Java's, a layer that leads
    elsewhere has none of the credentials below it (``mm2.config.credentials``).

    Args:
        role: ends the client id, see the roles of Java's connectors; None leaves it out.
        task: number of the task that uses the client; None for the connector itself.
    """
    client = merged(client_layers(properties, side, kind))
    if kind == "consumer":
        client["enable.auto.commit"] = "false"
        client.setdefault("auto.offset.reset", "earliest")
    parts = (client.get("client.id"), entity_label(properties, task), role)
    client["client.id"] = "|".join(part for part in parts if part is not None)
    return client


def client_layers(
    properties: Mapping[str, str], side: Side, kind: ClientKind
) -> tuple[Mapping[str, str], ...]:
    """What a client's settings are made of, from low to high."""
    of_cluster = with_prefix(properties, f"{side}.cluster.")
    return (
        {name: value for name, value in of_cluster.items() if name in CLIENT_NAMES},
        with_prefix(properties, f"{kind}."),
        with_prefix(properties, f"{side}.{kind}."),
    )


def entity_label(properties: Mapping[str, str], task: int | None = None) -> str:
    """``S->T|<connector>``, and ``-<number>`` for a task: the middle of every client id (C079)."""
    source, target, name = (
        java_trim(properties[key])
        for key in ("source.cluster.alias", "target.cluster.alias", "name")
    )
    return f"{source}->{target}|{name}" + ("" if task is None else f"-{task}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataProducer:
    """
    Settings of the producer that writes mirrored records (C221, ``Worker.baseProducerConfigs``).

    Attributes:
        defaults: what Java sets when the user is silent. Choosing otherwise is allowed where
            results are the same.
        explicit: what the user says: ``T.producer.*``, and above it ``S->T.producer.override.*``.
    """

    defaults: Mapping[str, str]
    explicit: Mapping[str, str]

    @property
    def properties(self) -> dict[str, str]:
        """Both, exactly as Java composes them."""
        return {**self.defaults, **self.explicit}


def data_producer_properties(
    worker: Mapping[str, str], connector: Mapping[str, str], task: int
) -> DataProducer:
    """The producer of task ``task`` from the resolved worker and connector configurations."""
    name = java_trim(connector["name"])
    servers = worker.get(SERVERS, "")
    defaults = {
        SERVERS: servers,
        **_DATA_DEFAULTS,
        "client.id": f"connector-producer-{name}-{task}",
    }
    layers = with_prefix(worker, "producer."), with_prefix(connector, "producer.override.")
    explicit = merged(layers, servers=servers)
    return DataProducer(defaults=defaults, explicit=explicit)


def worker_client_properties(
    worker: Mapping[str, str], kind: ClientKind, role: str
) -> dict[str, str]:
    """
    Settings of a client of the worker itself, which uses the worker's own keys.

    Args:
        role: ends the client id after the worker's, for example "offsets", "configs", "statuses".
    """
    known = CLIENT_NAMES | CLIENT_SETTINGS[kind] - _OF_THE_WORKER
    client = {key: value for key, value in worker.items() if key in known}
    client["client.id"] = f"{worker['client.id']}-{role}"
    return client


def with_prefix(properties: Mapping[str, _V], prefix: str) -> dict[str, _V]:
    """The entries below ``prefix``, which is removed; the bare prefix is none of them."""
    return {
        key.removeprefix(prefix): value
        for key, value in properties.items()
        if key.startswith(prefix) and key != prefix
    }


# Keys that worker and client both have, but of which the worker means its own.
_OF_THE_WORKER: Final = frozenset(
    {"client.id", "config.providers", "group.id", "heartbeat.interval.ms", "session.timeout.ms"}
)
