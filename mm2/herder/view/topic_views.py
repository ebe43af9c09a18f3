"""The partitions of a flow, topic by topic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from mm2.core.first_copy import FirstCopyProgress, first_copy_progress, is_behind
from mm2.core.model import TopicName
from mm2.herder.view.flow_views import FlowView, PartitionView


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicView:
    """
    How far one topic of the source is copied.

    Attributes:
        partitions: those that are given to tasks, sorted.
        delay_ms: how late records arrive; None if nobody reports it.
    """

    topic: TopicName
    remote: TopicName
    partitions: tuple[PartitionView, ...]
    progress: FirstCopyProgress
    delay_ms: int | None

    @property
    def errors(self) -> list[str]:
        """Why partitions stand, each reason once."""
        return list(dict.fromkeys(each.error for each in self.partitions if each.error))


def topics_of(view: FlowView) -> list[TopicView]:
    """The topics of a flow, sorted."""
    groups = groupby(view.partitions, key=lambda each: (each.source.topic, each.remote))
    return [_topic(view, topic, remote, tuple(found)) for (topic, remote), found in groups]


def _topic(
    view: FlowView, topic: TopicName, remote: TopicName, partitions: tuple[PartitionView, ...]
) -> TopicView:
    return TopicView(
        topic=topic,
        remote=remote,
        partitions=partitions,
        progress=first_copy_progress(partitions),
        delay_ms=flow_delay_ms(view, partitions),
    )


def flow_delay_ms(view: FlowView, partitions: Iterable[PartitionView]) -> int | None:
    """The longest delay of any partition; None if none is known."""
    if not view.is_led:
        return None
    delays = (_delay_ms(each) for each in partitions if each.latency_ms)
    return max((each for each in delays if each is not None), default=None)


def partition_delay_ms(view: FlowView, each: PartitionView) -> int | None:
    """
    How late records arrive; None if nobody reports it, or nothing was copied lately.

    Those of a backlog are as old as it is, which its lag tells, and not how long copying takes.
    """
    return _delay_ms(each) if view.is_led else None


def _delay_ms(each: PartitionView) -> int | None:
    if each.reported_ms is None or is_behind(each.lag or 0, each.records_per_s):
        return None
    return each.latency_ms or None
