"""
A connection that moves large requests and responses without copying them.

aiokafka's own reads through a stream buffer and joins what it sends: several copies of all record
data. Its requests and answers, and its exchanges of a SASL log-in, are used over this transport.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from ssl import SSLContext
from typing import Final

from aiokafka import errors
from aiokafka.conn import CloseReason
from aiokafka.protocol.admin import ApiVersionRequest
from aiokafka.protocol.api import Request, RequestStruct, Response

from mm2.aligned_waits import aligned
from mm2.kafka.security.log_in import Credentials
from mm2.kafka.wire.connection_failures import Attempt
from mm2.kafka.wire.envelopes import decoded, header
from mm2.kafka.wire.frame import I32, FrameResponse, Payload, text
from mm2.kafka.wire.receiver import Receiver

_REAUTHENTICATE_AT: Final = 0.85
"""Part of a session's lifetime after which Java's clients renew it, at the earliest (KIP-368)."""

_LOOK_EVERY_S: Final = 4.0
SILENT_AFTER_S: Final = 8.0
"""No answer takes so long by intention, and controllers give brokers up after 9 s by default."""

_IDS: Final = range(1, 1 << 31)
"""Which requests get, over and over again."""

_Asked = tuple[int, RequestStruct, "asyncio.Future[Response]", float]
"""Its id, what it was, who waits for its answer, and since when; all wait for the same time."""


class Connection:
    """
    A connection to one broker.

    Answers come in the order of the requests. Whoever waits too long for one closes the connection
    and so fails all that wait on it; and it closes itself when who asked has gone, and the answer
    still does not come: what swallows one question would swallow the next one too.

    Args:
        max_idle_ms: closed after so long without an answer, if none is due; None for never.
        on_close: called when it is closed.
        on_silence: called from time to time while the broker lets somebody wait for longer than
            it takes to be noticed that it is gone.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        client_id: str = "aiokafka",
        request_timeout_ms: int = 40_000,
        security_protocol: str = "PLAINTEXT",
        ssl_context: SSLContext | None = None,
        sasl_mechanism: str = "PLAIN",
        sasl_plain_username: str | None = None,
        sasl_plain_password: str | None = None,
        max_idle_ms: int | None = None,
        on_close: Callable[[Connection, CloseReason | None], None] | None = None,
        on_silence: Callable[[], object] | None = None,
    ) -> None:
        self.host, self.port = host, port
        self._client_text = text(client_id)
        self._timeout_s = request_timeout_ms / 1000
        self._protocol, self._tls = security_protocol, ssl_context
        self._credentials = Credentials(
            sasl_mechanism, sasl_plain_username or "", sasl_plain_password or ""
        )
        self._max_idle_s = None if max_idle_ms is None else max_idle_ms / 1000
        self._on_close, self._on_silence = on_close, on_silence
        self._transport: asyncio.Transport | None = None
        self._was_open = False
        self._versions: dict[int, tuple[int, int]] = {}
        self._ids: Iterator[int] = chain.from_iterable(repeat(_IDS))
        self._asked: deque[_Asked] = deque()
        self._answered_at = time.monotonic()
        self._renew_at = float("inf")
        self._muted_until = float("-inf")
        self._idling: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._look_every_s = min(_LOOK_EVERY_S, self._timeout_s)
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def connect(self, socket_options: Iterable[tuple[int, int]] = ()) -> None:
        """
        Connects, agrees on versions and logs in.

        Args:
            socket_options: of the level SOL_SOCKET, with their values.

        Raises:
            OSError: nobody is there.
            TimeoutError: nobody answers.
            NotLetIn: the broker does not let us in, or we do not trust it.
            KafkaError: it closes the connection; the message says what that probably means.
        """
        try:
            await self._connect(socket_options)
        except (OSError, errors.KafkaError) as error:
            explained = self.attempt.explained(error, has_handshake=self._was_open)
            if explained is error:
                raise
            raise explained from error

    @property
    def attempt(self) -> Attempt:
        """What is tried, for those who explain why it has failed."""
        return Attempt(f"{self.host}:{self.port}", self._protocol, self._credentials.mechanism)

    async def _connect(self, socket_options: Iterable[tuple[int, int]]) -> None:
        loop = asyncio.get_running_loop()
        receiver = Receiver(expects=self._expected, on_frame=self._take, on_lost=self._lost)
        tls = self._tls if self._protocol in {"SSL", "SASL_SSL"} else None
        async with asyncio.timeout(self._timeout_s):
            self._transport, _ = await loop.create_connection(
                lambda: receiver, self.host, self.port, ssl=tls
            )
        for option, value in socket_options:
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, option, value)
        self._was_open = True
        if self._max_idle_s is not None:
            self._idle_later(self._max_idle_s)
        try:
            await self._agree_on_versions()
            if self._protocol.startswith("SASL"):
                await self._credentials.log_in(self.send)
        except BaseException:
            self.close()
            raise

    async def _agree_on_versions(self) -> None:
        answer = await self.send(ApiVersionRequest())
        self._versions = {key: (least, most) for key, least, most in answer.api_versions}

    @property
    def must_renew(self) -> bool:
        """Whether the session will soon be over, and the broker close the connection (KIP-368)."""
        return time.monotonic() >= self._renew_at

    async def renew(self) -> None:
        """
        Logs in again, once all requests are answered; no others may be sent meanwhile.

        Raises:
            KafkaError: the broker does not let us in any more.
        """
        self._renew_at = float("inf")
        if self._asked:
            await asyncio.wait([self._asked[-1][2]])
        try:
            await self._credentials.log_in(self.send)
        except BaseException:
            self.close()
            raise

    def connected(self) -> bool:
        """Whether requests can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def send(self, request: Request[RequestStruct]) -> asyncio.Future[Response]:
        """
        Sends now, and gives back the answer to come; a TimeoutError if it takes too long.

        Raises:
            KafkaConnectionError: there is no connection.
        """
        if self._transport is None:
            raise errors.KafkaConnectionError(f"no connection to {self.host}:{self.port}")
        struct = request.prepare(self._versions)
        correlation_id = next(self._ids)
        head = header(struct, correlation_id, self._client_text)
        body = struct.parts if isinstance(struct, Payload) else [struct.encode()]
        size = len(head) + sum(map(len, body))
        self._transport.writelines([I32.pack(size) + head, *body])
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._asked.append((correlation_id, struct, answer, time.monotonic()))
        if self._looking is None:
            self._look_later()
        return answer

    def waited_s(self) -> float:
        """For how long an answer is due, in seconds; 0 if none is."""
        return max(0.0, self._waited_s(self._asked[0][3])) if self._asked else 0.0

    def _waited_s(self, since: float) -> float:
        """Not counted while the broker reads nothing, behind a request that it throttles."""
        return time.monotonic() - max(since, self._muted_until)

    def _look(self) -> None:
        """Checks pending requests for timeouts, and the connection for silence."""
        self._looking = None
        if not self._asked:
            return
        for _, _, answer, since in self._asked:
            if not answer.done() and self._waited_s(since) >= self._timeout_s:
                answer.set_exception(TimeoutError())
        self._look_later()
        if self.waited_s() >= self._timeout_s + self._look_every_s:
            self.close(CloseReason.CONNECTION_TIMEOUT)
        elif self.waited_s() >= SILENT_AFTER_S and self._on_silence is not None:
            self._on_silence()

    def _look_later(self) -> None:
        """Looks again soon, and not later than the next answer is overdue."""
        left_s = (
            self._timeout_s - self._waited_s(since)
            for _, _, answer, since in self._asked
            if not answer.done()
        )
        look_s = aligned(self._look_every_s)
        delay_s = min(look_s, next(left_s, look_s))
        self._looking = asyncio.get_running_loop().call_later(delay_s, self._look)

    def _idle_later(self, max_idle_s: float) -> None:
        """Looks again when there may have been no answer for so long."""
        now = time.monotonic()
        since = now if self._asked else self._answered_at
        delay_s = since + max_idle_s - now
        loop = asyncio.get_running_loop()
        self._idling = loop.call_later(delay_s, self._close_idle, max_idle_s)

    def _close_idle(self, max_idle_s: float) -> None:
        if not self._asked and time.monotonic() - self._answered_at >= max_idle_s:
            self.close(CloseReason.IDLE_DROP)
        else:
            self._idle_later(max_idle_s)

    def close(
        self, reason: CloseReason | None = None, exc: BaseException | None = None
    ) -> asyncio.Future[None]:
        """Closes the connection; all who wait for answers get a KafkaConnectionError."""
        for timer in (self._idling, self._looking):
            if timer is not None:
                timer.cancel()
        transport, self._transport = self._transport, None
        if transport is not None:
            # What is not sent yet must not be sent later, behind the back of those who gave up; and
            # a polite end of TLS would wait half a minute for a broker that does not answer.
            transport.abort()
            self._fail(exc)
            if self._on_close is not None:
                self._on_close(self, reason)
                self._on_close = None
        return self._closed

    def _fail(self, cause: BaseException | None) -> None:
        for _, _, answer, _ in self._asked:
            if not answer.done():
                reason = "" if cause is None else f": {cause}"
                error = errors.KafkaConnectionError(f"{self.host}:{self.port} closed{reason}")
                error.__cause__ = cause
                answer.set_exception(error)
        self._asked.clear()

    def _expected(self) -> int | None:
        return self._asked[0][0] if self._asked else None

    def _take(self, frame: bytearray) -> None:
        _, request, answer, _ = self._asked[0]
        if not answer.done():
            try:
                response = decoded(request, frame)
            except Exception as error:  # noqa: BLE001 - struct, Unicode and index errors alike
                self.close(CloseReason.OUT_OF_SYNC, error)
                return
            self._note(response)
            answer.set_result(response)
        self._asked.popleft()
        self._answered_at = time.monotonic()

    def _note(self, response: Response) -> None:
        if isinstance(response, FrameResponse):
            if response.throttle_ms > 0:
                self._muted_until = time.monotonic() + response.throttle_ms / 1000
        elif lifetime_ms := getattr(response, "session_lifetime_ms", 0):
            self._renew_at = time.monotonic() + lifetime_ms / 1000 * _REAUTHENTICATE_AT

    def _lost(self, error: Exception | None) -> None:
        self.close(CloseReason.CONNECTION_BROKEN, error)
        if not self._closed.done():
            self._closed.set_result(None)
