"""
Values that Java reads without a complaint, and that can never work, or do not what they seem to.

Kafka's definitions do not check them, so that the table of keys does not either: what Java computes
of a file stays the same. They are looked at when the settings of a flow are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from mm2.config.keys.key_types import Value
from mm2.config.keys.keys_mm2 import ARROW_FUNCTION, DEAD_LETTER_TOPIC, HANDLER, SQL
from mm2.config.keys.value_checks import own_topic
from mm2.config.transforms.chain_reading import names_sql
from mm2.core.java_regex import JavaPattern
from mm2.errors import ConfigError

_FACTORS: Final = (
    "replication.factor",
    "offset-syncs.topic.replication.factor",
    "checkpoints.topic.replication.factor",
    "heartbeats.topic.replication.factor",
    "errors.deadletterqueue.topic.replication.factor",
)
_DEFAULT_FACTOR: Final = -1
_TIMEOUTS: Final = ("admin.timeout.ms", "consumer.poll.timeout.ms")
# Java runs these through a scheduler, which cannot run a job every 0 s.
_SCHEDULED: Final = (
    "refresh.topics",
    "sync.topic.configs",
    "sync.topic.acls",
    "refresh.groups",
    "sync.group.offsets",
)
_INTERVALS: Final = (*_SCHEDULED, "emit.heartbeats", "emit.checkpoints")
_FILTERS: Final[Mapping[str, str | None]] = {
    "topics": "topic.filter.class",
    "topics.exclude": "topic.filter.class",
    "groups": "group.filter.class",
    "groups.exclude": "group.filter.class",
    "config.properties.exclude": "config.property.filter.class",
    f"{HANDLER}.topics": None,
    f"{ARROW_FUNCTION}.topics": None,
    f"{SQL}topics": None,
}
"""Keys that hold patterns, each with the key of the filter that reads them, if it is one."""

_RETRIES: Final = "errors.retry.timeout"
_FOR_EVER: Final = -1


def impossible_values(
    values: Mapping[str, Value], properties: Mapping[str, str]
) -> Iterator[ConfigError]:
    """What can never work of one connector's values, and the texts that they were read from."""
    for name in _SCHEDULED:
        key = f"{name}.interval.seconds"
        if values.get(key) == 0 and values.get(f"{name}.enabled") is True:
            yield _wrong(key, 0, f"must not be 0: write {name}.enabled = false to switch it off")
    for key in _FACTORS:
        factor = values.get(key)
        if isinstance(factor, int) and factor < 1 and factor != _DEFAULT_FACTOR:
            yield _wrong(key, factor, "must be at least 1, or -1 for the brokers' default")
    for key in _TIMEOUTS:
        timeout = values.get(key)
        if isinstance(timeout, int) and timeout < 0:
            yield _wrong(key, timeout, "must not be negative")
    letters = values.get(DEAD_LETTER_TOPIC)
    if letters and (problem := own_topic(letters)):
        yield ConfigError(
            f"{DEAD_LETTER_TOPIC} = {letters}: {problem}", key=DEAD_LETTER_TOPIC, value=str(letters)
        )
    if (function := values.get(ARROW_FUNCTION)) and (handler := values.get(HANDLER)):
        message = (
            f"{ARROW_FUNCTION} = {function}: there is {HANDLER} = {handler}, and a flow has one"
            " of them: remove the other"
        )
        yield ConfigError(message, key=ARROW_FUNCTION, value=str(function))
    yield from _sql_beside_code(values, properties)
    yield from _wrong_patterns(values, properties)


def _sql_beside_code(
    values: Mapping[str, Value], properties: Mapping[str, str]
) -> Iterator[ConfigError]:
    """Expressions of SQL, where the user's code changes the records of the flow."""
    code = next((key for key in (HANDLER, ARROW_FUNCTION) if values.get(key)), None)
    sql = sorted(key for key in values if key.startswith(SQL) and key != f"{SQL}topics")
    if code is None or names_sql(properties):
        return
    for key in (each for each in sql if values[each]):
        message = (
            f"{key} = {values[key]}: there is {code} = {values[code]}, and a flow has one of them:"
            " remove the other"
        )
        yield ConfigError(message, key=key, value=str(values[key]))


def doubtful_values(values: Mapping[str, Value]) -> Iterator[ConfigError]:
    """Values that count as Java has it, and may be slips: intervals that switch jobs off (C105)."""
    for name in _INTERVALS:
        key = f"{name}.interval.seconds"
        seconds = values.get(key)
        if isinstance(seconds, int) and seconds < 0 and values.get(f"{name}.enabled") is True:
            problem = f"less than 0 switches it off, as {name}.enabled = false does"
            yield _wrong(key, seconds, problem)
    retries_ms = values.get(_RETRIES)
    if isinstance(retries_ms, int) and retries_ms < _FOR_EVER:
        yield _wrong(_RETRIES, retries_ms, "counts as -1, for ever: write 0 to try once")


def _wrong_patterns(
    values: Mapping[str, Value], properties: Mapping[str, str]
) -> Iterator[ConfigError]:
    for key, filter_class in _FILTERS.items():
        patterns = values.get(key)
        is_read = filter_class is None or _is_kafkas(properties.get(filter_class))
        if isinstance(patterns, tuple) and is_read:
            yield from _wrong_pattern(key, [str(pattern) for pattern in patterns])


def _wrong_pattern(key: str, patterns: list[str]) -> Iterator[ConfigError]:
    """Kafka joins the patterns of a list to one, and so may a comma stand within brackets."""
    try:
        JavaPattern("|".join(patterns))
    except ConfigError as joined:
        alone = [complaint for each in patterns if (complaint := _complaint(each))]
        for complaint in alone or [joined]:
            yield ConfigError(f"{key}: {complaint.message}", key=key, value=complaint.value)


def _complaint(pattern: str) -> ConfigError | None:
    try:
        JavaPattern(pattern)
    except ConfigError as error:
        return ConfigError(error.message, value=pattern)
    return None


def _is_kafkas(filter_class: str | None) -> bool:
    """Other filters read the lists in their own way, if at all."""
    simple = (filter_class or "Default").strip().removeprefix("org.apache.kafka.connect.mirror.")
    return simple.startswith("Default")


def _wrong(key: str, value: int, what: str) -> ConfigError:
    return ConfigError(f"{key} = {value}: {what}", key=key, value=str(value))
