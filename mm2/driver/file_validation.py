"""Everything that is wrong or doubtful in a properties file, down to what can never be made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import structlog

from mm2.config.checks.failed_flows import FlowsOfFile
from mm2.config.checks.findings import Finding, Severity, findings, in_order
from mm2.config.clients import worker_client_properties
from mm2.config.keys.keys_clients import CLIENT_KINDS
from mm2.config.keys.keys_mm2 import SPARK_PREFIX
from mm2.config.keys.keys_spark import spark_mistakes
from mm2.config.layers import spark_properties
from mm2.config.metrics_settings import metrics_of_file, read_metrics
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.rest_settings import rest_of_file
from mm2.config.text.properties import PropertiesFile, load
from mm2.connect.worker_config import WorkerConfig
from mm2.errors import ConfigError, ConfigErrors
from mm2.herder.flow_validation import FlowValidation
from mm2.kafka.client_settings import client_mistakes
from mm2.metrics.otlp_installed import require_otlp
from mm2.rest.listeners import read_files

log = structlog.get_logger()


def validate(file: PropertiesFile) -> list[Finding]:
    """
    All findings, in the order of their lines.

    What the run will need is made by the functions that the run calls: settings of clients, key
    stores, logins, classes, who may use REST. Nothing is connected, and no port is taken.
    """
    found = findings(file)
    try:
        maker = MirrorMakerConfig.of(file)
    except ConfigErrors:
        return found
    wrong = {each.problem.key for each in found if each.severity is Severity.ERROR}
    mistakes = (*_of_flows(maker), *_of_process(maker))
    made = [each for each in mistakes if each.key not in wrong]
    return in_order([*found, *(Finding(severity=Severity.ERROR, problem=p) for p in made)], file)


def errors_of(path: Path) -> list[ConfigError]:
    """The errors of ``validate``; none if the file cannot be read at all."""
    try:
        found = validate(load(path))
    except ConfigError:
        return []
    return [each.problem for each in found if each.severity is Severity.ERROR]


def made(found: FlowsOfFile) -> FlowsOfFile:
    """
    The flows that can really be made; the others have failed.

    Raises:
        ConfigErrors: what all flows share cannot be made, or none that is enabled can.
    """
    left = FlowValidation().tried(found)
    if of_process := _of_process(found.maker):
        raise ConfigErrors([*of_process, *left.problems])
    left.check_any_left()
    return left


def warn_of_suspicious(path: Path) -> None:
    """Logs the warnings of ``mm2 config validate``; flows tell their own when they run."""
    try:
        found = findings(load(path))
    except ConfigError:
        return  # changed since it was read
    for finding in found:
        if finding.severity is Severity.WARNING and not finding.of_flow:
            log.warning("config.doubtful", file=str(path), message=str(finding.problem))


def worker_mistakes(config: WorkerConfig) -> list[ConfigError]:
    """What a Connect worker could never begin with: its own clients, who may use REST, Spark."""
    properties = {"client.id": config.group_id, **config.properties}
    found: dict[str, ConfigError] = {}
    for kind in CLIENT_KINDS:
        for mistake in client_mistakes(worker_client_properties(properties, kind, "worker")):
            found.setdefault(mistake.message, config.located(mistake))
    try:
        if config.rest is not None:
            read_files(config.rest)
        require_otlp(read_metrics(config.properties))
    except ConfigError as error:
        found.setdefault(error.message, config.located(error))
    spark = {key: value for key, value in properties.items() if key.startswith(SPARK_PREFIX)}
    return [*found.values(), *map(config.located, spark_mistakes(spark))]


def _of_process(maker: MirrorMakerConfig) -> list[ConfigError]:
    """What all flows share: REST, with the files that its keys name, metrics, and Spark."""
    return [*_of_rest(maker), *_of_metrics(maker), *_of_spark(maker)]


def _of_spark(maker: MirrorMakerConfig) -> list[ConfigError]:
    try:
        return [maker.located(each) for each in spark_mistakes(spark_properties(maker))]
    except ConfigErrors:
        return []  # An expression without a value is reported by those who read all keys.


def _of_rest(maker: MirrorMakerConfig) -> list[ConfigError]:
    try:
        settings = rest_of_file(maker)
        if settings is not None:
            read_files(settings)
    except ConfigErrors as errors:
        return list(errors.problems)
    except ConfigError as error:
        return [maker.located(error)]
    return []


def _of_metrics(maker: MirrorMakerConfig) -> list[ConfigError]:
    try:
        require_otlp(metrics_of_file(maker))
    except ConfigErrors:
        return []  # REST's settings have the same mistakes.
    except ConfigError as error:
        return [maker.located(error)]
    return []


def _of_flows(maker: MirrorMakerConfig) -> Iterator[ConfigError]:
    validation = FlowValidation()
    for flow in maker.cluster_pairs():
        yield from validation.mistakes(maker, flow)
