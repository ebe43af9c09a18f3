"""
Where mirroring of a partition begins that has no position yet.

``auto.offset.reset`` of the source's consumer says it for all, in the words of Kafka 4
(``by_duration`` is of KIP-1106); rules of ours say it for single topics and partitions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from mm2.core.filters import NamePatterns
from mm2.core.model import TopicPartition
from mm2.core.times import parse_duration_ms, parse_time_ms
from mm2.errors import ConfigError

RULES_KEY: Final = "source.start.offsets"

_DURATION: Final = "by_duration:"
_OFFSET: Final = re.compile(r"[0-9]{1,18}")
_RULE: Final = re.compile(r"(?P<topic>.+?)(?::(?P<partition>[0-9]{1,9}))?=(?P<where>[^=]+)")


class Begin(Enum):
    """What kind of place a start is."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NOWHERE = "none"
    OFFSET = "offset"
    TIME = "time"
    AGO = "by_duration"


@dataclass(frozen=True, slots=True)
class Start:
    """A place to begin; ``number`` is an offset, a time in ms, or so many ms ago."""

    begin: Begin
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRule:
    """
    Where some partitions begin.

    Attributes:
        topic: a regular expression of Java's, which must match the whole name.
        partition: only this one; None is all of them.
    """

    topic: str
    partition: int | None
    start: Start

    def is_about(self, where: TopicPartition) -> bool:
        """Tells whether the rule holds for a partition."""
        return self.partition in {None, where.partition} and where.topic in _patterns(self.topic)


def start_of(where: TopicPartition, rules: Iterable[StartRule], otherwise: Start) -> Start:
    """Returns the start by the first rule for a partition, or ``otherwise``."""
    return next((rule.start for rule in rules if rule.is_about(where)), otherwise)


def parse_reset(text: str) -> Start:
    """
    Reads ``auto.offset.reset``: earliest, latest, none, or ``by_duration:`` and a duration.

    Raises:
        ValueError: it is none of these.
    """
    if text in _WORDS:
        return Start(_WORDS[text])
    if text.startswith(_DURATION):
        return Start(Begin.AGO, parse_duration_ms(text.removeprefix(_DURATION)))
    raise ValueError("must be earliest, latest, none or by_duration:PT1H")


def parse_rules(items: Iterable[str]) -> tuple[StartRule, ...]:
    """
    Reads rules: ``topic=where`` or ``topic:partition=where``, the first that holds counts.

    ``where`` is earliest, latest, an offset, a time in ISO 8601, or ``by_duration:`` and a
    duration.

    Raises:
        ConfigError: one is not written so.
    """
    return tuple(map(_rule, items))


def _rule(item: str) -> StartRule:
    found = _RULE.fullmatch(item)
    if found is None:
        message = f"'{item}' is not of the form topic=where or topic:partition=where"
        raise ConfigError(message, key=RULES_KEY, value=item)
    try:
        _patterns(found["topic"])
        start = _place(found["where"].strip())
    except (ConfigError, ValueError) as error:
        raise ConfigError(f"'{item}': {error}", key=RULES_KEY, value=item) from error
    partition = None if found["partition"] is None else int(found["partition"])
    return StartRule(topic=found["topic"], partition=partition, start=start)


def _place(text: str) -> Start:
    if text in _WORDS or text.startswith(_DURATION):
        return parse_reset(text)
    if _OFFSET.fullmatch(text):
        return Start(Begin.OFFSET, int(text))
    return Start(Begin.TIME, parse_time_ms(text))


_WORDS: Final[Mapping[str, Begin]] = {
    begin.value: begin for begin in (Begin.EARLIEST, Begin.LATEST, Begin.NOWHERE)
}


@lru_cache(maxsize=1024)
def _patterns(topic: str) -> NamePatterns:
    return NamePatterns([topic], RULES_KEY)
