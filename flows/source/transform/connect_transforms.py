"""Has Connect's transforms change the records of a partition."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace

from flows.source.transform.message_handler import Handle, handled
from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.transforms import TransformChain


def through_chain(chain: TransformChain) -> Handle:
    """What the chain makes of a record: one, or none."""
    apply = chain.apply

    def handle(record: SourceRecord) -> list[SourceRecord | TargetRecord]:
        found = apply(record)
        return [] if found is None else [found]

    return handle


def handled_before(chain: TransformChain, first: Handle) -> Handle:
    """What the chain makes of the records that the user's handler returns."""

    async def after(record: SourceRecord) -> list[SourceRecord | TargetRecord]:
        found = [_after(chain, record, each) for each in await handled(first, record)]
        return [each for each in found if each is not None]

    def handle(record: SourceRecord) -> Awaitable[list[SourceRecord | TargetRecord]]:
        return after(record)

    return handle


def _after(
    chain: TransformChain, record: SourceRecord, each: SourceRecord | TargetRecord
) -> SourceRecord | TargetRecord | None:
    if isinstance(each, SourceRecord):
        return chain.apply(each)
    before = SourceRecord(
        topic=each.topic,
        partition=record.partition if each.partition is None else each.partition,
        offset=record.offset,
        timestamp=record.timestamp if each.timestamp is None else each.timestamp,
        key=each.key,
        value=each.value,
        headers=each.headers,
    )
    found = chain.apply(before)
    if found is None:
        return None
    return replace(each, topic=found.topic, key=found.key, value=found.value, headers=found.headers)
