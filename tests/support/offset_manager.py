"""Instances of the offset manager as processes, and stock clients that speak to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self
from urllib.request import urlopen

from confluent_kafka import Consumer, KafkaException, TopicPartition
from prometheus_client.parser import text_string_to_metric_families

from mm2.core.offset_manager.load_findings import GroupHistory
from mm2.demo.broker_settings import HOST, free_ports, settings_text
from mm2.kafka.groups.offset_load import Load, LoadResult, run_load
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.in_time import in_time


class ServedInstance:
    """
    One ``mm2 offset-manager serve``.

    Args:
        bootstrap: the cluster.
        settings: of its file.
        port: where it listens.
        metrics_port: where it shows its metrics.
    """

    def __init__(
        self, bootstrap: str, settings: Mapping[str, str], port: int, metrics_port: int
    ) -> None:
        self.address = f"{HOST}:{port}"
        self._metrics = f"{HOST}:{metrics_port}"
        self._home = tempfile.TemporaryDirectory(prefix="mm2-offsets-")
        file = Path(self._home.name) / "offsets.properties"
        file.write_text(settings_text(settings))
        self._log = Path(self._home.name) / "log"
        self._command = [
            *(sys.executable, "-m", "mm2.cli.mm2", "offset-manager", "serve"),
            *("--bootstrap-server", bootstrap, "--listen", self.address, "--config", str(file)),
            *("--metrics.listener", self._metrics),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Starts it; it need not be ready."""
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "MM2_LOG_FORMAT": "json"},
            )
        return self

    def signal(self, number: signal.Signals) -> None:
        """Sends it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """Ends it as ``kill -9`` does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def wait(self, timeout: float = PATIENCE_S) -> int:
        """Its exit status, once it has ended."""
        assert self._process is not None
        return self._process.wait(timeout)

    @property
    def metrics(self) -> dict[str, float]:
        """The samples that it shows, by their names with labels."""
        with urlopen(f"http://{self._metrics}/metrics", timeout=10) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        return {
            f"{sample.name}{''.join(sample.labels.values())}": sample.value
            for family in families
            for sample in family.samples
        }

    @property
    def led(self) -> int:
        """How many log partitions it leads; none while it does not answer."""
        with suppress(OSError):
            return round(self.metrics["mm2_offset_manager_led_partitions"])
        return 0

    @property
    def log(self) -> str:
        """What it has said."""
        return self._log.read_text(errors="replace")

    def close(self) -> None:
        """Ends it, and removes its files."""
        self.kill()
        self._home.cleanup()


@contextmanager
def served(
    bootstrap: str, settings: Mapping[str, str], count: int = 1
) -> Iterator[list[ServedInstance]]:
    """Instances that have been started; they end with the context."""
    ports = free_ports(2 * count)
    instances = [
        ServedInstance(bootstrap, settings, *each)
        for each in zip(ports[:count], ports[count:], strict=True)
    ]
    try:
        for each in instances:
            each.start()
        yield instances
    except BaseException as error:
        for each in instances:
            error.add_note(f"--- {each.address}\n{each.log[-4000:]}")
        raise
    finally:
        for each in instances:
            each.close()


@contextmanager
def consumer(instances: Sequence[ServedInstance], group: str, **more: object) -> Iterator[Consumer]:
    """A client of confluent-kafka that knows the instances alone."""
    made = Consumer(
        {
            "bootstrap.servers": ",".join(each.address for each in instances),
            "group.id": group,
            "enable.auto.commit": False,
            "log_level": 0,
            **more,
        }
    )
    try:
        yield made
    finally:
        in_time(made.close)


def commit(client: Consumer, *offsets: TopicPartition) -> None:
    """Commits, however long it takes until somebody leads."""
    eventually(lambda: commit_errors(client, *offsets), until=lambda errors: not any(errors))


def commit_errors(client: Consumer, *offsets: TopicPartition) -> list[int]:
    """Commits once; the errors of the partitions, 0 for none."""
    try:
        found = in_time(lambda: client.commit(offsets=list(offsets), asynchronous=False)) or []
    except KafkaException as error:  # no partition has been committed, for one and the same reason
        return [error.args[0].code()] * len(offsets)
    return [each.error.code() if each.error else 0 for each in found]


def committed(client: Consumer, topic: str, partitions: int = 1) -> list[int]:
    """The offsets of a group, once they are answered; -1001 where there is none."""
    asked = [TopicPartition(topic, number) for number in range(partitions)]
    return [each.offset for each in answered(client, asked)]


def answered(client: Consumer, asked: Sequence[TopicPartition]) -> list[TopicPartition]:
    """What a group has committed, once an instance that leads says so for all partitions."""
    return eventually(
        lambda: client.committed(list(asked), timeout=10),
        until=lambda found: not any(each.error for each in found),
    )


def until_all_have_committed(histories: Mapping[str, GroupHistory]) -> None:
    """Waits until each group of a load test has committed once more."""
    before = {group: each.acknowledged for group, each in histories.items()}

    def waiting() -> int:
        return sum(each.acknowledged <= before[group] for group, each in histories.items())

    eventually(waiting, until=lambda count: count == 0)


@contextmanager
def load(
    instances: Sequence[ServedInstance], topic: str, groups: Sequence[str]
) -> Iterator[tuple[Mapping[str, GroupHistory], Future[LoadResult]]]:
    """Commits and fetches of groups meanwhile: how far they are, and what came of it at the end."""
    over = threading.Event()
    histories: dict[str, GroupHistory] = {}
    asked = Load(
        topic=topic, groups=groups, committers=4, fetchers=4, seconds=1_000, by_consumers=True
    )
    servers = ",".join(each.address for each in instances)
    with ThreadPoolExecutor(max_workers=1) as threads:
        running = threads.submit(
            run_load, servers, {"bootstrap.servers": servers}, asked, over, histories
        )
        try:
            eventually(lambda: len(histories), until=lambda count: count == len(groups))
            until_all_have_committed(histories)
            yield histories, running
        finally:
            over.set()


def until_all_serve(instances: Sequence[ServedInstance]) -> None:
    """Waits until each of the instances tells clients of all: they do not hear it together."""
    wanted = {each.address for each in instances}
    for each in instances:
        eventually(lambda: _shown(each), until=lambda seen: seen >= wanted)  # noqa: B023 - at once


def _shown(instance: ServedInstance) -> set[str]:
    # A client that is told of others asks any of them from then on.
    with consumer([instance], "until-all-serve") as client:
        return _brokers(client)


def _brokers(client: Consumer) -> set[str]:
    try:
        brokers = client.list_topics(timeout=5).brokers.values()
    except KafkaException:  # nobody listens yet
        return set()
    return {f"{each.host}:{each.port}" for each in brokers}
