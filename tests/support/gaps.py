"""What tests of missing data write, and what is told and kept of gaps."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from mm2.protocol.progress_records import GapReport, PartitionProgress
from tests.support.batches import Plain, write_batch
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.raw import contents, log_of, records_in, write
from tests.support.specs import gap_settings

MODES = pytest.mark.parametrize("exactly_once", [False, True])
FAILING = gap_settings(fail_on_source_gap=True, fail_on_remote_gap=True)
"""Partitions stop at what is missing."""


def write_values(cluster: Cluster, topic: str, *values: bytes, partition: int = 0) -> None:
    """Writes records with these values, one batch."""
    records = [Plain(offset=n, key=b"k", value=value) for n, value in enumerate(values)]
    write(cluster.bootstrap, topic, write_batch(records), partition=partition)


def values_of(cluster: Cluster, topic: str, partition: int = 0) -> list[object]:
    """The values of all records of a partition."""
    return [content[2] for content in contents(cluster.bootstrap, topic, partition=partition)]


def expect_copied(bench: Bench, topic: str, values: Sequence[bytes]) -> None:
    """Waits until a topic's copy has as many values; they must be these."""
    look = lambda: values_of(bench.target, bench.remote(topic))  # noqa: E731 - shown when it fails
    assert eventually(look, until=lambda found: len(found) >= len(values)) == list(values)


def report_of(bench: Bench, topic: str, kind: str, partition: int = 0) -> PartitionProgress:
    """The progress of a partition once it tells of a gap of this kind."""
    report = eventually(
        lambda: bench.progress().get((topic, partition)),
        until=lambda report: report is not None and bool(gaps_of(report, kind)),
    )
    assert report is not None
    return report


def gaps_of(report: PartitionProgress, kind: str) -> list[GapReport]:
    """What a partition's report says of gaps of a kind."""
    return [gap for gap in report.gaps if gap.kind == kind]


def kept_gaps(bench: Bench, kind: str) -> list[dict[str, object]]:
    """What the control topic keeps of gaps of a kind."""
    records = records_in(log_of(bench.target.bootstrap, f"{bench.unique}-control"))
    prefix = f"gap-{kind}".encode()
    return [json.loads(r.value or b"") for r in records if (r.key or b"").startswith(prefix)]
