"""Creates the parts that detect missing data for one task."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from flows.source.commit.position_commits import Committer
from flows.source.fetch.position_check import PositionValidator
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_reports import GapReporter
from flows.source.monitor.remote_ends import RemoteEnds
from flows.source.monitor.remote_topics import RemoteTopics
from flows.source.monitor.topic_monitor import TopicMonitor
from flows.source.publish.translation_publisher import TranslationPublisher
from flows.source.send.producer import Producer
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.wire_client import WireClient
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import MissingTopic


class GapDetection:
    """
    The parts that watch the partitions of a task for gaps.

    Args:
        partitions: of the task; may change at any time, followed by ``monitor.wake()``.
        changed: called when partitions may be fetched again, or have other leaders.
        report: called when something should be reported at once.
    """

    def __init__(
        self,
        spec: BundleSpec,
        partitions: Mapping[TopicPartition, MirroredPartition],
        *,
        source: WireClient,
        target: WireClient,
        producer: Producer,
        writer: Writer,
        translation: TranslationPublisher,
        committer: Committer,
        now_ms: Callable[[], int],
        changed: Callable[[], None],
        report: Callable[[], None],
    ) -> None:
        self._spec = spec
        self._writer = writer
        self._gaps = GapReporter(spec, writer, now_ms=now_ms, wake=report)
        self.validator = PositionValidator(
            client=source, spec=spec, gaps=self._gaps, now_ms=now_ms, forget=translation.forget
        )
        ends = RemoteEnds(
            source=source,
            target=target,
            gaps=self._gaps,
            now_ms=now_ms,
            forget=translation.forget,
            runs=translation.stored,
            committer=committer,
            is_transactional=spec.exactly_once is not None,
        )
        remote = RemoteTopics(
            source=source,
            target=target,
            producer=producer,
            gaps=self._gaps,
            ends=ends,
            fails=spec.gaps.fail_on_remote_gap,
            now_ms=now_ms,
            ask_for=self._ask_for,
            forget=translation.forget,
        )
        self.monitor = TopicMonitor(
            partitions=partitions,
            source=source,
            remote=remote,
            gaps=self._gaps,
            spec=spec,
            now_ms=now_ms,
            changed=changed,
        )

    async def run(self) -> None:
        """Watches until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._gaps.run(), name="gaps")
            group.create_task(self.monitor.run(), name="topic-monitor")

    async def _ask_for(self, topic: TopicName) -> None:
        missing = MissingTopic(topic=topic, epoch=self._spec.epoch)
        await self._writer.send(self._spec.control_topic, *encode_control(missing), partition=0)
