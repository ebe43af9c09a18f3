"""The series of the legacy tool: what its streams copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mm2.metrics.exposition import Series, families, labels_of
from mm2.protocol.stream_progress import StreamPartition, decode_stream

OF_STREAMS: Final[Sequence[Series[int]]] = (
    Series("mm2_stream_partitions", "Partitions that the group has given to a stream.", float),
)

OF_OFFSET_STORES: Final[Sequence[Series[int]]] = (
    Series(
        "mm2_stream_offset_commits_total",
        "Offsets that a stream has committed: to `kafka`, or to `zookeeper`.",
        float,
        "counter",
    ),
)

OF_STREAM_PARTITIONS: Final[Sequence[Series[StreamPartition]]] = (
    Series(
        "mm2_stream_copied_records_total",
        "Copies that the target has, since the stream has got the partition.",
        lambda each: each.records,
        "counter",
    ),
    Series(
        "mm2_stream_copied_bytes_total",
        "Bytes of their batches, as they are compressed.",
        lambda each: each.bytes,
        "counter",
    ),
    Series(
        "mm2_stream_skipped_records_total",
        "Records that were left out, as --abort.on.send.failure false has it.",
        lambda each: each.skipped,
        "counter",
    ),
    Series(
        "mm2_stream_dead_letters_total",
        "Of these, the ones that the dead-letter topic has.",
        lambda each: each.dead_letters,
        "counter",
    ),
    Series(
        "mm2_stream_lag_records",
        "Offsets of the source that are not copied.",
        lambda each: each.lag,
    ),
)


class StreamMetrics:
    """What the streams of a process have told last."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._streams: dict[int, list[StreamPartition]] = {}
        self._commits: dict[int, dict[str, int]] = {}

    def take_progress(self, data: bytes) -> None:
        """A stream tells how far it is."""
        number, partitions, commits = decode_stream(data)
        self._streams[number], self._commits[number] = partitions, commits

    def text(self) -> str:
        """All series in Prometheus' text format."""
        streams = sorted(self._streams.items())
        named = [(labels_of(self._labels(number)), len(each)) for number, each in streams]
        partitions = [
            (
                labels_of(
                    {**self._labels(number), "topic": each.topic, "partition": each.partition}
                ),
                each,
            )
            for number, found in streams
            for each in found
        ]
        commits = [
            (labels_of({**self._labels(number), "store": store}), count)
            for number, _ in streams
            for store, count in self._commits[number].items()
        ]
        texts = [each.text() for each in families(OF_STREAMS, named)]
        texts += [each.text() for each in families(OF_OFFSET_STORES, commits)]
        texts += [each.text() for each in families(OF_STREAM_PARTITIONS, partitions)]
        return "".join(texts)

    def _labels(self, stream: int) -> dict[str, object]:
        return {"group": self._group, "stream": stream}
