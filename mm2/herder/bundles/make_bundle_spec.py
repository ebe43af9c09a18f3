"""Builds a BundleSpec from a FlowConfig."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final

from mm2.config.connector_settings import ErrorSettings
from mm2.config.flow_config import FlowConfig, data_producer
from mm2.config.offset_topics import offset_runs_topic
from mm2.config.record_clients import DataSettings
from mm2.config.text.expressions import RESOLVED
from mm2.herder.bundles.task_fencing import exactly_once_spec, transactional_id
from mm2.kafka.client_settings import milliseconds
from mm2.kafka.wire.compression import CODEC_NAMES, Compression
from mm2.protocol.bundle_spec import BundleSpec, ErrorSpec, FetchSpec, GapSpec, OffsetSyncSpec

_METADATA_AGE_MS: Final = 300_000
"""Java's default of ``metadata.max.age.ms``."""


def bundle_spec(config: FlowConfig, index: int, epoch: int, syncs_topic: str) -> BundleSpec:
    """What the task of bundle ``index`` needs to know."""
    source, herder = config.source, config.herder
    consumer = source.source_consumer("replication-consumer", index)
    producer = data_producer(config, index).properties
    at = config.flow.source if source.offset_syncs_location == "source" else config.flow.target
    syncs = OffsetSyncSpec(
        cluster=at,
        properties=source.offset_syncs_producer(index),
        topic=syncs_topic,
        lag_max=source.offset_lag_max,
        runs_topic=offset_runs_topic(config) if source.emit_offset_runs else None,
    )
    return BundleSpec(
        flow=config.flow,
        index=index,
        epoch=epoch,
        source=consumer,
        target=producer,
        transactional_id=transactional_id(config, index),
        offsets_topic=herder.offsets_topic,
        control_topic=herder.names.control_topic,
        progress_topic=herder.names.progress_topic,
        connector=herder.names.connector,
        byte_rate_limit=source.byte_rate_limit,
        flush_interval_s=herder.offset_flush_interval.total_seconds(),
        drain_within_s=herder.shutdown_timeout.total_seconds(),
        buffer_memory=config.data.buffer_memory,
        max_request_size=config.data.max_request_size,
        merge_bytes=min(config.data.batch_size, config.data.max_request_size),
        most_plain=source.most_plain,
        compression=compression_of(config.data),
        fetch=_fetch(config, consumer),
        gaps=GapSpec(
            fails=source.gaps_fail,
            remote_fails=source.remote_gaps_fail,
            hanging_after_s=source.hanging_transaction.total_seconds(),
        ),
        offset_syncs=syncs if source.emit_offset_syncs else None,
        errors=_errors(source.errors),
        exactly_once=exactly_once_spec(config, producer),
        hidden=RESOLVED.within(
            [*consumer.values(), *producer.values(), *syncs.properties.values()]
        ),
    )


def _errors(errors: ErrorSettings) -> ErrorSpec:
    timeout = errors.retry_timeout
    return ErrorSpec(
        tolerates=errors.tolerates,
        dead_letter_topic=errors.dead_letter_topic if errors.tolerates else None,
        context_headers=errors.context_headers,
        logs=errors.logs,
        logs_messages=errors.logs_messages,
        retry_timeout_s=inf if timeout is None else timeout.total_seconds(),
        retry_delay_s=errors.retry_delay.total_seconds(),
    )


def compression_of(data: DataSettings) -> Compression | None:
    """The codec that the user asks for; None keeps what is there."""
    if data.codec is None:
        return None
    return Compression(CODEC_NAMES.index(data.codec), data.level)


def _fetch(config: FlowConfig, consumer: Mapping[str, str]) -> FetchSpec:
    data = config.data
    lease_ms = milliseconds(consumer, "metadata.max.age.ms", _METADATA_AGE_MS)
    return FetchSpec(
        max_bytes=data.fetch_max_bytes,
        max_partition_bytes=data.fetch_partition_bytes,
        min_bytes=data.fetch_min_bytes,
        max_wait_ms=data.fetch_wait_ms,
        read_committed=data.read_committed,
        reset=data.reset,
        starts=config.source.starts,
        rack=consumer.get("client.rack", "").strip(),
        replica_lease_s=lease_ms / 1000,
    )
