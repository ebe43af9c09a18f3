"""
What Java takes without a word, and runs, but nobody can have meant.

Each becomes a warning: what is odd about the text of a file, and what its flows say together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import Final

from mm2.config.checks.impossible_values import doubtful_values
from mm2.config.checks.ways_of_origins import groups_that_may_skip, wrong_origins
from mm2.config.connector_reading import parse_connector
from mm2.config.copying import IDENTITY, keeps_names
from mm2.config.flow_settings import FlowConfig
from mm2.config.keys.key_aliases import effective_settings
from mm2.config.keys.key_table import CONNECTOR_DEFINITION
from mm2.config.keys.key_types import split_list
from mm2.config.keys.keys_mm2 import SPARK_PREFIX
from mm2.config.keys.keys_spark import misspelt
from mm2.config.layers import resolved, with_written_key
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.text.properties import PropertiesFile
from mm2.config.text.redact import is_secret, shown
from mm2.config.transforms.chain_reading import read_transforms
from mm2.core.model import (
    CHECKPOINT_CONNECTOR,
    HEARTBEAT_CONNECTOR,
    SOURCE_CONNECTOR,
    SourceAndTarget,
)
from mm2.core.policy import POLICY_KEY
from mm2.errors import ConfigError, ConfigErrors

BYTE_ORDER_MARK: Final = "\xef\xbb\xbf"
"""As it is read: files are ISO-8859-1."""

_COMMENT: Final = re.compile(r"\s+#")
_FLOW: Final = re.compile(r"->\s*([^\s=:]+)\s*[=:]?\s*(.*)", re.DOTALL)
_SERVERS: Final = "bootstrap.servers"


def aliases(file: PropertiesFile) -> list[str]:
    """The clusters that a file is about, whatever is odd about the key that lists them."""
    listed = file.values.get("clusters") or file.values.get(f"{BYTE_ORDER_MARK}clusters", "")
    found = [_COMMENT.split(alias)[0] for alias in split_list(listed)]
    servers = (key.removesuffix(f".{_SERVERS}") for key in file.values if key.endswith(_SERVERS))
    return [alias for alias in found if alias] or [each for each in servers if "." not in each]


def suspicious_text(file: PropertiesFile) -> Iterator[ConfigError]:
    """What was probably not meant to be part of a key or of a value."""
    for key, text in file.values.items():
        value = shown(key, text)
        if key.startswith(BYTE_ORDER_MARK):
            message = (
                "the file begins with a byte order mark, which belongs to its first key, as in"
                " Kafka: save it as UTF-8 without one."
            )
            yield ConfigError(message, key=key, suggestion=key.removeprefix(BYTE_ORDER_MARK))
        if _COMMENT.search(value) and not is_secret(key):
            message = (
                f"{key} = {value}: all after # is part of the value: give it a line of its own"
            )
            yield ConfigError(message, key=key, value=value)
        if found := _FLOW.match(value):
            message = f"{key} {value}: a blank ends a key, so that this one is {key}."
            meant = f"{key}->{found[1]} = {found[2]}"
            yield ConfigError(message, key=key, value=value, suggestion=meant)
    for key, lines in file.repeated.items():
        places = ", ".join(map(str, lines[:-1]))
        message = (
            f"{key} is given again, after line {places}: only this last value counts,"
            f" {shown(key, file.values[key])}"
        )
        yield ConfigError(message, key=key, value=shown(key, file.values[key]), line=lines[-1])


def suspicious_flows(
    maker: MirrorMakerConfig, flows: Sequence[FlowConfig]
) -> Iterator[ConfigError]:
    """What a file says that makes no sense together; ``flows`` are those that are not wrong."""
    pairs = maker.cluster_pairs()
    if not any(maker.is_enabled(pair) or "#" in str(pair) for pair in pairs) and pairs:
        message = (
            "no flow is enabled, so that nothing but heartbeats is written:"
            f" to copy topics, write {pairs[0]}.enabled = true"
        )
        yield ConfigError(message, key="clusters")
    yield from _same_clusters(maker, flows)
    yield from _copied_for_ever(maker, flows)
    yield from wrong_origins(maker, flows)
    yield from groups_that_may_skip(maker, flows)
    for config in flows:
        yield from _doubtful(maker, config)
    for pair in permutations(maker.clusters, 2):
        yield from _transforms_of_disabled(maker, SourceAndTarget(*pair))
    yield from _spark(maker)


def _same_clusters(maker: MirrorMakerConfig, flows: Sequence[FlowConfig]) -> Iterator[ConfigError]:
    for config in flows:
        if not config.source.enabled:
            continue
        ends = [getattr(config.source, f"{side}_admin")(None) for side in ("source", "target")]
        source, target = (set(split_list(each.get(_SERVERS, "").lower())) for each in ends)
        if both := sorted(source & target):
            message = (
                f"flow {config.flow}: {config.flow.source} and {config.flow.target} are the same"
                f" cluster, for both have {both[0]}"
            )
            key = maker.written(config.flow, "target", _SERVERS)
            yield ConfigError(message, key=key, value=both[0])


def _transforms_of_disabled(
    maker: MirrorMakerConfig, flow: SourceAndTarget
) -> Iterator[ConfigError]:
    """Mistakes in transforms of a flow that is not enabled: it could not start with them."""
    if maker.is_enabled(flow):
        return
    settings = effective_settings(maker, flow, SOURCE_CONNECTOR, [])
    try:
        properties = resolved(maker, settings)
    except (ConfigError, ConfigErrors):
        return  # told of the flow, if it exists
    for mistake in read_transforms(properties)[1]:
        told = with_written_key(mistake, settings)
        # Keys at top level may be meant for others.
        if told.key is not None and told.key.startswith(f"{flow}."):
            message = f"{told.message}; {flow} is not enabled, and could not start with it"
            yield ConfigError(message, key=told.key, value=told.value, suggestion=told.suggestion)


def _copied_for_ever(
    maker: MirrorMakerConfig, flows: Sequence[FlowConfig]
) -> Iterator[ConfigError]:
    keeping = [each for each in flows if each.source.runs and keeps_names(each)]
    for one, other in combinations(keeping, 2):
        if one.source.transforms.provenance and other.source.transforms.provenance:
            continue
        if (one.flow.source, one.flow.target) == (other.flow.target, other.flow.source):
            settings = effective_settings(maker, one.flow, SOURCE_CONNECTOR, [])
            message = (
                f"{one.flow} and {other.flow} both keep topics' names ({IDENTITY}): a topic that"
                " both mirror is copied back and forth without end; give them topics of their own,"
                " or provenance.headers.enabled = true to both"
            )
            yield ConfigError(message, key=settings[POLICY_KEY].key or POLICY_KEY)


def _doubtful(maker: MirrorMakerConfig, config: FlowConfig) -> Iterator[ConfigError]:
    parts = {
        SOURCE_CONNECTOR: config.source,
        CHECKPOINT_CONNECTOR: config.checkpoint,
        HEARTBEAT_CONNECTOR: config.heartbeat,
    }
    for connector, part in parts.items():
        values, _ = parse_connector(CONNECTOR_DEFINITION[connector], part.properties)
        settings = effective_settings(maker, config.flow, connector, [])
        for doubt in doubtful_values(values):
            yield with_written_key(doubt, settings)


def _spark(maker: MirrorMakerConfig) -> Iterator[ConfigError]:
    for key in maker.raw:
        near = misspelt(key) if key.startswith(SPARK_PREFIX) else None
        if near is not None:
            yield ConfigError(f"{key}: unknown key of Spark's.", key=key, suggestion=near)
