"""An OpenTelemetry collector's receiver for OTLP over HTTP, as far as metrics need one."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric


@dataclass(frozen=True)
class Received:
    """One request: where it went, its headers, and what it holds."""

    path: str
    headers: Mapping[str, str]
    message: ExportMetricsServiceRequest

    @property
    def resource(self) -> dict[str, str]:
        """Attributes of its resource."""
        (found,) = self.message.resource_metrics
        return {each.key: each.value.string_value for each in found.resource.attributes}

    @property
    def metrics(self) -> list[Metric]:
        """Of all scopes."""
        (found,) = self.message.resource_metrics
        return [metric for scope in found.scope_metrics for metric in scope.metrics]

    @property
    def values(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        """Values by names and labels."""
        return {
            (metric.name, tuple(sorted((a.key, a.value.string_value) for a in point.attributes))): (
                point.as_double
            )
            for metric in self.metrics
            for point in (metric.sum if metric.HasField("sum") else metric.gauge).data_points
        }


@dataclass
class OtlpReceiver:
    """
    Listens on a free port; remembers what comes.

    Attributes:
        status: of its answers.
        received: requests in their order, refused ones, too.
        answers: clear while requests wait for their answers.
    """

    status: int = 200
    answers: threading.Event = field(default_factory=threading.Event)
    received: list[Received] = field(default_factory=list)

    def __post_init__(self) -> None:
        receiver = self
        self.answers.set()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                message = ExportMetricsServiceRequest.FromString(gzip.decompress(body))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.received.append(Received(self.path, headers, message))
                receiver.answers.wait()
                answer = ExportMetricsServiceResponse().SerializeToString()
                self.send_response(receiver.status)
                self.send_header("Content-Type", "application/x-protobuf")
                if receiver.status in {307, 308}:
                    self.send_header("Location", f"{receiver.url}/elsewhere")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.answers.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
