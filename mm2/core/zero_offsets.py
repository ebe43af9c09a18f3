"""
Changes of the offsets that the heartbeat and checkpoint connectors keep: always zero.

Connect stores an offset for every source partition, and these connectors have none to tell
(behaviours 1.4). Such entries can be deleted, and nothing else can be done with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from mm2.errors import ConfigError, ConfigErrors

HEARTBEAT_FIELDS: Final[Mapping[str, type]] = MappingProxyType(
    {"sourceClusterAlias": str, "targetClusterAlias": str}
)
"""What names a source partition of the heartbeat connector."""

CHECKPOINT_FIELDS: Final[Mapping[str, type]] = MappingProxyType(
    {"group": str, "topic": str, "partition": int}
)
"""What names a source partition of the checkpoint connector."""

_KINDS: Final = {str: "a text", int: "a whole number"}


def check_zero_offsets(
    entries: Iterable[tuple[object, object]], fields: Mapping[str, type]
) -> None:
    """
    Checks a request to alter offsets as the two connectors do (C276-C278, C313-C315).

    Args:
        entries: each a source partition and its new offset, as the JSON of a request has them. An
            offset of None deletes; the partition may then be anything. There may be no entries.
        fields: what a source partition must have, each of its type.

    Raises:
        ConfigErrors: everything that is wrong, each with its place.
    """
    problems = [
        problem
        for number, (partition, offset) in enumerate(entries)
        if offset is not None
        for problem in (
            *_partition_problems(f"offsets[{number}].partition", partition, fields),
            *_offset_problems(f"offsets[{number}].offset", offset),
        )
    ]
    if problems:
        raise ConfigErrors(problems)


def _partition_problems(
    place: str, partition: object, fields: Mapping[str, type]
) -> Iterable[ConfigError]:
    if not isinstance(partition, dict):
        yield _problem(place, partition, f"must be an object of {', '.join(fields)}")
        return
    for name, kind in fields.items():
        value = partition.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            yield _problem(f"{place}.{name}", value, f"must be {_KINDS[kind]}")


def _offset_problems(place: str, offset: object) -> Iterable[ConfigError]:
    value = offset.get("offset") if isinstance(offset, dict) else None
    if type(value) is not int or value != 0:
        yield _problem(place, offset, 'must be {"offset": 0}, or null to delete the entry')


def _problem(place: str, value: object, message: str) -> ConfigError:
    return ConfigError(f"{place} is {value!r}: {message}", key=place, value=repr(value))
