"""What a node exports, read as Prometheus does."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from mm2.config.metrics_settings import MetricsSettings
from mm2.herder.view.led_flow import LedFlow
from mm2.metrics.scrape import exported, seen_now
from mm2.protocol.checkpoint_progress import (
    CheckpointLatency,
    CheckpointProgress,
    encode_checkpoint_progress,
)
from mm2.protocol.heartbeat_progress import HeartbeatProgress, WayProgress, encode_heartbeats
from tests.support.configs import flow_of
from tests.support.seen_flow import NOW, SeenFlow, place


class Scrape:
    """
    One scrape; reading it checks its form.

    Args:
        text: the answer.
    """

    def __init__(self, text: str) -> None:
        families = list(text_string_to_metric_families(text))
        names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
        assert len(names) == len(set(names)), "a name is in two places"
        self.samples: list[Sample] = [each for family in families for each in family.samples]
        keys = [(each.name, tuple(sorted(each.labels.items()))) for each in self.samples]
        assert len(keys) == len(set(keys)), "two samples have the same labels"

    @property
    def names(self) -> set[str]:
        """Of all series."""
        return {each.name for each in self.samples}

    def all(self, name: str, **labels: str) -> list[Sample]:
        """The samples of a series that have these labels."""
        return [
            each
            for each in self.samples
            if each.name == name and labels.items() <= each.labels.items()
        ]

    def value(self, name: str, **labels: str) -> float:
        """Of the one sample that has these labels."""
        (found,) = self.all(name, **labels)
        return found.value


def scrape(
    *seen: SeenFlow, now_ms: int = NOW, aliases: Iterable[str] = (), most_groups: int = 1000
) -> Scrape:
    """What a node that leads these flows exports."""
    settings = MetricsSettings(aliases=tuple(aliases), most_groups=most_groups)
    led = [LedFlow(each.config, each.snapshot) for each in seen]
    return Scrape(
        "".join(family.text() for family in exported(seen_now(led, settings, now_ms), settings))
    )


def full_flow(**changes: str) -> SeenFlow:
    """A flow that has copied something, and translated the offset of a group: it has all series."""
    seen = SeenFlow(flow_of(**changes))
    seen.report(
        0,
        place(
            0,
            records=10,
            bytes=1000,
            position=9,
            start=0,
            end=30,
            lag=20,
            first=0,
            age_ms=(5, 1, 9, 4),
            replication_ms=(50, 10, 90, 40),
            live_ms=(6, 2, 8, 5),
            record_bytes=(100, 90, 110, 100),
            lost=1,
            skipped=3,
            dead_letters=2,
            left_out=4,
            backfill=7,
            pinned_since_ms=NOW - 1500,
        ),
        place(1, start=0),
    )
    seen.report(1, place(2, start=0))
    add_checkpoint(seen, "g")
    way = WayProgress(topic="A.heartbeats", way=("A", "B"), hops=1, last_ms=NOW - 2000)
    beats = HeartbeatProgress(time_ms=NOW, last_ms=NOW - 500, ways=(way,))
    seen.snapshot.apply_progress(seen.record(*encode_heartbeats(beats)))
    return seen


def add_checkpoint(seen: SeenFlow, group: str, at_ms: int = NOW) -> None:
    """The flow has translated an offset of a group."""
    latency = CheckpointLatency(
        group=group,
        topic="A.t",
        partition=0,
        last_ms=4,
        min_ms=1,
        max_ms=7,
        avg_ms=3.5,
        exact=True,
    )
    told = CheckpointProgress(time_ms=at_ms, groups=1, latencies=(latency,))
    seen.snapshot.apply_progress(seen.record(*encode_checkpoint_progress(told)))
