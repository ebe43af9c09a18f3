"""Two clusters, a mirror between them, and traffic: where trials take place."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final
from uuid import uuid4

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from mm2.core.internal_records import Checkpoint
from tests.harness.trials.gap_traffic import PARTITIONS, GapTraffic
from tests.harness.trials.tail import Tail
from tests.harness.trials.verdict import Where
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, java_mirror, properties

_MM2: Final = Path(sys.executable).with_name("mm2")
_COMMAND_WITHIN_S: Final = 120.0
_COPIED_WITHIN_S: Final = 120.0

SETTINGS: Final = {
    "heartbeats.replication.enabled": "false",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.interval.seconds": "1",
}
"""Of both mirrors; all else has its default, but for what one broker demands."""


@dataclass(frozen=True, slots=True)
class Copy:
    """
    What one mirror has made of the topics.

    Attributes:
        alias: of the source, in that mirror's configuration.
        bootstrap: of the target.
        tail: follows the copies.
    """

    alias: str
    bootstrap: str
    tail: Tail

    def remote(self, topic: str) -> str:
        """The name of a topic's copy."""
        return f"{self.alias}.{topic}"

    def checkpoints(self, group: str) -> dict[Where, Checkpoint]:
        """The last checkpoint of each partition, by the topics' names on the source."""
        found = {}
        for key, value in _records(self.bootstrap, f"{self.alias}.checkpoints.internal"):
            checkpoint = Checkpoint.decode(key, value) if value else None
            if checkpoint and checkpoint.group == group:
                topic = checkpoint.partition.topic.removeprefix(f"{self.alias}.")
                found[topic, checkpoint.partition.partition] = checkpoint
        return found


@dataclass(frozen=True, slots=True)
class TrialClusters:
    """
    Everything that a trial needs.

    Attributes:
        source: a cluster of its own, which may be killed.
        target: shared with others.
        traffic: on the source, going on all the time.
        copy: what mm2 made.
        java: what Java's MirrorMaker made of the same topics, if it runs.
        file: the configuration of mm2's mirror.
        flow: source and target in it.
        prefix: of the names of topics and groups.
    """

    source: KafkaCluster
    target: Cluster
    traffic: GapTraffic
    copy: Copy
    java: Copy | None
    file: Path
    flow: str
    prefix: str

    @property
    def remotes(self) -> list[str]:
        """The names of mm2's copies."""
        return [self.copy.remote(topic) for topic in self.traffic.topics]

    def command(self, verb: str, *words: str) -> str:
        """
        Runs ``mm2 failover execute`` or ``mm2 failback execute`` as a user would.

        Raises:
            AssertionError: it did not exit with 0; with all that it printed.
        """
        command = [str(_MM2), verb, "execute", str(self.file), "--flow", self.flow, *words]
        done = subprocess.run(
            [*command, "--execute"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_COMMAND_WITHIN_S,
        )
        printed = f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == 0, printed
        return printed

    def wait_for_copies(self) -> None:
        """Returns when all that is committed now has been copied."""
        newest = {where: max(self.traffic.offsets(where)) for where in self.traffic.partitions}
        for copy in filter(None, (self.copy, self.java)):
            eventually(
                lambda copy=copy: _is_whole(copy.tail, newest),  # type: ignore[misc]
                timeout=_COPIED_WITHIN_S,
            )


@contextmanager
def world(
    folder: Path,
    target: Cluster,
    random: Random,
    *,
    steps: int = 400,
    with_java: bool = False,
    exactly_once: bool = False,
) -> Iterator[TrialClusters]:
    """
    Makes a source and fills it; mirrors run and have copied it all when the context begins.

    Args:
        folder: for configuration and logs.
        target: where copies go.
        random: decides what is written.
        steps: how much is written before the mirrors start.
        with_java: whether Java's MirrorMaker mirrors the same topics.
        exactly_once: whether mm2 copies in transactions.
    """
    number = uuid4().hex[:6]
    prefix, alias, javas = (f"{kind}{number}" for kind in ("trial", "P", "J"))
    with ExitStack() as stack:
        source = stack.enter_context(KafkaCluster(f"source-{number}"))
        traffic = GapTraffic(source, prefix, random)
        traffic.fill(steps)
        mirrors: dict[str, Mirror] = {}
        for name, command in ((alias, None), (javas, java_mirror))[: 1 + with_java]:
            home = folder / name
            home.mkdir()
            clusters = {name: source.bootstrap, _target(name): target.bootstrap}
            own = {f"{_target(alias)}.exactly.once.source.support": "enabled"}
            flow = _flow(name, prefix) | (own if exactly_once else {})
            text = properties(clusters, SETTINGS | flow)
            mirrors[name] = stack.enter_context(Mirror(home, text, command=command))
        copies = {name: stack.enter_context(_copy(name, target, traffic)) for name in mirrors}
        stack.enter_context(traffic)
        found = TrialClusters(
            source=source,
            target=target,
            traffic=traffic,
            copy=copies[alias],
            java=copies.get(javas),
            file=mirrors[alias].file,
            flow=f"{alias}->{_target(alias)}",
            prefix=prefix,
        )
        found.wait_for_copies()
        yield found


def _target(alias: str) -> str:
    """The target's alias: each mirror has its own, as the topics of offset syncs are named so."""
    return f"to{alias}"


def _flow(alias: str, prefix: str) -> dict[str, str]:
    return {
        f"{alias}->{_target(alias)}.enabled": "true",
        f"{alias}.consumer.isolation.level": "read_committed",
        "topics": f"{prefix}-.*",
        "groups": f"{prefix}-.*",
    }


@contextmanager
def _copy(alias: str, target: Cluster, traffic: GapTraffic) -> Iterator[Copy]:
    copies = {where: f"{alias}.{where[0]}" for where in traffic.partitions}
    topics = set(copies.values())
    eventually(lambda: topics <= _topics(target), timeout=_COPIED_WITHIN_S)
    with Tail(target.bootstrap, copies) as tail:
        yield Copy(alias, target.bootstrap, tail)


def _topics(cluster: Cluster) -> set[str]:
    """The topics with all their partitions led."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none"})
    try:
        found = consumer.list_topics(timeout=60).topics.items()
    finally:
        consumer.close()
    return {
        name
        for name, topic in found
        if len(topic.partitions) == PARTITIONS
        and all(each.leader >= 0 for each in topic.partitions.values())
    }


def _is_whole(tail: Tail, newest: Mapping[Where, int]) -> bool:
    tail.refresh()
    return all(
        any(number >= last for _, number in tail.log(where)) for where, last in newest.items()
    )


def _records(bootstrap: str, topic: str) -> Iterator[tuple[bytes | None, bytes | None]]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none"})
    try:
        where = TopicPartition(topic, 0, OFFSET_BEGINNING)
        _, end = consumer.get_watermark_offsets(where, timeout=60)
        consumer.assign([where])
        while end > 0:
            for message in consumer.consume(1_000, timeout=0.1):
                assert message.error() is None, message.error()
                yield message.key(), message.value()
                if (message.offset() or 0) >= end - 1:
                    return
    finally:
        consumer.close()
