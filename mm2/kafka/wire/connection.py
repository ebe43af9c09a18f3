"""
A connection that moves large requests and responses without copying them.

aiokafka's own reads through a stream buffer and joins what it sends: several copies of all record
data. Its negotiation of versions and its SASL log-in are used as they are, over this transport.
"""

from __future__ import annotations

import asyncio
import socket
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from io import BytesIO
from struct import Struct
from typing import Final

from aiokafka import errors
from aiokafka.conn import AIOKafkaConnection, CloseReason
from aiokafka.protocol.api import Request, RequestStruct, Response

from mm2.kafka.wire.connection_failures import Attempt
from mm2.kafka.wire.frame import I32, NO_TAGS, Frame, FrameResponse, Payload, text
from mm2.kafka.wire.receiver import Receiver

_HEADER: Final = Struct(">hhi")
_REAUTHENTICATE_AT: Final = 0.85
"""Part of a session's lifetime after which Java's clients renew it, at the earliest (KIP-368)."""

_LOOK_EVERY_S: Final = 4.0
SILENT_AFTER_S: Final = 8.0
"""No answer takes so long by intention, and controllers give brokers up after 9 s by default."""

_Asked = tuple[int, RequestStruct, "asyncio.Future[Response]", float]
"""Its id, what it was, who waits for its answer, and since when; all wait for the same time."""


class Connection(AIOKafkaConnection):
    """
    A connection to one broker.

    Answers come in the order of the requests. Whoever waits too long for one closes the connection
    and so fails all that wait on it; and it closes itself when who asked has gone, and the answer
    still does not come: what swallows one question would swallow the next one too.

    Args:
        on_silence: called from time to time while the broker lets somebody wait for longer than
            it takes to be noticed that it is gone.
    """

    _on_close_cb: Callable[[Connection, CloseReason | None], None] | None

    def __init__(
        self,
        host: str,
        port: int,
        *,
        on_silence: Callable[[], object] | None = None,
        **settings: object,
    ) -> None:
        self._transport: asyncio.Transport | None = None
        super().__init__(host, port, **settings)
        self._was_open = False
        self._requests: deque[_Asked] = deque()
        self._receiver: Receiver | None = None
        self._client_text = text(self._client_id)
        self._renew_at = float("inf")
        self._muted_until = float("-inf")
        self._on_silence = on_silence
        self._looking: asyncio.TimerHandle | None = None
        self._look_every_s = min(_LOOK_EVERY_S, self._request_timeout)

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
        address, mechanism = f"{self.host}:{self.port}", str(self._sasl_mechanism)
        return Attempt(address, self._security_protocol, mechanism)

    async def _connect(self, socket_options: Iterable[tuple[int, int]]) -> None:
        self._closed_fut = self._loop.create_future()
        self._receiver = Receiver(expects=self._expected, on_frame=self._take, on_lost=self._lost)
        async with asyncio.timeout(self._request_timeout):
            self._transport, _ = await self._loop.create_connection(
                lambda: self._receiver, self.host, self.port, ssl=self._tls()
            )
        for option, value in socket_options:
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, option, value)
        self._was_open = True
        if self._max_idle_ms is not None:
            self._idle_handle = self._loop.call_soon(self._idle_check, weakref.ref(self))
        try:
            await self._do_version_lookup()
            if self._security_protocol.startswith("SASL"):
                await self._do_sasl_handshake()
        except BaseException:
            self.close()
            raise

    def _tls(self) -> object:
        return self._ssl_context if self._security_protocol in {"SSL", "SASL_SSL"} else None

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
        if self._requests:
            await asyncio.wait([self._requests[-1][2]])
        try:
            await self._do_sasl_handshake()
        except BaseException:
            self.close()
            raise

    def connected(self) -> bool:
        """Whether requests can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def send(
        self,
        request: Request[RequestStruct],
        expect_response: bool = True,  # noqa: FBT001, FBT002 - aiokafka's signature
    ) -> asyncio.Future[Response]:
        """
        Sends now, and gives back the answer to come; a TimeoutError if it takes too long.

        Raises:
            KafkaConnectionError: there is no connection.
        """
        if not expect_response:
            raise AssertionError("every request that we know is answered")
        if self._transport is None:
            raise errors.KafkaConnectionError(f"no connection to {self.host}:{self.port}")
        struct = request.prepare(self._versions)
        correlation_id = self._next_correlation_id()
        header = _header(struct, correlation_id, self._client_text)
        body = struct.parts if isinstance(struct, Payload) else [struct.encode()]
        size = len(header) + sum(map(len, body))
        self._transport.writelines([I32.pack(size) + header, *body])
        answer: asyncio.Future[Response] = self._loop.create_future()
        self._requests.append((correlation_id, struct, answer, time.monotonic()))
        if self._looking is None:
            self._look_later()
        return answer

    def waited_s(self) -> float:
        """For how long an answer is due, in seconds; 0 if none is."""
        return max(0.0, self._waited_s(self._requests[0][3])) if self._requests else 0.0

    def _waited_s(self, since: float) -> float:
        """Not counted while the broker reads nothing, behind a request that it throttles."""
        return time.monotonic() - max(since, self._muted_until)

    def _look(self) -> None:
        """Checks pending requests for timeouts, and the connection for silence."""
        self._looking = None
        if not self._requests:
            return
        for _, _, answer, since in self._requests:
            if not answer.done() and self._waited_s(since) >= self._request_timeout:
                answer.set_exception(TimeoutError())
        self._look_later()
        if self.waited_s() >= self._request_timeout + self._look_every_s:
            self.close(CloseReason.CONNECTION_TIMEOUT)
        elif self.waited_s() >= SILENT_AFTER_S and self._on_silence is not None:
            self._on_silence()

    def _look_later(self) -> None:
        """Looks again soon, and not later than the next answer is overdue."""
        left_s = (
            self._request_timeout - self._waited_s(since)
            for _, _, answer, since in self._requests
            if not answer.done()
        )
        delay_s = min(self._look_every_s, next(left_s, self._look_every_s))
        self._looking = self._loop.call_later(delay_s, self._look)

    def close(
        self, reason: CloseReason | None = None, exc: BaseException | None = None
    ) -> asyncio.Future[None]:
        """Closes the connection; all who wait for answers get a KafkaConnectionError."""
        for timer in (self._idle_handle, self._looking):
            if timer is not None:
                timer.cancel()
        transport, self._transport = self._transport, None
        if transport is not None:
            # What is not sent yet must not be sent later, behind the back of those who gave up; and
            # a polite end of TLS would wait half a minute for a broker that does not answer.
            transport.abort()
            self._fail(exc)
            if self._on_close_cb is not None:
                self._on_close_cb(self, reason)
                self._on_close_cb = None
        closed: asyncio.Future[None] = self._closed_fut
        return closed

    def _fail(self, cause: BaseException | None) -> None:
        for _, _, answer, _ in self._requests:
            if not answer.done():
                reason = "" if cause is None else f": {cause}"
                error = errors.KafkaConnectionError(f"{self.host}:{self.port} closed{reason}")
                error.__cause__ = cause
                answer.set_exception(error)
        self._requests.clear()

    def _expected(self) -> int | None:
        return self._requests[0][0] if self._requests else None

    def _take(self, frame: bytearray) -> None:
        _, request, answer, _ = self._requests[0]
        if not answer.done():
            try:
                response = _decoded(request, frame)
            except Exception as error:  # noqa: BLE001 - struct, Unicode and index errors alike
                self.close(CloseReason.OUT_OF_SYNC, error)
                return
            self._note(response)
            answer.set_result(response)
        self._requests.popleft()
        self._last_action = time.monotonic()

    def _note(self, response: Response) -> None:
        if isinstance(response, FrameResponse):
            if response.throttle_ms > 0:
                self._muted_until = time.monotonic() + response.throttle_ms / 1000
        elif lifetime_ms := getattr(response, "session_lifetime_ms", 0):
            self._renew_at = time.monotonic() + lifetime_ms / 1000 * _REAUTHENTICATE_AT

    def _lost(self, error: Exception | None) -> None:
        self.close(CloseReason.CONNECTION_BROKEN, error)
        if not self._closed_fut.done():
            self._closed_fut.set_result(None)


def _header(request: RequestStruct, correlation_id: int, client: bytes) -> bytes:
    """What every request begins with, versions 1 and 2 of it; aiokafka's takes longer than that."""
    head = _HEADER.pack(request.API_KEY, request.API_VERSION, correlation_id) + client
    return head + NO_TAGS if request.FLEXIBLE_VERSION else head


def _decoded(request: RequestStruct, frame: bytearray) -> Response:
    cursor = Frame(memoryview(frame), I32.size)
    if request.FLEXIBLE_VERSION:
        cursor.skip_tags()
    kind = request.RESPONSE_TYPE
    if issubclass(kind, FrameResponse):
        return kind.read(cursor)
    return kind.decode(BytesIO(cursor.view[cursor.at :]))
