"""How Connect's workers start: their files are read, then what all workers have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from mm2.config.checks.allowed_classes import LOADED
from mm2.config.text.properties import load
from mm2.connect.connector import Connector, read_connector
from mm2.connect.connector_files import ConnectorFile, read_connector_file
from mm2.connect.worker_config import WorkerConfig
from mm2.core.connect.config_records import ConnectorConfig, ConnectorTarget, Entry
from mm2.driver.start import foreground
from mm2.errors import ConfigError, ConfigErrors, FatalError

if TYPE_CHECKING:  # It would bring everything with it that is imported later.
    from mm2.driver.mirror_maker import Engine
    from mm2.driver.signals import StopSignals

log = structlog.get_logger()


class FileErrors(ConfigErrors):
    """
    Everything that is wrong with some files.

    Attributes:
        lines: a sentence each, with the file that it is about.
    """

    def __init__(self, found: Sequence[tuple[Path, ConfigError]]) -> None:
        super().__init__([error for _, error in found])
        self.lines = [f"{path}: {error}" for path, error in found]


def run_standalone(worker: Path, connectors: Sequence[Path]) -> int:
    """
    Runs the connectors of some files in the foreground; returns the exit status.

    Raises:
        FileErrors: everything that is wrong with the files.
    """
    config, entries = _read(worker, connectors, is_distributed=False)
    return _run(worker, config, entries)


def run_distributed(worker: Path) -> int:
    """
    Runs one worker of a group in the foreground; returns the exit status.

    Raises:
        FileErrors: everything that is wrong with the file.
    """
    config, _ = _read(worker, (), is_distributed=True)
    return _run(worker, config, ())


def _run(path: Path, config: WorkerConfig, entries: Sequence[Entry]) -> int:
    spark = {key: value for key, value in config.properties.items() if key.startswith("spark.")}

    def main(engine: Engine, signals: StopSignals) -> int:
        from mm2.connect.connector_store import TopicStore  # noqa: PLC0415
        from mm2.connect.memory_store import MemoryStore  # noqa: PLC0415
        from mm2.driver.connect_worker_process import ConnectWorker, worker_server_setup  # noqa: PLC0415
        from mm2.driver.file_validation import worker_mistakes  # noqa: PLC0415
        from mm2.driver.program import EXIT_START, run_program  # noqa: PLC0415

        if mistakes := worker_mistakes(config):
            raise FileErrors([(path, each) for each in mistakes])
        try:
            setup = worker_server_setup(config)
        except (ConfigError, FatalError) as error:
            log.critical("driver.failed", error=str(error))
            return EXIT_START

        def worker() -> ConnectWorker:
            store = TopicStore(config) if config.is_distributed else MemoryStore(entries)
            return ConnectWorker(config, store, engine, setup)

        return run_program(worker, signals)

    return foreground(main, spark=spark)


def _read(
    worker: Path, connectors: Sequence[Path], *, is_distributed: bool
) -> tuple[WorkerConfig, list[Entry]]:
    found: list[tuple[Path, ConfigError]] = []
    entries: list[Entry] = []
    files: dict[str, Path] = {}
    try:
        config = WorkerConfig.of(load(worker), is_distributed=is_distributed)
    except ConfigError as error:
        raise FileErrors([(worker, error)]) from error
    except ConfigErrors as errors:
        raise FileErrors([(worker, each) for each in errors.problems]) from errors
    for path in connectors:
        try:
            file = read_connector_file(path)
            named = {file.config[key] for key in file.config.keys() & LOADED.keys()}
            config = replace(config, classes=config.classes | named)
            connector = read_connector(file.config, config, file.lines)
            entries += _entries(connector, file)
            if (first := files.setdefault(connector.name, path)) is not path:
                found.append((path, _taken(connector, file, first)))
        except ConfigError as error:
            found.append((path, error))
        except ConfigErrors as errors:
            found += [(path, each) for each in errors.problems]
    if found:
        raise FileErrors(found)
    return config, entries


def _taken(connector: Connector, file: ConnectorFile, first: Path) -> ConfigError:
    message = f"name = {connector.name} is the connector in {first} already: give it another name"
    return ConfigError(message, key="name", value=connector.name, line=file.lines.get("name"))


def _entries(connector: Connector, file: ConnectorFile) -> list[Entry]:
    return [
        ConnectorTarget(connector.name, file.state),
        ConnectorConfig(connector.name, connector.config),
    ]
