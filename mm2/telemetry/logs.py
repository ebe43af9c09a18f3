"""
Logs: structlog events with constant names and typed fields, for people on a terminal, else JSON.

Tasks run in other processes: they write JSON lines to standard error, which the driver reads and
repeats, so that a user finds everything in one place.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Final, TextIO

import stamina
import structlog

from mm2.config.text.expressions import hidden_in, hide
from mm2.core.json_text import read_json

_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
_NAMES: Final = frozenset(
    {"event", "level", "timestamp", "flow", "source", "target", "cluster", "connector", "topic"}
    | {"partition", "group", "key"}
)
"""Fields of events that say what they are about, and quote no configuration."""
_TASK_MARK: Final = '{"mm2_task"'
"""Begins each line that a task writes, and no line of Spark's."""


def configure_logs(stream: TextIO | None = None, *, level: str = "info") -> None:
    """Logs to ``stream`` (standard output): coloured on a terminal, else a JSON object a line."""
    stream = stream or sys.stdout
    _quiet_libraries()
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if stream.isatty() else structlog.processors.JSONRenderer()
    )
    _configure(stream, level, renderer)


def follow_level(least: int, chosen: structlog.typing.Processor) -> None:
    """
    Lets events of at least this level through to ``chosen``, which may drop some of them.

    Args:
        least: the number of the level.
        chosen: the first of the processors from now on; a second call replaces it.
    """
    processors = [
        each for each in structlog.get_config()["processors"] if not isinstance(each, _Chosen)
    ]
    structlog.configure(
        processors=[_Chosen(chosen), *processors],
        wrapper_class=structlog.make_filtering_bound_logger(min(50, least // 10 * 10)),
    )


class _Chosen:
    """Marks the processor that chooses among events, so that it can be replaced."""

    def __init__(self, choose: structlog.typing.Processor) -> None:
        self._choose = choose

    def __call__(
        self, logger: object, method: str, event: structlog.typing.EventDict
    ) -> structlog.typing.ProcessorReturnValue:
        return self._choose(logger, method, event)


def configure_command_logs() -> None:
    """
    Warnings and errors go to standard error; what a command is asked for has standard output.

    Client libraries say nothing. Nothing else is changed, so that events are seen by whoever
    captures them.
    """
    _quiet_libraries()
    structlog.configure(logger_factory=_Warnings)


class _Warnings:
    """The logger of commands; finds standard error anew each time, as tests replace it."""

    def __init__(self, *_: object) -> None:
        """Structlog gives names to loggers."""

    def debug(self, line: str) -> None:
        """Says nothing."""

    info = debug

    def warning(self, line: str) -> None:
        print(hide(line), file=sys.stderr, flush=True)  # noqa: T201 - a command speaks to people

    error = critical = exception = warning


def configure_task_logs() -> None:
    """Logs to standard error in the form that ``relay`` understands."""
    _quiet_libraries()
    _configure(sys.stderr, "info", _render_for_relay)


def relay(line: str) -> bool:
    """Repeats a task's log line in this process; False if it is not one."""
    if not line.startswith(_TASK_MARK):
        return False
    try:
        fields = read_json(line)
        assert isinstance(fields, dict)  # noqa: S101 - the mark begins an object
        level, event = _LEVELS[fields.pop("level")], fields.pop("event")
    except (ValueError, KeyError):
        return False
    del fields["mm2_task"]
    # The time of the event is the task's; this process would stamp its own.
    structlog.get_logger().log(level, event, **fields)
    return True


def _configure(stream: TextIO, level: str, renderer: structlog.typing.Processor) -> None:
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _hide_resolved,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=False,
    )


def _hide_resolved(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Hides what providers have read in every field that is not a name."""
    return {
        key: value if key in _NAMES else hidden_in(_text(value)) for key, value in event.items()
    }


def _text(value: object) -> object:
    """What renderers would make a text of."""
    return str(value) if isinstance(value, BaseException) else value


def _render_for_relay(_logger: object, _method: str, event: structlog.typing.EventDict) -> str:
    event.pop("timestamp", None)
    return json.dumps({"mm2_task": True, **event}, default=str)


def _quiet_libraries() -> None:
    """Libraries report as errors what we retry; what matters reaches the user as events of ours."""
    stamina.instrumentation.set_on_retry_hooks(())
    for name in ("aiokafka", "py4j"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
