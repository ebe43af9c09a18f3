"""The command line of ``kafka-mirror-maker``, read and checked, with all mistakes at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mm2.config.keys.key_table import nearest
from mm2.config.legacy import flags
from mm2.config.legacy.flags import FLAGS, Flag
from mm2.config.legacy.topic_patterns import java_pattern_of
from mm2.core.topics.topic_name import is_topic_name
from mm2.errors import ConfigError, ConfigErrors

_SPELLINGS: Final = {
    spelling: flag for flag in FLAGS for spelling in (flag.name, *flag.aliases, *flag.older)
}
_MOST_STREAMS: Final = 1024
_MOST_PORT: Final = 65_535
_LONGEST_MS: Final = 2**63 - 1
_MOST_DIGITS: Final = 100
_BOOLEANS: Final = {"true": True, "false": False}
_NO_JAVA: Final = ("org.", "kafka.", "com.", "io.")
_IMPORT_PATH: Final = re.compile(r"\w+(\.\w+)*[.:]\w+(\.\w+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """
    What the user wrote.

    Attributes:
        consumer: path of the consumer's properties.
        producer: path of the producer's properties.
        include: a pattern of Java's, or None for every topic.
        exclude: a pattern of Java's, or None for no topic.
        streams: of this process.
        aborts: whether a record that cannot be sent ends the process.
        commit_interval_ms: between two commits.
        listener: import path of the rebalance listener.
        handler: import path of the message handler.
        repartitions: whether keys decide about partitions.
        dead_letter_topic: for skipped records.
        metrics: host and port where they are served; None is nowhere.
        log_levels: as they are written; None are those of the environment.
        warnings: about older spellings, and flags without effect.
    """

    consumer: str
    producer: str
    include: str | None
    exclude: str | None
    streams: int
    aborts: bool
    commit_interval_ms: int
    listener: str | None
    listener_args: str | None
    handler: str | None
    handler_args: str | None
    repartitions: bool
    dead_letter_topic: str | None
    metrics: tuple[str, int] | None
    log_levels: str | None
    warnings: tuple[str, ...]


class WrongCommandLine(ConfigErrors):
    """
    All mistakes of a command line.

    Attributes:
        found: what it says all the same, with defaults in the place of mistakes.
    """

    def __init__(self, problems: Sequence[ConfigError], found: CommandLine) -> None:
        super().__init__(problems)
        self.found = found


def read_command_line(words: Sequence[str]) -> CommandLine:
    """
    Reads the words behind the program's name.

    Raises:
        WrongCommandLine: everything that is wrong with them.
    """
    reader = _Reader()
    reader.take(words)
    found = reader.command_line()
    if reader.mistakes:
        raise WrongCommandLine(reader.mistakes, found)
    return found


class _Reader:
    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._warnings: list[str] = []
        self.mistakes: list[ConfigError] = []

    def take(self, words: Sequence[str]) -> None:
        """Assigns values to flags."""
        rest = list(words)
        while rest:
            word = rest.pop(0)
            spelling, has_value, value = word.partition("=")
            flag = _SPELLINGS.get(spelling)
            if flag is None:
                self._unknown(word)
            elif not flag.value:
                self._set_bare(flag, spelling, value if has_value else None)
            elif has_value:
                self._set(flag, spelling, value)
            elif rest and rest[0].partition("=")[0] not in _SPELLINGS:
                self._set(flag, spelling, rest.pop(0))
            elif flag.bare:
                self._set(flag, spelling, flag.bare)
            else:
                self._wrong(spelling, None, f"{spelling} needs a value: {flag.value}")

    def command_line(self) -> CommandLine:
        """What was given, or defaults in the place of mistakes."""
        get = self._given.get
        if flags.NEW_CONSUMER in self._given:
            self._warnings.append(f"{flags.NEW_CONSUMER} has no effect: there is no other consumer")
        if flags.INCLUDE not in self._given and flags.EXCLUDE not in self._given:
            self._missing(flags.INCLUDE, "the topics to copy, such as --include 'orders|payments'")
        found = CommandLine(
            consumer=self._file(flags.CONSUMER, "source"),
            producer=self._file(flags.PRODUCER, "target"),
            include=self._pattern(flags.INCLUDE),
            exclude=self._pattern(flags.EXCLUDE),
            streams=self._number(flags.STREAMS, 1, most=_MOST_STREAMS),
            aborts=self._boolean(flags.ABORT),
            commit_interval_ms=self._number(flags.INTERVAL, 60_000, most=_LONGEST_MS),
            listener=self._import_path(flags.LISTENER),
            listener_args=get(flags.LISTENER_ARGS),
            handler=self._import_path(flags.HANDLER),
            handler_args=get(flags.HANDLER_ARGS),
            repartitions=flags.REPARTITION in self._given,
            dead_letter_topic=self._topic(flags.DEAD_LETTERS),
            metrics=self._address(flags.METRICS),
            log_levels=get(flags.LOG_LEVEL),
            warnings=tuple(self._warnings),
        )
        self._check_together(found)
        return found

    def _check_together(self, found: CommandLine) -> None:
        for arguments, of in (
            (flags.LISTENER_ARGS, flags.LISTENER),
            (flags.HANDLER_ARGS, flags.HANDLER),
        ):
            if arguments in self._given and of not in self._given:
                self._warnings.append(f"{arguments} has no effect without {of}")
        if found.aborts and found.dead_letter_topic is not None:
            message = (
                f"{flags.DEAD_LETTERS} {found.dead_letter_topic} is for records that are skipped:"
                f" add {flags.ABORT} false"
            )
            self._wrong(flags.DEAD_LETTERS, found.dead_letter_topic, message)

    def _set_bare(self, flag: Flag, spelling: str, value: str | None) -> None:
        if value is not None:
            message = (
                f"{spelling}={value}: it takes no value. Write {spelling} alone, or leave it out"
            )
            self._wrong(spelling, value, message)
        self._set(flag, spelling, "")

    def _set(self, flag: Flag, spelling: str, value: str) -> None:
        if flag.name in self._given:
            other = "" if spelling == flag.name else f" ({spelling} means the same)"
            self._wrong(spelling, value, f"{flag.name} is given twice{other}: write it once")
        if spelling in flag.older:
            self._warnings.append(f"{spelling} is deprecated: write {flag.name}")
        self._given[flag.name] = value

    def _unknown(self, word: str) -> None:
        near = nearest(word.partition("=")[0], _SPELLINGS)
        remedy = "see --help"
        self.mistakes.append(
            ConfigError(f"there is no flag {word}: {remedy}.", key=word, suggestion=near)
        )

    def _file(self, flag: str, cluster: str) -> str:
        path = self._given.get(flag, "")
        if not path:
            self._missing(flag, f"a properties file of the {cluster} cluster")
        return path

    def _pattern(self, flag: str) -> str | None:
        text = self._given.get(flag)
        if text is None:
            return None
        try:
            return java_pattern_of(flag, text)
        except ConfigError as error:
            self.mistakes.append(error)
            return None

    def _number(self, flag: str, default: int, *, most: int) -> int:
        text = self._given.get(flag)
        if text is None:
            return default
        number = _whole(text)
        if not 1 <= number <= most:
            self._wrong(flag, text, f"{flag} {text}: write a whole number from 1 to {most}")
            return default
        return number

    def _boolean(self, flag: str) -> bool:
        text = self._given.get(flag, "true")
        found = _BOOLEANS.get(text.strip().lower())
        if found is None:
            self._wrong(flag, text, f"{flag} {text}: write true or false")
            return True
        return found

    def _address(self, flag: str) -> tuple[str, int] | None:
        text = self._given.get(flag)
        if text is None:
            return None
        host, _, port = text.rpartition(":")
        if not (host and 0 < _whole(port) <= _MOST_PORT):
            self._wrong(flag, text, f"{flag} {text}: write host:port, such as 127.0.0.1:9404")
            return None
        return host.strip("[]"), int(port)

    def _topic(self, flag: str) -> str | None:
        text = self._given.get(flag)
        if text is None or is_topic_name(text):
            return text
        message = f"{flag} {text}: write the name of a topic: letters, digits, '.', '_' and '-'"
        self._wrong(flag, text, message)
        return None

    def _import_path(self, flag: str) -> str | None:
        path = self._given.get(flag)
        if path is not None and path.startswith(_NO_JAVA) and ":" not in path:
            message = (
                f"{flag} {path} looks like a class of Java's, which cannot be loaded: write the"
                " class in Python, and name it as package.module:Class"
            )
            self._wrong(flag, path, message)
        elif path is not None and not _IMPORT_PATH.fullmatch(path):
            self._wrong(flag, path, f"{flag} {path}: write package.module:Class")
        return path

    def _missing(self, flag: str, what: str) -> None:
        self.mistakes.append(ConfigError(f"{flag} is missing: name {what}.", key=flag))

    def _wrong(self, flag: str, value: str | None, message: str) -> None:
        self.mistakes.append(ConfigError(f"{message}.", key=flag, value=value))


def _whole(text: str) -> int:
    """Digits as a number; else, and if there are too many of them, 0."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else 0
