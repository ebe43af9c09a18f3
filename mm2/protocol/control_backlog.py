"""What a control topic holds, read at once or record by record; damaged records are passed over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import structlog

from mm2.core.model import NO_OFFSET
from mm2.errors import SchemaError
from mm2.kafka.logs.read_log import Record, records_to_end
from mm2.protocol.command_records import Alterations
from mm2.protocol.control_codec import (
    ALTERATIONS_KEY,
    ControlRecord,
    NewerRecord,
    decode_control,
    encode_control,
)
from mm2.protocol.desired_state import DesiredState

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAlterations:
    """
    What is altered, in view of all records of a control topic so far.

    One that was made without an earlier one that counts does not count. All who alter decide alike,
    so that each that counts is made from the one before it that does. Readers take the last one,
    which counts as soon as nobody alters any more.

    Attributes:
        record: the last that counts; None if there was none.
        newer: why it is not known what is altered: a newer release has altered it last.
    """

    record: Record | None = None
    alterations: Alterations = field(default_factory=lambda: Alterations(changes={}))
    newer: str | None = None

    def then(self, record: Record) -> KnownAlterations:
        """What is known after one more record of the topic."""
        if newer := newer_alterations(record):
            return replace(self, record=record, newer=newer)
        entry = readable(record) if record.key == ALTERATIONS_KEY else None
        if not isinstance(entry, Alterations) or self._is_late(entry):
            return self
        return KnownAlterations(record=record, alterations=entry)

    def again(self, read: int) -> tuple[bytes, bytes]:
        """
        Key and value of a record that has the same be altered.

        Args:
            read: offset of the last record that its writer has read.
        """
        if self.newer is not None and self.record is not None:
            return ALTERATIONS_KEY, self.record.value or b""
        return encode_control(replace(self.alterations, read=read))

    def _is_late(self, entry: Alterations) -> bool:
        last = NO_OFFSET if self.record is None else self.record.offset
        return entry.read is not None and entry.read < last


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlBacklog:
    """
    What a control topic held when it was read.

    Attributes:
        entries: the last one under each key.
        end: offset of the last record; ``NO_OFFSET`` if there was none.
    """

    entries: tuple[ControlRecord, ...]
    desired: DesiredState = field(default_factory=DesiredState)
    end: int = NO_OFFSET
    altered: KnownAlterations = field(default_factory=KnownAlterations)


async def read_control(alias: str, consumer: Mapping[str, str], topic: str) -> ControlBacklog:
    """
    Reads a control topic.

    Raises:
        UnknownTopic: it is not there.
        ClusterError: the cluster does not answer, or refuses.
    """
    newest: dict[bytes | None, Record] = {}
    altered = KnownAlterations()
    async for record in records_to_end(alias, consumer, topic):
        newest.pop(record.key, None)
        newest[record.key] = record
        altered = altered.then(record)
    return ControlBacklog(
        entries=tuple(entry for each in newest.values() if (entry := readable(each)) is not None),
        desired=replace(desired_state_of(newest.values()), alterations=altered.alterations),
        end=next(reversed(newest.values())).offset if newest else NO_OFFSET,
        altered=altered,
    )


def desired_state_of(records: Iterable[Record]) -> DesiredState:
    """What operators want after some records, in their order; damaged ones are passed over."""
    desired = DesiredState()
    for record in records:
        desired = desired.then(readable(record))
    return desired


def readable(record: Record) -> ControlRecord | None:
    """The decoded record; None for kinds without effect, and if it is damaged, which is logged."""
    try:
        return decode_control(record.key, record.value)
    except SchemaError as error:
        log.error("control.unreadable", offset=record.offset, error=str(error))
        return None


def newer_alterations(record: Record) -> str | None:
    """Why what is altered according to a record is not known; None if it is not about that."""
    if record.key == ALTERATIONS_KEY:
        try:
            decode_control(record.key, record.value)
        except NewerRecord as error:
            return str(error)
        except SchemaError:
            return None
    return None
