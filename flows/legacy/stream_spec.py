"""What a stream of the legacy tool needs to know to run anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mm2.config.connector_settings import ErrorSettings
from mm2.config.legacy.topic_patterns import TopicSelection
from mm2.config.legacy.zookeeper_keys import ZooKeeperSettings
from mm2.config.record_clients import DataSettings
from mm2.core.hide_secrets import Secret
from mm2.core.model import GroupId, TopicPartition
from mm2.core.positions.start_rules import Start, parse_reset, start_of
from mm2.kafka.client_settings import metadata_age_s
from mm2.kafka.wire.compression import Compression, compression_of


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSpec:
    """
    One stream: a consumer and a producer in a Spark task (KIP-3: a mirror maker thread).

    Attributes:
        group: the consumer group that all streams of all processes are members of.
        index: its number in its process, from 0.
        source: Java client keys of the consumer.
        target: Java client keys of the producer.
        data: how records are read and written.
        selection: which topics it subscribes to.
        errors: what becomes of records that cannot be sent; ``tolerates`` is KIP-3's "do not
            abort".
        commit_interval_s: between two commits, in seconds.
        repartitions: whether keys decide about partitions.
        handler: import path of the message handler; None copies records as they are.
        handler_args: given to the handler's ``init``.
        listener: import path of the user's rebalance listener.
        listener_args: given to the listener.
        zookeeper: where offsets are kept beside Kafka, or in its place; None is nowhere.
        driver: host and port of the process that started it; it ends when that connection does.
        token: lets it in there.
        reports: whether it tells there how far it is.
        hidden: secrets in here that config providers have read.
    """

    group: GroupId
    index: int
    source: Mapping[str, str]
    target: Mapping[str, str]
    data: DataSettings
    selection: TopicSelection
    errors: ErrorSettings
    commit_interval_s: float
    driver: tuple[str, int]
    token: str
    zookeeper: ZooKeeperSettings | None = None
    reports: bool = False
    repartitions: bool = False
    handler: str | None = None
    handler_args: str | None = None
    listener: str | None = None
    listener_args: str | None = None
    hidden: tuple[Secret, ...] = ()

    @property
    def name(self) -> str:
        """Names it in logs and Spark's job groups."""
        return f"{self.group}-{self.index}"

    @property
    def takes_records_apart(self) -> bool:
        """Whether each record is looked at; else batches are copied as bytes."""
        return self.handler is not None or self.repartitions

    @property
    def rack(self) -> str:
        """Where it runs, for brokers that know of a nearer replica."""
        return self.source.get("client.rack", "").strip()

    @property
    def refresh_s(self) -> float:
        """How often the source is asked for new topics, in seconds."""
        return metadata_age_s(self.source)

    @property
    def replica_lease_s(self) -> float:
        """Seconds until the leader is asked again for a better replica."""
        return self.refresh_s

    @property
    def compression(self) -> Compression | None:
        """The codec that the user asks for; None keeps each batch's."""
        return compression_of(self.data.codec, self.data.level)

    def start(self, where: TopicPartition) -> Start:
        """Where a partition without a committed offset begins."""
        return start_of(where, (), parse_reset(self.data.reset))
