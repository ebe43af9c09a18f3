"""
The records ``events-<bundle>`` of the progress topic: what tasks on other machines log.

A value is lines of the form that ``mm2.telemetry.logs.relay`` takes. Other readers pass over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_KEY: Final = b"events-"


def encode_events(bundle: int, lines: Sequence[str]) -> tuple[bytes, bytes]:
    """Key and value of a record."""
    return _KEY + b"%d" % bundle, "\n".join(lines).encode()


def is_of_events(key: bytes | None) -> bool:
    """Tells these from the other records of the topic by their key."""
    return key is not None and key.startswith(_KEY)


def decode_events(value: bytes | None) -> list[str]:
    """The lines of a record; what is no text is replaced."""
    return (value or b"").decode(errors="replace").splitlines()
