"""What clients that log in say, and are told: SASL PLAIN (RFC 4616) in Kafka's messages."""

from __future__ import annotations

from typing import Final

from mm2.offset_manager.server.messages import Answer

PLAIN: Final = "PLAIN"

_NO_ERROR: Final = 0
_UNSUPPORTED_MECHANISM: Final = 33
_ILLEGAL_STATE: Final = 34
_FAILED: Final = 58
_PARTS: Final = 3


def handshake_answer(mechanism: str, *, is_framed: bool) -> Answer:
    """
    Whether a client may go on.

    Args:
        mechanism: that it wants to use.
        is_framed: whether what follows comes in messages of Kafka's.
    """
    error = _NO_ERROR if is_framed else _ILLEGAL_STATE
    return {
        "error_code": error if mechanism == PLAIN else _UNSUPPORTED_MECHANISM,
        "mechanisms": (PLAIN,),
    }


def credentials(data: bytes) -> tuple[str, str] | None:
    """Name and password of a user who acts for no other; None if it is anything else."""
    try:
        parts = data.decode().split("\0")
    except UnicodeDecodeError:
        return None
    if len(parts) != _PARTS:
        return None
    acts_for, user, password = parts
    return (user, password) if user and password and acts_for in {"", user} else None


def authenticated_answer(*, is_let_in: bool) -> Answer:
    """What a client is told at the end; no more than that if it is not let in."""
    return {
        "error_code": _NO_ERROR if is_let_in else _FAILED,
        "error_message": None if is_let_in else "The cluster refuses the user or the password.",
        "auth_bytes": b"",
    }
