"""Everything that is wrong or doubtful in a properties file, down to what can never be made."""

from __future__ import annotations

from collections.abc import Iterator

from mm2.config.maker import MirrorMakerConfig
from mm2.config.problems import Finding, Severity, findings, in_order
from mm2.config.properties import PropertiesFile
from mm2.config.rest import rest_of_file
from mm2.errors import ConfigError, ConfigErrors
from mm2.herder.validation import FlowValidation
from mm2.rest.entrance import read_files


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
    made = [each for each in (*_of_flows(maker), *rest_mistakes(maker)) if each.key not in wrong]
    return in_order([*found, *(Finding(severity=Severity.ERROR, problem=p) for p in made)], file)


def rest_mistakes(maker: MirrorMakerConfig) -> list[ConfigError]:
    """What is wrong with how REST is to be served: its keys, and the files that they name."""
    try:
        settings = rest_of_file(maker)
        if settings is not None:
            read_files(settings)
    except ConfigErrors as errors:
        return list(errors.problems)
    except ConfigError as error:
        return [maker.located(error)]
    return []


def _of_flows(maker: MirrorMakerConfig) -> Iterator[ConfigError]:
    validation = FlowValidation()
    for flow in maker.cluster_pairs():
        yield from validation.mistakes(maker, flow)
