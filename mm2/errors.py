"""
Every exception that mm2 raises on purpose.

    Mm2Error
    ├── ConfigError            one mistake in what the user wrote
    │   └── PatternTimeout     a regular expression that takes too long to match
    ├── ConfigErrors           all mistakes of one file, reported together
    ├── InvalidArgument        a caller of the library asked for what makes no sense
    ├── ClusterError           something about one cluster, named by its alias
    │   ├── Unavailable        not reachable, or not answering in time      (retriable)
    │   ├── AuthenticationFailed
    │   └── NotAuthorized
    ├── FlowError              something about one flow, named "S->T"
    │   └── Fenced             another node owns the flow's partitions now
    ├── SchemaError            bytes that are not the record they should be
    ├── TransformError         a record that a transform cannot be applied to
    └── FatalError             the process cannot go on
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class Mm2Error(Exception):
    """
    Base of all.

    Attributes:
        retriable: whether the same call may succeed later without anybody changing anything.
    """

    retriable: ClassVar[bool] = False


class ConfigError(Mm2Error):
    """
    One mistake in a configuration.

    Args:
        message: what is wrong and what to do about it.
        key: the key as the user wrote it, if the mistake is about one.
        value: the value as the user wrote it; never a secret.
        line: the line of the file, counted from 1.
        suggestion: the nearest known key or value.
    """

    def __init__(
        self,
        message: str,
        *,
        key: str | None = None,
        value: str | None = None,
        line: int | None = None,
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.key = key
        self.value = value
        self.line = line
        self.suggestion = suggestion

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        hint = f" Did you mean '{self.suggestion}'?" if self.suggestion else ""
        return f"{where}{self.message}{hint}"


class PatternTimeout(ConfigError):
    """A regular expression takes too long to match a text; the message names both."""


class ConfigErrors(Mm2Error):
    """All mistakes of one configuration, in the order of their lines."""

    def __init__(self, problems: Sequence[ConfigError]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class InvalidArgument(Mm2Error, ValueError):
    """An argument of a call of the library makes no sense; the message names it."""


class ClusterError(Mm2Error):
    """Something about the cluster ``alias``."""

    def __init__(self, alias: str, message: str) -> None:
        super().__init__(f"cluster {alias}: {message}")
        self.alias = alias


class Unavailable(ClusterError):
    """The cluster cannot be reached or does not answer in time."""

    retriable = True


class AuthenticationFailed(ClusterError):
    """The cluster refuses our credentials."""


class NotAuthorized(ClusterError):
    """The cluster lets us in but does not allow the operation."""


class FlowError(Mm2Error):
    """Something about the flow ``flow``, written "S->T"."""

    def __init__(self, flow: str, message: str) -> None:
        super().__init__(f"flow {flow}: {message}")
        self.flow = flow


class Fenced(FlowError):
    """Another node owns the flow's partitions now."""


class SchemaError(Mm2Error):
    """Bytes that are not the record they should be; the message names the field."""


class TransformError(Mm2Error):
    """
    A record that a transform cannot be applied to; the message says why.

    Attributes:
        kind: class of the transform, as Java names it.
    """

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


class FatalError(Mm2Error):
    """The process cannot go on; the message says what the user should do."""


def root_cause(error: BaseException) -> BaseException:
    """The first single error inside of exception groups, which is why they were raised."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def fatal_error(error: BaseException) -> FatalError | None:
    """The first ``FatalError`` that an error is, or an exception group holds; None if none is."""
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(fatal_error, error.exceptions)), None)
    return error if isinstance(error, FatalError) else None
