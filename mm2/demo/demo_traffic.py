"""
Traffic of every shape, into one cluster.

    orders      3 partitions, lz4, keys and headers, steadily
    customers   2 partitions, compacted, zstd: updates and tombstones, steadily
    shapes      one partition for each codec; every shape of record that a copy could get wrong
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Final

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from mm2.clock import now_ms
from mm2.core.model import TopicName, TopicPartition
from mm2.demo.raw_batches import CODECS, RawRecord, encode
from mm2.demo.raw_cluster import RawCluster

TOPICS: Final[Mapping[str, tuple[int, Mapping[str, str]]]] = {
    "orders": (3, {}),
    "customers": (2, {"cleanup.policy": "compact"}),
    "shapes": (len(CODECS), {}),
}
"""Name, number of partitions, settings."""

BACK_DATED: Final = frozenset({"shapes"})
"""Topics with records whose timestamps lie hours before the time at which they are written."""

_CREATED_WITHIN_S: Final = 60.0
_TICK_S: Final = 0.05
_SHAPES_EVERY_S: Final = 1.0
_CUSTOMERS: Final = 200
_HOUR_MS: Final = 3_600_000
_BLURB: Final = "all that a mirror moves has been somewhere else before; " * 6


def shapes(now_ms: int, mark: str) -> list[RawRecord]:
    """Records of every shape; the last is the latest, so that the batch's age is its own."""
    name = mark.encode()
    odd_headers = ((b"a", b"1"), (b"a", None), (b"\xff\xfe", b"not UTF-8"), (b"a", b""), (b"", b""))
    return [
        RawRecord(key=b"tombstone " + name, value=None, timestamp_ms=now_ms - _HOUR_MS),
        RawRecord(key=None, value=b"no key " + name, timestamp_ms=now_ms - 2 * _HOUR_MS),
        RawRecord(key=b"", value=b"", timestamp_ms=now_ms - 5),
        RawRecord(key=b"\x00\xff", value=bytes(range(256)), timestamp_ms=now_ms - 5),
        RawRecord(key=None, value=None, headers=odd_headers, timestamp_ms=now_ms - 4),
        RawRecord(key=name, value=b"long " * 4000, headers=((b"n", name),), timestamp_ms=now_ms),
    ]


class DemoTraffic:
    """
    Writes into one cluster, from ``run`` until ``stop``.

    Args:
        alias: of the cluster.
        bootstrap: its address.
        rate: records a second, the shapes not counted.
    """

    def __init__(self, alias: str, bootstrap: str, *, rate: int) -> None:
        self._alias = alias
        self._bootstrap = bootstrap
        self._rate = rate
        self._sent = 0
        self._failures: list[str] = []
        self._stop = asyncio.Event()

    def prepare(self) -> None:
        """Creates the topics."""
        admin = AdminClient({"bootstrap.servers": self._bootstrap})
        new = [
            NewTopic(name, partitions, 1, config=dict(configs))
            for name, (partitions, configs) in TOPICS.items()
        ]
        for created in admin.create_topics(new).values():
            created.result(_CREATED_WITHIN_S)

    def stop(self) -> None:
        """Lets ``run`` wait for the last acknowledgements and end."""
        self._stop.set()

    async def run(self) -> None:
        """
        Writes until stopped.

        Raises:
            RuntimeError: the cluster did not take a record.
        """
        producers = {"orders": self._producer("lz4"), "customers": self._producer("zstd")}
        async with RawCluster(self._alias, self._bootstrap) as cluster:
            began, shaped = time.monotonic(), -_SHAPES_EVERY_S
            while not self._stop.is_set():
                elapsed = time.monotonic() - began
                if elapsed - shaped >= _SHAPES_EVERY_S:
                    shaped = elapsed
                    await self._send_shapes(cluster)
                while self._sent < elapsed * self._rate:
                    self._send(producers)
                await self._tick()
        for producer in producers.values():
            left = await asyncio.to_thread(producer.flush, 20)
            if left or self._failures:
                raise RuntimeError(f"cluster {self._alias}: {left} unsent {self._failures[:1]}")

    async def _tick(self) -> None:
        try:
            async with asyncio.timeout(_TICK_S):
                await self._stop.wait()
        except TimeoutError:
            return

    def _producer(self, codec: str) -> Producer:
        return Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "compression.type": codec,
                "linger.ms": 20,
                "enable.idempotence": True,
                "log_level": 0,
            }
        )

    def _send(self, producers: Mapping[str, Producer]) -> None:
        number = self._sent
        self._sent += 1
        topic, key, value = self._update(number) if number % 10 == 0 else self._order(number)
        headers: list[tuple[str, str | bytes | None]] = [
            ("trace", b"%032x" % number),
            ("empty", None),
        ]
        producers[topic].produce(
            topic, key=key, value=value, headers=headers, on_delivery=self._delivered
        )
        for producer in producers.values():
            producer.poll(0)

    def _order(self, number: int) -> tuple[str, bytes, bytes]:
        order = {"order": number, "at": self._alias, "text": _BLURB[: number % 300]}
        return "orders", b"order-%d" % number, json.dumps(order).encode()

    def _update(self, number: int) -> tuple[str, bytes, bytes | None]:
        """A customer's new state; now and then a tombstone."""
        key = b"customer-%d" % (number // 10 % _CUSTOMERS)
        return "customers", key, None if number % 70 == 0 else b'{"version": %d}' % number

    def _delivered(self, error: object, _: object) -> None:
        if error is not None:
            self._failures.append(str(error))

    async def _send_shapes(self, cluster: RawCluster) -> None:
        time_ms = now_ms()
        await cluster.write(
            {
                TopicPartition(TopicName("shapes"), number): encode(
                    shapes(time_ms, f"{self._alias} {codec} {time_ms}"), codec
                )
                for number, codec in enumerate(CODECS)
            }
        )
