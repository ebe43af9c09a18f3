"""
Archives the classes of Kafka's brokers, so that those of tests, demo and benchmarks start sooner.

    python -m tests.support.archive

A broker is run once and told to write down what it has loaded (Java's class data sharing). Does
nothing if the archive is there; Java ignores one that does not fit its jars.
"""

from __future__ import annotations

import os
from typing import Final

from mm2.demo.kafka_jars import KAFKA_VERSION
from tests.support.cluster import KafkaCluster
from tests.support.layout import class_archive
from tests.support.records import Sample, consume, create_topic, produce

_WRITTEN_WITHIN_S: Final = 180.0


def main() -> None:
    """Makes the archive, unless it is there."""
    archive = class_archive()
    if archive.exists():
        return
    print("Archiving the classes of Kafka's brokers ...", flush=True)  # noqa: T201
    unfinished = archive.with_suffix(f".{os.getpid()}")
    try:
        options = [f"-XX:ArchiveClassesAtExit={unfinished}"]
        with KafkaCluster("archive", options=options, version=KAFKA_VERSION) as cluster:
            create_topic(cluster.bootstrap, "topic")
            produce(cluster.bootstrap, "topic", [Sample(value=b"value")])
            consume(cluster.bootstrap, "topic", 1)
            cluster.stop_node(timeout=_WRITTEN_WITHIN_S)
        unfinished.replace(archive)
    finally:
        unfinished.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
