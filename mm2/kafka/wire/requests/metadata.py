"""
Metadata with topic ids and leader epochs.

Topic ids tell a topic from one that was created in its place (KIP-516).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from types import SimpleNamespace
from typing import ClassVar, Final, Self
from uuid import UUID

from aiokafka.errors import KafkaConnectionError
from aiokafka.protocol.api import Request, Response

from mm2.kafka.wire.frame import (
    NO_TAGS,
    Frame,
    FrameResponse,
    Payload,
    array,
    compact_array,
    compact_text,
    text,
)

_PARTITION = Struct(">hiii")
_NO_ID = bytes(16)
_FALSE = b"\0"

_REMEMBERED: Final = 4
"""Answers about topics; a task asks both of its clusters about the same ones all the time."""


@dataclass(frozen=True, slots=True)
class BrokerMetadata:
    """
    A broker.

    Attributes:
        rack: where it stands; empty if unknown.
    """

    node: int
    host: str
    port: int
    rack: str


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """
    Who serves a partition.

    Attributes:
        leader: node of the leader; -1 if nobody leads it.
        leader_epoch: grows with each change of the leader; -1 if unknown.
    """

    partition: int
    error: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...] = ()
    in_sync: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """
    A topic as one broker knows it.

    Attributes:
        topic_id: another one after the topic was deleted and created again; None from brokers
            before 3.1, and with an error.
        partitions: by their numbers; empty with an error.
    """

    name: str
    error: int
    topic_id: UUID | None
    is_internal: bool
    partitions: Mapping[int, PartitionMetadata]


@dataclass(frozen=True, slots=True)
class Metadata:
    """
    A cluster as one broker knows it.

    Attributes:
        cluster_id: the cluster's; empty if unknown.
        brokers: all that are ready to serve clients, which may be none.
        controller: node of the controller; -1 if unknown.
    """

    cluster_id: str
    brokers: Sequence[BrokerMetadata]
    controller: int
    topics: Sequence[TopicMetadata]

    def of_brokers(self) -> Self:
        """
        Refuses the answer of a broker that knows of none which serves clients, itself included.

        Its controllers have fenced it: it starts, or was silent for longer than its session.
        aiokafka would take topics for missing, and fail with an ``AssertionError`` for want of a
        coordinator.

        Raises:
            KafkaConnectionError: it is such a broker.
        """
        if not self.brokers:
            raise KafkaConnectionError(
                "the cluster cannot be reached: whoever answers knows of no broker that serves"
            )
        return self

    def for_aiokafka(self) -> object:
        """The fields of a MetadataResponse that aiokafka's ``ClusterMetadata`` reads."""
        return SimpleNamespace(
            API_VERSION=1,
            brokers=[(b.node, b.host, b.port, b.rack or None) for b in self.brokers],
            controller_id=self.controller,
            topics=[
                (
                    topic.error,
                    topic.name,
                    topic.is_internal,
                    [
                        (p.error, p.partition, p.leader, list(p.replicas), list(p.in_sync))
                        for p in topic.partitions.values()
                    ],
                )
                for topic in self.topics
            ],
        )


class MetadataResponse(FrameResponse):
    """Version 7."""

    API_KEY: ClassVar[int] = 3
    API_VERSION: ClassVar[int] = 7

    metadata: Metadata

    @property
    def brokers(self) -> Sequence[BrokerMetadata]:
        """All that are ready to serve clients, which may be none."""
        return self.metadata.brokers

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body."""
        response = cls()
        brokers, cluster_id, controller = cls.cluster(frame)
        topics = frame.array(lambda: cls._topic(frame))
        response.metadata = Metadata(cluster_id, brokers, controller, topics)
        return response

    @classmethod
    def cluster(cls, frame: Frame) -> tuple[Sequence[BrokerMetadata], str, int]:
        """Reads what comes before the topics: brokers, the cluster's id, node of the controller."""
        frame.int32()  # throttle time
        return frame.array(lambda: cls._broker(frame)), frame.text(), frame.int32()

    @staticmethod
    def _broker(frame: Frame) -> BrokerMetadata:
        return BrokerMetadata(frame.int32(), frame.text(), frame.int32(), frame.text())

    @classmethod
    def _topic(cls, frame: Frame) -> TopicMetadata:
        error, name, is_internal = frame.int16(), frame.text(), frame.flag()
        partitions = frame.array(lambda: cls._partition(frame))
        by_number = {partition.partition: partition for partition in partitions}
        return TopicMetadata(name, error, None, is_internal, by_number)

    @staticmethod
    def _partition(frame: Frame) -> PartitionMetadata:
        error, number, leader, epoch = frame.unpack(_PARTITION)
        replicas, in_sync, _offline = (tuple(frame.array(frame.int32)) for _ in range(3))
        return PartitionMetadata(number, error, leader, epoch, replicas, in_sync)


class FlexibleMetadataResponse(MetadataResponse):
    """Version 12."""

    API_VERSION: ClassVar[int] = 12

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body."""
        response = cls()
        brokers, cluster_id, controller = cls.cluster(frame)
        topics = _topics(bytes(frame.view[frame.at :]))
        response.metadata = Metadata(cluster_id, brokers, controller, topics)
        return response

    @classmethod
    def cluster(cls, frame: Frame) -> tuple[Sequence[BrokerMetadata], str, int]:
        """Reads what comes before the topics: brokers, the cluster's id, node of the controller."""
        frame.int32()  # throttle time
        brokers = frame.compact_array(lambda: cls._broker(frame))
        return brokers, frame.compact_text(), frame.int32()

    @staticmethod
    def _broker(frame: Frame) -> BrokerMetadata:
        node, host = frame.int32(), frame.compact_text()
        broker = BrokerMetadata(node, host, frame.int32(), frame.compact_text())
        frame.skip_tags()
        return broker


@lru_cache(maxsize=_REMEMBERED)
def _topics(data: bytes) -> Sequence[TopicMetadata]:
    """
    Reads what an answer of version 12 ends with.

    Nearly always nothing has changed since the last answer; and of thousands of partitions it takes
    tens of milliseconds to read anew what is known.
    """
    frame = Frame(memoryview(data))
    topics = frame.compact_array(lambda: _topic(frame))
    frame.skip_tags()
    return topics


def _topic(frame: Frame) -> TopicMetadata:
    error, name, topic_id = frame.int16(), frame.compact_text(), frame.uuid()
    is_internal = frame.flag()
    partitions = frame.compact_array(lambda: _partition(frame))
    frame.int32()  # authorized operations
    frame.skip_tags()
    by_number = {partition.partition: partition for partition in partitions}
    return TopicMetadata(name, error, topic_id, is_internal, by_number)


def _partition(frame: Frame) -> PartitionMetadata:
    error, number, leader, epoch = frame.unpack(_PARTITION)
    replicas, in_sync, _offline = (tuple(frame.compact_array(frame.int32)) for _ in range(3))
    frame.skip_tags()
    return PartitionMetadata(number, error, leader, epoch, replicas, in_sync)


class MetadataV7(Payload):
    """Kafka 2.1: with leader epochs."""

    API_KEY: ClassVar[int] = 3
    API_VERSION: ClassVar[int] = 7
    RESPONSE_TYPE: ClassVar[type[Response]] = MetadataResponse


class MetadataV12(Payload):
    """Kafka 3.1: with topic ids."""

    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 3
    API_VERSION: ClassVar[int] = 12
    RESPONSE_TYPE: ClassVar[type[Response]] = FlexibleMetadataResponse


class MetadataRequest(Request[MetadataV7 | MetadataV12]):
    """
    Asks about brokers and topics, and creates none by asking.

    Attributes:
        topics: names; none: about the brokers only.
    """

    API_KEY: ClassVar[int] = 3

    def __init__(self, topics: Iterable[str]) -> None:
        self.topics = list(topics)

    def build(
        self, request_struct_class: type[MetadataV7 | MetadataV12]
    ) -> MetadataV7 | MetadataV12:
        """Encodes the request in the version that the broker and we share."""
        if not request_struct_class.FLEXIBLE_VERSION:
            return request_struct_class(array(map(text, self.topics)) + _FALSE)
        names = compact_array(_NO_ID + compact_text(topic) + NO_TAGS for topic in self.topics)
        # Neither create topics nor tell what we are allowed to do.
        return request_struct_class(names + _FALSE + _FALSE + NO_TAGS)
