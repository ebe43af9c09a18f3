"""Senders for target partitions other than the mirrored ones."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from flows.source.forward.record_body import DecodedRecord
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.send_queue import PartitionSender
from flows.source.transform.changed_batches import RecordCopies
from flows.source.transform.message_handler import (
    WrongRecords,
    copy_of,
    handled,
    named_partition,
    source_record,
)
from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.internal_records import is_heartbeat
from mm2.core.model import TopicName, TopicPartition
from mm2.core.topics.own_topics import OwnTopics
from mm2.core.topics.topic_name import is_topic_name
from mm2.core.topics.topic_plan import CreateTopic
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import Refused, TopicExists
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.wire_client import WireClient

log = structlog.get_logger()

_LOOK_S: Final = 0.1
_KNOWN_WITHIN_S: Final = 30.0
"""After it was created, a topic should be known to brokers."""


class Routes:
    """
    Finds the sender of a target partition, and creates its topic.

    Brokers number the batches of a producer by partition, so that there is one sender of each.

    Args:
        replication_factor: of topics that are created.
        own_topics: where nothing may go.

    Attributes:
        senders: of the task, by where they send to; those of the mirrored partitions, too.
        topics: of the target, other than remote topics, that the task writes to, or is to.
    """

    def __init__(
        self,
        *,
        source: WireClient,
        target: WireClient,
        admin: Admin,
        replication_factor: int,
        own_topics: OwnTopics,
    ) -> None:
        self.senders: dict[TopicPartition, PartitionSender] = {}
        self._source = source
        self._target = target
        self._admin = admin
        self._replication_factor = replication_factor
        self._own_topics = own_topics
        self._one_at_a_time = asyncio.Lock()
        self.topics: set[TopicName] = set()

    async def copies(self, partition: MirroredPartition, record: DecodedRecord) -> RecordCopies:
        """
        What a partition's transform makes of a record, and where it goes.

        Raises:
            WrongRecords: there is no such place.
            ClusterError: the target does not answer, or refuses to create a topic.
            BaseException: whatever the transform raises.
        """
        target = partition.sender.target
        source = source_record(target, record)
        assert partition.transform is not None  # noqa: S101 - only such partitions come here
        copies = RecordCopies([], [])
        for each in await handled(partition.transform, source):
            number = named_partition(each)
            number = target.partition if number is None else number
            where = TopicPartition(TopicName(each.topic), number)
            copy = copy_of(each, source, record)
            if where == target:
                copies.own.append(copy)
            else:
                sender = await self.sender(where, partition.source.topic, each)
                copies.routed.append((sender, copy))
        return copies

    async def of(
        self, own: PartitionSender, where: TopicPartition, like: TopicName
    ) -> PartitionSender:
        """The sender of a partition as ``sender``, or ``own`` where that sends to it."""
        return own if own.target == where else await self.sender(where, like)

    async def sender(
        self,
        where: TopicPartition,
        like: TopicName,
        record: SourceRecord | TargetRecord | None = None,
    ) -> PartitionSender:
        """
        The sender of a partition; a topic that is missing gets as many as ``like`` has.

        Args:
            record: that is to go there, if it is one alone.

        Raises:
            WrongRecords: there is no such partition, or it may not be written to.
            ClusterError: the target does not answer, or refuses to create the topic.
        """
        if not is_topic_name(where.topic):
            raise WrongRecords(f"no topic can have the name {where.topic!r}")
        self._refuse_own(where.topic, record)
        if where.topic not in self.topics or not self._target.partitions_of(where.topic):
            async with self._one_at_a_time:
                await self._prepare(where.topic, like)
        count = self._target.partitions_of(where.topic)
        if not 0 <= where.partition < count:
            raise WrongRecords(f"{where.topic} has {count} partitions, and none is {where}")
        sender = self.senders.setdefault(where, PartitionSender(where, merges=True))
        if sender.is_withdrawn:
            raise Unavailable(self._target.alias, f"{where} is gone")
        return sender

    def _refuse_own(self, topic: TopicName, record: SourceRecord | TargetRecord | None) -> None:
        """
        Keeps records out of topics that tell mm2, Connect or brokers what to do.

        Raises:
            WrongRecords: the topic is one of these.
        """
        own = self._own_topics
        if own.holds(topic):
            raise WrongRecords(f"{topic} is internal: transforms may send no records there")
        if topic == own.heartbeats and (
            record is None or not is_heartbeat(record.key, record.value)
        ):
            raise WrongRecords(f"transforms may send heartbeats to {topic}, and no other records")

    async def _prepare(self, topic: TopicName, like: TopicName) -> None:
        # Whoever changes the tracked topics meanwhile must keep this one.
        self.topics.add(topic)
        try:
            async with asyncio.timeout(_KNOWN_WITHIN_S):
                await self._provide(topic, like)
        except TimeoutError:
            message = f"partitions of {topic} are not known yet"
            raise Unavailable(self._target.alias, message) from None
        except ClusterError as error:
            if not isinstance(error, Unavailable):
                self.topics.discard(topic)
            if isinstance(error, Refused) and error.code == Code.INVALID_TOPIC_EXCEPTION.name:
                raise WrongRecords(str(error)) from error  # too similar to another one
            raise

    async def _provide(self, topic: TopicName, like: TopicName) -> None:
        await self._target.track(self._target.tracked | {topic})
        if not self._target.partitions_of(topic):
            await self._create(topic, self._source.partitions_of(like))
        while not self._target.partitions_of(topic):
            await asyncio.sleep(_LOOK_S)
            await self._target.track(self._target.tracked | {topic})

    async def _create(self, topic: TopicName, partitions: int) -> None:
        create = CreateTopic(
            name=topic, partitions=partitions, replication_factor=self._replication_factor
        )
        failure = (await self._admin.create_topics([create])).get(topic)
        if failure is None:
            log.info("source.topic_created", topic=topic, partitions=partitions)
        elif not isinstance(failure, TopicExists):
            raise failure
