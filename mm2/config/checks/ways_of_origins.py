"""Finds records that flows with headers of provenance copy twice, or not, or let groups skip."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mm2.config.copying import copying_of, keeps_names
from mm2.config.flow_settings import FlowConfig
from mm2.config.keys.key_aliases import effective_settings
from mm2.config.keys.key_types import split_list
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.filters import TOPIC_FILTER_KEY
from mm2.core.model import CHECKPOINT_CONNECTOR, SOURCE_CONNECTOR, TopicName
from mm2.core.preflight.origin_ways import wrong_ways
from mm2.errors import ConfigError

_KEY: Final = "provenance.headers.enabled"
_SYNC: Final = "sync.group.offsets.enabled"
_ANY: Final = TopicName("topic")


def wrong_origins(maker: MirrorMakerConfig, flows: Sequence[FlowConfig]) -> Iterator[ConfigError]:
    """
    What is to be said of these flows; clusters are not asked.

    Nothing, if origins are named by ids, which only clusters know. Each cluster is taken to have
    topics of the names that ``topics`` begin with. A cluster into which flows lead may be one that
    nobody else writes to: that its records go nowhere is not told.
    """
    named = {each for config in flows for each in config.source.transforms.origins}
    keeping = [each for each in flows if _is_clear(each)] if named <= {*maker.clusters} else []
    topics = frozenset(_examples(keeping))
    targets = {each.flow.target for each in keeping}
    found = wrong_ways(
        dict.fromkeys(maker.clusters, topics), [copying_of(each) for each in keeping]
    )
    for ways, names in found.items():
        if ways.are_none and ways.origin in targets:
            continue
        flow = (ways.carriers or ways.refusing)[0]
        (config,) = (each for each in keeping if each.flow == flow)
        written = effective_settings(maker, config.flow, SOURCE_CONNECTOR, [])[_KEY].key or _KEY
        message = f"{ways.sentence}, as of topic {names[0]}. {ways.remedy}"
        yield ConfigError(message, key=written)


def groups_that_may_skip(
    maker: MirrorMakerConfig, flows: Sequence[FlowConfig]
) -> Iterator[ConfigError]:
    """Flows that sync groups, where others may bring records under the same names."""
    for config in flows:
        both, settings = (config, config.reverse), config.checkpoint
        has_other_ways = any(each is None or each.source.transforms.origins for each in both)
        is_synced = config.emits_checkpoints and settings.sync_group_offsets is not None
        if not (_keeps_with_headers(config) and is_synced and has_other_ways):
            continue
        written = effective_settings(maker, config.flow, CHECKPOINT_CONNECTOR, [])[_SYNC].key
        message = (
            f"{config.flow}: groups may skip records of other clusters that they have not read. It"
            " keeps names and writes headers of provenance, and the way back is not in this file"
            " with offset syncs and reverse checkpoints, or a flow names origins."
        )
        yield ConfigError(message, key=written or _SYNC)


def _keeps_with_headers(config: FlowConfig) -> bool:
    return config.source.runs and config.source.transforms.provenance and keeps_names(config)


def _is_clear(config: FlowConfig) -> bool:
    """Whether a flow keeps names and writes headers, and no class of a user has to be asked."""
    return _keeps_with_headers(config) and TOPIC_FILTER_KEY not in config.source.properties


def _examples(flows: Iterable[FlowConfig]) -> Iterator[TopicName]:
    """Names that the patterns of flows are likely to match."""
    for config in flows:
        for pattern in split_list(config.source.properties.get("topics", ".*")):
            text = re.sub(r"\\(.)", r"\1", re.sub(r"(?<!\\)\.[*+]", "", pattern))
            yield TopicName(re.sub(r"[^a-zA-Z0-9._-]", "", text)) or _ANY
