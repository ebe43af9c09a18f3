"""What the legacy tool exports."""

from __future__ import annotations

from mm2.metrics.stream_series import StreamMetrics
from mm2.protocol.stream_progress import StreamPartition, encode_stream


def test_each_partition_of_each_stream_has_its_counts() -> None:
    metrics = StreamMetrics("g")
    metrics.take_progress(
        encode_stream(1, [StreamPartition("t", 3, 10, 2_000, 2, 1, 7)], {"kafka": 4})
    )
    metrics.take_progress(encode_stream(0, [], {}))
    labels = 'group="g",stream="1",topic="t",partition="3"'
    lines = [line for line in metrics.text().splitlines() if not line.startswith("#")]
    assert lines == [
        'mm2_stream_partitions{group="g",stream="0"} 0.0',
        'mm2_stream_partitions{group="g",stream="1"} 1.0',
        'mm2_stream_offset_commits_total{group="g",stream="1",store="kafka"} 4.0',
        f"mm2_stream_copied_records_total{{{labels}}} 10",
        f"mm2_stream_copied_bytes_total{{{labels}}} 2000",
        f"mm2_stream_skipped_records_total{{{labels}}} 2",
        f"mm2_stream_dead_letters_total{{{labels}}} 1",
        f"mm2_stream_lag_records{{{labels}}} 7",
    ]


def test_what_a_stream_has_given_up_is_not_exported_any_more() -> None:
    metrics = StreamMetrics("g")
    metrics.take_progress(encode_stream(0, [StreamPartition("t", 0, 1, 1, 0, 0, 0)], {}))
    metrics.take_progress(encode_stream(0, [], {}))
    assert "copied" not in metrics.text()
