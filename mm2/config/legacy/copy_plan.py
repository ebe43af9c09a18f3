"""All that a process of ``kafka-mirror-maker`` is to do, from its command line and its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from mm2.config.legacy.client_files import (
    ClientFile,
    copy_settings,
    read_consumer_file,
    read_producer_file,
)
from mm2.config.legacy.command_line import CommandLine, WrongCommandLine, read_command_line
from mm2.config.legacy.topic_patterns import TopicSelection
from mm2.config.legacy.zookeeper_keys import ZooKeeperSettings, zookeeper_settings
from mm2.config.record_clients import DataSettings
from mm2.config.text.properties import PropertiesFile, load
from mm2.core.model import GroupId
from mm2.errors import ConfigError, ConfigErrors

_INTERNAL: Final = "exclude.internal.topics"


class ArgumentErrors(ConfigErrors):
    """
    Everything that is wrong with a command line and the files that it names.

    Attributes:
        lines: a sentence each, with the file that it is about.
    """

    def __init__(self, found: Sequence[tuple[str, ConfigError]]) -> None:
        super().__init__([error for _, error in found])
        self.lines = [f"{where}: {error}" if where else str(error) for where, error in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPlan:
    """
    What a process does.

    Attributes:
        consumer: Java client keys of the source.
        producer: Java client keys of the target.
        data: how records are read and written.
        warnings: for the user, before anything begins.
    """

    arguments: CommandLine
    consumer: ClientFile
    producer: ClientFile
    data: DataSettings
    warnings: tuple[str, ...]

    @property
    def group(self) -> GroupId:
        """The consumer group that all processes share."""
        return GroupId(self.consumer.properties["group.id"].strip())

    @property
    def selection(self) -> TopicSelection:
        """Which topics are copied."""
        return TopicSelection(
            include=self.arguments.include,
            exclude=self.arguments.exclude,
            internal=self.consumer.properties.get(_INTERNAL, "true").strip().lower() == "false",
        )

    @property
    def zookeeper(self) -> ZooKeeperSettings | None:
        """Where offsets are kept beside Kafka, or in its place."""
        return zookeeper_settings(self.consumer.properties)

    @property
    def spark(self) -> dict[str, str]:
        """The ``spark.*`` keys of both files; those of the producer's win."""
        return {**self.consumer.spark, **self.producer.spark}


def read_copy_plan(words: Sequence[str]) -> CopyPlan:
    """
    Reads a command line and the files that it names.

    Raises:
        ArgumentErrors: everything that is wrong with them.
    """
    found: list[tuple[str, ConfigError]] = []
    try:
        arguments = read_command_line(words)
    except WrongCommandLine as errors:
        arguments = errors.found
        found += [("", error) for error in errors.problems]
    read_producer = partial(read_producer_file, repartitions=arguments.repartitions)
    consumer = _read(arguments.consumer, read_consumer_file, found)
    producer = _read(arguments.producer, read_producer, found)
    data, wrong, bad = copy_settings(consumer.properties, producer.properties)
    found += [(arguments.consumer, each) for each in consumer.located(wrong)]
    found += [(arguments.producer, each) for each in producer.located(bad)]
    if found:
        raise ArgumentErrors(found)
    warnings = (
        *arguments.warnings,
        *(f"{arguments.consumer}: {text}" for text in consumer.warnings),
        *(f"{arguments.producer}: {text}" for text in producer.warnings),
    )
    return CopyPlan(
        arguments=arguments, consumer=consumer, producer=producer, data=data, warnings=warnings
    )


def _read(
    path: str, read: Callable[[PropertiesFile], ClientFile], found: list[tuple[str, ConfigError]]
) -> ClientFile:
    """A file, whose mistakes are added to ``found``; an empty one if it cannot be read."""
    file = ClientFile(properties={})
    if not path:  # which is told already
        return file
    try:
        file = read(load(Path(path)))
    except ConfigError as error:
        found.append((path if error.line is not None else "", error))
    found += [(path, mistake) for mistake in file.mistakes]
    return file
