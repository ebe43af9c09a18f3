"""What clients that log in say, and are told: PLAIN (RFC 4616) and SCRAM in Kafka's messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mm2.errors import ConfigError
from mm2.kafka.security.jaas import parse_jaas
from mm2.offset_manager.server.messages import Answer
from mm2.offset_manager.server.scram import SCRAM, LogInStep, ScramLogIn, ScramUsers

PLAIN: Final = "PLAIN"
LogIn = Callable[[bytes], LogInStep | None]
"""Is given what the client says, message by message; None refuses it."""

_NO_ERROR: Final = 0
_UNSUPPORTED_MECHANISM: Final = 33
_ILLEGAL_STATE: Final = 34
_FAILED: Final = 58
_PARTS: Final = 3
_KEY: Final = "listeners.sasl.jaas.config"
_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_USER: Final = "user_"


class LogIns:
    """
    How clients may log in.

    Args:
        mechanisms: that are offered.
        passwords: of those who may log in with SCRAM, by their names.
    """

    def __init__(
        self, mechanisms: Sequence[str] = (PLAIN,), passwords: Mapping[str, str] | None = None
    ) -> None:
        self._mechanisms = tuple(mechanisms)
        self._users = ScramUsers(passwords or {}, [each for each in mechanisms if each in SCRAM])

    def begin(self, mechanism: str) -> LogIn | None:
        """A log-in with a mechanism; None if it is not offered."""
        if mechanism not in self._mechanisms:
            return None
        return plain_log_in if mechanism == PLAIN else ScramLogIn(self._users, mechanism)

    def handshake_answer(self, *, is_offered: bool, is_framed: bool) -> Answer:
        """
        Whether a client may go on.

        Args:
            is_offered: whether the mechanism is that it wants to use.
            is_framed: whether what follows comes in messages of Kafka's.
        """
        error = _NO_ERROR if is_framed else _ILLEGAL_STATE
        return {
            "error_code": error if is_offered else _UNSUPPORTED_MECHANISM,
            "mechanisms": self._mechanisms,
        }


def log_ins(mechanisms: Sequence[str], jaas: str | None) -> LogIns:
    """
    How clients may log in, as a file says.

    Args:
        jaas: names and passwords for SCRAM.

    Raises:
        ConfigError: the names and passwords cannot be read.
    """
    return LogIns(mechanisms, {} if jaas is None else _passwords(jaas))


def _passwords(jaas: str) -> dict[str, str]:
    try:
        module = parse_jaas(jaas)
    except ConfigError as error:
        raise ConfigError(f"listeners.{error.message}", key=_KEY) from error
    found = {
        name.removeprefix(_USER): password
        for name, password in module.options.items()
        if name.startswith(_USER)
    }
    is_whole = found and len(found) == len(module.options)
    if module.name != _MODULE or not is_whole or not all({*found, *found.values()}):
        message = f'{_KEY}: write {_MODULE} required user_NAME="password" ...; and nothing else.'
        raise ConfigError(message, key=_KEY)
    return found


def plain_log_in(data: bytes) -> LogInStep | None:
    """What comes of a message of PLAIN, which is the only one."""
    who = credentials(data)
    return who and LogInStep(who=who)


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


def authenticated_answer(step: LogInStep | None) -> Answer:
    """What a client is told; no more than that if it is not let in."""
    return {
        "error_code": _FAILED if step is None else _NO_ERROR,
        "error_message": "The user or the password is refused." if step is None else None,
        "auth_bytes": b"" if step is None else step.reply,
    }
