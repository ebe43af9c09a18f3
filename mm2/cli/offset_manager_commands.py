"""``mm2 offset-manager``: keeps offsets of groups outside of the brokers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import click
import uvloop

from mm2.cli.offset_check_command import check
from mm2.cli.offset_load_command import load_test
from mm2.cli.options import CHECK_FAILED, UNREACHABLE, USAGE, end
from mm2.config.text.client_file import resolved
from mm2.config.text.properties import PropertiesFile, load
from mm2.config.text.redact import as_written
from mm2.driver.signals import StopSignals
from mm2.errors import ClusterError, ConfigError, ConfigErrors, FatalError
from mm2.telemetry.logs import configure_logs

if TYPE_CHECKING:  # --help answers at once without it.
    from mm2.config.offset_manager_settings import OffsetManagerSettings

_MOST_PORT: Final = 65535
_SERVERS: Final = "bootstrap.servers"
_ADDRESS: Final = "HOST:PORT"
_ANY: Final = ("", "0.0.0.0", "::")  # noqa: S104 - compared, not bound


class _Address(click.ParamType[tuple[str, int]]):
    """An address; the host of an IPv6 address stands in brackets."""

    name = "address"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Reads HOST:PORT."""
        host, colon, port = str(value).rpartition(":")
        if not colon or not port.isdecimal() or not 0 < int(port) <= _MOST_PORT:
            self.fail(f"{value} is not HOST:PORT, for example localhost:9192", param, ctx)
        return host.removeprefix("[").removesuffix("]"), int(port)


@click.group("offset-manager")
def offset_manager() -> None:
    """Keeps what consumer groups commit in a compacted topic of a cluster."""


offset_manager.add_command(check)
offset_manager.add_command(load_test)


@offset_manager.command("serve")
@click.option(
    "--bootstrap-server", metavar="HOST:PORT,...", required=True, help="The cluster's brokers."
)
@click.option(
    "--listen", type=_Address(), metavar=_ADDRESS, required=True, help="Where clients connect."
)
@click.option(
    "--advertise",
    type=_Address(),
    metavar=_ADDRESS,
    help="Where clients are told to connect, if they reach it elsewhere.",
)
@click.option(
    "--config",
    "file",
    type=click.Path(path_type=Path),
    help="Properties of the cluster's clients, and offsets.* keys.",
)
@click.option(
    "--metrics.listener",
    "metrics",
    type=_Address(),
    metavar=_ADDRESS,
    help="Where GET /metrics is answered, to whoever asks; nowhere without.",
)
def serve(
    bootstrap_server: str,
    listen: tuple[str, int],
    advertise: tuple[str, int] | None,
    file: Path | None,
    metrics: tuple[str, int] | None,
) -> None:
    """
    Answers clients that commit and fetch offsets, until SIGTERM or SIGINT.

    Clients name the addresses of all instances in bootstrap.servers; they learn of the cluster's
    brokers from there. They use assign(), not subscribe(). Instances with the same cluster and
    offsets topic form one offset manager.

    Exit status: 0 stopped by a signal, 1 it cannot go on, 2 wrong usage, 3 the cluster cannot be
    reached or refuses.
    """
    signals = StopSignals()
    reached = advertise or listen
    if reached[0] in _ANY:
        raise click.UsageError("Say with --advertise where clients reach this host.")
    settings = _settings(bootstrap_server, file)
    configure_logs()
    from mm2.offset_manager.serve import serve as run  # noqa: PLC0415 - takes a while

    try:
        uvloop.run(run(settings, listen, reached, signals.obey, partial(_shown, metrics)))
    except ConfigError as error:
        _refuse(file, [error])
    except FatalError as error:
        end(CHECK_FAILED, str(error))
    except ClusterError as error:
        end(UNREACHABLE, str(error))


@asynccontextmanager
async def _shown(address: tuple[str, int] | None, text: Callable[[], str]) -> AsyncIterator[None]:
    if address is None:
        yield
        return
    from mm2.rest.metrics_server import metrics_served  # noqa: PLC0415 - few use it

    async with metrics_served(address, text):
        yield


def _settings(servers: str, file: Path | None) -> OffsetManagerSettings:
    from mm2.config.offset_manager_settings import OffsetManagerSettings  # noqa: PLC0415 - see above

    try:
        written = load(file) if file else PropertiesFile(values={})
    except ConfigError as error:
        _refuse(file if error.line else None, [error])
    try:
        values = {**resolved(written).values, _SERVERS: servers}
        return OffsetManagerSettings.of(values, written.lines)
    except ConfigErrors as errors:
        _refuse(file, [as_written(each, written.values) for each in errors.problems])
    except ConfigError as error:
        _refuse(file, [error])


def _refuse(file: Path | None, problems: Iterable[ConfigError]) -> NoReturn:
    """Names the file in front of what is wrong with it; addresses of brokers come from a flag."""
    end(USAGE, *(str(p) if file is None or p.key == _SERVERS else f"{file}: {p}" for p in problems))
