"""
The properties files of the legacy tool's consumer and producer, as today's clients take them.

Defaults lose nothing (KIP-3): offsets are committed only for what all replicas have acknowledged,
failures are retried without end, and a full buffer blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from mm2.config.keys.definition import by_line, field_values, parse_all
from mm2.config.keys.key_table import nearest
from mm2.config.keys.keys_clients import CLIENT_SETTINGS, ClientKind
from mm2.config.keys.keys_mm2 import SPARK_PREFIX
from mm2.config.keys.keys_record_clients import CONSUMER_KEYS, PRODUCER_KEYS
from mm2.config.keys.keys_security import CLIENT_NAMES
from mm2.config.legacy.older_keys import (
    ASSIGNORS,
    COOPERATIVE,
    OLDER_CONSUMER_KEYS,
    OLDER_PRODUCER_KEYS,
    OLDER_VALUES,
    REPARTITIONING_KEYS,
    OlderKey,
)
from mm2.config.legacy.unobeyed_keys import unobeyed_keys
from mm2.config.legacy.zookeeper_keys import (
    CONNECT,
    DUAL,
    STORAGE,
    STORAGES,
    ZOOKEEPER_KEYS,
    uses_zookeeper,
    zookeeper_settings,
)
from mm2.config.record_clients import DataSettings, compression_level
from mm2.config.text.client_file import PROVIDERS, resolved
from mm2.config.text.properties import PropertiesFile
from mm2.config.text.redact import shown
from mm2.errors import ConfigError

_CONSUMER: Final = {key.name: key for key in CONSUMER_KEYS}
_PRODUCER: Final = {key.name: key for key in PRODUCER_KEYS}
_RESET: Final = "auto.offset.reset"
_STRATEGY: Final = "partition.assignment.strategy"
_JAVAS_RESET: Final = "latest"
"""Java's consumer and the tool before this one begin at the end; a mirror of MirrorMaker 2 not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFile:
    """
    One file.

    Attributes:
        properties: in today's keys, provider expressions resolved.
        spark: its ``spark.*`` keys.
        warnings: what has another name today, or no effect.
        mistakes: in the order of their lines.
        lines: where the file has what a key of ``properties`` says.
    """

    properties: Mapping[str, str]
    spark: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    mistakes: tuple[ConfigError, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)

    def located(self, mistakes: Iterable[ConfigError]) -> list[ConfigError]:
        """Mistakes that were found in the properties, with the lines of the file."""
        return sorted(
            (
                ConfigError(
                    each.message,
                    key=each.key,
                    value=each.value,
                    line=self.lines.get(each.key or "", each.line),
                    suggestion=each.suggestion,
                )
                for each in mistakes
            ),
            key=by_line,
        )


def read_consumer_file(file: PropertiesFile) -> ClientFile:
    """Reads the file of ``--consumer.config``."""
    reader = _ClientFileReader(file, "consumer", OLDER_CONSUMER_KEYS)
    reader.read()
    if not reader.properties.get("bootstrap.servers", "").strip():
        reader.miss("bootstrap.servers", "name brokers of the source cluster as host:port")
    if not reader.properties.get("group.id", "").strip():
        reader.miss("group.id", "name the consumer group that the processes share")
    reader.check_strategy()
    reader.check_zookeeper()
    return reader.found()


def read_producer_file(file: PropertiesFile, *, repartitions: bool = False) -> ClientFile:
    """Reads the file of ``--producer.config``, perhaps with ``--repartition``."""
    more = REPARTITIONING_KEYS if repartitions else {}
    reader = _ClientFileReader(file, "producer", {**OLDER_PRODUCER_KEYS, **more})
    reader.read()
    if not reader.properties.get("bootstrap.servers", "").strip():
        reader.miss("bootstrap.servers", "name brokers of the target cluster as host:port")
    return reader.found()


def copy_settings(
    consumer: Mapping[str, str], producer: Mapping[str, str]
) -> tuple[DataSettings, list[ConfigError], list[ConfigError]]:
    """How records are read and written, or the defaults; and the mistakes of each file."""
    read, wrong = parse_all(_CONSUMER, {_RESET: _JAVAS_RESET, **consumer})
    written, bad = parse_all(_PRODUCER, producer)
    if wrong or bad:
        read, written = parse_all(_CONSUMER, {})[0], parse_all(_PRODUCER, {})[0]
    filled = field_values(_CONSUMER, read) | field_values(_PRODUCER, written)
    return DataSettings(**filled, level=compression_level(written)), wrong, bad


class _ClientFileReader:
    def __init__(
        self, file: PropertiesFile, kind: ClientKind, older: Mapping[str, OlderKey]
    ) -> None:
        self._file = file
        self._kind = kind
        self._older = older
        self._known = CLIENT_SETTINGS[kind] | CLIENT_NAMES | older.keys()
        self._spark: dict[str, str] = {}
        self._warnings: list[str] = []
        self._mistakes: list[ConfigError] = []
        self._lines: dict[str, int] = {}
        self.properties: dict[str, str] = {}

    def read(self) -> None:
        """Takes the keys one by one; one that is written in today's words wins over an older."""
        given = self._resolved()
        keeps = ZOOKEEPER_KEYS if self._kind == "consumer" and uses_zookeeper(given) else ()
        for key, value in given.items():
            if key in keeps:
                self.properties[key] = value.strip()
            elif (row := self._older.get(key)) is not None:
                self._take_older(key, value.strip(), row, given)
            elif key.startswith(SPARK_PREFIX):
                self._spark[key] = value
            else:
                self._take(key, value)
        for each in unobeyed_keys(self._kind, self.properties):
            value = self.properties[each.key].strip()
            if each.is_refused:
                self._refuse(each.key, value, each.reason)
            else:
                self._warn_of_no_effect(each.key, value, each.reason)

    def found(self) -> ClientFile:
        return ClientFile(
            properties=self.properties,
            spark=self._spark,
            warnings=tuple(self._warnings),
            mistakes=tuple(sorted(self._mistakes, key=by_line)),
            lines={**self._file.lines, **self._lines},
        )

    def miss(self, key: str, remedy: str) -> None:
        older = next((k for k in ("zookeeper.connect", "zk.connect") if k in self._file.values), "")
        why = f" {older} is not asked any more." if older and key == "bootstrap.servers" else ""
        self._mistakes.append(
            ConfigError(
                f"{key} is missing: {remedy}.{why}", key=key, line=self._file.lines.get(older)
            )
        )

    def check_strategy(self) -> None:
        text = self.properties.get(_STRATEGY)
        names = [] if text is None else [name.strip() for name in text.split(",")]
        if wrong := [name for name in names if name not in ASSIGNORS]:
            remedy = f"use one of {', '.join(sorted(ASSIGNORS))}"
            self._refuse(_STRATEGY, ", ".join(wrong), f"there is no such assignor here: {remedy}")
        elif len(names) > 1 and COOPERATIVE in names:
            # Java's members may offer both in a rolling change; librdkafka's cannot.
            kept = [name for name in names if (name == COOPERATIVE) == (names[0] == COOPERATIVE)]
            self._warn(_STRATEGY, f"counts as {','.join(kept)}: eager or cooperative, not both")
            self.properties[_STRATEGY] = ",".join(kept)

    def check_zookeeper(self) -> None:
        found = self.properties
        try:
            settings = zookeeper_settings(found)
        except ValueError as error:
            self._mistakes.append(ConfigError(f"{error}."))
            return
        if settings is None:
            return
        if not settings.connect:
            self.miss(CONNECT, "name servers of ZooKeeper as host:port, where offsets are kept")
        if settings.is_alone and DUAL in found:
            self._warn(DUAL, f"has no effect with {STORAGE}=zookeeper")
        if found.get(STORAGE, "kafka").lower() not in STORAGES:
            self._refuse(STORAGE, found[STORAGE], f"write {' or '.join(STORAGES)}")

    def _resolved(self) -> dict[str, str]:
        try:
            return dict(resolved(self._file).values)
        except ConfigError as error:
            self._mistakes.append(error)
            return dict(self._file.values)

    def _take_older(self, key: str, value: str, row: OlderKey, values: Mapping[str, str]) -> None:
        if row.today:
            self._warn(key, f"is called {row.today} today")
            if row.today not in values:
                written = (row.values or {}).get(value, value)
                self.properties[row.today] = written
                if key in self._file.lines:
                    self._lines[row.today] = self._file.lines[key]
        elif {value, value.lower()} & row.harmless:
            return
        elif row.is_refused:
            self._refuse(key, value, row.reason)
        else:
            self._warn_of_no_effect(key, value, row.reason)

    def _take(self, key: str, value: str) -> None:
        if key not in self._known and not key.startswith(PROVIDERS):
            near = nearest(key, self._known)
            hint = f"; did you mean {near}?" if near else ""
            self._warn(key, f"is no key of a {self._kind}, and has no effect{hint}")
        words = OLDER_VALUES.get(key)
        if words is not None:
            parts = [part.strip() for part in value.split(",")]
            if any(part in words for part in parts):
                value = ",".join(words.get(part, part) for part in parts)
        self.properties[key] = value

    def _warn_of_no_effect(self, key: str, value: str, reason: str) -> None:
        self._warn(key, f"= {shown(key, value)} has no effect: {reason}")

    def _warn(self, key: str, text: str) -> None:
        self._warnings.append(f"{self._where(key)}{key} {text}")

    def _refuse(self, key: str, value: str, reason: str) -> None:
        hidden = shown(key, value)
        self._mistakes.append(
            ConfigError(
                f"{key}={hidden}: {reason}.", key=key, value=hidden, line=self._file.lines.get(key)
            )
        )

    def _where(self, key: str) -> str:
        line = self._file.lines.get(key, self._lines.get(key))
        return "" if line is None else f"line {line}: "
