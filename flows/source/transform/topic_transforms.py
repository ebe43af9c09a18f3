"""Which transform the records of a topic go through."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias

import structlog

from flows.source.transform.column_handle import PreparedHandle, ahead_of
from flows.source.transform.handler_batches import HandlerOfBatches
from flows.source.transform.message_handler import (
    Handle,
    handled,
    load_handler,
    sparing_heartbeats,
)
from mm2.config.connector_settings import TransformSettings, provenance_of
from mm2.config.transforms.chain_reading import read_transforms
from mm2.core.filters import NamePatterns
from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.internal_records import is_heartbeat
from mm2.core.model import SourceAndTarget, TopicName
from mm2.core.policy import HEARTBEATS_TOPIC
from mm2.core.transforms.provenance import keep_headers

log = structlog.get_logger()

_Made = Sequence[SourceRecord | TargetRecord]
_Mark: TypeAlias = Callable[[SourceRecord], SourceRecord | None]


class TopicTransforms:
    """
    The transforms of a flow, made once for a task.

    Args:
        source_id: Kafka's id of the cluster; empty if it is not known.
        target_id: likewise.

    Raises:
        ConfigError: the user's code cannot be loaded.
    """

    def __init__(
        self,
        flow: SourceAndTarget,
        settings: TransformSettings,
        source_id: str = "",
        target_id: str = "",
    ) -> None:
        self._chain, mistakes = read_transforms(settings.connect)
        if mistakes:
            raise mistakes[0]
        self._provenance = provenance_of(flow, settings, source_id, target_id)
        self._has_left_out = False
        self._handle: Handle | None = None
        self._sparing: Handle | None = None
        self._topics = NamePatterns(settings.handler_topics, "message.handler.topics")
        if settings.handler is not None:
            users = load_handler(settings.handler, settings.handler_args)
            self._handle = HandlerOfBatches(users)
            self._sparing = HandlerOfBatches(sparing_heartbeats(users))
        elif settings.function is not None:
            # Arrow takes half a second to import, and few flows need it.
            from flows.source.transform import column_transforms as columns  # noqa: PLC0415

            self._topics = NamePatterns(settings.function_topics, "arrow.function.topics")
            function = columns.user_function(settings.function, settings.function_args)
            self._handle, self._sparing = function, columns.sparing_columns(function)
        elif settings.sql:
            from flows.source.transform.column_transforms import sparing_columns  # noqa: PLC0415
            from flows.source.transform.sql_columns import sql_transform  # noqa: PLC0415

            self._topics = NamePatterns(settings.sql_topics, "transforms.sql.topics")
            sql = sql_transform()
            self._handle, self._sparing = sql, sparing_columns(sql)

    def of(self, source: TopicName, target: TopicName) -> Handle | None:
        """The transform of a topic of the source; None copies its records as bytes."""
        handle = self._changes_of(source, target)
        provenance = self._provenance
        if provenance is None:
            return handle
        may_be_heartbeats = _may_hold_heartbeats(source)
        left_out = partial(self._note_left_out, source)

        def mark(record: SourceRecord) -> SourceRecord | None:
            if may_be_heartbeats and is_heartbeat(record.key, record.value):
                return record
            marked = provenance.marked(record, source)
            if marked is None:
                left_out(record)
            return marked

        marking = _with_provenance(mark, handle)
        if handle is not None or may_be_heartbeats:
            return marking
        from flows.source.transform.column_transforms import with_provenance  # noqa: PLC0415

        return with_provenance(marking, provenance, source, left_out)

    def _note_left_out(self, source: TopicName, record: SourceRecord) -> None:
        """Says so once."""
        if not self._has_left_out:
            self._has_left_out = True
            where = {"topic": source, "partition": record.partition, "offset": record.offset}
            log.info("source.origin_left_out", **where)

    def _changes_of(self, source: TopicName, target: TopicName) -> Handle | None:
        chain, handle = self._chain, self._handle
        if _may_hold_heartbeats(source):
            chain, handle = chain and chain.sparing_heartbeats(), self._sparing
        if handle is not None and source not in self._topics:
            handle = None
        if chain is None or not (handle or chain.concerns(target)):
            return handle
        from flows.source.transform.column_transforms import followed_by, of_chain  # noqa: PLC0415

        return of_chain(chain, target) if handle is None else followed_by(chain, handle)


def _may_hold_heartbeats(source: TopicName) -> bool:
    """
    Whether a topic has the name of heartbeats, ours or of other mirrors, with any separator.

    A user's topic may have it, too: which records are heartbeats is seen of each.
    """
    return source.endswith(HEARTBEATS_TOPIC)


def _with_provenance(mark: _Mark, inner: Handle | None) -> Handle:
    """
    Marks records before ``inner`` changes them, or leaves them out.

    What ``inner`` makes of a record keeps its headers of provenance.
    """

    async def changed(marked: SourceRecord, change: Handle) -> _Made:
        return [keep_headers(each, marked) for each in await handled(change, marked)]

    def handle(record: SourceRecord) -> _Made | Awaitable[_Made]:
        marked = mark(record)
        if marked is None:
            return []
        return [marked] if inner is None else changed(marked, inner)

    ahead = ahead_of(inner)
    if ahead is None:
        return handle

    async def prepare_marked(records: Sequence[SourceRecord]) -> None:
        if copied := [each for record in records if (each := mark(record)) is not None]:
            await ahead(copied)

    return PreparedHandle(handle, prepare_marked)
