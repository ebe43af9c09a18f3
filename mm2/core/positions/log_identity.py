"""
Which logs a position speaks of.

An offset alone does not show whether the log it was taken from still exists: a topic may have been
deleted and created again under its name, or its end been cut off by an unclean leader election. So
each position record carries, in a header, the topic ids of both sides (KIP-516), the leader epoch
of the last record (KIP-320), where its copy is, and when the copy had last caught up. Key and value
stay Connect's own, and a position written by Java or by hand simply has no header: then nothing is
known, and nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self
from uuid import UUID

from mm2.core.json_text import read_json
from mm2.core.model import NO_OFFSET

HEADER: Final = "mm2.lineage"
_VERSION: Final = 1
_MOST_BYTES: Final = 4096
UNKNOWN_EPOCH: Final = -1
NEVER: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """
    The logs of one position.

    Attributes:
        topic_id: of the source topic; None if not known.
        remote_id: of the remote topic; None if not known.
        leader_epoch: of the source's leader that appended the last record; -1 if not known.
        remote_end: offset behind the copy of the last record on the target; -1 if not known.
        caught_up_ms: when the copy was last known to be complete, ms since the epoch; -1 if never.
        cut_at: where the target has lost copies that are not copied again yet; None if nowhere.
    """

    topic_id: UUID | None = None
    remote_id: UUID | None = None
    leader_epoch: int = UNKNOWN_EPOCH
    remote_end: int = NO_OFFSET
    caught_up_ms: int = NEVER
    cut_at: int | None = None

    @property
    def is_known(self) -> bool:
        """Whether anything is known of the source's log."""
        return self.topic_id is not None or self.leader_epoch != UNKNOWN_EPOCH

    def encode(self) -> bytes:
        """The header's value: JSON with a version, so that a later release may add more."""
        # Written by hand, because it is done for each position at each commit.
        topic = "null" if self.topic_id is None else f'"{self.topic_id}"'
        remote = "null" if self.remote_id is None else f'"{self.remote_id}"'
        cut_at = "" if self.cut_at is None else f',"cutAt":{self.cut_at}'
        return (
            f'{{"version":{_VERSION},"topic":{topic},"remote":{remote},"epoch":{self.leader_epoch},'
            f'"remoteEnd":{self.remote_end},"caughtUp":{self.caught_up_ms}{cut_at}}}'
        ).encode()

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """The lineage in a header; what cannot be read is not known."""
        try:
            fields = read_json(value, most_bytes=_MOST_BYTES)
            if not isinstance(fields, dict):
                return cls()
            return cls(
                topic_id=_id(fields["topic"]),
                remote_id=_id(fields["remote"]),
                leader_epoch=int(fields["epoch"]),
                remote_end=int(fields.get("remoteEnd", NO_OFFSET)),
                caught_up_ms=int(fields["caughtUp"]),
                cut_at=None if (at := fields.get("cutAt")) is None else int(at),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            return cls()

    @classmethod
    def of(cls, headers: Iterable[tuple[str, bytes | None]]) -> Self:
        """The lineage in a record's headers."""
        for name, value in headers:
            if name == HEADER and value is not None:
                return cls.decode(value)
        return cls()


def _id(value: str | None) -> UUID | None:
    return None if value is None else UUID(value)
