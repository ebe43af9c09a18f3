"""
Headers that say where a record was written first, which mirrors add once and then keep.

With names that do not change (``IdentityReplicationPolicy``) no topic tells where its records come
from; their headers do. So a flow leaves out what was written on its target, and what another flow
brings there. Proposed as future work in KIP-382.

Clusters are told by their ids, since each file has aliases of its own. Records of earlier releases
have the alias alone. A record that goes on says which clusters it has passed, so that it ends its
way whatever its other headers say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeVar

from mm2.core.handled_records import Headers, SourceRecord, TargetRecord
from mm2.core.model import SourceAndTarget, TopicName

CLUSTER: Final = "mm2.source.cluster"
CLUSTER_ID: Final = "mm2.source.cluster.id"
VIA: Final = "mm2.source.via"
_TOPIC: Final = "mm2.source.topic"
_PARTITION: Final = "mm2.source.partition"
_OFFSET: Final = "mm2.source.offset"
_TIMESTAMP: Final = "mm2.source.timestamp"
HEADERS: Final = (CLUSTER, _TOPIC, _PARTITION, _OFFSET, _TIMESTAMP, CLUSTER_ID, VIA)


T = TypeVar("T")


class RecordOrigin(NamedTuple):
    """
    The cluster that a record was written on first, as its headers say.

    Attributes:
        alias: as the file of that flow calls it that wrote the headers.
        cluster_id: Kafka's; empty if it is not known.
        via: ids of the clusters that the record has passed since.
    """

    alias: str
    cluster_id: str = ""
    via: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """
    What one flow does about the headers. All values are text in UTF-8.

    Attributes:
        clusters: aliases that a header without an id may name. Headers that name any other are
            replaced: nobody could tell whether such a record has been here before.
        origins: aliases or ids of the clusters whose records are copied; empty: all but the target.
        source_id: of the cluster; empty if it is not known.
        target_id: likewise.
    """

    flow: SourceAndTarget
    clusters: Collection[str]
    origins: Collection[str] = ()
    source_id: str = ""
    target_id: str = ""

    def takes(self, origin: str, cluster_id: str = "") -> bool:
        """Whether records are copied that were written on a cluster of this alias first."""
        return self._takes(RecordOrigin(origin, cluster_id))

    def marked(self, record: SourceRecord, topic: TopicName) -> SourceRecord | None:
        """
        The record with headers; None if it is not copied.

        Args:
            topic: its name on the flow's source.
        """
        said = _said(record.headers)
        origin, via = self._origin(said), _via(said)
        if not self._takes(origin or RecordOrigin(self.flow.source, self.source_id, via)):
            return None
        if origin is not None:
            return self._passed_on(record, origin)
        values = self.own_headers(
            topic, str(record.partition), str(record.offset), str(record.timestamp)
        )
        if via:
            values[VIA] = ",".join(via)
        own = tuple((name, value.encode()) for name, value in values.items())
        return record.replace(headers=(*_others(record.headers), *own))

    def own_headers(
        self, topic: TopicName, partition: T, offset: T, timestamp: T
    ) -> dict[str, str | T]:
        """What is said of records of the source, where single ones differ by these three."""
        return {
            CLUSTER: self.flow.source,
            _TOPIC: topic,
            _PARTITION: partition,
            _OFFSET: offset,
            _TIMESTAMP: timestamp,
            **({CLUSTER_ID: self.source_id} if self.source_id else {}),
        }

    def _origin(self, said: Mapping[str, str]) -> RecordOrigin | None:
        """The cluster that a record's headers name; None if they name none that is known."""
        alias, cluster_id = said.get(CLUSTER, ""), said.get(CLUSTER_ID, "")
        if not cluster_id and alias not in self.clusters:
            return None
        if cluster_id and self.source_id:
            if cluster_id == self.source_id:
                alias = self.flow.source
            elif alias == self.flow.source:
                alias = ""  # another file calls another cluster so
        return RecordOrigin(alias, cluster_id, _via(said))

    def _takes(self, origin: RecordOrigin) -> bool:
        if self._is_target(origin) or (self.target_id and self.target_id in origin.via):
            return False
        named = {origin.alias, origin.cluster_id} - {""}
        return not self.origins or not named.isdisjoint(self.origins)

    def _is_target(self, origin: RecordOrigin) -> bool:
        if origin.cluster_id and self.target_id:
            return origin.cluster_id == self.target_id
        return origin.alias == self.flow.target

    def _passed_on(self, record: SourceRecord, origin: RecordOrigin) -> SourceRecord:
        """Says that a record of another cluster has passed the source."""
        is_own = origin.alias == self.flow.source and origin.cluster_id in {"", self.source_id}
        if is_own or not self.source_id or self.source_id in origin.via:
            return record
        via = VIA, ",".join((*origin.via, self.source_id)).encode()
        return record.replace(headers=(*(h for h in record.headers if h[0] != VIA), via))


def _said(headers: Headers) -> dict[str, str]:
    """The first value of each header of ours."""
    found: dict[str, str] = {}
    for name, value in headers:
        if name in HEADERS:
            found.setdefault(name, (value or b"").decode("utf-8", "replace"))
    return found


def _via(said: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(filter(None, said.get(VIA, "").split(",")))


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
