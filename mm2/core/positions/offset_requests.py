"""
Changes of positions that an operator asks for: what is asked, whether it can be, what it means.

Requests are those of Connect's REST interface (KIP-875), checked as ``MirrorSourceConnector`` does,
and against the partitions and offsets that the source really has, which Java does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from mm2.core.model import NO_OFFSET, ClusterAlias, TopicName, TopicPartition
from mm2.errors import ConfigError, ConfigErrors

_MOST_PARTITION: Final = 2**31 - 1
_MOST_OFFSET: Final = 2**63 - 1
_FIELDS: Final = ("cluster", "topic", "partition")


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetRequest:
    """
    One entry of a request.

    Attributes:
        partition: as given. It may be anything if the position is to be deleted (C204).
        where: the partition of the flow's source that it names; None if it names none, as where the
            source had another alias.
        offset: upstream offset of the last record that counts as mirrored; None deletes the
            position.
    """

    partition: object
    where: TopicPartition | None
    offset: int | None


class LogRange(NamedTuple):
    """The offsets that a source partition has: of its first record, and of the next to come."""

    start: int
    end: int


class RequestedOffset(Enum):
    """Where a position can be moved to; the names are those of Kafka's tools."""

    EARLIEST = "to-earliest"
    LATEST = "to-latest"
    TIME = "to-datetime"
    OFFSET = "to-offset"
    SHIFT = "shift-by"


def parse_request(document: object, source: ClusterAlias) -> list[OffsetRequest]:
    """
    Reads ``{"offsets": [{"partition": {...}, "offset": {"offset": n}}, ...]}`` (C196-C204).

    Raises:
        ConfigErrors: everything that is wrong, each with its place in the document.
    """
    match document:
        case {"offsets": list(entries)} if entries:
            pass
        case _:
            message = 'expected {"offsets": [{"partition": {...}, "offset": {...}}, ...]}'
            raise ConfigErrors([ConfigError(message)])
    problems: list[ConfigError] = []
    requests = [
        request
        for number, entry in enumerate(entries)
        if (request := _entry(f"offsets[{number}]", entry, source, problems)) is not None
    ]
    if problems:
        raise ConfigErrors(problems)
    return requests


def _entry(
    place: str, entry: object, source: ClusterAlias, problems: list[ConfigError]
) -> OffsetRequest | None:
    if not isinstance(entry, dict) or entry.keys() != {"partition", "offset"}:
        problems.append(_problem(place, entry, "must be an object of partition and offset"))
        return None
    partition, offset = entry["partition"], entry["offset"]
    found = list(_partition_problems(f"{place}.partition", partition, source))
    where = None if found else TopicPartition(TopicName(partition["topic"]), partition["partition"])
    if offset is None:
        return OffsetRequest(partition=partition, where=where, offset=None)
    found += _offset_problems(f"{place}.offset", offset)
    problems += found
    if found:
        return None
    return OffsetRequest(partition=partition, where=where, offset=offset["offset"])


def _partition_problems(
    place: str, partition: object, source: ClusterAlias
) -> Iterable[ConfigError]:
    if not isinstance(partition, dict) or partition.keys() != set(_FIELDS):
        yield _problem(place, partition, f"must be an object of {', '.join(_FIELDS)}")
        return
    cluster, topic, number = (partition[name] for name in _FIELDS)
    if cluster != source:
        yield _problem(f"{place}.cluster", cluster, f'must be "{source}", the source of the flow')
    if not isinstance(topic, str) or not topic:
        yield _problem(f"{place}.topic", topic, "must be the name of a topic")
    if not _is_number(number) or not 0 <= number <= _MOST_PARTITION:
        yield _problem(f"{place}.partition", number, "must be the number of a partition")


def _offset_problems(place: str, offset: object) -> Iterable[ConfigError]:
    if not isinstance(offset, dict) or offset.keys() != {"offset"}:
        yield _problem(place, offset, 'must be {"offset": n}, or null to delete the position')
    elif not _is_number(offset["offset"]) or not NO_OFFSET <= offset["offset"] <= _MOST_OFFSET:
        message = (
            "must be a whole number: the offset of the last record that was mirrored, or -1 for"
            " none, so that it begins with record 0"
        )
        yield _problem(f"{place}.offset", offset["offset"], message)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _problem(place: str, value: object, message: str) -> ConfigError:
    return ConfigError(f"{place} is {value!r}: {message}", key=place, value=repr(value))


def check_against_source(
    positions: Mapping[TopicPartition, int], ranges: Mapping[TopicPartition, LogRange]
) -> list[ConfigError]:
    """
    Returns what is wrong with new positions, given what the source has of these partitions.

    Args:
        positions: upstream offset of the last record that counts as mirrored.
    """
    problems: list[ConfigError] = []
    for where, position in sorted(positions.items()):
        if where not in ranges:
            problems.append(ConfigError(f"{where}: the source has no such partition"))
        elif not ranges[where].start <= position + 1 <= ranges[where].end:
            start, end = ranges[where]
            problems.append(
                ConfigError(
                    f"{where}: mirroring would go on at offset {position + 1}; the source has"
                    f" {start} to {end}"
                )
            )
    return problems


def moved_position(
    target: RequestedOffset,
    *,
    number: int,
    stored: int | None,
    log: LogRange,
) -> int:
    """
    Returns the position from which mirroring goes on at the target; see ``RequestedOffset``.

    Args:
        number: offset to read next (OFFSET, and TIME once looked up; -1 for a time after the last
            record), or how far to move, backwards if negative (SHIFT); else without meaning.
        stored: the position now; None if there is none.
        log: what the source has. A shift that leads out of it ends at its border.
    """
    match target:
        case RequestedOffset.EARLIEST:
            following = log.start
        case RequestedOffset.LATEST:
            following = log.end
        case RequestedOffset.TIME:
            following = log.end if number == NO_OFFSET else number
        case RequestedOffset.OFFSET:
            following = number
        case RequestedOffset.SHIFT:
            current = log.start if stored is None else stored + 1
            following = min(max(current + number, log.start), log.end)
    return following - 1
