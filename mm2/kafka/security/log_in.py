"""Logs in to a broker with SASL; aiokafka has the exchanges of the mechanisms."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiokafka import errors
from aiokafka.conn import SaslPlainAuthenticator, ScramAuthenticator
from aiokafka.protocol.admin import SaslAuthenticateRequest, SaslHandShakeRequest

Ask = Callable[[Any], Awaitable[Any]]
"""Sends a request, and awaits its answer."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """
    Who logs in, and how.

    Attributes:
        mechanism: PLAIN, or one of SCRAM.
    """

    mechanism: str
    user: str
    password: str = field(repr=False)

    async def log_in(self, ask: Ask) -> None:
        """
        Logs in on a connection.

        Raises:
            KafkaError: the broker does not let us in, does not answer, or does not know the
                password itself.
        """
        offer = await ask(SaslHandShakeRequest(self.mechanism))
        offered = ", ".join(offer.enabled_mechanisms)
        _check(offer, f"it offers {offered}")
        exchange, received = self._exchange(), None
        while (step := await _next_step(exchange, received)) is not None:
            message, _ = step
            answer = await ask(SaslAuthenticateRequest(message))
            _check(answer, answer.error_message)
            received = answer.sasl_auth_bytes

    def _exchange(self) -> Any:
        who = {
            "loop": asyncio.get_running_loop(),
            "sasl_plain_username": self.user,
            "sasl_plain_password": self.password,
        }
        if self.mechanism == "PLAIN":
            return SaslPlainAuthenticator(**who)
        return ScramAuthenticator(**who, sasl_mechanism=self.mechanism)


async def _next_step(exchange: Any, received: bytes | None) -> Any:
    try:
        return await exchange.step(received)
    except (ValueError, KeyError, AssertionError) as error:
        wrong = f"the broker does not show that it knows the password: {error!r}"
        raise errors.SaslAuthenticationFailed(wrong) from error


def _check(answer: Any, words: str) -> None:
    error = errors.for_code(answer.error_code)
    if error is not errors.NoError:
        raise error(words)
