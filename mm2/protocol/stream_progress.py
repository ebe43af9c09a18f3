"""What a stream of the legacy tool tells its process: how far it is with each partition."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Final

from mm2.core.json_text import read_json

MOST_TOLD: Final = 64 << 20
"""Bytes of what a stream may tell at once; that is half a million partitions."""


@dataclass(frozen=True, slots=True)
class StreamPartition:
    """
    A source partition that a stream owns, with counts since it has got it.

    Attributes:
        records: copies that the target has.
        bytes: of their batches.
        skipped: records that were left out.
        dead_letters: of these, the ones that the dead-letter topic has.
        lag: offsets that are not copied.
    """

    topic: str
    partition: int
    records: int
    bytes: int
    skipped: int
    dead_letters: int
    lag: int


def encode_stream(
    number: int, partitions: Sequence[StreamPartition], commits: Mapping[str, int]
) -> bytes:
    """What the stream of this number has; and how many offsets each store of offsets took of it."""
    return json.dumps([number, [astuple(each) for each in partitions], dict(commits)]).encode()


def decode_stream(data: bytes) -> tuple[int, list[StreamPartition], dict[str, int]]:
    """What ``encode_stream`` was given."""
    found: Any = read_json(data, most_bytes=MOST_TOLD)
    number, partitions, commits = found
    return number, [StreamPartition(*each) for each in partitions], commits
