"""
Whether a flow is to run, as operators have said in its control topic.

What they said last holds over restarts and for whoever leads the flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from mm2.errors import SchemaError
from mm2.herder.control import Entry, FlowState, Wanted, decode
from mm2.kafka.log import LogTail, Record, read_to_end

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlBacklog:
    """
    What a control topic held when it was read.

    Attributes:
        entries: the last one under each key.
        seen: offset of the last of them; -1 for none.
    """

    entries: tuple[Entry, ...]
    seen: int

    @property
    def wanted(self) -> Wanted:
        """What operators want; to run, as long as nobody has said anything."""
        found = [entry for entry in self.entries if isinstance(entry, Wanted)]
        return found[-1] if found else Wanted(state=FlowState.RUNNING)


async def read_control(alias: str, consumer: Mapping[str, str], topic: str) -> ControlBacklog:
    """
    Reads a control topic.

    Args:
        alias: the cluster's, for messages.
        consumer: Java client keys of a consumer of it.
        topic: its name.

    Raises:
        UnknownTopic: it is not there.
        ClusterError: the cluster does not answer, or refuses.
    """
    records = await read_to_end(alias, consumer, topic, newest_only=True)
    ordered = sorted(records, key=lambda record: record.offset)
    return ControlBacklog(
        entries=tuple(entry for each in ordered if (entry := readable(each)) is not None),
        seen=max((each.offset for each in records), default=-1),
    )


async def until_resumed(
    alias: str, consumer: Mapping[str, str], topic: str, backlog: ControlBacklog
) -> None:
    """
    Waits until somebody wants the flow to run again.

    Args:
        alias: the cluster's, for messages.
        consumer: Java client keys of a consumer of it.
        topic: the control topic.
        backlog: what was read of it; later records count.
    """
    async for record in LogTail(alias, consumer, topic):
        entry = readable(record)
        is_news = record.offset > backlog.seen
        if is_news and isinstance(entry, Wanted) and not entry.is_stopped:
            return


def readable(record: Record) -> Entry | None:
    """What a record says; None if nobody acts on it, or if it is damaged."""
    try:
        return decode(record.key, record.value)
    except SchemaError as error:
        log.error("control.unreadable", offset=record.offset, error=str(error))
        return None
