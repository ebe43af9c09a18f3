"""Gap records in the control topic, for operators."""

from __future__ import annotations

import json
from dataclasses import asdict

from mm2.core.model import TopicPartition
from mm2.protocol.control_records import VERSION
from mm2.protocol.progress_records import GapReport


def encode_gap(source: TopicPartition, report: GapReport) -> tuple[bytes, bytes]:
    """Key and value of what was found missing in a source partition; nobody acts on it."""
    value = {
        "version": VERSION,
        "topic": source.topic,
        "partition": source.partition,
        **asdict(report),
    }
    key = f"gap-{report.kind}-{source.partition}-{source.topic}"
    return key.encode(), json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
