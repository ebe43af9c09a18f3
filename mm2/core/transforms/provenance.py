"""
Headers that say where a record was written first, which mirrors add once and then keep.

With names that do not change (``IdentityReplicationPolicy``) no topic tells where its records come
from; their headers do. So a flow leaves out what was written on its target, and what another flow
brings there. Proposed as future work in KIP-382.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from mm2.core.handled_records import Headers, SourceRecord, TargetRecord
from mm2.core.model import SourceAndTarget, TopicName

CLUSTER: Final = "mm2.source.cluster"
_TOPIC: Final = "mm2.source.topic"
_PARTITION: Final = "mm2.source.partition"
_OFFSET: Final = "mm2.source.offset"
_TIMESTAMP: Final = "mm2.source.timestamp"
HEADERS: Final = (CLUSTER, _TOPIC, _PARTITION, _OFFSET, _TIMESTAMP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """
    What one flow does about the headers. All values are text in UTF-8.

    Attributes:
        clusters: aliases that a header may name. Headers that name any other are replaced: nobody
            could tell whether such a record has been here before.
        origins: aliases of the clusters whose records are copied; empty: all but the target.
    """

    flow: SourceAndTarget
    clusters: Collection[str]
    origins: Collection[str] = ()

    def takes(self, origin: str) -> bool:
        """Whether records that were written on a cluster first are copied."""
        return origin != self.flow.target and (not self.origins or origin in self.origins)

    def origin_of(self, headers: Headers) -> str | None:
        """The cluster that a record's headers name; None if they name none that is known."""
        for name, value in headers:
            if name == CLUSTER:
                alias = (value or b"").decode("utf-8", "replace")
                return alias if alias in self.clusters else None
        return None

    def marked(self, record: SourceRecord, topic: TopicName) -> SourceRecord | None:
        """
        The record with headers; None if it is not copied.

        Args:
            topic: its name on the flow's source.
        """
        origin = self.origin_of(record.headers)
        if not self.takes(self.flow.source if origin is None else origin):
            return None
        if origin is not None:
            return record
        values = (
            self.flow.source,
            topic,
            str(record.partition),
            str(record.offset),
            str(record.timestamp),
        )
        own = tuple((name, value.encode()) for name, value in zip(HEADERS, values, strict=True))
        return replace(record, headers=(*_others(record.headers), *own))


def keep_headers(
    made: SourceRecord | TargetRecord, marked: SourceRecord
) -> SourceRecord | TargetRecord:
    """What was made of a record, with that record's headers of provenance."""
    if made is marked:
        return made
    own = tuple(each for each in marked.headers if each[0] in HEADERS)
    return replace(made, headers=(*_others(made.headers), *own))


def _others(headers: Headers) -> Headers:
    return tuple(each for each in headers if each[0] not in HEADERS)
