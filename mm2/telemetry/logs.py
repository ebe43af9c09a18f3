"""
Logs: structlog events with constant names and typed fields.

A terminal shows the sentence that explains each event; anything else gets a JSON object a line.

Tasks run in other processes: they write JSON lines to standard error, which the driver reads and
repeats, so that a user finds everything in one place.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TextIO

import stamina
import structlog

from mm2.config.text.expressions import hidden_in, hide
from mm2.core.json_text import read_json
from mm2.telemetry.event_counts import EVENT_COUNTS
from mm2.telemetry.events import EVENTS
from mm2.telemetry.log_settings import StartLevels, log_format, start_levels, wants_colours
from mm2.telemetry.recent_events import RECENT_EVENTS

_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
_METHODS: Final = {**_LEVELS, "exception": 40}
_NAMES: Final = frozenset(
    {"event", "level", "timestamp", "flow", "source", "target", "cluster", "connector", "topic"}
    | {"partition", "group", "key"}
)
"""Fields of events that say what they are about, and quote no configuration."""
_TASK_MARK: Final = '{"mm2_task"'
"""Begins each line that a task writes, and no line of Spark's."""


def configure_logs(stream: TextIO | None = None) -> None:
    """
    Logs to ``stream`` (standard output), as ``MM2_LOG_LEVEL`` and ``MM2_LOG_FORMAT`` say.

    Raises:
        ConfigError: one of them has a value that is not allowed.
    """
    stream = stream or sys.stdout
    _quiet_libraries()
    if log_format() == "console" or (log_format() == "auto" and stream.isatty()):
        explained = _explain_event, _console(colors=wants_colours(stream))
        _configure(stream, RECENT_EVENTS, EVENT_COUNTS, *explained)
    else:
        _configure(stream, RECENT_EVENTS, EVENT_COUNTS, structlog.processors.JSONRenderer())


def _console(*, colors: bool) -> structlog.dev.ConsoleRenderer:
    return structlog.dev.ConsoleRenderer(colors=colors, pad_event_to=0, sort_keys=False)


def _explain_event(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Puts the first sentence about an event, and its name, before its fields."""
    name = str(event["event"])
    if name in EVENTS:
        sentence = EVENTS[name].partition(". ")[0].partition("; ")[0].rstrip(".")
        event = {**event, "event": f"{sentence} ({name})"}
    return {**event, "timestamp": str(event.get("timestamp", ""))[:19].replace("T", " ")}


def choose_levels(root: int, nouns: Mapping[str, int]) -> None:
    """
    Lets events through that have at least the level of their noun.

    Args:
        root: the number of the level of all others.
        nouns: those of the nouns that have one. A second call replaces the first.
    """
    least = min((root, *nouns.values()))
    processors = [
        each for each in structlog.get_config()["processors"] if not isinstance(each, _Chosen)
    ]
    structlog.configure(
        processors=[_Chosen(root, nouns), *processors],
        wrapper_class=structlog.make_filtering_bound_logger(min(50, least // 10 * 10)),
    )


class _Chosen:
    """The first of the processors: drops what is below the level of its noun."""

    def __init__(self, root: int, nouns: Mapping[str, int]) -> None:
        self._root, self._nouns = root, dict(nouns)

    def __call__(
        self, _logger: object, method: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        noun = str(event.get("event", "")).partition(".")[0]
        if _METHODS.get(method, 20) < self._nouns.get(noun, self._root):
            raise structlog.DropEvent
        return event


def configure_command_logs(levels: StartLevels | None = None) -> None:
    """
    Events go to standard error; what a command is asked for has standard output.

    Client libraries say nothing. Nothing else is changed, so that events are seen by whoever
    captures them.

    Args:
        levels: from which they do; that is ``warning`` for all, if None.
    """
    _quiet_libraries()
    levels = levels or StartLevels("warning")
    nouns = {each: _LEVELS[level] for each, level in levels.nouns.items()}
    least = min((_LEVELS[levels.root], *nouns.values()))
    structlog.configure(logger_factory=partial(_CommandLogger, least))
    if nouns:
        choose_levels(_LEVELS[levels.root], nouns)


class _CommandLogger:
    """The logger of commands; finds standard error anew each time, as tests replace it."""

    def __init__(self, least: int, *_: object) -> None:
        """Structlog gives names to loggers."""
        self._least = least

    def debug(self, line: str) -> None:
        self._say("debug", line)

    def info(self, line: str) -> None:
        self._say("info", line)

    def warning(self, line: str) -> None:
        self._say("warning", line)

    def error(self, line: str) -> None:
        self._say("error", line)

    def critical(self, line: str) -> None:
        self._say("critical", line)

    exception = error

    def _say(self, level: str, line: str) -> None:
        if _LEVELS[level] >= self._least:
            print(hide(line), file=sys.stderr, flush=True)  # noqa: T201 - it speaks to people


def configure_task_logs(copy: Callable[[str], None] | None = None) -> None:
    """
    Logs to standard error in the form that ``relay`` understands.

    Args:
        copy: gets each line, too.
    """

    def render(logger: object, method: str, event: structlog.typing.EventDict) -> str:
        line = _render_for_relay(logger, method, event)
        if copy is not None:
            copy(line)
        return line

    _quiet_libraries()
    _configure(sys.stderr, render)


def relay(line: str) -> bool:
    """Repeats a task's log line in this process; False if it is not one."""
    if not line.startswith(_TASK_MARK):
        return False
    try:
        fields = read_json(line)
        assert isinstance(fields, dict)  # noqa: S101 - the mark begins an object
        level, event = _LEVELS[fields.pop("level")], str(fields.pop("event"))
        del fields["mm2_task"]
        # The time of the event is the task's; this process would stamp its own.
        structlog.get_logger().log(level, event, **fields)
    except (ValueError, KeyError, TypeError):
        return False
    return True


def _configure(stream: TextIO, *renderers: structlog.typing.Processor) -> None:
    levels = start_levels()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _hide_resolved,
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[levels.root]),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=False,
    )
    if levels.nouns:
        nouns = {each: _LEVELS[level] for each, level in levels.nouns.items()}
        choose_levels(_LEVELS[levels.root], nouns)


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
