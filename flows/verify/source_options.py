"""The options of the data source: those of Spark's own Kafka connector for batch reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from mm2.core.json_text import read_json
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import ConfigError, ConfigErrors

KAFKA: Final = "kafka."
EARLIEST: Final = -2
LATEST: Final = -1
"""Stand for offsets, as in Spark's own connector."""

_WORDS: Final = {"earliest": EARLIEST, "latest": LATEST}
_OPTIONS: Final = (
    "subscribe", "startingOffsets", "endingOffsets", "minPartitions", "includeHeaders",
    "failOnDataLoss",
)  # fmt: skip
_BOOLEANS: Final = {"true": True, "false": False}

Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """
    What is to be read.

    Attributes:
        starts: where single partitions begin; others begin at their first record.
        ends: where single partitions end; others end at their last record.
        min_partitions: into how many tasks the whole is divided at least.
        fails_on_loss: whether records that were deleted before they were read are an error.
    """

    properties: Mapping[str, str]
    topics: tuple[TopicName, ...]
    starts: Offsets
    ends: Offsets
    min_partitions: int
    headers: bool
    fails_on_loss: bool

    @property
    def read_committed(self) -> bool:
        """Whether records of aborted transactions are left out."""
        return self.properties.get("isolation.level", "").strip() == "read_committed"


def read_options(options: Mapping[str, str]) -> SourceOptions:
    """
    Reads the options.

    Args:
        options: as Spark gives them; their names are in any case.

    Raises:
        ConfigErrors: all that is wrong with them.
    """
    given = {name.lower(): text for name, text in options.items()}
    problems: list[ConfigError] = list(_unknown(given))
    topics = tuple(
        TopicName(name.strip()) for name in given.get("subscribe", "").split(",") if name.strip()
    )
    if not topics:
        problems.append(_problem("subscribe", given.get("subscribe"), "name topics"))
    starts = _offsets(given, "startingOffsets", "earliest", problems)
    ends = _offsets(given, "endingOffsets", "latest", problems)
    headers = _boolean(given, "includeHeaders", problems)
    fails = _boolean(given, "failOnDataLoss", problems)
    least = given.get("minpartitions", "1").strip()
    if not least.isdecimal():
        problems.append(_problem("minPartitions", least, "write a whole number"))
    if problems:
        raise ConfigErrors(problems)
    return SourceOptions(
        properties={
            name.removeprefix(KAFKA): text for name, text in given.items() if name.startswith(KAFKA)
        },
        topics=topics,
        starts=starts,
        ends=ends,
        min_partitions=int(least),
        headers=headers,
        fails_on_loss=fails,
    )


def _unknown(given: Iterable[str]) -> list[ConfigError]:
    known = {name.lower() for name in _OPTIONS}
    return [
        _problem(name, None, f"there are {', '.join(_OPTIONS)}, and {KAFKA}*")
        for name in given
        if name not in known and not name.startswith(KAFKA)
    ]


def _offsets(
    given: Mapping[str, str], name: str, word: str, problems: list[ConfigError]
) -> dict[TopicPartition, int]:
    """Offsets by partition, from JSON such as {"topic": {"0": 23, "1": -2}}."""
    text = given.get(name.lower(), word).strip()
    if text == word:
        return {}
    try:
        document: Any = read_json(text.encode())
        return {
            TopicPartition(TopicName(topic), int(number)): int(offset)
            for topic, numbers in document.items()
            for number, offset in numbers.items()
            if int(offset) != _WORDS[word]
        }
    except (ValueError, TypeError, AttributeError):
        remedy = f'write {word}, or JSON such as {{"topic": {{"0": 23, "1": {_WORDS[word]}}}}}'
        problems.append(_problem(name, text, remedy))
        return {}


def _boolean(given: Mapping[str, str], name: str, problems: list[ConfigError]) -> bool:
    text = given.get(name.lower(), "true").strip().lower()
    if text not in _BOOLEANS:
        problems.append(_problem(name, text, "write true or false"))
    return _BOOLEANS.get(text, False)


def _problem(name: str, value: str | None, remedy: str) -> ConfigError:
    written = name if value is None else f"{name}={value}"
    return ConfigError(f"option {written}: {remedy}", key=name, value=value)


@dataclass(frozen=True, slots=True)
class ReadRange:
    """Offsets of a partition, from the first to the one behind the last."""

    where: TopicPartition
    first: int
    end: int


def divide(ranges: Iterable[ReadRange], least: int) -> list[ReadRange]:
    """Ranges that are not empty, cut into pieces of about the same size, at least so many."""
    filled = [each for each in ranges if each.end > each.first]
    total = sum(each.end - each.first for each in filled)
    pieces: list[ReadRange] = []
    for each in filled:
        size = each.end - each.first
        count = max(1, min(size, -(-least * size // total)))
        cuts = [each.first + size * at // count for at in range(count + 1)]
        pieces += (ReadRange(each.where, *pair) for pair in pairwise(cuts))
    return pieces
