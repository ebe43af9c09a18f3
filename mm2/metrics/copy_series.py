"""How far the copies of flows and topics are: the numbers of ``mm2 status`` and ``mm2 topics``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from mm2.core.first_copy import FirstCopyProgress, first_copy_progress
from mm2.metrics.exposition import Family, Labels, Series, Value, families, labels_of
from mm2.metrics.partitions import Partition

OF_FLOWS: Final = "mm2_flow_"
OF_TOPICS: Final = "mm2_topic_"


def _eta_s(copy: FirstCopyProgress) -> Value:
    if copy.eta_s is not None:
        return copy.eta_s
    # Without the logs of all partitions, nobody knows whether the lag shrinks.
    return None if copy.percent is None else float("inf")


OF_COPIES: Final[Sequence[Series[FirstCopyProgress]]] = (
    Series(
        "copied_percent",
        "How much of what the source holds is copied, rounded down: 100 is all of it.",
        lambda each: each.percent,
    ),
    Series("lag_records", "Records that are not copied.", lambda each: each.records_left),
    Series(
        "lag_bytes",
        "The same in bytes, estimated by the mean size of the records copied so far.",
        lambda each: each.bytes_left,
    ),
    Series("record_rate", "Records copied per second, over 10 s.", lambda each: each.records_per_s),
    Series("byte_rate", "Bytes copied per second, over 10 s.", lambda each: each.bytes_per_s),
    Series(
        "eta_seconds",
        "Time until the copy is complete if both clusters go on as they do; +Inf: never.",
        _eta_s,
    ),
    Series(
        "catching_up",
        "1 while the rest takes more than ten seconds at the present rate, as in a first copy.",
        lambda each: int(each.is_behind),
    ),
)
"""After ``OF_FLOWS`` or ``OF_TOPICS``."""


def of_copies(partitions: Iterable[Partition]) -> Iterator[Family[FirstCopyProgress]]:
    """The series of flows, and of topics; none of those that no task has reported."""
    flows: dict[int, list[Partition]] = defaultdict(list)
    topics: dict[tuple[int, str], list[Partition]] = defaultdict(list)
    for each in partitions:
        flows[id(each.flow)].append(each)
        topics[id(each.flow), each.view.remote].append(each)
    for prefix, groups in (
        (OF_FLOWS, [(each[0].flow.names, each) for each in flows.values()]),
        (OF_TOPICS, [(_topic(each[0]), each) for each in topics.values()]),
    ):
        table = [each.prefixed(prefix) for each in OF_COPIES]
        yield from families(table, _copies(groups))


def _topic(partition: Partition) -> Mapping[str, object]:
    return {**partition.flow.names, "topic": partition.view.remote}


def _copies(
    groups: Iterable[tuple[Mapping[str, object], Sequence[Partition]]],
) -> Iterator[tuple[Labels, FirstCopyProgress]]:
    for labels, found in groups:
        if any(each.view.reported_ms is not None for each in found):
            yield labels_of(labels), first_copy_progress(each.view for each in found)
